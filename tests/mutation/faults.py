"""The planted faults of the catalogue, asked of every rule beside the mutants."""

from buggy import faults, planting

from .kinds import DIED, TIMEOUT


def judge(pool, on_answer=None):
    """(fault id, the rules that reject it) for the whole catalogue."""
    rules = {rule: about["seconds"] for rule, about in pool.survey.items()}

    def request(fault):
        sources = planting.plant(fault.edits)
        return {"do": "judge", "sources": sources, "rules": rules, "stop": False, "tests": []}

    found = faults.load_all()
    answers = pool.spread(found, request, on_answer)
    return [(fault.id, _rejecting(answers[fault.id])) for fault in found]


def _rejecting(answer):
    return [rule for rule, kind, _ in answer["killers"] if kind not in (TIMEOUT, DIED)]
