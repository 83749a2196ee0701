"""Faults against rules and against symptoms, and what a pair of faults hides of each other."""

import csv
import html
import io
import itertools
from dataclasses import dataclass

from . import faults, planting


@dataclass
class Matrix:
    """Rows are faults, columns are rules or symptoms; ``cells[fault]`` is the set that is hit.

    ``first[fault]`` is the rule that rejects first, or None.
    """

    faults: list
    columns: list  # (name, day or "")
    cells: dict
    first: dict

    def hits(self, column):
        """The faults that a column holds."""
        return [fault.id for fault in self.faults if column in self.cells[fault.id]]

    def alone(self, column):
        """The faults that only this column holds."""
        return [id for id in self.hits(column) if len(self.cells[id]) == 1]

    def leads(self, column):
        """The faults that this rule rejects first."""
        return [fault.id for fault in self.faults if self.first.get(fault.id) == column]

    def own_day(self):
        """How many faults are named first by a rule of their own day."""
        days = dict(self.columns)
        named = ((fault.day, days.get(self.first.get(fault.id))) for fault in self.faults)
        return sum(str(day) == str(found) for day, found in named)


def as_csv(matrix):
    """One row a fault, 1 where it is hit and 2 where that is the first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["day", "fault", *(name for name, _ in matrix.columns)])
    for fault in matrix.faults:
        writer.writerow([fault.day, fault.id, *_row(matrix, fault)])
    return out.getvalue()


def _row(matrix, fault):
    cells, first = matrix.cells[fault.id], matrix.first.get(fault.id)
    return [2 if name == first else int(name in cells) for name, _ in matrix.columns]


def as_markdown(matrix, say):
    """The columns with their counts, then the faults with what hits them."""
    lines = _rule_counts(matrix, say) if matrix.first else _symptom_counts(matrix, say)
    what = say("matrix.rejected_by" if matrix.first else "list.symptoms")
    lines += ["", _cells([say("list.day"), say("matrix.fault"), what]), _cells(["---"] * 3)]
    for fault in matrix.faults:
        order = [name for name, _ in matrix.columns if name in matrix.cells[fault.id]]
        names = ", ".join(f"**`{n}`**" if n == matrix.first.get(fault.id) else n for n in order)
        lines.append(_cells([fault.day, f"`{fault.id}`", names or "-"]))
    return "\n".join(lines) + "\n"


def _rule_counts(matrix, say):
    titles = [say(f"matrix.{name}") for name in ("rule", "rejects", "first", "alone")]
    lines = [_cells([say("list.day"), *titles]), _cells(["---"] * 5)]
    for name, day in matrix.columns:
        counts = (matrix.hits(name), matrix.leads(name), matrix.alone(name))
        lines.append(_cells([day, f"`{name}`", *map(len, counts)]))
    return lines


def _symptom_counts(matrix, say):
    lines = [_cells([say("list.symptoms"), say("matrix.fault")]), _cells(["---"] * 2)]
    return lines + [_cells([f"`{name}`", len(matrix.hits(name))]) for name, _ in matrix.columns]


def _cells(items):
    return f"| {' | '.join(str(item) for item in items)} |"


STYLE = """
body { font: 14px system-ui, sans-serif; margin: 1.5rem; color: #222; background: #fff }
table { border-collapse: collapse } td, th { border: 1px solid #ddd; padding: 0 }
thead th { position: sticky; top: 0; background: #fff; vertical-align: bottom; height: 22rem }
thead span { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal }
tbody th { position: sticky; left: 0; background: #fff; text-align: left; font-weight: normal }
th { padding: 1px 6px } td { width: 14px; height: 16px } .hit { background: #9ecae1 }
.first { background: #08519c } tr:hover td, tr:hover th { outline: 1px solid #666 }
"""


def as_html(title, matrix, lang):
    """One page: a coloured table whose headings stay in view."""
    head = "".join(
        f"<th><span>{day} {html.escape(name)}</span></th>" for name, day in matrix.columns
    )
    body = "".join(_html_row(matrix, fault) for fault in matrix.faults)
    return (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title><style>{STYLE}</style><h1>{html.escape(title)}</h1><table>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></html>\n"
    )


def _html_row(matrix, fault):
    kinds = ("", "hit", "first")
    cells = "".join(
        f'<td class="{kinds[value]}" title="{fault.id}: {name}"></td>' if value else "<td></td>"
        for value, (name, _) in zip(_row(matrix, fault), matrix.columns)
    )
    return f"<tr><th>{fault.day} {fault.id}</th>{cells}</tr>"


def as_picture(title, matrix, path, say, font=None):
    """A heat map as PNG: light where a rule rejects, dark where it does so first."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [_row(matrix, fault) for fault in matrix.faults]
    size = (3.6 + 0.16 * len(matrix.columns), 4 + 0.13 * len(rows))
    fonts = [font, "DejaVu Sans"] if font else ["DejaVu Sans"]
    with matplotlib.rc_context({"font.family": fonts, "font.size": 6, "savefig.dpi": 130}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.imshow(rows, cmap="Blues", vmin=0, vmax=2, aspect="auto", interpolation="none")
        axes.set_xticks(range(len(matrix.columns)), [name for name, _ in matrix.columns])
        axes.tick_params(axis="x", rotation=90, top=True, labeltop=True, labelbottom=False)
        names = [f"{fault.day} {fault.id}" for fault in matrix.faults]
        axes.set_yticks(range(len(rows)), names)
        axes.set_title(title, fontsize=10)
        for i, (above, below) in enumerate(itertools.pairwise(matrix.faults)):
            if above.day != below.day:
                axes.axhline(i + 0.5, color="0.6", linewidth=0.5)
        if matrix.first:
            blues = matplotlib.colormaps["Blues"]
            told = [(1, say("matrix.rejects")), (2, say("matrix.rejects_first"))]
            patches = [Patch(color=blues(value / 2), label=label) for value, label in told]
            figure.legend(handles=patches, loc="outside lower right", ncols=2, fontsize=8)
        figure.savefig(path)


def compatible(one, other):
    """Whether two faults can stand in one reference: in either order, to the same text."""
    try:
        there = planting.plant((*one.edits, *other.edits))
        back = planting.plant((*other.edits, *one.edits))
    except planting.StaleFault:
        return False
    return there == back


def pairs(found):
    """All pairs of faults that can stand together."""
    return [(a, b) for a, b in itertools.combinations(found, 2) if compatible(a, b)]


def rejecting_pair(bench, ids, examples=None):
    """The rule that rejects two faults together, their own rules asked first, or None."""
    one, other = (faults.load(id) for id in ids)
    edits = (*one.edits, *other.edits)
    own = bench.rejections(edits, rules=(one.rule, other.rule), first=True, examples=examples)
    broken = own or bench.rejections(edits, first=True, examples=examples)
    return broken[0]["rule"] if broken else None
