"""``measure``: what a fault or a folder shows, with the numbers, and which rules reject it."""

import contextlib
import sys
import tempfile
from pathlib import Path

from rich.markup import escape

from . import faults, overlay, planting, telling, vocabulary
from .wrapping import wrap


def measured(what, seed=0):
    """``{word: Measurement}`` of a fault's id or of a folder. Raises Trouble for neither."""
    with folder_of(what) as folder, quiet():
        from . import symptoms  # imports torch

        package = overlay.load(None if Path(folder) == overlay.REFERENCE else folder)
        try:
            return symptoms.measure(package, seed)
        finally:
            overlay.unload(package)


@contextlib.contextmanager
def folder_of(what):
    """A folder with the planted modules of a fault, or the folder that was named."""
    if what in faults.ids():
        with tempfile.TemporaryDirectory() as folder:
            planting.plant(faults.load(what).edits, folder)
            yield folder
        return
    if not Path(what).is_dir():
        if "/" in what or "\\" in what or not faults.nearest(what):
            raise telling.Trouble("error.neither", what=what)
        faults.load(what)  # raises, and names the nearest
    if Path(what).resolve() != overlay.REFERENCE:
        overlay.check(what)
    yield what


@contextlib.contextmanager
def quiet():
    """What the measured code prints goes to standard error: the output may be read by a program."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def as_json(measurements):
    """The form in which measurements leave the process."""
    from . import symptoms

    return symptoms.as_json(measurements)


def table(say, measurements, columns):
    """Lines of markup: each word, whether it is shown (``*``), and what was seen, wrapped."""
    room = max(map(len, measurements))
    for word, m in measurements.items():
        style, sign = ("bold", "*") if m.shown else ("dim", " ")
        first, rest = f"{sign} {word:<{room}}  ", " " * (room + 4)
        for line in wrap(vocabulary.sentence(m.text, say.lang), columns, first, rest):
            yield f"[{style}]{escape(line)}[/]"


def rejected_by(say, what):
    """Which rules reject it, in one line and a list."""
    from .bench import Bench

    with folder_of(what) as folder, quiet():
        broken = Bench().folder_rejections(folder)
    if not broken:
        return [say("measure.accepted")]
    first = broken[0]
    numbers = {"count": len(broken), "rule": first["rule"], "day": first["day"]}
    return [say("measure.rules", **numbers), *(f"  {verdict['rule']}" for verdict in broken)]
