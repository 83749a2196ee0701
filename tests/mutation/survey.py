"""What each rule reaches in the reference: a mutant elsewhere cannot change its verdict."""

import importlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from buggy.overlay import JUDGED


def package():
    """``reference`` with its modules, imported now, whatever was imported before."""
    for name in [name for name in sys.modules if name.split(".")[0] == "reference"]:
        del sys.modules[name]
    modules = {name: importlib.import_module(f"reference.{name}") for name in JUDGED}
    return SimpleNamespace(__name__="reference", **modules)


def survey():
    """Rule id to its day, its entry, its verdict, its processor seconds and the lines it runs."""
    from tests.rules.manifest import in_order

    gpt = package()
    return {rule.id: _survey(rule, gpt) for rule in in_order()}


def _survey(rule, gpt):
    from tests.rules import engine

    engine.run(rule, gpt)  # imports and caches, paid once
    started = time.process_time()
    verdict = engine.run(rule, gpt)
    seconds = time.process_time() - started
    return {
        "day": rule.day,
        "entry": rule.entry,
        "holds": verdict.outcome == engine.HOLDS,
        "seconds": seconds,
        "lines": reach(lambda: engine.run(rule, gpt), Path("reference").resolve()),
    }


def reach(call, folder):
    """The lines of the folder's modules that a call runs, by module."""
    lines = {}

    def enter(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if file.parent != folder:
            return None
        reached = lines.setdefault(file.stem, set())
        reached.add(frame.f_lineno)

        def step(frame, event, argument):
            reached.add(frame.f_lineno)
            return step

        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return {module: sorted(reached) for module, reached in lines.items()}


def reaching(mutant, found):
    """The rules that run what the mutant changed: its module's own first, the cheap ones first."""
    rules = [
        rule
        for rule, about in found.items()
        if mutant.lines is None or set(mutant.lines) & set(about["lines"].get(mutant.module, ()))
    ]

    def cost(rule):
        own = found[rule]["entry"].startswith(f"{mutant.module}.")
        return not own, found[rule]["seconds"]

    return sorted(rules, key=cost)
