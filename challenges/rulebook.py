"""The list of rules without torch: read from the rules' own texts, held to the manifest by a test.

The desk must know before anything runs how many verdicts an acceptance takes, and pytest must
never import torch, which the rules do.
"""

import re
from dataclasses import dataclass
from functools import cache

from tests.rules import tell

_RULE = re.compile(r'^@rule\(\s*("X"|\d+),\s*"([\w.]+)".*?^def (\w+)\(', re.M | re.S)
_SENTENCES = re.compile(r"^\[rule\.(\w+)\]", re.M)


@dataclass(frozen=True)
class Entry:
    """One rule: its id, its day and the interface name it judges."""

    id: str
    day: int | str
    entry: str


@cache
def rules_in_order():
    """Every rule as an Entry, in the order of the data flow, in which their sentences stand."""
    found = {}
    for path in sorted(tell.MESSAGES.parent.glob("*.py")):
        for day, entry, name in _RULE.findall(path.read_text(encoding="utf-8")):
            found[name] = Entry(name, "X" if day == '"X"' else int(day), entry)
    sentences = _SENTENCES.findall(tell.MESSAGES.read_text(encoding="utf-8"))
    return tuple(found[name] for name in sentences)


def ids(chosen=None):
    """The ids of all rules, or of those about the interface names in ``chosen``."""
    return [rule.id for rule in rules_in_order() if chosen is None or rule.entry in chosen]
