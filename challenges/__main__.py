"""``python -m challenges``: what a learner does around ``pytest challenges/dayNN``."""

import os
import sys

from tests.rules.usage import Parser, take_language

from . import commands, words
from .files import Trouble


def main(arguments=None):
    """Returns the exit status: 0 done, 1 refused or declined, 2 not understood."""
    lang, arguments = take_language(arguments)
    options = _parser(lang).parse_args(arguments)
    say = words.speaker(lang)
    try:
        return options.run(say, options) or 0
    except Trouble as trouble:
        commands.tell_trouble(say, trouble)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, head say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser(lang):
    parser = Parser("python -m challenges", "challenges", lang)
    parser.set_defaults(run=commands.status)
    add = parser.commands()
    add("status", commands.status)
    start = _of_one(add("start", commands.start))
    start.add_argument("--seed", type=int, metavar="N")
    start.add_argument("--level", type=int, metavar="N")
    start.add_argument("--yes", action="store_true")
    for name, run in (("hint", commands.hint), ("give-up", commands.give_up)):
        _of_one(add(name, run)).add_argument("letter", metavar="LETTER", nargs="?")
    _of_one(add("reset", commands.reset)).add_argument("--yes", action="store_true")
    for name in ("reveal", "watch", "plot"):
        _of_one(add(name, getattr(commands, name)))
    add("build", commands.build).add_argument("names", nargs="*", metavar="NAME")
    return parser


def _of_one(command):
    command.add_argument("name", metavar="NAME")
    return command


if __name__ == "__main__":
    sys.exit(main())
