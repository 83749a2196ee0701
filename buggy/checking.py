"""Does a fault prove itself? One step after another, until one fails.

The steps, in order: the file, the anchors, the size of the change, the words, the import, the
rejection, the rule that comes first, a claim instead of a crash, twenty seeds, other faults like
it, the symptoms, and a challenge that holds it.
"""

import contextlib
import tempfile
import time
from dataclasses import dataclass, field

from . import faults, hints, overlay, places, planting
from .bench import Bench, crashed

SEEDS = 20
STATEMENTS = 6  # a fault is a slip, not a rewrite


class Failed(Exception):
    """A step that failed: the verdict, a message id and what it speaks of."""

    def __init__(self, verdict, message, **numbers):
        self.verdict, self.message, self.numbers = verdict, message, numbers
        super().__init__(f"{verdict}: {message} {numbers}")


@dataclass
class Report:
    """What came of one fault: a verdict, the steps that it passed, the one that it did not."""

    id: str
    verdict: str = "ACCEPTED"
    steps: list = field(default_factory=list)  # (step, numbers)
    failure: tuple | None = None  # (message id, numbers)
    rejections: list = field(default_factory=list)
    marks: tuple = ()  # what the named rule saw, seed by seed
    seconds: float = 0.0


class Checker:
    """Checks faults one after another; the rules are loaded once.

    ``thorough`` also runs every rejecting rule alone. ``measure`` measures symptoms: a function of
    a package, or None to leave that step out.
    """

    def __init__(self, thorough=True, measure=None, seeds=SEEDS):
        self.bench, self.thorough, self.measure = Bench(), thorough, measure
        self.seeds = range(seeds)

    def reference(self):
        """Verdicts of the rules that the reference itself breaks."""
        return self.bench.try_reference()

    def check(self, id):
        """The Report of one fault."""
        report, start = Report(id), time.perf_counter()
        try:
            self._check(report)
        except Failed as failure:
            report.verdict = failure.verdict
            report.failure = (failure.message, failure.numbers)
        report.seconds = time.perf_counter() - start
        return report

    def _check(self, report):
        def passed(step, **numbers):
            report.steps.append((step, numbers))

        fault = _read(report.id)
        passed("file")
        passed("anchors", count=len(fault.edits), statements=_fits(fault))
        hints.check(fault, Failed)
        passed("hints", count=len(fault.hints()))
        _imports(fault)
        passed("imports")
        first = self._rejected(fault, report)
        passed("rejected", rule=first["rule"])
        _by_its_rule(fault, first)
        passed("rule", day=fault.day)
        self._on_every_seed(fault, report)
        passed("seeds", count=len(self.seeds))
        if self.thorough:
            passed("alone", count=self._alone(fault, report))
        if self.measure is not None:
            self._shows(fault)
            passed("symptoms", words=", ".join(fault.symptoms))
        _heals(fault)
        passed("challenge")

    def _rejected(self, fault, report):
        broken = self.bench.rejections(fault.edits, first=not self.thorough)
        report.rejections = [verdict["rule"] for verdict in broken]
        if fault.equivalent is not None:
            if broken:
                raise Failed("INVALID", "not_equivalent", rule=broken[0]["rule"])
            raise Failed("EQUIVALENT", "equivalent", reason=fault.equivalent)
        if not broken:
            raise Failed("SURVIVED", "survived")
        return broken[0]

    def _on_every_seed(self, fault, report):
        broken = self.bench.on_seeds(fault.edits, fault.rule, self.seeds)
        marks = report.marks = tuple((seed, mark(verdict)) for seed, verdict in broken)
        if len(marks) < len(self.seeds):
            numbers = {"k": len(marks), "count": len(self.seeds), "rule": fault.rule}
            raise Failed(f"FLAKY {len(marks)}/{len(self.seeds)}", "flaky", **numbers)

    def _alone(self, fault, report):
        for rule in report.rejections:
            if not self.bench.rejections(fault.edits, rules=[rule]):
                raise Failed(f"FLAKY 0/{len(self.seeds)}", "not_alone", rule=rule)
        return len(report.rejections)

    def seen(self, id):
        """A Report with nothing but the marks of one fault, for ``twins``."""
        report, fault = Report(id), _read(id)
        self._on_every_seed(fault, report)
        return report

    def differ(self, one, other, examples=None):
        """Whether any rule sees a difference between two faults."""
        edits = [faults.load(id).edits for id in (one, other)]
        modules = {edit.module for each in edits for edit in each}
        with contextlib.ExitStack() as stack:
            runs = [
                stack.enter_context(contextlib.closing(self.bench.one_by_one(e, modules, examples)))
                for e in edits
            ]
            return any(_seen(first) != _seen(second) for first, second in zip(*runs))

    def _shows(self, fault):
        with tempfile.TemporaryDirectory() as folder:
            planting.plant(fault.edits, folder)
            package = overlay.load(folder)
            shown = self.measure(package)
            overlay.unload(package)
        missing = [word for word in fault.symptoms if word not in shown]
        extra = [word for word in shown if word not in fault.symptoms]
        if missing or extra:
            measured = ", ".join(shown)
            declared = ", ".join(fault.symptoms)
            raise Failed("WRONG_SYMPTOMS", "symptoms", measured=measured, declared=declared)


def _read(id):
    try:
        return faults.load(id)
    except faults.BadFault as error:
        raise Failed("INVALID", f"bad_fault.{error.message}", **error.found) from None


def _fits(fault):
    """How many statements the edits change. Raises Failed when they do not fit or are too large."""
    try:
        sources = planting.plant(fault.edits)
    except planting.StaleFault as error:
        raise Failed("STALE", f"stale.{error.message}", **error.found) from None
    count = 0
    for module, source in sources.items():
        before = (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")
        count += places.changed_statements(before, source)
    if count > STATEMENTS:
        raise Failed("INVALID", "too_large", count=count, most=STATEMENTS)
    return count


def _imports(fault):
    with tempfile.TemporaryDirectory() as folder:
        modules = planting.plant(fault.edits, folder)
        try:
            overlay.check(folder)
            package = overlay.load(folder)
            for module in modules:
                getattr(package, module)
        except overlay.Refused as error:
            raise Failed("CRASHES", "import", found=str(error)) from None
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise Failed("CRASHES", "import", found=found) from None
    overlay.unload(package)


def _by_its_rule(fault, first):
    rule, day = first["rule"], first["day"]
    if crashed(first) and not fault.crashes:
        found = first.get("numbers", {}).get("found", first["observed"])
        raise Failed("CRASHES", "crashes", rule=rule, found=found)
    if rule != fault.rule:
        raise Failed("WRONG_RULE", "wrong_rule", rule=rule, declared=fault.rule)
    if day != fault.day:
        raise Failed("WRONG_RULE", "wrong_day", rule=rule, day=day, declared=fault.day)


def mark(verdict):
    """What a rule saw, with numbers rounded: equal for two packages that it cannot tell apart."""
    numbers = verdict.get("numbers", {})
    return verdict["observed"], tuple((name, _rounded(numbers[name])) for name in sorted(numbers))


def _seen(verdict):
    return verdict["outcome"], None if verdict["outcome"] == "holds" else mark(verdict)


def _rounded(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _heals(fault):
    """The planted text, put right where it stands, is the reference again.

    Text that was deleted or that stands twice has no place of its own: there the learner is on
    their own, and a challenge writes the file anew.
    """
    sources = planting.plant(fault.edits)
    for edit in reversed(fault.edits):
        if not edit.planted.strip() or sources[edit.module].count(edit.planted) != 1:
            return
        sources[edit.module] = sources[edit.module].replace(edit.planted, edit.correct)
    for module, healed in sources.items():
        if healed != (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8"):
            raise Failed("INVALID", "unhealed", module=module)


def twins(reports):
    """Pairs of ids that their rule cannot tell apart: same place, same symptoms, same marks.

    Another rule still may: ``Checker.differ`` decides.
    """
    seen, found = {}, []
    for report in reports:
        if report.marks:
            fault = faults.load(report.id)
            key = (places.places(fault.edits), fault.rule, set_of(fault.symptoms), report.marks)
            found += [(other, report.id) for other in seen.setdefault(key, [])]
            seen[key].append(report.id)
    return found


def set_of(words):
    """Symptoms in whatever order."""
    return tuple(sorted(words))
