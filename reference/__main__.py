"""``python -m reference train | sample | ledger``: the correct GPT at work."""

import importlib
import sys

from rich.console import Console

from .cli_options import COMMANDS, parse
from .cli_words import LANGUAGES, Refusal, Words, language


def main(arguments=None):
    """Run one command. Exit status 0; 2 for bad input, told in one line; 130 for Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen, arguments = take_language(arguments)
    words = Words(language(chosen))
    try:
        if chosen not in (None, *LANGUAGES):
            raise Refusal("refused.language", known=", ".join(LANGUAGES), found=chosen)
        return run(arguments, words)
    except Refusal as refusal:
        print(words(refusal.key, **refusal.found), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(words("train.left"), file=sys.stderr)
        return 130


def take_language(arguments):
    """Split ``--lang XX`` off: it must be known before anything can be said."""
    rest, chosen = [], None
    words = iter(arguments)
    for word in words:
        if word == "--lang":
            chosen = next(words, "")
        elif word.startswith("--lang="):
            chosen = word.removeprefix("--lang=")
        else:
            rest.append(word)
    return chosen, rest


def run(arguments, words):
    """Find the command, read its options, do it."""
    command = arguments[0] if arguments else "--help"
    if command in ("-h", "--help"):
        print(words("help.all"))
        return 0
    if command not in COMMANDS:
        raise Refusal("refused.command", known=", ".join(COMMANDS), found=command)
    if "-h" in arguments or "--help" in arguments:
        print(words(f"help.{command}"))
        return 0
    options = parse(command, arguments[1:])
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    work = importlib.import_module(f".cli_{command}", __package__)
    return work.main(options, words, console)


if __name__ == "__main__":
    sys.exit(main())
