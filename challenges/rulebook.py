"""The list of rules without torch: read from the rules' own text, held to the manifest by a test.

The desk must know before anything runs how many verdicts an acceptance takes, and pytest must
never import torch, which the rules do.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import rules

FOLDER = Path(rules.__file__).parent
_RULE = re.compile(r'^@rule\(\s*("X"|\d+),\s*"([\w.]+)"(.*?)^def (\w+)\(', re.M | re.S)
_ENTRIES = re.compile(r"^ENTRIES = (\(.*?^\))", re.M | re.S)


@dataclass(frozen=True)
class Entry:
    """One rule: its id, its day and the interface name it judges."""

    id: str
    day: int | str
    entry: str


@cache
def rules_in_order():
    """Every rule as an Entry, in the order of the data flow."""
    entries = ast.literal_eval(_ENTRIES.search(_text("engine.py")).group(1))
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        for day, entry, more, name in _RULE.findall(_text(path.name)):
            order = (entries.index(entry), "late=True" in more, len(found))
            day = "X" if day == '"X"' else int(day)
            found.append((order, Entry(name, day, entry)))
    return tuple(entry for _, entry in sorted(found, key=lambda pair: pair[0]))


def _text(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def ids(chosen=None):
    """The ids of all rules, or of those about the interface names in ``chosen``."""
    return [rule.id for rule in rules_in_order() if chosen is None or rule.entry in chosen]
