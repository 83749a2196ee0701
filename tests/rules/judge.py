"""Judge a folder by all rules, in processes of their own that can be stopped.

The judging process never imports torch nor the judged code: an endless loop, ``sys.exit()`` or a
crash costs one verdict. Two workers take rules from both ends of the list.
"""

import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 10.0  # CPU seconds a rule; the slowest takes 0.3
WAITING = 6  # times the limit on the clock: for a busy machine, and for code that sleeps
START = 120.0  # seconds for a worker to import torch
PATIENCE = 2  # after so many rules without an answer the rest are not asked


@dataclass
class Judgement:
    """The verdicts, as dicts in the order of the data flow, or why there are none."""

    verdicts: list = field(default_factory=list)
    refused: tuple | None = None  # (message id, numbers) when the folder cannot be judged
    printed: str = ""  # what the judged code printed

    @property
    def status(self):
        """0 every rule holds, 1 a rule is broken, 2 cannot be judged, 3 the fault is ours."""
        outcomes = {verdict["outcome"] for verdict in self.verdicts}
        if self.refused:
            return 2
        if "error" in outcomes or not self.verdicts:
            return 3
        if "broken" in outcomes:
            return 1
        return 2 if "cannot_be_judged" in outcomes else 0

    @property
    def first(self):
        """The first verdict that does not hold, or None."""
        bad = [verdict for verdict in self.verdicts if verdict["outcome"] != "holds"]
        asked = [verdict for verdict in bad if verdict["observed"] != "not_asked"]
        return next(iter(asked or bad), None)


class _Worker:
    """One worker process and a thread that reads its lines."""

    def __init__(self, options, printed):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.rules.worker", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            cwd=ROOT,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def ask(self, rule):
        try:
            self.process.stdin.write(rule + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has died; the next answer is None

    def answer(self, seconds):
        """The next object, None when the process has ended, ``queue.Empty`` when time is up."""
        line = self.lines.get(timeout=seconds)
        return None if line is None else json.loads(line)

    def cpu_seconds(self):
        """What the process has computed so far; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, AttributeError, IndexError):
            return None

    def answer_within(self, seconds):
        """As ``answer``, but the limit is one of CPU time where the system tells it."""
        start, clock = self.cpu_seconds(), 0.0
        while True:
            try:
                return self.answer(seconds)
            except queue.Empty:
                clock += seconds
                now = self.cpu_seconds()
                patient = start is not None and now is not None and now - start < seconds
                if not patient or clock >= WAITING * seconds:
                    raise

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class _Judge:
    """The state that the threads of one judgement share."""

    def __init__(self, options, wanted, limit, on_verdict, printed):
        self.options, self.wanted, self.limit = options, wanted, limit
        self.on_verdict, self.printed = on_verdict, printed
        self.lock = threading.Lock()
        self.manifest = self.todo = self.refused = self.crash = None
        self.verdicts, self.unanswered = {}, 0
        self.workers = []

    def serve(self, from_the_end):
        """Keep one worker busy until no rule is left."""
        worker = None
        try:
            while self.refused is None and self.crash is None:
                if worker is None:
                    worker = _Worker(self.options, self.printed)
                    self.workers.append(worker)
                    if not self._greet(worker):
                        return
                rule = self._next(from_the_end)
                if rule is None:
                    return
                if not self._judge(worker, rule):
                    worker.stop()
                    worker = None
        except BaseException as error:
            self.crash = error
        finally:
            if worker is not None:
                worker.stop()

    def _greet(self, worker):
        """Read the manifest. The package is loaded after it: its refusal answers the first rule."""
        first = worker.answer(START)
        if first is None:
            raise RuntimeError("a worker ended before it could judge")
        with self.lock:
            if self.manifest is None:
                self.manifest = dict(first["manifest"])
                chosen = self.wanted(self.manifest)
                self.todo = collections.deque(chosen)
                self.order = list(chosen)
        return True

    def _next(self, from_the_end):
        with self.lock:
            if self.unanswered >= PATIENCE:
                while self.todo:
                    self._record(self._unjudged(self.todo.popleft(), "not_asked"))
            if not self.todo:
                return None
            return self.todo.pop() if from_the_end else self.todo.popleft()

    def _judge(self, worker, rule):
        """Ask for one verdict; False when the worker is of no more use."""
        worker.ask(rule)
        try:
            answer = worker.answer_within(self.limit)
        except queue.Empty:
            self._unanswered(rule, "time_limit", seconds=self.limit)
            return False
        if answer is None:
            code = worker.process.wait()
            self._unanswered(rule, "died", code=code)
            return False
        with self.lock:
            if "refused" in answer:
                self.refused = (answer["refused"], answer["found"])
                return False
            self._record(answer)
        return True

    def _unanswered(self, rule, observed, **numbers):
        with self.lock:
            self.unanswered += 1
            self._record(self._unjudged(rule, observed, **numbers))

    def _unjudged(self, rule, observed, **numbers):
        return {
            "rule": rule,
            "day": self.manifest[rule],
            "outcome": "cannot_be_judged",
            "tried": {},
            "observed": observed,
            "allowed": None,
            "numbers": numbers,
            "seconds": numbers.get("seconds", 0.0),
            "trace": None,
        }

    def _record(self, verdict):
        self.verdicts[verdict["rule"]] = verdict
        if self.on_verdict is not None:
            self.on_verdict(verdict, len(self.verdicts), len(self.order))


def judge(
    folder=None,
    *,
    rules=None,
    day=None,
    examples=None,
    seed=0,
    shrink=False,
    limit=LIMIT,
    workers=None,
    on_verdict=None,
):
    """Run the rules (all, those of ``day``, or the ids in ``rules``) on the folder's package.

    folder: modules laid over the reference; None is the reference alone. ``limit`` is in seconds
    a rule. ``on_verdict(verdict, done, total)`` is called as each verdict comes in. Returns a
    Judgement. Raises ValueError for an unknown rule or day.
    """
    folder = None if folder is None else str(Path(folder).resolve())
    options = {"folder": folder, "examples": examples, "seed": seed, "shrink": shrink}
    unknown = []

    def wanted(manifest):
        unknown.extend(rule for rule in rules or () if rule not in manifest)
        if day is not None and str(day) not in map(str, manifest.values()):
            unknown.append(str(day))
        chosen = [rule for rule in manifest if rules is None or rule in rules]
        chosen = [rule for rule in chosen if day is None or str(manifest[rule]) == str(day)]
        return [] if unknown else chosen

    count = workers or min(2, os.cpu_count() or 1, len(rules) if rules else 2)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        state = _Judge(options, wanted, limit, on_verdict, printed)
        threads = [
            threading.Thread(target=state.serve, args=(i == 1,), daemon=True) for i in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            for worker in state.workers:
                worker.process.kill()
            raise
        printed.seek(0)
        text = printed.read(20_000)
    if unknown:
        raise ValueError(", ".join(unknown))
    if state.crash is not None:
        raise state.crash
    verdicts = [state.verdicts[rule] for rule in state.order if rule in state.verdicts]
    return Judgement(verdicts if state.refused is None else [], state.refused, text)
