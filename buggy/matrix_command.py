"""``matrix``: work everything out with a progress bar, print the account, write the files."""

import functools
import json
import sys
import tempfile
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from reference.fonts import japanese_font

from . import faults, matrix, overlay, planting, showing, telling, vocabulary
from .bench import Bench
from .pool import spread


def run(say, options):
    """Exit status 1 when a pair of faults is accepted by all rules."""
    found = showing.chosen(options.day)
    bench = Bench()
    bench.try_reference(examples=1)
    if options.pairs:
        return _pairs(say, options, bench, found)
    message = say("matrix.working", count=len(found), rules=len(bench.rules))
    work = functools.partial(_one, bench, options.examples)
    rows = dict(_with_bar(message, work, [fault.id for fault in found], options))
    by_rules = matrix.Matrix(
        found,
        [(rule.id, rule.day) for rule in bench.rules],
        {id: set(rejections) for id, (rejections, _) in rows.items()},
        {id: rejections[0] if rejections else None for id, (rejections, _) in rows.items()},
    )
    words = [(word, "") for word in vocabulary.words()]
    cells = {id: set(shown) for id, (_, shown) in rows.items()}
    by_symptoms = matrix.Matrix(found, words, cells, {})
    if options.json:
        print(json.dumps({id: {"rules": r, "symptoms": s} for id, (r, s) in rows.items()}))
    else:
        _print(say, by_rules, by_symptoms)
    if options.out:
        _write(say, Path(options.out), {"rules": by_rules, "symptoms": by_symptoms}, options)
    return 0


def _one(bench, examples, id):
    """(id, (the rules that reject it, in order, and the symptoms that it shows))."""
    from . import check_command

    fault = faults.load(id)
    with tempfile.TemporaryDirectory() as folder:
        modules = planting.plant(fault.edits, folder)
        broken = bench.folder_rejections(folder, modules, examples=examples)
        package = overlay.load(folder)
        shown = check_command.shown(package)
        overlay.unload(package)
    return id, ([verdict["rule"] for verdict in broken], shown)


def _with_bar(message, work, items, options):
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=telling.console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(message, total=len(items))
        for result in spread(work, items, options.workers):
            bar.advance(task)
            yield result


def _print(say, by_rules, by_symptoms):
    console = telling.console()
    console.print(_account(say, by_rules))
    console.print()
    console.print(_symptom_account(say, by_symptoms))
    count, own = len(by_rules.faults), by_rules.own_day()
    silent = len(by_symptoms.hits(vocabulary.NOTHING))
    console.print("\n" + say("matrix.own", own=own, count=count, share=own / count))
    console.print(say("matrix.silent", silent=silent, count=count, share=silent / count))


def _account(say, by_rules):
    """One line a rule: how many faults it rejects, first, alone."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("list.day", "matrix.rule"):
        table.add_column(say(name), no_wrap=True)
    for name in ("rejects", "first", "alone"):
        table.add_column(say(f"matrix.{name}"), justify="right")
    for name, day in by_rules.columns:
        counts = (by_rules.hits(name), by_rules.leads(name), by_rules.alone(name))
        table.add_row(str(day), name, *(str(len(c)) if c else "-" for c in counts))
    return table


def _symptom_account(say, by_symptoms):
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(say("list.symptoms"), no_wrap=True)
    table.add_column(say("matrix.fault"), justify="right")
    for word, _ in by_symptoms.columns:
        table.add_row(word, str(len(by_symptoms.hits(word))))
    return table


def _write(say, folder, matrices, options):
    """Each matrix as CSV, Markdown, HTML and, with matplotlib, PNG."""
    font = japanese_font() if say.lang == "ja" else None
    lang = say.lang if font or say.lang == "en" else "en"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, each in matrices.items():
            drawn = telling.speaker(lang)
            title = drawn(f"matrix.faults_by_{name}")
            texts = {
                "csv": matrix.as_csv(each),
                "md": f"# {title}\n\n{matrix.as_markdown(each, say)}",
                "html": matrix.as_html(title, each, say.lang),
            }
            for kind, text in texts.items():
                path = folder / f"faults_by_{name}.{kind}"
                path.write_text(text, encoding="utf-8")
                _tell(say, path)
            path = folder / f"faults_by_{name}.png"
            matrix.as_picture(title, each, path, drawn, font)
            _tell(say, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise telling.Trouble("error.unwritable", path=str(folder), reason=reason) from None
    except ImportError:
        print(say("error.no_matplotlib"), file=sys.stderr)


def _tell(say, path):
    print(say("matrix.written", path=path), file=sys.stderr)


def _pairs(say, options, bench, found):
    """All pairs of compatible faults: is any accepted, and which are seen by another rule only?"""
    ids = [(one.id, other.id) for one, other in matrix.pairs(found)]
    message = say("matrix.pairs_working", count=len(ids))
    work = functools.partial(_pair, bench, options.examples)
    rules = {fault.id: fault.rule for fault in found}
    accepted, masked = [], []
    for (one, other), rule in _with_bar(message, work, ids, options):
        if rule is None:
            accepted.append((one, other))
        elif rule not in (rules[one], rules[other]):
            masked.append((one, other, rule))
    counts = {"count": len(ids), "rejected": len(ids) - len(accepted)}
    counts |= {"accepted": len(accepted), "masked": len(masked)}
    if options.json:
        print(json.dumps(counts | {"accepted": accepted, "masked": masked}))
        return 1 if accepted else 0
    for one, other in accepted:
        print(say("matrix.accepted_pair", one=one, other=other))
    for one, other, rule in masked:
        print(f"{one} + {other}: {rule}")
    print(say("matrix.pairs", **counts))
    return 1 if accepted else 0


def _pair(bench, examples, ids):
    return ids, matrix.rejecting_pair(bench, ids, examples)
