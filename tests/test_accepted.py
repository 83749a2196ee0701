"""No correct variant is rejected, in any style we or others could think of.

A false alarm teaches a learner something wrong and costs an evening: it counts as much as a fault
let through. Every folder of ``accepted/`` is laid over the reference and judged by the rules that
can see its modules; ``-m slow`` judges it by all rules over many seeds.
"""

import ast
from pathlib import Path

import pytest

from buggy import overlay
from buggy.planting import Edit, plant
from tests.right import RIGHT
from tests.rules.engine import in_order, run
from tests.rules.manifest import RULES

ACCEPTED = Path(__file__).with_name("accepted")
VARIANTS = sorted(path.name for path in ACCEPTED.iterdir() if path.is_dir() and path.name[0] != "_")


def readers():
    """Module of the reference to the modules that reach it by imports, itself included."""
    imports = {}
    for module in overlay.JUDGED:
        tree = ast.parse((overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        imports[module] = {node.module for node in nodes} & set(overlay.JUDGED)
    found = {module: {module} for module in imports}
    for _ in imports:
        for module, used in imports.items():
            for name in used:
                found[name] |= found[module]
    return found


def rules_that_see(folder):
    """The rules about modules that the folder changes, or that are built of them up to the model.

    What only calls a finished model (sampling, training) is left to the slow form.
    """
    changed = set(overlay.files(folder))
    reach = set().union(*(readers()[module] for module in changed)) - {"sampling", "training"}
    return [rule for rule in in_order() if rule.entry.split(".")[0] in reach | changed]


def rejections(folder, rules, seeds, examples=None):
    """The verdicts, other than holds, of the rules on the folder's package."""
    package = overlay.load(folder)
    try:
        verdicts = [run(r, package, seed=s, examples=examples) for s in seeds for r in rules]
    finally:
        overlay.unload(package)
    return [verdict for verdict in verdicts if verdict.outcome != "holds"]


def test_there_are_enough_variants():
    """At least fifty, and every module of the interface is written another way at least twice."""
    assert len(VARIANTS) >= 50
    changed = [module for name in VARIANTS for module in overlay.files(ACCEPTED / name)]
    assert {
        module: changed.count(module) for module in overlay.JUDGED if changed.count(module) < 2
    } == {}


@pytest.mark.filterwarnings("ignore")  # a variant may do what warns; the worker is as tolerant
@pytest.mark.parametrize("name", VARIANTS)
def test_a_correct_variant_is_accepted(name):
    """Every rule that can see the variant holds."""
    folder = ACCEPTED / name
    assert rejections(folder, rules_that_see(folder), seeds=(1,), examples=2) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_edit_is_accepted(name, tmp_path):
    """Every rule that can see the edit holds."""
    plant([Edit(*edit) for edit in RIGHT[name]], tmp_path)
    assert rejections(tmp_path, rules_that_see(tmp_path), seeds=(1, 2), examples=2) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VARIANTS)
def test_a_correct_variant_is_accepted_over_many_seeds(name):
    """All rules hold, on ten seeds."""
    assert rejections(ACCEPTED / name, list(RULES.values()), seeds=range(10)) == []


def test_a_wrong_variant_is_not_accepted(tmp_path):
    """The test can fail: a variant with the future in sight is rejected."""
    source = (overlay.REFERENCE / "attention.py").read_text(encoding="utf-8")
    wrong = source.replace("triu(diagonal=1)", "triu(diagonal=2)")
    (tmp_path / "attention.py").write_text(wrong, encoding="utf-8")
    broken = rejections(tmp_path, rules_that_see(tmp_path), seeds=(1,))
    assert "the_mask_hides_exactly_the_future" in {verdict.rule for verdict in broken}
