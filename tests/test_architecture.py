"""Who may import whom, and how large anything may grow."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"reference", "buggy", "tests", "challenges"}


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imported(path):
    """(dotted name, level) of every import in a file, wherever it stands."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found += [(name, node.level) for name in names]
    return found


def ours(path):
    """Our top-level packages that a file imports by name."""
    return {name.split(".")[0] for name, level in imported(path) if level == 0} & OURS


@pytest.mark.parametrize("path", sources("reference"), ids=lambda path: path.name)
def test_the_reference_knows_nobody(path):
    """It imports its own modules relatively, torch, numpy, and what Python carries."""
    assert ours(path) == set()
    outside = {name.split(".")[0] for name, level in imported(path) if level == 0}
    allowed = {"torch", "numpy", "rich", "matplotlib"} | sys.stdlib_module_names
    assert outside <= allowed


RULE_FILES = [
    path
    for path in sources("tests/rules")
    if path.name not in ("worker.py",)  # lays the folder over the reference: buggy.overlay
]


@pytest.mark.parametrize("path", [*RULE_FILES, ROOT / "tests/strategies.py"], ids=lambda p: p.name)
def test_rules_know_neither_reference_nor_buggy(path):
    """A rule that asked the reference would prove nothing about it."""
    assert ours(path) <= {"tests"}


def test_the_reference_is_small():
    """A newcomer finishes a file in one sitting: none over 200 lines, the median function 15."""
    lengths, functions = {}, []
    for path in sources("reference"):
        text = path.read_text(encoding="utf-8")
        lengths[path.name] = len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                functions.append(node.end_lineno - node.lineno + 1)
    assert max(lengths.values()) <= 200, lengths
    assert sorted(functions)[len(functions) // 2] <= 15


def test_every_judged_module_is_part_of_the_interface():
    """The manifest of the overlay is the reference's own list of modules."""
    from buggy import overlay
    from tests.rules.engine import ENTRIES

    named = {entry.split(".")[0] for entry in ENTRIES}
    assert named == set(overlay.JUDGED)
    assert all((overlay.REFERENCE / f"{module}.py").is_file() for module in overlay.JUDGED)


def test_nothing_reads_the_design_folder_or_names_a_machine():
    """No path of one machine, and nothing that exists only for development."""
    words = (
        "../shared",
        "shared/design",
        "/work/" + "main",
        "/work/" + "shared",
        "/root/",
        "/tmp/bash",
    )
    for folder in ("reference", "buggy", "tests", "challenges", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if (
                path.suffix in (".py", ".toml", ".md", "")
                and path.is_file()
                and path != Path(__file__)
            ):
                text = path.read_text(encoding="utf-8", errors="replace")
                assert not [word for word in words if word in text], path
