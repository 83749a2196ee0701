"""Which rule rejects which mutant: what each rule is worth, when every rule has been asked."""

from dataclasses import dataclass, field

from .kinds import CLAIM, CRASH, REFUSAL
from .results import KILLED

DAYS = {
    "attention": ("43", "44", "45"),
    "normalization": ("46",),
    "feedforward": ("47",),
    "block": ("46", "47"),
    "positions": ("48",),
    "model": ("48",),
    "data": ("49",),
    "loss": ("49",),
    "ledger": ("47", "49"),
    "sampling": ("X",),
    "training": ("X",),
}
SHARE = 0.9  # of a module's mutants that do not merely crash: rejected by a rule of its day


@dataclass
class Row:
    """What one rule rejects: mutants by kind, those it alone rejects, those it names first.

    ``faults``: the planted faults that it rejects; ``leads``: those that it names first.
    """

    rule: str
    day: str
    kinds: dict = field(default_factory=lambda: {CLAIM: 0, REFUSAL: 0, CRASH: 0})
    alone: int = 0
    first: int = 0
    faults: list = field(default_factory=list)
    leads: list = field(default_factory=list)
    by_module: dict = field(default_factory=dict)

    @property
    def needed(self):
        return bool(self.alone or self.first or self.leads)


def rows(results, survey, faults=()):
    """A Row for each rule in the order of the data flow; ``faults``: (id, (rule, kind) pairs)."""
    table = {rule: Row(rule, str(about["day"])) for rule, about in survey.items()}
    order = {rule: place for place, rule in enumerate(survey)}
    for result in results:
        killers = [(rule, kind) for rule, kind, _ in result.killers if rule in table]
        for rule, kind in killers:
            row = table[rule]
            row.kinds[kind] = row.kinds.get(kind, 0) + 1
            if kind == CLAIM:
                module = result.mutant.module
                row.by_module[module] = row.by_module.get(module, 0) + 1
        if killers:
            table[min(killers, key=lambda killer: order[killer[0]])[0]].first += 1
        if len(killers) == 1:
            table[killers[0][0]].alone += 1
    for fault, killers in faults:
        for rule, _ in killers:
            table[rule].faults.append(fault)
        if killers:
            leader = min((rule for rule, _ in killers), key=order.get)
            table[leader].leads.append(fault)
    return list(table.values())


def by_day(results, survey):
    """module: (mutants that do not merely crash, those rejected by a rule of the module's day)."""
    found = {}
    for result in results:
        if result.verdict != KILLED or not result.rules(CLAIM, REFUSAL):
            continue
        module = result.mutant.module
        rejected = {str(survey[rule]["day"]) for rule in result.rules() if rule in survey}
        judged, own = found.get(module, (0, 0))
        found[module] = judged + 1, own + bool(rejected & set(DAYS[module]))
    return found


def problems(table, shares):
    """Rules without a claim of their own, rules that nothing needs, modules whose days are weak."""
    for row in table:
        if not row.kinds[CLAIM]:
            yield "no_claims", {"rule": row.rule}
        if not row.needed:
            yield "not_needed", {"rule": row.rule}
    for module, (judged, own) in shares.items():
        if judged and own < SHARE * judged:
            yield "weak_days", {"module": module, "judged": judged, "own": own, "least": SHARE}
