"""Workers in copies of the project, and the mutants they are given."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .survey import reaching

ROOT = Path(__file__).resolve().parent.parent.parent
COPIED = ("reference", "tests", "buggy", "challenges", "pyproject.toml")
TESTS = [  # of what rules do not reach
    "tests/test_promises.py",
    "tests/test_promises_training.py",
    "tests/test_ledger.py",
]


def copy_project(folder):
    """What a run needs, in a folder where it may be changed."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "work", "accepted", "benchmarks")
            shutil.copytree(source, folder / name, ignore=ignore)
        else:
            shutil.copy(source, folder / name)


def environment():
    """One torch thread, no bytecode, and no path but the copy's own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    plain = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return kept | {"OMP_NUM_THREADS": "1"} | plain


class Worker:
    """One process of ``tests.mutation.worker`` in a copy of the project of its own."""

    def __init__(self, folder):
        copy_project(folder)
        self.printed = folder / "printed"
        with self.printed.open("w") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                cwd=folder,
                env=environment(),
                text=True,
                encoding="utf-8",
            )

    def ask(self, **request):
        """The answer to one request. Raises RuntimeError with what was printed if it ended."""
        with contextlib.suppress(OSError):  # it has ended: the empty answer tells
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.printed.read_text(encoding="utf-8")[-3000:])
        return json.loads(line)

    def stop(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # a last request that it never read
                pipe.close()


class Pool:
    """``with Pool(2) as pool``: a survey of the reference, then as many mutants as you like."""

    def __init__(self, workers):
        self._count = workers

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.workers = []
            for number in range(self._count):
                (folder / str(number)).mkdir()
                self.workers.append(Worker(folder / str(number)))
                stack.callback(self.workers[-1].stop)
            self.survey = self.workers[0].ask(do="survey")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def judge(self, mutants, full=False, on_answer=None):
        """Each mutant's answer by its id: ``killers`` and processor ``seconds``.

        Only the rules that reach what was changed are asked; without ``full`` the first that
        rejects it ends the asking. ``on_answer(mutant, answer)`` is called as they come in.
        """
        return self.spread(mutants, lambda mutant: self._request(mutant, full), on_answer)

    def spread(self, items, request, on_answer=None):
        """The workers' answers to ``request(item)`` for every item, by the item's id."""
        answers, todo, failures = {}, list(reversed(items)), []
        lock = threading.Lock()

        def serve(worker):
            try:
                while todo and not failures:
                    with lock:
                        if not todo:
                            return
                        item = todo.pop()
                        asked = request(item)  # one at a time: Python's parser is for one thread
                    answer = worker.ask(**asked)
                    with lock:
                        answers[item.id] = answer
                        if on_answer:
                            on_answer(item, answer)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=serve, args=(w,), daemon=True) for w in self.workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return answers

    def _request(self, mutant, full):
        limits = {rule: self.survey[rule]["seconds"] for rule in reaching(mutant, self.survey)}
        sources = {mutant.module: mutant.source}
        return {
            "do": "judge",
            "sources": sources,
            "rules": limits,
            "stop": not full,
            "tests": TESTS,
        }
