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

from . import files
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
    """The symptoms of each fault and the keys of the sheet, under way or kept from before."""

    def __init__(self, challenge, faults, cache):
        self.cache, self.key = Path(cache), _key(faults)
        self.known = _kept(self.cache, self.key, len(faults))
        self.asked = {}
        self.stack = contextlib.ExitStack()
        if self.known is None:
            self.folders = _planted(self.stack, faults)
            if faults:
                self._ask("symptoms", ["buggy.symptoms", "--json", *self.folders])
            if challenge.questions:
                ids = [fault.id for fault in faults]
                self._ask("keys", ["challenges.keys", challenge.name], ids)

    def _ask(self, name, command, given=None):
        self.asked[name] = Asking(command, given)
        self.stack.callback(self.asked[name].close)

    def result(self):
        """``{"symptoms": [{word: {"shown", …}} for each fault], "keys", "mistakes"}``.

        Raises Trouble when a measuring process fails: that is our fault.
        """
        if self.known is None:
            told = {name: asking.answer() for name, asking in self.asked.items()}
            symptoms = told.get("symptoms", {})
            symptoms = [symptoms[folder] for folder in self.folders]
            self.known = {"symptoms": symptoms, "keys": {}, "mistakes": {}} | told.get("keys", {})
            kept = {"key": self.key} | self.known
            files.write(self.cache, json.dumps(kept, ensure_ascii=False, indent=1))
        return self.known

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
    """The results of an earlier run, if they are still of the same things."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        shown = [row["shown"] for symptoms in kept["symptoms"] for row in symptoms.values()]
        whole = kept.pop("key") == key and len(kept["symptoms"]) == count and shown is not None
        return kept if whole and kept["keys"] is not None else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
