"""Plant a fault in the reference: an anchored edit, found exactly once and replaced.

The edit is stored, the copy is made when it is needed. A reference that has moved on makes the
edit stale, loudly, where a stored copy would drift in silence.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

from .overlay import REFERENCE


class StaleFault(Exception):
    """An edit that no longer fits: a message id and what it speaks of."""

    def __init__(self, message, **found):
        self.message, self.found = message, found
        super().__init__(f"{message}: {found}")


@dataclass(frozen=True)
class Edit:
    """Replace ``correct`` by ``planted`` in ``reference/<module>.py``."""

    module: str
    correct: str
    planted: str


def apply(edit, source):
    """The source with the edit made. Raises StaleFault unless ``correct`` occurs exactly once."""
    count = occurrences(edit.correct, source)
    if count != 1:
        raise StaleFault("anchor", module=edit.module, correct=edit.correct, count=count)
    return source.replace(edit.correct, edit.planted)


def occurrences(text, source):
    """How often the text stands in the source, overlapping places counted."""
    count, at = 0, source.find(text)
    while at >= 0:
        count, at = count + 1, source.find(text, at + 1)
    return count


def plant(edits, folder=None, start=REFERENCE):
    """The changed modules as ``{module: source}``; written into ``folder`` when one is given.

    Raises StaleFault when an anchor is not found exactly once, when the planted text is no
    Python, or when the syntax tree stays the same.
    """
    sources = {}
    for edit in edits:
        path = Path(start) / f"{edit.module}.py"
        if not path.is_file():
            raise StaleFault("no_module", module=edit.module)
        before = sources.get(edit.module) or path.read_text(encoding="utf-8")
        sources[edit.module] = apply(edit, before)
    for module, source in sources.items():
        _check_change(module, Path(start) / f"{module}.py", source)
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for module, source in sources.items():
            (Path(folder) / f"{module}.py").write_text(source, encoding="utf-8", newline="\n")
    return sources


def _check_change(module, path, source):
    try:
        after = ast.dump(ast.parse(source))
    except SyntaxError as error:
        raise StaleFault("not_python", module=module, reason=error.msg) from None
    if after == ast.dump(ast.parse(path.read_text(encoding="utf-8"))):
        raise StaleFault("no_change", module=module)
