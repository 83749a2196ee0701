"""Every rule has been seen red: a package that it rejects stands in the catalogue or in wrong.py.

A rule that cannot fail is a defect.
"""

import tomllib
from pathlib import Path

import pytest

from buggy import overlay
from buggy.faults import load_all
from buggy.planting import Edit, plant
from tests.rules.engine import BROKEN, HOLDS, run
from tests.rules.manifest import RULES
from tests.wrong import WRONG

FAULTS = {}
for fault in load_all():
    FAULTS.setdefault(fault.rule, fault)


CAUGHT = tomllib.loads(Path(__file__).with_name("caught.toml").read_text("utf-8"))["caught"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", CAUGHT, ids=lambda fault: fault["name"])
def test_what_once_passed_is_rejected(fault, tmp_path):
    """By the rule that was extended for its kind."""
    plant([Edit(**edit) for edit in fault["edits"]], tmp_path)
    wrong = overlay.load(tmp_path)
    try:
        assert run(RULES[fault["rule"]], wrong).outcome == BROKEN
    finally:
        overlay.unload(wrong)


@pytest.mark.filterwarnings("ignore")  # wrong code may warn: the verdict is what is asked
@pytest.mark.parametrize("rule", RULES)
def test_the_rule_rejects_a_wrong_package(rule, tmp_path):
    """Broken by a claim on the wrong package, holding on the right one."""
    edits = [Edit(*WRONG[rule])] if rule in WRONG else FAULTS[rule].edits
    plant(edits, tmp_path)
    wrong, right = overlay.load(tmp_path), overlay.load()
    try:
        assert run(RULES[rule], wrong).outcome == BROKEN
        assert run(RULES[rule], right).outcome == HOLDS
    finally:
        overlay.unload(wrong)
        overlay.unload(right)
