"""Command lines in both languages: argparse with help and usage errors from ``usage.toml``."""

import argparse
import re
import sys
from pathlib import Path

from .words import LANGUAGES, Words, language

SENTENCES = Path(__file__).with_name("usage.toml")
ERRORS = {  # what argparse says in English, taken apart, to be said again in either language
    "unknown": r"unrecognized arguments: (?P<found>.+)",
    "missing": r"the following arguments are required: (?P<wanted>.+)",
    "choice": r"argument (?P<name>\S+): invalid choice: (?P<found>.+?) \(.*from (?P<wanted>.+)\)",
    "value": r"argument (?P<name>\S+): expected .+",
    "whole": r"argument (?P<name>\S+): invalid int value: (?P<found>.+)",
    "number": r"argument (?P<name>\S+): invalid float value: (?P<found>.+)",
    "positive": r"argument (?P<name>\S+): invalid positive value: (?P<found>.+)",
}


def take_language(arguments):
    """Split ``--lang XX`` off, wherever it stands: (the language or None, the other arguments).

    It must be known before anything can be said. Ends the program, status 2, for one that we do
    not speak.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--lang", nargs="?", const="")
    found, rest = finder.parse_known_args(arguments)
    if found.lang is not None and found.lang not in LANGUAGES:
        say = Words(language(), SENTENCES)
        key = "usage.choice" if found.lang else "usage.value"
        about = {"name": "--lang", "found": found.lang, "wanted": ", ".join(LANGUAGES)}
        print(say(key, **about), file=sys.stderr)
        sys.exit(2)
    return found.lang, rest


class Parser(argparse.ArgumentParser):
    """``Parser("python -m buggy", "buggy", "ja")``: a parser whose sentences are in Japanese.

    The help of an option is the sentence of its name, looked for under
    ``section.command_option``, ``section.option`` and ``usage.option``.
    """

    def __init__(self, prog, section, lang, command=None):
        self.section, self.lang, self.command = section, lang, command
        self.say = Words(language(lang), SENTENCES)
        described = self.say(f"{section}.{command or 'all'}")
        super().__init__(prog=prog, description=described, add_help=False, allow_abbrev=False)
        self._positionals.title = self.say("usage.arguments")
        self._optionals.title = self.say("usage.options")
        self.add_argument("-h", "--help", action="help")
        self.add_argument("--lang", choices=LANGUAGES, default=argparse.SUPPRESS)

    def add_argument(self, *names, **options):
        action = super().add_argument(*names, **options)
        keys = (f"{self.section}.{self.command}_{action.dest}", f"{self.section}.{action.dest}")
        known = [key for key in (*keys, f"usage.{action.dest}") if key in self.say]
        action.help = self.say(known[0])
        return action

    def commands(self):
        """``add(name, run)`` makes the parser of a command, which is described by its name."""
        subs = self.add_subparsers(metavar="COMMAND", parser_class=Parser)
        subs.required = self.get_default("run") is None
        subs.dest = "COMMAND"

        def add(name, run):
            about = {"section": self.section, "lang": self.lang, "command": name}
            sub = subs.add_parser(name, help=self.say(f"{self.section}.{name}"), **about)
            sub.set_defaults(run=run)
            return sub

        return add

    def format_help(self):
        return super().format_help().replace("usage: ", self.say("usage.usage"), 1)

    def error(self, message):
        """One sentence: what was wanted, what was found, where the help is."""
        for key, pattern in ERRORS.items():
            match = re.fullmatch(pattern, message)
            if match:
                found = {name: text.replace("'", "") for name, text in match.groupdict().items()}
                message = self.say(f"usage.{key}", **found)
                break
        print(message, file=sys.stderr)
        print(self.say("usage.more", command=f"{self.prog} --help"), file=sys.stderr)
        sys.exit(2)


def positive(text):
    """The whole number of an option that counts something. Raises ValueError below 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
