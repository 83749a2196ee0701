"""What has happened to a challenge: an append-only file of JSON lines, each holding the hash of
the line before.

The chain shows an edit, it does not prevent one: whoever can write the file can rewrite all of it.
Everything that the desk knows of the past is read from here.
"""

import datetime
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from . import files

START = "0" * 16


@dataclass(frozen=True)
class Ledger:
    """The readable entries in order, and the numbers of the lines where the chain is torn."""

    entries: tuple
    torn: tuple

    def of(self, kind):
        """The entries of one kind."""
        return [entry for entry in self.entries if entry["kind"] == kind]

    def last(self, kind):
        """The last entry of one kind, or None."""
        return next((e for e in reversed(self.entries) if e["kind"] == kind), None)


def read(path):
    """The Ledger in the file; empty when there is none. Never fails on what a hand has written."""
    return Ledger(*_parse(_lines(path)))


def _lines(path):
    """The lines as bytes."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.Trouble("disk", path=files.shown(path), reason=error.strerror) from error
    return data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n") if data else []


def _parse(lines):
    entries, torn, previous = [], [], START
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None or entry.get("previous") != previous:
            torn.append(number)
        if entry is not None:
            entries.append(entry)
        previous = _hash(line)
    return tuple(entries), tuple(torn)


def _entry(line):
    """The entry of a line, or None when a hand has made it unreadable."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        return None
    wanted = _FIELDS.get(entry["kind"], {}).items()
    return entry if all(isinstance(entry.get(name), kind) for name, kind in wanted) else None


# What the desk reads of an entry; a line without it counts as torn.
_FIELDS = {
    "start": {"faults": list, "level": int, "given": str},
    "seal": {"attempt": int, "predictions": dict, "answers": dict},
    "check": {"attempt": int, "held": int, "total": int, "broken": list, "accepted": bool},
    "hint": {"letter": str, "step": int},
    "shown": {"letter": str},
    "scored": {"attempt": int, "rows": list},
}


def append(path, kind, **fields):
    """Add an entry behind the last line, in one move. Call it under the folder's lock."""
    lines = _lines(path)
    previous = _hash(lines[-1]) if lines else START
    time = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    entry = {"time": time, "kind": kind, **fields, "previous": previous}
    line = json.dumps(entry, ensure_ascii=False).encode("utf-8")
    files.write(path, b"\n".join([*lines, line, b""]))
    return entry


def _hash(line):
    return hashlib.sha256(line).hexdigest()[:16]


def fingerprint(text):
    """A short hash of a text or of bytes, as it is shown to people."""
    data = text.encode("utf-8") if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:12]
