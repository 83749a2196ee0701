"""A process that judges mutants: torch and the rules imported once, one fork a mutant.

It runs in a copy of the project and never imports ``reference`` itself: each child writes its
mutant over ``reference/<module>.py``, imports the package anew and dies with it. Standard input:
one JSON request a line; standard output: one JSON answer a line.
"""

import gc
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from buggy import compiler

MEMORY = 12 * 2**30  # bytes of address space: torch maps 3; a mutated size must not take the rest
PATIENCE = 20  # a rule may take so many times what it takes on the reference, and
GRACE = 5.0  # so many seconds more: a lazy import, the first call of autograd
LOOPS = 2  # rules that may run out of time before the others are not asked any more
WALL = 600.0  # seconds of a child that does not even use the processor


class OutOfTime(BaseException):
    """A rule has used up its processor time: an endless loop."""


def main():
    """Serve requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.dont_write_bytecode = True
    _warm()
    for line in sys.stdin:
        out.write(json.dumps(answer(json.loads(line))) + "\n")
        out.flush()


def answer(request):
    """What came of one request, made in a child of its own."""
    sources = request.get("sources", {})
    paths = {Path("reference") / f"{module}.py": text for module, text in sources.items()}
    before = {path: path.read_text(encoding="utf-8") for path in paths}
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    try:
        return _in_a_child(request)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def _in_a_child(request):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _child(request, write)
    os.close(write)
    text, late = _listen(read, pid)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    if text:
        return json.loads(text)
    kind, what = ("timeout", "wall time") if late else ("died", f"exit status {status}")
    return {"killers": [["process", kind, what]], "seconds": 0.0}


def _listen(read, pid):
    """What the child wrote, "" if it died or was stopped; and whether it was stopped."""
    pieces, end = [], time.monotonic() + WALL
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return "", True
        piece = os.read(read, 1 << 16)
        if not piece:
            return b"".join(pieces).decode(), False
        pieces.append(piece)


def _child(request, write):
    """Answer in this process, which then ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        started = time.process_time()
        if request["do"] == "survey":
            from .survey import survey

            found = survey()
        else:
            killers = judge(request["rules"], request["stop"], request["tests"])
            found = {"killers": killers, "seconds": time.process_time() - started}
        with os.fdopen(write, "w", encoding="utf-8") as pipe:
            json.dump(found, pipe)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def judge(limits, stop, tests=()):
    """[rule, kind, what] of every rule that rejects the package; with ``stop`` the first only.

    An endless loop that two rules have met is not waited for a hundred times.

    ``limits``: rule id to its processor seconds on the reference. ``tests`` are run when no rule
    rejects it.
    """
    from tests.rules.manifest import RULES

    from .kinds import CRASH, TIMEOUT, describe
    from .survey import package

    try:
        gpt = package()
    except BaseException as error:
        return [["import", CRASH, describe(error)]]
    killers = []
    for rule, seconds in limits.items():
        rejection = _attempt(RULES[rule], gpt, seconds)
        if rejection:
            killers.append([rule, *rejection])
            if stop or [kind for _, kind, _ in killers].count(TIMEOUT) == LOOPS:
                break
    return killers or _tests(tests)


def _attempt(rule, gpt, seconds):
    """(kind, what) when the rule rejects the package, else None."""
    from tests.rules import engine

    from .kinds import TIMEOUT, cause, describe, kind

    signal.signal(signal.SIGPROF, _expire)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE * seconds + GRACE)
    try:
        engine.experiment(rule, gpt)()
    except BaseException as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if isinstance(cause(error), OutOfTime):
            return TIMEOUT, "processor time"
        return kind(error), describe(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def _expire(*_):
    raise OutOfTime


def _tests(files):
    """The tests of what rules do not reach: [test, kind, what] of the first that fails."""
    import pytest

    from .kinds import describe, kind

    failed = []

    class Recorder:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = yield
            if report.failed:
                error = call.excinfo.value
                failed.append([item.nodeid, kind(error), describe(error)])
            return report

    if files:
        options = [
            "-x",
            "-q",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            "-m",
            "not rule and not slow",
        ]
        pytest.main([*options, *files], plugins=[Recorder()])
    return failed[:1]


def _warm():
    """Import and try what every child would else pay for, then keep it out of the collector."""
    import torch
    from hypothesis import given, settings
    from hypothesis import strategies as st

    torch.set_num_threads(1)
    compiler.keep_out()
    from tests.rules import manifest  # noqa: F401

    from . import kinds  # noqa: F401

    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    torch.nn.functional.gelu(layer(torch.ones(1, 2))).sum().backward()
    optimizer.step()

    @settings(max_examples=2, database=None)
    @given(st.integers(), st.sampled_from([1, 2]), st.floats(0, 1))
    def once(number, choice, share):
        assert choice

    once()
    warnings.simplefilter("ignore")
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
