"""Every rule holds on the reference: one test a rule. The proof by mutation runs these tests.

The package is imported under its own name, never through an overlay, and nothing is built from it
outside a test: every verdict must call the functions anew.
"""

import importlib
from types import SimpleNamespace

import pytest

from buggy.overlay import JUDGED
from tests.rules import engine, manifest

SEEDS = 20
DRAWS = 50  # a seed: 1,000 inputs for each rule


@pytest.fixture(scope="module")
def gpt():
    """The reference as the rules want a package: its modules by name."""
    modules = {name: importlib.import_module(f"reference.{name}") for name in JUDGED}
    return SimpleNamespace(__name__="reference", **modules)


RULES = [pytest.param(rule, marks=pytest.mark.rule(rule)) for rule in sorted(manifest.RULES)]


@pytest.mark.parametrize("rule", RULES)
def test_the_reference_obeys(rule, gpt):
    engine.experiment(manifest.RULES[rule], gpt)()


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_the_reference_obeys_whatever_is_drawn(rule, gpt):
    """A thousand inputs and twenty seeds: no verdict is a matter of luck."""
    for seed in range(SEEDS):
        engine.experiment(manifest.RULES[rule], gpt, examples=DRAWS, seed=seed)()
