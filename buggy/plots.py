"""Pictures of what a package does, beside the correct GPT: PNG files, and sketches for a terminal.

``python -m buggy.plots FOLDER --out DIR [--kind loss ...] [--lang en|ja] [--seed N] [--json]``.
Readable in grey and by the colour-blind: curves differ in line, marker and lightness, maps use
cividis. matplotlib is imported only when a picture is drawn.
"""

import argparse
import json
import math
import sys
from pathlib import Path

from reference.fonts import japanese_font
from tests.rules.words import Words, language

from . import overlay, sketch
from .vocabulary import MESSAGES

KINDS = ("loss", "attention", "who_moved", "gradient")
# Okabe and Ito's vermilion and a dark grey: apart in lightness too.
OURS = {"color": "#D55E00", "linestyle": "-", "marker": "o", "linewidth": 2, "markersize": 4}
REFERENCE = {"color": "#333333", "linestyle": "--", "marker": "s", "linewidth": 1.2}
REFERENCE |= {"markersize": 3, "markerfacecolor": "white"}


class NoPicture(Exception):
    """Why no picture can be drawn: a message id of [plot]."""

    def __init__(self, message):
        self.message = message
        super().__init__(message)


def draw(package, folder, lang="en", seed=0, kinds=KINDS, reference=None):
    """Write ``<kind>.png`` for every kind into the folder: (paths, sentences to tell).

    Raises NoPicture without matplotlib. Without a font with Japanese letters the titles are in
    English, and a sentence says how to get one.
    """
    font = japanese_font() if lang == "ja" else None
    tell = [] if lang != "ja" or font else [Words(lang, MESSAGES)("plot.no_font")]
    say = Words("en" if tell else lang, MESSAGES)
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, ours, right in _numbers(package, reference, seed, kinds):
        paths.append(Path(folder) / f"{kind}.png")
        picture(kind, ours, right, say, font).savefig(paths[-1])
    return paths, tell


def sketches(package, lang="en", seed=0, kinds=KINDS, reference=None):
    """The same as text: ``{kind: lines}``."""
    say = Words(lang, MESSAGES)
    numbers = _numbers(package, reference, seed, kinds)
    return {kind: _sketch(kind, ours, right, say) for kind, ours, right in numbers}


def _numbers(package, reference, seed, kinds):
    from . import curves  # imports torch

    reference = reference or overlay.load()
    for kind in kinds:
        yield kind, *(curves.numbers(each, kind, seed) for each in (package, reference))


def picture(kind, ours, right, say, font=None):
    """A matplotlib figure of one kind from the numbers of two packages."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPicture("no_matplotlib") from None
    names = [font, "DejaVu Sans"] if font else ["DejaVu Sans"]
    with matplotlib.rc_context({"font.family": names, "font.size": 11, "savefig.dpi": 110}):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        figure.suptitle(say(f"plot.{kind}"))
        _DRAW[kind](figure, ours, right, say)
        figure.draw_without_rendering()  # fonts and layout are settled under these settings
    return figure


def _draw_loss(figure, ours, right, say):
    from .curves import LINES

    for axes, run in zip(figure.subplots(1, 2), ("random_tokens", "counting")):
        _curve(axes, right.get(run), say("plot.reference"), REFERENCE)
        _curve(axes, ours.get(run), _label(ours, ours.get(run), say), OURS)
        ln_v, floor = LINES[run]
        axes.axhline(ln_v, color="black", linestyle=":", label=say("plot.ln_v", ln_v=ln_v))
        axes.axhline(floor, color="#0072B2", linestyle="-.", label=say("plot.floor", floor=floor))
        axes.set(title=say(f"plot.{run}"), xlabel=say("plot.step"), ylabel=say("plot.nats"))
        axes.set_ylim(-0.2, None)
        axes.legend(fontsize=9)


def _draw_gradient(figure, ours, right, say):
    axes = figure.subplots()
    _curve(axes, right.get("blocks"), say("plot.reference"), REFERENCE, every=1)
    _curve(axes, ours.get("blocks"), _label(ours, ours.get("blocks"), say), OURS, every=1)
    axes.set_yscale("log")
    axes.set(xlabel=say("plot.block"), ylabel=say("plot.norm"))
    axes.legend()


def _curve(axes, values, label, style, every=5):
    shown = [v if math.isfinite(v) else math.nan for v in values or [math.nan]]
    axes.plot(range(len(shown)), shown, label=label, markevery=every, **style)


def _label(ours, values, say):
    if "raises" in ours:
        return f"{say('plot.yours')}: {say('plot.raises', error=ours['raises'])}"
    strange = not all(map(math.isfinite, values))
    return f"{say('plot.yours')}: {say('plot.nan')}" if strange else say("plot.yours")


def _draw_attention(figure, ours, right, say):
    _maps(figure, ours, right, say, "plot.share", say("plot.key"), say("plot.query"), high=1.0)


def _draw_who_moved(figure, ours, right, say):
    _maps(figure, ours, right, say, "plot.moved", say("plot.position"), say("plot.changed"))


def _maps(figure, ours, right, say, bar, xlabel, ylabel, high=None):
    import numpy as np

    panels = figure.subplots(1, 2, sharey=True)
    known = [np.array(n["map"]) for n in (ours, right) if "map" in n]
    high = high or max([float(m[np.isfinite(m)].max(initial=0)) for m in known] + [1e-9])
    for axes, numbers, name in zip(panels, (ours, right), ("yours", "reference")):
        axes.locator_params(integer=True)
        axes.set(title=say(f"plot.{name}"), xlabel=xlabel)
        image = _map(axes, np.array(numbers.get("map", [[np.nan]])), high)
        if "raises" in numbers:
            axes.text(0.5, 0.5, say("plot.raises", error=numbers["raises"]), ha="center",
                      transform=axes.transAxes)  # fmt: skip
    panels[0].set_ylabel(ylabel)
    figure.colorbar(image, ax=panels, label=say(bar))


def _map(axes, rows, high):
    """Zeros white, numbers in cividis (dark is small), NaN crossed out."""
    import numpy as np

    shown = np.ma.masked_where(~np.isfinite(rows) | (rows == 0), rows)
    image = axes.imshow(shown, cmap="cividis", vmin=0, vmax=high)
    for y, x in zip(*np.nonzero(~np.isfinite(rows))):
        axes.text(x, y, sketch.STRANGE, ha="center", va="center", color="#D55E00")
    return image


_DRAW = {
    "loss": _draw_loss,
    "attention": _draw_attention,
    "who_moved": _draw_who_moved,
    "gradient": _draw_gradient,
}


def _sketch(kind, ours, right, say):
    named = {say("plot.yours"): ours, say("plot.reference"): right}
    lines = [say(f"plot.{kind}")]
    lines += [f"{n}: {say('plot.raises', error=x['raises'])}" for n, x in named.items()
              if "raises" in x]  # fmt: skip
    named = {name: numbers for name, numbers in named.items() if "raises" not in numbers}
    if kind == "loss":
        for run in ("random_tokens", "counting"):
            lines += [say(f"plot.{run}"), sketch.curves({n: x[run] for n, x in named.items()})]
    elif kind == "gradient":
        lines.append(sketch.curves({n: x["blocks"] for n, x in named.items()}, powers=True))
    else:
        lines.append(sketch.maps({n: x["map"] for n, x in named.items()}))
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m buggy.plots")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lang")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    lang, kinds = language(options.lang), options.kind or KINDS
    package = overlay.load(options.folder)
    told = {"paths": [], "tell": [], "sketches": sketches(package, lang, options.seed, kinds)}
    if options.out:
        try:
            paths, told["tell"] = draw(package, options.out, lang, options.seed, kinds)
            told["paths"] = list(map(str, paths))
        except NoPicture as none:
            told["tell"] = [Words(lang, MESSAGES)(f"plot.{none.message}")]
    if options.json:
        print(json.dumps(told, ensure_ascii=False))
        return 0
    print("\n\n".join(told["sketches"].values()))
    print(*told["paths"], *told["tell"], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
