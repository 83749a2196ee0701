"""An edit of a file as anchored edits: each changed piece, widened until it occurs once."""

import difflib

from .planting import Edit, StaleFault, apply, occurrences


class NoDiff(Exception):
    """Two sources that are the same."""


def edits_between(module, before, after):
    """Edits that turn ``before`` into ``after``, anchored by whole lines of ``before``."""
    if before == after:
        raise NoDiff(module)
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    pieces = _apart([_widened(piece, old, new) for piece in _changes(old, new)])
    while True:
        edits = [Edit(module, "".join(old[i:j]), "".join(new[k:m])) for i, j, k, m in pieces]
        if len(pieces) == 1 or _lead(edits, before, after):
            return edits
        # what one piece plants looks like the anchor of another: make one piece of the last two
        pieces = [*pieces[:-2], _widened(_joined(*pieces[-2:]), old, new)]


def _changes(old, new):
    """(i, j, k, m): lines i to j of the old have become lines k to m of the new."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]


def _widened(piece, old, new):
    """Take in neighbouring lines, which both sources share, until the old text occurs once."""
    i, j, k, m = piece
    source = "".join(old)
    while i == j or occurrences("".join(old[i:j]), source) != 1:
        if i > 0 and k > 0 and old[i - 1] == new[k - 1]:
            i, k = i - 1, k - 1
        elif j < len(old) and m < len(new) and old[j] == new[m]:
            j, m = j + 1, m + 1
        else:
            return 0, len(old), 0, len(new)
    return i, j, k, m


def _apart(pieces):
    """The pieces, those that overlap or touch made one."""
    kept = []
    for piece in pieces:
        while kept and piece[0] <= kept[-1][1]:
            piece = _joined(kept.pop(), piece)
        kept.append(piece)
    return kept


def _joined(first, second):
    """One piece that holds both and what lies between."""
    i, j, k, m = zip(first, second)
    return min(i), max(j), min(k), max(m)


def _lead(edits, before, after):
    """Whether the edits, made one after the other, really lead there."""
    try:
        for edit in edits:
            before = apply(edit, before)
    except StaleFault:
        return False
    return before == after
