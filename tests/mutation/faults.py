"""Planted faults, asked of every rule beside the mutants: the catalogue, and ``tests/wrong.py``."""

from types import SimpleNamespace

from buggy import faults, planting
from tests.wrong import WRONG

from .kinds import DIED, TIMEOUT


def everything():
    """What is planted, with ``id`` and ``edits``."""
    wrong = [
        SimpleNamespace(id=f"wrong/{rule}", edits=(planting.Edit(*edit),))
        for rule, edit in WRONG.items()
    ]
    return [*faults.load_all(), *wrong]


def judge(pool, on_answer=None):
    """(id, the (rule, kind) pairs that reject it) of all that is planted."""
    rules = {rule: about["seconds"] for rule, about in pool.survey.items()}

    def request(fault):
        sources = planting.plant(fault.edits)
        return {"do": "judge", "sources": sources, "rules": rules, "stop": False, "tests": []}

    found = everything()
    answers = pool.spread(found, request, on_answer)
    return [(fault.id, _rejecting(answers[fault.id])) for fault in found]


def _rejecting(answer):
    return [(rule, kind) for rule, kind, _ in answer["killers"] if kind not in (TIMEOUT, DIED)]
