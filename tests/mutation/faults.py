"""The planted faults of the catalogue, asked of every rule beside the mutants."""

from buggy import faults, planting

from .kinds import DIED, TIMEOUT


def judge(pool):
    """(fault id, the rules that reject it) for the whole catalogue."""
    rules = {rule: about["seconds"] for rule, about in pool.survey.items()}
    found = []
    for fault in faults.load_all():
        request = {"do": "judge", "rules": rules, "stop": False, "tests": []}
        answer = pool.workers[0].ask(sources=planting.plant(fault.edits), **request)
        kinds = (TIMEOUT, DIED)
        found.append((fault.id, [rule for rule, kind, _ in answer["killers"] if kind not in kinds]))
    return found
