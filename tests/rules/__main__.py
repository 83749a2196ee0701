"""``python -m tests.rules [FOLDER]``: judge a folder of changed modules laid over the reference."""

import json
import os
import sys

from . import tell
from .judge import LIMIT, judge
from .usage import Parser, positive, take_language

COLOURS = {"holds": "32", "broken": "31;1", "cannot_be_judged": "33", "error": "35"}


def main(arguments=None):
    """Returns the exit status: 0 all hold, 1 broken, 2 cannot be judged, 3 our fault."""
    lang, arguments = take_language(arguments)
    options = _parser(lang).parse_args(arguments)
    say = tell.words(lang)
    try:
        judgement = judge(
            options.folder,
            rules=options.rule,
            day=options.day,
            examples=options.examples,
            seed=options.seed,
            limit=options.limit,
            shrink=options.shrink,
            on_verdict=None if options.json else _progress(say),
        )
    except ValueError as error:
        print(say("cli.unknown", found=str(error)), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if options.json:
        _print_json(say, judgement)
    else:
        _print_table(say, judgement)
    return judgement.status


def _parser(lang):
    parser = Parser("python -m tests.rules", "rules", lang)
    parser.add_argument("folder", nargs="?", metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rule", action="append", metavar="ID")
    parser.add_argument("--day", metavar="N")
    parser.add_argument("--examples", type=positive, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S")
    parser.add_argument("--shrink", action="store_true")
    return parser


def _progress(say):
    """A line that counts, on a terminal only."""
    if not sys.stderr.isatty():
        return None

    def show(verdict, done, total):
        end = "" if done < total else "\r\033[K"
        print(f"\r{say('cli.progress', done=done, total=total)}", end=end, file=sys.stderr)
        sys.stderr.flush()

    return show


def _print_json(say, judgement):
    for verdict in judgement.verdicts:
        print(json.dumps(tell.as_dict(say, verdict), ensure_ascii=False))
    if judgement.refused:
        reason = {"outcome": "cannot_be_judged", "observed": tell.refusal(say, judgement.refused)}
        print(json.dumps({"rule": None, "day": None} | reason, ensure_ascii=False))


def _print_table(say, judgement):
    if judgement.refused:
        print(tell.refusal(say, judgement.refused))
        return
    for verdict in judgement.verdicts:
        print(f"{verdict['day']!s:>3}  {verdict['rule']:<52}{_outcome(say, verdict)}")
    if judgement.first is not None:
        print()
        print_broken(say, judgement.first)
    print()
    held = sum(verdict["outcome"] == "holds" for verdict in judgement.verdicts)
    print(say("cli.summary", held=held, total=len(judgement.verdicts)))


def print_broken(say, verdict):
    """The first rule that does not hold, in at most six lines."""
    print(tell.law(say, verdict["rule"]))
    for label, sentence in (
        ("tried", tell.tried(say, verdict)),
        ("observed", tell.observed(say, verdict)),
        ("allowed", tell.allowed(say, verdict)),
    ):
        if sentence:
            print(f"  {say(f'cli.{label}')}  {sentence}")
    if verdict["outcome"] == "error":
        print(verdict["trace"], file=sys.stderr)


def _outcome(say, verdict):
    text = say(f"cli.{verdict['outcome']}")
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\033[{COLOURS[verdict['outcome']]}m{text}\033[0m"
    return text


if __name__ == "__main__":
    sys.exit(main())
