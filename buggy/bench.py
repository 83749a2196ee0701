"""The bench on which faults are tried: all rules, in this process, on one package after another.

Importing this module does not import torch; making a Bench does. A rule needs to be run on a
planted package only if its code reaches a changed module: on any other its verdict is that of the
reference. What each rule reaches is seen by running it once on a package that loads its modules
on first use.
"""

import contextlib
import os
import signal
import sys
import tempfile
import threading
import warnings

from . import compiler, overlay, planting

LIMIT = 60  # seconds a rule, for endless loops; the slowest takes 0.3 on a quiet core


class NoAnswer(BaseException):
    """A rule did not end: past every handler of the judged code."""


class Bench:
    """All rules, and what each of them reaches."""

    def __init__(self):
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        import torch

        torch.set_num_threads(1)
        compiler.keep_out()
        warnings.simplefilter("ignore")
        from tests.rules.manifest import in_order, run

        self.rules, self.run = in_order(), run
        self.reaches = {}

    def try_reference(self, examples=None):
        """Verdicts of the rules that the reference breaks: none, if all is well."""
        broken = []
        for rule in self.rules:
            package = overlay.load()
            verdict = self.run(rule, package, examples=examples)
            self.reaches[rule.id] = _loaded(package)
            overlay.unload(package)
            if verdict.outcome != "holds":
                broken.append(verdict.as_dict())
        return broken

    def concerned(self, modules):
        """The rules whose code reaches one of the modules, in order."""
        if not self.reaches:
            self.try_reference(examples=1)
        return [rule for rule in self.rules if self.reaches[rule.id] & set(modules)]

    def rejections(self, edits, *, start=overlay.REFERENCE, **choices):
        """Verdicts, as dicts in order, of the rules that the reference with these edits breaks.

        The choices are those of ``folder_rejections``. Raises StaleFault as ``plant`` does.
        """
        with tempfile.TemporaryDirectory() as folder:
            modules = planting.plant(edits, folder, start)
            return self.folder_rejections(folder, modules, **choices)

    def folder_rejections(
        self, folder, modules=None, *, rules=None, seed=0, examples=None, first=False
    ):
        """The same for a folder of modules laid over the reference.

        ``rules`` are ids, by default all that are concerned; ``first`` stops at the first broken.
        """
        modules = overlay.files(folder) if modules is None else modules
        package = overlay.load(folder)
        try:
            return self._rejections(package, modules, rules, seed, examples, first)
        finally:
            overlay.unload(package)

    def one_by_one(self, edits, modules, examples=None):
        """A verdict for each rule that reaches the modules, as it is asked for."""
        with tempfile.TemporaryDirectory() as folder:
            planting.plant(edits, folder)
            package = overlay.load(folder)
            try:
                for rule in self.concerned(modules):
                    yield self._judge(rule, package, 0, examples)
            finally:
                overlay.unload(package)

    def on_seeds(self, edits, rule, seeds):
        """[(seed, verdict)] of the seeds on which one rule rejects the reference with these edits.

        Every seed gets a fresh package: nothing that one experiment left in it can help the next.
        """
        found = []
        with tempfile.TemporaryDirectory() as folder:
            modules = planting.plant(edits, folder)
            for seed in seeds:
                broken = self.folder_rejections(folder, modules, rules=[rule], seed=seed)
                found += [(seed, verdict) for verdict in broken]
        return found

    def _rejections(self, package, modules, rules, seed, examples, first):
        broken = []
        for rule in self.concerned(modules):
            if rules is not None and rule.id not in rules:
                continue
            verdict = self._judge(rule, package, seed, examples)
            if verdict["outcome"] != "holds":
                broken.append(verdict)
                if first:
                    break
        return broken

    def _judge(self, rule, package, seed, examples):
        try:
            with _limit(LIMIT):
                return self.run(rule, package, seed=seed, examples=examples).as_dict()
        except NoAnswer:
            blank = {"rule": rule.id, "day": rule.day, "outcome": "cannot_be_judged"}
            return blank | {"observed": "time_limit", "numbers": {"seconds": LIMIT}}


def crashed(verdict):
    """Whether the judged code failed by an exception instead of by a claim."""
    return verdict["outcome"] != "broken" or verdict["observed"] == "raised_at"


def _loaded(package):
    """The modules of the package that have been imported."""
    prefix = f"{package._name}."
    return {name.removeprefix(prefix) for name in sys.modules if name.startswith(prefix)}


@contextlib.contextmanager
def _limit(seconds):
    """Raise NoAnswer after so many seconds, where the system has alarms."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_):
        raise NoAnswer

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
