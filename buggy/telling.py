"""The sentences of ``python -m buggy``, and a console that knows when nobody looks."""

import sys
from pathlib import Path

from rich.console import Console

from tests.rules import tell
from tests.rules.words import Words, language

from . import vocabulary

COMMANDS = Path(__file__).with_name("commands.toml")
WIDE = 200  # columns when the output is a file: a table is then for programs, not for eyes


class Trouble(Exception):
    """Bad input: the id of a sentence and what it speaks of. It ends the command."""

    def __init__(self, message, **found):
        self.message, self.found = message, found
        super().__init__(f"{message}: {found}")


def speaker(chosen=None):
    """``say("list.day")`` in the chosen language; the rules' sentences are known too."""
    return Words(language(chosen), tell.MESSAGES, COMMANDS)


def console(stderr=False):
    """Colours and the terminal's width, or neither; NO_COLOR is honoured."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else WIDE)


def symptom(word, lang):
    """A symptom in words: its name and what it means; an unknown word stands for itself."""
    if word not in vocabulary.words():
        return word
    return f"{vocabulary.name(word, lang)}: {vocabulary.meaning(word, lang)}"


def day(say, number):
    """43, or the letter of the training loop."""
    return str(number)


def source(url):
    """``karpathy/nanoGPT#168`` for the address of an issue or a pull request on GitHub."""
    parts = url.removeprefix("https://").split("/")
    if len(parts) == 5 and parts[3] in ("issues", "pull"):
        return f"{parts[1]}/{parts[2]}#{parts[4]}"
    return parts[0]
