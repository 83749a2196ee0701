"""A run's folder: the checkpoint, the losses so far, what the run was asked to do."""

import errno
import json
import os
from contextlib import contextmanager
from pathlib import Path

import torch

from .cli_words import Refusal

HEADER = "step,training,validation"


class Run:
    """The files of one run. A resumed run finds them as an uninterrupted one would have them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.checkpoint = self.folder / "checkpoint.pt"
        self.losses = self.folder / "losses.csv"
        self.settings = self.folder / "settings.json"
        self.picture = self.folder / "losses.png"
        self.rows = []

    def open(self, settings, config, fresh):
        """Make the folder or go on with it; returns the number of steps done.

        Raises Refusal when the run there was asked to do something else.
        """
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.checkpoint.unlink(missing_ok=True)
            done = self.resume(settings, config) if self.checkpoint.exists() else 0
            replace(self.folder / ".gitignore", "*\n")
            replace(self.settings, json.dumps(settings, indent=1))
            self.rows = self.read_losses(done) if done else []
            replace(self.losses, "\n".join([HEADER, *map(line, self.rows)]) + "\n")
        return done

    def resume(self, settings, config):
        """The step of the checkpoint, when it is of this config and these settings."""
        state = read_checkpoint(self.checkpoint)
        found = state["config"] | self.read_settings()
        differing = [
            f"{name} {found.get(name)} -> {value}"
            for name, value in (vars(config) | settings).items()
            if found.get(name) != value
        ]
        if differing:
            raise Refusal("refused.other_run", path=self.checkpoint, differing=", ".join(differing))
        return state["step"]

    def read_settings(self):
        try:
            return dict(json.loads(self.settings.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise Refusal("refused.damaged", path=self.settings, out=self.folder) from error

    def read_losses(self, done):
        """The rows of the first ``done`` steps; what was written after the checkpoint is redone."""
        try:
            lines = self.losses.read_text(encoding="utf-8").splitlines()[1 : done + 1]
            rows = [row(text) for text in lines]
        except (OSError, ValueError) as error:
            raise Refusal("refused.damaged", path=self.losses, out=self.folder) from error
        if [step for step, _, _ in rows] != list(range(1, done + 1)):
            raise Refusal("refused.damaged", path=self.losses, out=self.folder)
        return rows

    def add(self, step, training, validation):
        """Note the losses of a step at once: a kill loses no step that a checkpoint counts."""
        self.rows.append((step, training, validation))
        with self.losses.open("a", encoding="utf-8") as file:
            file.write(line(self.rows[-1]) + "\n")


def line(losses):
    """A row as text that gives back the very same numbers."""
    step, training, validation = losses
    return f"{step},{training!r},{'' if validation is None else repr(validation)}"


def row(text):
    step, training, validation = text.split(",")
    return int(step), float(training), float(validation) if validation else None


def replace(path, text):
    """Write a whole file or leave the old one."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


@contextmanager
def writing(path):
    """Tell in one sentence what the disk refused while writing to ``path``."""
    try:
        yield
    except OSError as error:
        key = "refused.full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "refused.write"
        raise Refusal(key, path=path, reason=error.strerror or error) from error


def read_checkpoint(path):
    """The contents of a checkpoint; raises Refusal for a file that is none."""
    if not path.exists():
        raise Refusal("refused.no_checkpoint", path=path, out=path.parent)
    try:
        state = torch.load(path, weights_only=True)
        return {name: state[name] for name in ("config", "model", "step")}
    except Exception as error:  # a damaged file fails in as many ways as it has bytes
        raise Refusal("refused.no_model", path=path, out=path.parent) from error
