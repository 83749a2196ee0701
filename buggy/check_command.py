"""``check``: one fault step by step, or all of them, one line each."""

import collections
import functools
import json
import sys
import time

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from . import faults, telling, vocabulary
from .checking import Checker, Failed, twins
from .pool import spread

STYLES = {"ACCEPTED": "green", "EQUIVALENT": "cyan"}


def run(say, options):
    """Exit status: 0 all accepted or equivalent, 1 not, 3 the reference itself is broken."""
    if bool(options.id) == options.all:
        raise telling.Trouble("error.one_or_all")
    start = time.perf_counter()
    if options.all:
        ids = [f for f in faults.ids() if options.day is None or _day(f) == options.day]
    else:
        ids = [options.id]
        if options.id not in faults.ids():
            faults.load(options.id)  # raises, and names the nearest
    checker = Checker(thorough=not options.all, measure=shown)
    console = telling.console()
    broken = checker.reference()
    if broken:
        print(say("check.reference", rule=broken[0]["rule"]), file=sys.stderr)
        return 3
    if not options.json:
        console.print(f"[green]ok[/]  {say('check.ready', count=len(checker.bench.rules))}")
    reports = list(_reports(checker, ids, options, functools.partial(_line, say, console, options)))
    for report in _duplicates(checker, reports, options):
        _line(say, console, options, report)
    if options.json:
        print(json.dumps([as_dict(say, report) for report in reports], ensure_ascii=False))
    elif options.all:
        _summary(say, console, reports, time.perf_counter() - start)
    accepted = all(report.verdict in STYLES for report in reports)
    return 0 if accepted else 1


def shown(package):
    """The words that a package shows."""
    from . import measuring, symptoms

    with measuring.quiet():
        measurements = symptoms.measure(package)
    return [word for word in vocabulary.words() if measurements[word].shown]


def _day(id):
    try:
        return str(faults.load(id).day)
    except faults.BadFault:
        return None  # told when it is checked


def _reports(checker, ids, options, show):
    workers = options.workers if options.all else 1
    bar = Progress(
        TextColumn("check"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=telling.console(stderr=True),
        transient=True,
        disable=not (options.all and sys.stderr.isatty()),
    )
    with bar:
        task = bar.add_task("check", total=len(ids))
        for report in spread(checker.check, ids, workers):
            bar.advance(task)
            show(report)
            yield report


def _duplicates(checker, reports, options):
    """Reports whose fault nothing tells from another; their verdict is changed."""
    others = list(reports)
    if not options.all:
        others += [r for id in _neighbours(reports[0]) if (r := _seeds(checker, id))]
    changed = []
    for one, other in twins(others):
        report = next((r for r in reports if r.id in (one, other)), None)
        if report and report.verdict == "ACCEPTED" and not checker.differ(one, other):
            report.verdict = "DUPLICATE"
            report.failure = ("duplicate", {"other": other if report.id == one else one})
            changed.append(report)
    return changed


def _neighbours(report):
    """Faults that could be the same as a checked one: same rule, same symptoms."""
    if not report.marks:
        return []
    fault = faults.load(report.id)
    return [
        other.id
        for other in faults.load_all()
        if other.id != fault.id and (other.rule, other.symptoms) == (fault.rule, fault.symptoms)
    ]


def _seeds(checker, id):
    try:
        return checker.seen(id)
    except Failed:
        return None


def as_dict(say, report):
    """A report for ``--json``."""
    return {
        "id": report.id,
        "verdict": report.verdict,
        "steps": [step for step, _ in report.steps],
        "failed": reason(say, report),
        "rejected_by": report.rejections,
        "seconds": round(report.seconds, 3),
    }


def reason(say, report):
    """Why the report is not ACCEPTED, with the next action, or ""."""
    if report.failure is None:
        return ""
    message, numbers = report.failure
    section = "" if message.startswith(("bad_fault.", "stale.")) else "failed."
    return say(section + message, **numbers)


def _line(say, console, options, report):
    if options.json:
        return
    if options.all and report.verdict not in STYLES:
        console.print(f"{_verdict(report)}  {report.id}\n    {escape(reason(say, report))}")
    elif options.all:
        console.print(f"{_verdict(report)}  {report.id}  [dim]{report.seconds:.1f} s[/]")
    elif report.verdict == "DUPLICATE":
        console.print(f"{_verdict(report)}  {escape(reason(say, report))}")
    else:
        for step, numbers in report.steps:
            console.print(f"[green]ok[/]  {escape(say(f'step.{step}', **numbers))}")
        console.print(f"{_verdict(report)}  {report.id}  {escape(reason(say, report))}".rstrip())


def _verdict(report):
    style = STYLES.get(report.verdict, "bold red")
    return f"[{style}]{report.verdict:<10}[/]"


def _summary(say, console, reports, seconds):
    verdicts = collections.Counter(report.verdict for report in reports)
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    console.print("\n" + say("check.summary", count=len(reports), seconds=seconds, verdicts=told))
    judged = [r for r in reports if r.verdict != "EQUIVALENT"]
    own = sum(r.verdict not in ("WRONG_RULE", "SURVIVED") for r in judged)
    console.print(say("check.own_day", share=own / max(1, len(judged))))
