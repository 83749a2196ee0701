"""What the faults show and what the keys are: measured now, on this machine, in other processes.

Those processes import torch; this one does not. The results are kept beside the work and used
again until the faults, the reference, the measurements or torch change.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import buggy
from buggy import overlay, planting

from . import files, questions
from .ledger import fingerprint

ROOT = Path(__file__).resolve().parent.parent


class Asking:
    """A question put to a process of ours, ``python -m …``, that answers with one JSON object."""

    def __init__(self, command, given=None):
        with contextlib.ExitStack() as stack:
            # Files, not pipes: nobody reads while the rules are judged; a full pipe would block.
            streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            self.given, self.out, self.err = streams
            self.given.write(json.dumps(given).encode())
            self.given.seek(0)
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=environment(),
                stdin=self.given,
                stdout=self.out,
                stderr=self.err,
            )
            self.stack = stack.pop_all()

    def answer(self, seconds=None):
        """The JSON object. Raises Trouble when there is none: that is our fault."""
        try:
            self.process.wait(seconds)
            self.out.seek(0)
            return json.loads(self.out.read())
        except (ValueError, subprocess.TimeoutExpired) as error:
            self.err.seek(0)
            trace = self.err.read().decode("utf-8", errors="replace")
            raise files.Trouble("our_fault", trace=trace) from error
        finally:
            self.close()

    def close(self):
        """End the process and remove what it was given."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.stack.close()


class Measurements:
    """The symptoms of each fault and the marks of the answers, under way or kept from before.

    Of the answers only the outcome is kept, never a key.
    """

    def __init__(self, challenge, faults, given, cache):
        self.questions, self.given, self.cache = questions.load(challenge), given, Path(cache)
        self.stack, self.asked = contextlib.ExitStack(), {}
        self.key = _key(faults)
        self.kept = _kept(self.cache, self.key, len(faults))
        if "symptoms" not in self.kept:
            self.folders = _planted(self.stack, faults)
            if faults:
                self._ask("symptoms", ["buggy.symptoms", "--json", *self.folders])
        self.answers = fingerprint(json.dumps(given, sort_keys=True, default=str))
        if self.questions and self.kept.get("answers") != self.answers:
            ids = [fault.id for fault in faults]
            self._ask("keys", ["challenges.keys", challenge.name], ids)

    def _ask(self, name, command, given=None):
        self.asked[name] = Asking(command, given)
        self.stack.callback(self.asked[name].close)

    def result(self):
        """``{"symptoms": [{word: {"shown", …}} for each fault], "marks": [Mark]}``.

        Raises Trouble when a measuring process fails: that is our fault.
        """
        told = {name: asking.answer() for name, asking in self.asked.items()}
        kept = {"key": self.key, "symptoms": self.kept.get("symptoms")}
        if kept["symptoms"] is None:
            kept["symptoms"] = [told["symptoms"][folder] for folder in self.folders]
        if "keys" in told:
            marks = questions.mark_all(self.questions, self.given, told["keys"], kept["symptoms"])
        else:
            outcomes = self.kept.get("outcomes", {})
            marks = questions.marked(self.questions, self.given, outcomes)
        kept["answers"] = self.answers
        kept["outcomes"] = {mark.question.id: mark.outcome for mark in marks}
        if kept != self.kept:
            files.write(self.cache, json.dumps(kept, ensure_ascii=False, indent=1))
        return {"symptoms": kept["symptoms"], "marks": marks}

    def close(self):
        """End what is still under way and remove what was made for it."""
        self.stack.close()


def _planted(stack, faults):
    """A folder for each fault, planted alone."""
    root = stack.enter_context(tempfile.TemporaryDirectory())
    folders = [os.path.join(root, str(i)) for i in range(len(faults))]
    for fault, folder in zip(faults, folders):
        planting.plant(fault.edits, folder)
    return folders


def environment():
    """For our processes: the repository importable, one torch thread, no bytecode left behind."""
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
    }


def _key(faults):
    """Everything that the results depend on, as one hash."""
    texts = [metadata.version("torch"), *(repr(fault.edits) for fault in faults)]
    code = [*overlay.REFERENCE.glob("*.py"), *Path(buggy.__file__).parent.glob("*.py")]
    for path in sorted([*code, *Path(__file__).parent.glob("keys*.py")]):
        texts.append(path.read_text(encoding="utf-8"))
    return fingerprint("\0".join(texts))


def _kept(path, key, count):
    """The results of an earlier run, if they are still of the same things; else {}."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        rows = [row for symptoms in kept["symptoms"] for row in symptoms.values()]
        whole = all({"shown", "text_en", "text_ja"} <= set(row) for row in rows)
        whole = whole and all(isinstance(o, str) for o in kept["outcomes"].values())
        return kept if whole and kept["key"] == key and len(kept["symptoms"]) == count else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
