"""An edit of a file as anchored edits: each changed piece, widened until it occurs once."""

import difflib

from .planting import Edit


class NoDiff(Exception):
    """Two sources that are the same."""


def edits_between(module, before, after):
    """Edits that turn ``before`` into ``after``, anchored by whole lines of ``before``."""
    if before == after:
        raise NoDiff(module)
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    pieces = []
    for piece in _changes(old, new):
        piece = _widened(piece, old, new)
        while pieces and piece[0] <= pieces[-1][1]:
            piece = _joined(pieces.pop(), piece)
        pieces.append(piece)
    return [Edit(module, "".join(old[i:j]), "".join(new[k:m])) for i, j, k, m in pieces]


def _changes(old, new):
    """(i, j, k, m): lines i to j of the old have become lines k to m of the new."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]


def _widened(piece, old, new):
    """Take in neighbouring lines, which both sources share, until the old text occurs once."""
    i, j, k, m = piece
    source = "".join(old)
    while i == j or source.count("".join(old[i:j])) != 1:
        above, below = i > 0 and k > 0, j < len(old) and m < len(new)
        if above and old[i - 1] == new[k - 1]:
            i, k = i - 1, k - 1
        elif below and old[j] == new[m]:
            j, m = j + 1, m + 1
        else:
            return 0, len(old), 0, len(new)
    return i, j, k, m


def _joined(first, second):
    """One piece that holds both and what lies between."""
    i, j, k, m = zip(first, second)
    return min(i), max(j), min(k), max(m)
