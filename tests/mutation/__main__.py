"""``python -m tests.mutation``: break the reference in every way we know; every break is seen.

From nothing: the mutants are made, judged, gated and told. Exit status 0 when the gate is open,
1 when it is shut, 2 for bad input, 3 when the run itself failed.
"""

import json
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.rules.usage import Parser, positive, take_language
from tests.rules.words import Words, language

from . import gate, matrix, mutants, report, stock
from .pool import ROOT, Pool
from .results import result

MESSAGES = Path(__file__).with_name("messages.toml")
MARKS = ("<!-- proof: begin -->", "<!-- proof: end -->")
SHOWN = 20  # problems on the screen; all of them stand in proof.json


def main(arguments=None):
    """Run the proof and return the exit status."""
    lang, arguments = take_language(arguments)
    options = _parser(lang).parse_args(arguments)
    say = Words(language(lang), MESSAGES)
    try:
        return _prove(options, say)
    except gate.BadList as error:
        print(say("failed.list", reason=str(error)), file=sys.stderr)
        return 2
    except (RuntimeError, stock.MutmutFailed) as error:
        print(say("failed.run", reason=str(error)), file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130


def _parser(lang):
    parser = Parser("python -m tests.mutation", "mutation", lang)
    word = parser.add_argument
    word("--module", metavar="MODULE", action="append", choices=list(matrix.DAYS))
    word("--full", action="store_true")
    word("--second", action="store_true")
    word("--out", type=Path, metavar="FOLDER")
    word("--against", type=Path, metavar="FILE")
    word("--readme", action="store_true")
    word("--workers", type=positive, default=2, metavar="N")
    return parser


def _prove(options, say):
    started = time.monotonic()
    listed = gate.read(options.second)
    made = _make(options)
    with Pool(options.workers) as pool:
        broken = [rule for rule, about in pool.survey.items() if not about["holds"]]
        if broken:
            print(say("failed.reference", rules=", ".join(broken)), file=sys.stderr)
            return 3
        results = _judge(options, say, pool, made)
        faults = _faults(say, pool) if options.full else ()
    whole = not options.module
    found = gate.problems(results, listed, whole)
    table = shares = None
    if options.full:
        table, shares = (
            matrix.rows(results, pool.survey, faults),
            matrix.by_day(results, pool.survey),
        )
        if whole and not options.second:
            found += [gate.Problem(*about) for about in matrix.problems(table, shares)]
    if options.against:
        found += _against(options.against, results)
    seconds = time.monotonic() - started
    _tell(options, say, results, listed, found, seconds, table, shares)
    return 1 if found else 0


def _make(options):
    origins = ("second",) if options.second else ("stock", "added")
    made = []
    for module in options.module or matrix.DAYS:
        source = (ROOT / "reference" / f"{module}.py").read_text(encoding="utf-8")
        made += mutants.make(module, source, origins)
    return made


def _judge(options, say, pool, made):
    """Stock mutants by mutmut itself, unless every rule is asked; all others by our worker."""
    theirs = [] if options.full else [mutant for mutant in made if mutant.origin == "stock"]
    ours = [mutant for mutant in made if mutant not in set(theirs)]
    with _bar() as progress:
        results = []
        if theirs:
            task = progress.add_task(say("progress.stock"), total=len(theirs))
            results += stock.run(
                theirs, options.workers, lambda done: progress.update(task, completed=done)
            )
            results = _again(pool, results)
        task = progress.add_task(say("progress.ours"), total=len(ours))
        answers = pool.judge(ours, options.full, lambda *_: progress.advance(task))
    return results + [result(mutant, answers[mutant.id]) for mutant in ours]


def _again(pool, results):
    """mutmut's limits are in wall time: on a busy machine a time-out is no verdict. Ours are in
    processor time, so what timed out there is judged anew here."""
    late = [r.mutant for r in results if r.verdict == "timeout"]
    answers = pool.judge(late)
    return [
        result(r.mutant, answers[r.mutant.id]) if r.mutant.id in answers else r for r in results
    ]


def _faults(say, pool):
    from . import faults

    with _bar() as progress:
        task = progress.add_task(say("progress.faults"), total=len(faults.everything()))
        return faults.judge(pool, lambda *_: progress.advance(task))


def _bar():
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def _against(path, results):
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [gate.Problem("no_earlier_run", {"file": path.name, "reason": str(error)})]
    return [
        gate.Problem("verdict_changed", {"id": name, "then": then, "now": now})
        for name, then, now in report.different(results, before)
    ]


def _tell(options, say, results, listed, found, seconds, table, shares):
    """The summary, the problems, the files."""
    print(report.summary(say, results, listed, seconds))
    for problem in found[:SHOWN]:
        print(sentence(say, problem))
    if len(found) > SHOWN:
        print(say("more", count=len(found) - SHOWN))
    if options.out:
        report.save(options.out, say, results, listed, found, seconds, table, shares)
        print(say("saved", folder=options.out))
    if options.readme:
        for lang, name in (("en", "README.md"), ("ja", "README.ja.md")):
            told = report.summary(Words(lang, MESSAGES), results, listed, seconds)
            into_readme(told, ROOT / name)
    print(say("shut", count=len(found)) if found else say("open"))


def sentence(say, problem):
    """A problem in words; a mutant with its change."""
    about = dict(problem.found)
    mutant = about.pop("mutant", None)
    if mutant is not None:
        about |= {"function": f"{mutant.module}.{mutant.function}", "origin": mutant.origin}
        about |= {"removed": mutant.removed, "added": mutant.added}
    if "key" in about:
        module, function, removed, added = about.pop("key")
        about |= {"function": f"{module}.{function}", "removed": removed, "added": added}
    for name, value in about.items():
        if isinstance(value, float):
            about[name] = f"{100 * value:.1f} %"
    return say(f"problem.{problem.message}", **about)


def into_readme(text, path):
    """Put the summary between the two marks. Raises RuntimeError when the marks are missing."""
    before = path.read_text(encoding="utf-8")
    begin, end = MARKS
    if before.count(begin) != 1 or before.count(end) != 1:
        raise RuntimeError(f"{path.name}: {begin} … {end}")
    head, rest = before.split(begin)
    tail = rest.split(end)[1]
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
