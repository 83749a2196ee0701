"""Where in the reference an edit stands, and how much of the syntax tree it changes."""

import ast
from pathlib import Path

from .overlay import REFERENCE


def places(edits, start=REFERENCE):
    """The functions and classes that the edits stand in, as ("attention.softmax", …), sorted."""
    found = set()
    for edit in edits:
        source = (Path(start) / f"{edit.module}.py").read_text(encoding="utf-8")
        position = source.find(edit.correct)
        first = source.count("\n", 0, position) + 1
        last = first + edit.correct.strip("\n").count("\n")
        names = _enclosing(ast.parse(source), first, last)
        found.add(".".join([edit.module, *names]))
    return tuple(sorted(found))


def _enclosing(tree, first, last):
    """Names of the definitions, outermost first, that hold the lines from first to last."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if named and node.lineno <= first and last <= node.end_lineno:
            return [node.name, *_enclosing(node, first, last)]
    return []


def changed_statements(before, after):
    """How many statements of two sources are in one of them only, counted by their text."""
    old, new = _statements(before), _statements(after)
    return max(len(_without(old, new)), len(_without(new, old)))


def _statements(source):
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    blocks = (ast.FunctionDef, ast.ClassDef, ast.With, ast.Try)
    return [ast.unparse(node) for node in nodes if not isinstance(node, blocks)]


def _without(these, those):
    rest = list(those)
    left = []
    for item in these:
        if item in rest:
            rest.remove(item)
        else:
            left.append(item)
    return left
