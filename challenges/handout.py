"""What a learner gets: the reference's modules with the faults planted and, usually, marked."""

import ast

from buggy import planting
from buggy.overlay import REFERENCE

MARK = "\ue000"  # a private character that stands where a mark will go
LETTERS = "ABCDEFGH"


class NoPlace(Exception):
    """A fault whose line cannot carry a mark."""


def sources(faults, marked=True):
    """``{module: text}`` with every fault planted, ``# (A)`` behind the lines of the first.

    Raises StaleFault when the faults cannot stand together, NoPlace when a mark cannot stand.
    """
    edits = [edit for fault in faults for edit in fault.edits]
    plain = planting.plant(edits)
    if not marked:
        return plain
    texts = {module: (REFERENCE / f"{module}.py").read_text("utf-8") for module in plain}
    for letter, fault in zip(LETTERS, faults):
        for edit in fault.edits:
            flagged = planting.Edit(edit.module, edit.correct, _flag(edit, letter))
            texts[edit.module] = planting.apply(flagged, texts[edit.module])
    marked_texts = {module: _mark(text) for module, text in texts.items()}
    for module, text in marked_texts.items():
        if ast.dump(ast.parse(text)) != ast.dump(ast.parse(plain[module])):
            raise NoPlace(module)
    return marked_texts


def _flag(edit, letter):
    """The planted text with the mark at the first place where it leaves the correct one."""
    same = 0
    for a, b in zip(edit.correct, edit.planted):
        if a != b:
            break
        same += 1
    return f"{edit.planted[:same]}{MARK}{letter}{edit.planted[same:]}"


def _mark(text):
    """Turn the private characters of a line into a comment at its end."""
    lines = []
    for line in text.split("\n"):
        first, *flagged = line.split(MARK)
        letters = dict.fromkeys(part[0] for part in flagged)
        line = first + "".join(part[1:] for part in flagged)
        lines.append(line + "".join(f"  # ({letter})" for letter in letters))
    return "\n".join(lines)


def emptied(source, function):
    """The module with the body of one function replaced by ``raise NotImplementedError``.

    Signature and docstring stay: they are the question.
    """
    node = next(
        n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == function
    )
    lines = source.split("\n")
    first = node.body[1] if ast.get_docstring(node) else node.body[0]
    lines[first.lineno - 1 : node.end_lineno] = ["    raise NotImplementedError"]
    return "\n".join(lines)
