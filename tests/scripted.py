"""A scripted learner: a clone of the repository in a folder of its own, and what is typed there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from challenges import challenge as challenges

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("reference", "buggy", "challenges", "tests/rules")
SINGLE = ("pyproject.toml", "tests/__init__.py", "tests/strategies.py")
NOT_COPIED = ("__pycache__", "work", "backup", ".lock", "*.part")


class Learner:
    """Types commands in a clone, and reads the screens."""

    def __init__(self, folder, lang=None):
        self.root, self.lang = Path(folder), lang
        for part in PARTS:
            ignore = shutil.ignore_patterns(*NOT_COPIED)
            shutil.copytree(ROOT / part, self.root / part, ignore=ignore)
        for name in SINGLE:
            shutil.copy(ROOT / name, self.root / name)
        self.screens = []

    def folder(self, name="day49"):
        return self.root / "challenges" / name

    def work(self, name="day49"):
        return self.folder(name) / "work"

    def type(self, *command, cwd=None, given="", **environment):
        """Run ``python -m …`` as typed; the finished process, its output kept in ``screens``."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "BUGHUNT"))}
        clean |= {"COLUMNS": "80", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(self.root)}
        clean |= {"PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
        if self.lang:
            clean["BUGHUNT_LANG"] = self.lang
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=cwd or self.root,
            env=clean | environment,
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
        )
        self.screens.append(done.stdout)
        return done

    def pytest(self, *arguments, name="day49", **more):
        return self.type("pytest", f"challenges/{name}", *arguments, **more)

    def command(self, *arguments, **more):
        return self.type("challenges", *arguments, **more)

    def predict(self, text, name="day49"):
        (self.work(name) / "predictions.toml").write_text(text, encoding="utf-8")

    def answer(self, name="day49", **answers):
        """Write the answers sheet."""
        (self.work(name) / "answers.toml").write_text(answers_text(**answers), encoding="utf-8")

    def edit(self, module, before, after, name="day49"):
        """Replace a text of a work file that stands there exactly once."""
        path = self.work(name) / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, (module, before)
        path.write_text(text.replace(before, after), encoding="utf-8")

    def ledger(self, name="day49"):
        text = (self.work(name) / "ledger.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


def own_challenge(tmp_path, monkeypatch, name="day49"):
    """A challenge in a folder of its own, untouched, for the desk in this process."""
    monkeypatch.setattr(challenges, "HERE", tmp_path)
    folder = tmp_path / name
    folder.mkdir(parents=True)
    for path in (ROOT / "challenges" / name).glob("*.toml"):
        shutil.copy(path, folder)
    return challenges.read(folder)


def answers_text(**answers):
    """The text of an answers sheet."""
    return "\n".join(f"{id} = {json.dumps(given)}" for id, given in answers.items())


def sheet(**tables):
    """The text of a predictions sheet: ``A=(43, ["word"], 4)``."""
    parts = []
    for letter, (day, symptoms, confidence) in tables.items():
        parts.append(f"[{letter}]\nday = {json.dumps(day)}\nsymptoms = {json.dumps(symptoms)}")
        parts.append(f'because = ""\nconfidence = {confidence}\n')
    return "\n".join(parts)


def plain(text):
    """The text without colour."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
