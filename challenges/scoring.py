"""How well a learner foresaw: predictions beside measurements, days, and how sure they were."""

import itertools

SIGNS = {"both": "=", "also": "+", "not_seen": "-"}


def compare(round):
    """For each letter, [(word, ``both``/``also``/``not_seen``, row)]: also is measured only.

    What was said and seen stands first, then the symptom that the fault is known for.
    """
    table = {}
    for letter, fault, symptoms in zip(round.letters, round.faults, round.measured["symptoms"]):
        said = set(round.predicted[letter].symptoms) if letter in round.predicted else set()
        rows = [(word, _outcome(word in said, row["shown"]), row) for word, row in symptoms.items()]
        order = [*fault.symptoms, *(word for word in symptoms if word not in fault.symptoms)]
        rank = {word: place for place, word in enumerate(order)}
        rows = [row for row in rows if row[1]]
        table[letter] = sorted(rows, key=lambda r: (list(SIGNS).index(r[1]), rank[r[0]]))
    return table


def _outcome(said, shown):
    if said:
        return "both" if shown else "not_seen"
    return "also" if shown else None


def foreseen(round):
    """For each letter, whether something was said of it and all of that was seen."""
    table = {}
    for letter, rows in compare(round).items():
        outcomes = {outcome for _, outcome, _ in rows}
        table[letter] = "both" in outcomes and "not_seen" not in outcomes
    return table


def said(predictions):
    """What is scored of predictions: days, symptoms, confidence; not the reason given."""
    return {x: (p.day, frozenset(p.symptoms), p.confidence) for x, p in predictions.items()}


def located(round):
    """For each letter, whether the right day was named."""
    return {
        letter: letter in round.predicted and round.predicted[letter].day == fault.day
        for letter, fault in zip(round.letters, round.faults)
    }


def matched(round):
    """Where no line is marked, the predictions in the order that fits the faults best."""
    said = [round.predicted[letter] for letter in round.letters]
    shown = [
        {word for word, row in symptoms.items() if row["shown"]}
        for symptoms in round.measured["symptoms"]
    ]

    def fit(order):
        return sum(
            2 * (prediction.day == fault.day) + len(seen & set(prediction.symptoms))
            for prediction, fault, seen in zip(order, round.faults, shown)
        )

    return dict(zip(round.letters, max(itertools.permutations(said), key=fit)))


def as_entry(round):
    """The score as the ledger keeps it: [[confidence, foreseen, located], …]."""
    seen, days = foreseen(round), located(round)
    rows = [[round.predicted[x].confidence, seen[x], days[x]] for x in round.letters]
    return {"attempt": round.progress.attempt, "rows": rows}


def by_confidence(rows):
    """{confidence: (right, of)} of rows as the ledger keeps them, the surest first."""
    table = {}
    for confidence, right, *_ in rows:
        table.setdefault(confidence, []).append(bool(right))
    return {c: (sum(table[c]), len(table[c])) for c in sorted(table, key=str, reverse=True)}
