"""The proof as Markdown, JSON and a picture."""

import json
import resource

from . import matrix
from .kinds import CLAIM, CRASH, REFUSAL
from .results import KILLED, SURVIVED

ORIGINS = ("stock", "added", "second")


def counts(results, listed):
    """By origin: mutants, killed by claim, refusal and crash, listed, and all that is left."""
    table = {}
    for origin in ORIGINS:
        mine = [result for result in results if result.mutant.origin == origin]
        if not mine:
            continue
        killed = [result for result in mine if result.verdict == KILLED]
        kinds = [result.killers[0][1] for result in killed]
        known = sum(r.verdict == SURVIVED and r.mutant.key in listed for r in mine)
        table[origin] = {
            "mutants": len(mine),
            CLAIM: kinds.count(CLAIM),
            REFUSAL: kinds.count(REFUSAL),
            CRASH: kinds.count(CRASH),
            "listed": known,
            "left": len(mine) - len(killed) - known,
        }
    return table


def as_json(results, listed, found, seconds):
    """Everything, for other programs and for the comparison of two runs."""
    return {
        "seconds": round(seconds, 1),
        "counts": counts(results, listed),
        "open": not found,
        "mutants": [
            {
                "id": result.mutant.id,
                "module": result.mutant.module,
                "function": result.mutant.function,
                "origin": result.mutant.origin,
                "operator": result.mutant.operator,
                "removed": result.mutant.removed,
                "added": result.mutant.added,
                "by": result.by,
                "verdict": result.verdict,
                "killers": [list(killer) for killer in result.killers],
            }
            for result in results
        ],
    }


def different(results, before):
    """Mutants whose verdict is another than in an earlier run: (id, then, now)."""
    old = {entry["id"]: entry["verdict"] for entry in before["mutants"]}
    return [
        (result.mutant.id, old[result.mutant.id], result.verdict)
        for result in results
        if old.get(result.mutant.id, result.verdict) != result.verdict
    ]


def cpu_seconds():
    """Processor seconds of this process and of those it has started and seen end."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(time.ru_utime + time.ru_stime for time in times)


def summary(say, results, listed, seconds):
    """The table by origin and the cost, in Markdown."""
    heads = ["origin", "mutants", CLAIM, REFUSAL, CRASH, "listed", "left"]
    lines = [_row([say(f"head.{head}") for head in heads]), _row(["---"] + ["---:"] * 6)]
    table = counts(results, listed)
    for origin, numbers in table.items():
        lines.append(_row([say(f"origin.{origin}"), *numbers.values()]))
    if len(table) > 1:
        total = [sum(numbers[head] for numbers in table.values()) for head in heads[1:]]
        lines.append(_row([say("origin.all"), *total]))
    cpu = f"{cpu_seconds() / max(1, len(results)):.2f}"
    lines += ["", say("cost", minutes=f"{seconds / 60:.1f}", mutants=len(results), cpu=cpu)]
    return "\n".join(lines)


def markdown(say, table, shares):
    """The matrix: a line a rule, then a line a module."""
    heads = ["day", "rule", CLAIM, REFUSAL, CRASH, "alone", "first", "faults", "leads"]
    lines = [f"## {say('matrix.rules')}", "", _row([say(f"head.{head}") for head in heads])]
    lines.append(_row(["---", "---"] + ["---:"] * 7))
    for row in table:
        kinds = [row.kinds[kind] for kind in (CLAIM, REFUSAL, CRASH)]
        name = f"`{row.rule}`"
        lines.append(
            _row([row.day, name, *kinds, row.alone, row.first, len(row.faults), len(row.leads)])
        )
    heads = ["module", "day", "judged", "own", "share"]
    lines += ["", f"## {say('matrix.days')}", "", _row([say(f"head.{head}") for head in heads])]
    lines.append(_row(["---", "---"] + ["---:"] * 3))
    for module, (judged, own) in shares.items():
        days = ", ".join(matrix.DAYS[module])
        lines.append(_row([module, days, judged, own, f"{100 * own / max(1, judged):.1f} %"]))
    return "\n".join(lines) + "\n"


def as_rows(table):
    """The matrix for other programs."""
    return [
        {
            "rule": row.rule,
            "day": row.day,
            **row.kinds,
            "alone": row.alone,
            "first": row.first,
            "by_module": row.by_module,
            "faults": row.faults,
            "leads": row.leads,
        }
        for row in table
    ]


def picture(path, table):
    """Rules against modules: how many mutants of the module the rule rejects by a claim."""
    import matplotlib

    matplotlib.use("Agg")
    import numpy as np
    from matplotlib import pyplot as plt

    modules = list(matrix.DAYS)
    grid = np.array([[row.by_module.get(module, 0) for module in modules] for row in table])
    figure, axes = plt.subplots(figsize=(9, 2 + 0.17 * len(table)), layout="constrained")
    image = axes.imshow(np.log10(1 + grid), cmap="Greys", aspect="auto")
    axes.set_xticks(range(len(modules)), modules, rotation=40, ha="right")
    labels = [f"{row.rule}  ({row.day})" for row in table]
    axes.set_yticks(range(len(table)), labels, fontsize=6)
    for y, x in zip(*np.nonzero(grid)):
        dark = grid[y, x] > 0.3 * grid.max()
        colour = "white" if dark else "black"
        axes.text(x, y, grid[y, x], ha="center", va="center", fontsize=5, color=colour)
    figure.colorbar(image, ax=axes, shrink=0.3, label="log10(1 + n)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def save(folder, say, results, listed, found, seconds, table=None, shares=None):
    """proof.json and proof.md, and with a matrix matrix.json, matrix.md and matrix.png."""
    folder.mkdir(parents=True, exist_ok=True)
    _json(folder / "proof.json", as_json(results, listed, found, seconds))
    text = f"# {say('title')}\n\n{summary(say, results, listed, seconds)}\n"
    (folder / "proof.md").write_text(text, encoding="utf-8")
    if table:
        _json(folder / "matrix.json", as_rows(table))
        (folder / "matrix.md").write_text(markdown(say, table, shares), encoding="utf-8")
        picture(folder / "matrix.png", table)


def _json(path, what):
    path.write_text(json.dumps(what, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _row(cells):
    return f"| {' | '.join(map(str, cells))} |"
