"""``python -m buggy``: the catalogue of faults. list | show | measure | check | new | matrix"""

import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: its threads do not survive a fork

from tests.rules.usage import Parser, positive, take_language

from . import faults, overlay, planting, telling


def main(arguments=None):
    """Exit status: 0 done, 1 a fault does not prove itself, 2 bad input, 3 our fault."""
    lang, arguments = take_language(arguments)
    options = _parser(lang).parse_args(arguments)
    say = telling.speaker(lang)
    try:
        return options.run(say, options) or 0
    except telling.Trouble as trouble:
        message, found = trouble.message, trouble.found
    except faults.BadFault as trouble:
        message, found = _bad_fault(trouble)
    except planting.StaleFault as trouble:
        message, found = f"stale.{trouble.message}", trouble.found
    except overlay.Refused as trouble:
        message, found = f"refused.{trouble.message}", trouble.found
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(say(message, **found), file=sys.stderr)
    return 2


def _bad_fault(trouble):
    if trouble.message != "unknown":
        return f"bad_fault.{trouble.message}", trouble.found
    near = trouble.found["near"]
    return ("error.unknown" if near else "error.unknown_alone"), trouble.found


def _list(say, options):
    from . import showing

    found = showing.chosen(options.day, options.symptom, options.difficulty, options.real)
    if options.json:
        print(showing.as_json([showing.as_dict(fault, say.lang) for fault in found]))
        return
    console = telling.console()
    for line in showing.table(say, found, console.width):
        console.print(line, soft_wrap=True)
    real = sum(bool(fault.sources) for fault in found)
    console.print("\n" + say("list.count", count=len(found), real=real))


def _show(say, options):
    from . import showing

    fault = faults.load(options.id)
    if options.json:
        print(showing.as_json(showing.as_dict(fault, say.lang)))
        return
    console = telling.console()
    columns = console.width if sys.stdout.isatty() else None
    for line in showing.story(say, fault, options.hints, columns):
        console.print(line, soft_wrap=True)
    if options.plot is not None:
        for line in _pictures(say, fault, options.plot):
            console.print(line, markup=False, soft_wrap=True)


def _pictures(say, fault, folder):
    """Sketches for the terminal; with a folder, PNG files there."""
    from . import measuring, plots

    with measuring.folder_of(fault.id) as planted, measuring.quiet():
        package = overlay.load(planted)
        if not folder:
            return list(plots.sketches(package, lang=say.lang).values())
        try:
            paths, told = plots.draw(package, folder, lang=say.lang)
        except plots.NoPicture:
            raise telling.Trouble("error.no_matplotlib") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise telling.Trouble("error.unwritable", path=folder, reason=reason) from None
    return [*(say("matrix.written", path=path) for path in paths), *told]


def _measure(say, options):
    from . import measuring

    if options.many:
        found = {what: measuring.measured(what, options.seed) for what in options.what}
    else:
        found = measuring.measured(options.what[0], options.seed)
    if options.json:
        shown = {k: measuring.as_json(m) for k, m in found.items()} if options.many else None
        print(json.dumps(shown or measuring.as_json(found), ensure_ascii=False))
        return
    console = telling.console()
    for what, measurements in (found if options.many else {options.what[0]: found}).items():
        console.print(f"[bold]{what}[/]")
        for line in measuring.table(say, measurements, console.width):
            console.print(line, soft_wrap=True)
        for line in measuring.rejected_by(say, what):
            console.print(line)


def _check(say, options):
    from . import check_command

    return check_command.run(say, options)


def _new(say, options):
    from . import creating

    return creating.run(say, options)


def _matrix(say, options):
    from . import matrix_command

    return matrix_command.run(say, options)


def _parser(lang):
    parser = Parser("python -m buggy", "buggy", lang)
    command = parser.commands()
    days = [str(day) for day in faults.DAYS]

    sub = command("list", _list)
    sub.add_argument("--day", metavar="DAY", choices=days)
    sub.add_argument("--symptom", metavar="WORD")
    sub.add_argument("--difficulty", type=int, choices=(1, 2, 3))
    sub.add_argument("--real", action="store_true")
    sub.add_argument("--json", action="store_true")

    sub = command("show", _show)
    sub.add_argument("id", metavar="ID")
    sub.add_argument("--hints", action="store_true")
    sub.add_argument("--plot", metavar="DIR", nargs="?", const="")
    sub.add_argument("--json", action="store_true")

    sub = command("measure", _measure)
    sub.add_argument("what", nargs="+", metavar="ID|FOLDER")
    sub.add_argument("--many", action="store_true")
    sub.add_argument("--seed", type=int, default=0, metavar="N")
    sub.add_argument("--json", action="store_true")

    sub = command("check", _check)
    sub.add_argument("id", nargs="?", metavar="ID")
    sub.add_argument("--all", action="store_true")
    sub.add_argument("--day", metavar="DAY", choices=days)
    sub.add_argument("--workers", type=positive, metavar="N")
    sub.add_argument("--json", action="store_true")

    sub = command("new", _new)
    sub.add_argument("--id", metavar="ID")
    sub.add_argument("--module", metavar="MODULE", choices=overlay.JUDGED)
    for name in ("--correct", "--planted", "--title", "--title-ja"):
        sub.add_argument(name, metavar="TEXT")
    sub.add_argument("--source", metavar="URL", action="append")
    sub.add_argument("--difficulty", type=int, choices=(1, 2, 3), default=2)
    sub.add_argument("--from-diff", action="store_true")

    sub = command("matrix", _matrix)
    sub.add_argument("--out", metavar="DIR")
    sub.add_argument("--pairs", action="store_true")
    sub.add_argument("--day", metavar="DAY", choices=days)
    sub.add_argument("--examples", type=positive, metavar="N")
    sub.add_argument("--workers", type=positive, metavar="N")
    sub.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
