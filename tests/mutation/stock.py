"""``mutmut run`` in a copy of the project, and what it found, with the rule that killed."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .pool import copy_project, environment
from .recording import KILLS
from .results import Result


class MutmutFailed(Exception):
    """mutmut ended before it had judged all mutants: the end of what it printed."""


def run(mutants, workers=2, on_progress=None):
    """Results of the stock mutants, judged by mutmut itself.

    A kill counts only with the failing test that ``recording`` wrote down; without it, and for
    any status but killed and survived, the verdict is that status. Raises MutmutFailed.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy_project(Path(folder))
        printed = Path(folder) / "printed"
        modules = sorted({mutant.module for mutant in mutants})
        globs = [f"reference.{module}.*" for module in modules]
        with printed.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "mutmut", "run", "--max-children", str(workers), *globs],
                cwd=folder,
                env=environment(),
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            try:
                _watch(process, Path(folder) / "mutants" / KILLS, on_progress)
            finally:
                process.kill()
                process.wait()
        return _read(mutants, Path(folder) / "mutants", printed)


def _watch(process, kills, on_progress):
    while process.poll() is None:
        time.sleep(0.5)
        if on_progress and kills.exists():
            on_progress(len({line["mutant"] for line in _lines(kills)}))


def _lines(path):
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _read(mutants, folder, printed):
    from mutmut.stats import status_by_exit_code

    killers = {}
    for line in _lines(folder / KILLS):
        killers.setdefault(line["mutant"], (line["rule"], line["kind"], line["what"]))
    codes = {}
    for meta in (folder / "reference").glob("*.meta"):
        codes |= json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    results = []
    for mutant in mutants:
        code = codes.get(mutant.name)
        if code is None:
            text = printed.read_text(encoding="utf-8", errors="replace")
            raise MutmutFailed(f"{mutant.name}\n{text[-2000:]}")
        results.append(_result(mutant, status_by_exit_code[code], killers.get(mutant.name)))
    return results


def _result(mutant, status, killer):
    if status in ("survived", "no tests"):
        return Result(mutant, (), "mutmut")
    if status == "killed" and killer is not None:
        return Result(mutant, (killer,), "mutmut")
    kind = "timeout" if status == "timeout" else "died"
    what = "no failing test was recorded" if status == "killed" else status
    return Result(mutant, (("mutmut", kind, what),), "mutmut")
