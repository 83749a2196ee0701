"""``python -m challenges``: what a learner does around ``pytest challenges/dayNN``."""

import argparse
import os
import sys

from . import commands, words
from .files import Trouble


def main(arguments=None):
    """Returns the exit status: 0 done, 1 refused or declined, 2 not understood."""
    options = _parser().parse_args(arguments)
    say = words.speaker(options.lang)
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


def _parser():
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--lang", choices=("en", "ja"), default=argparse.SUPPRESS, help="language")
    parser = argparse.ArgumentParser(
        prog="python -m challenges", description=__doc__, parents=[shared]
    )
    parser.set_defaults(run=commands.status, lang=None)
    add = parser.add_subparsers(metavar="COMMAND").add_parser

    def command(name, run, help, *, named=True):
        sub = add(name, help=help, parents=[shared])
        sub.set_defaults(run=run)
        if named:
            sub.add_argument("name", metavar="NAME", help="a challenge, as in day49")
        return sub

    command("status", commands.status, "the week at a glance", named=False)
    start = command("start", commands.start, "make work/, or another choice of faults")
    start.add_argument("--seed", type=int, help="draw other faults of the same days")
    start.add_argument("--level", type=int, help="1 is the easiest")
    start.add_argument("--yes", action="store_true", help="do not ask")
    hint = command("hint", commands.hint, "one step up the ladder of four hints")
    hint.add_argument("letter", nargs="?", help="of which marked fault")
    give_up = command("give-up", commands.give_up, "show one fault and mark it as shown")
    give_up.add_argument("letter", nargs="?", help="of which marked fault")
    reset = command("reset", commands.reset, "start over; a backup and the ledger are kept")
    reset.add_argument("--yes", action="store_true", help="do not ask")
    command("reveal", commands.reveal, "after acceptance: every fault, and what you changed")
    command("watch", commands.watch, "judge again on every save")
    command("plot", commands.plot, "pictures of what your GPT does, beside the correct one")
    build = command("build", commands.build, "make work/ of several challenges", named=False)
    build.add_argument("names", nargs="*", metavar="NAME", help="all when none is named")
    return parser


if __name__ == "__main__":
    sys.exit(main())
