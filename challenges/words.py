"""The desk's sentences, and the words for symptoms, in the chosen language."""

import tomllib
from functools import cache
from pathlib import Path

import buggy
from tests.rules import tell
from tests.rules.words import Words, language

MESSAGES = Path(__file__).with_name("messages.toml")
SYMPTOMS = Path(buggy.__file__).with_name("messages.toml")


def speaker(chosen=None):
    """The desk's sentences and those of the rules: ``say("screen.title")``."""
    return Words(language(chosen), tell.MESSAGES, MESSAGES)


@cache
def _symptoms():
    return tomllib.loads(SYMPTOMS.read_text(encoding="utf-8"))["symptom"]


def symptoms():
    """The closed vocabulary of symptoms, in its own order."""
    return list(_symptoms())


def meaning(word, lang):
    """What a symptom word means, in one short sentence."""
    return _symptoms()[word]["meaning"][lang]
