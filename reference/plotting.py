"""The picture of a training run."""

import matplotlib
from matplotlib.figure import Figure

from .cli_words import Words
from .fonts import japanese_font


def loss_curve(path, rows, ln_v, entropy, words):
    """Training and validation loss by step, with ln V and the unigram entropy drawn in.

    rows: (step, training, validation or None). Grey and line styles only, every line named
    where it runs: it reads without colour. Returns the language of the labels.
    """
    words, fonts = labels(words)
    with matplotlib.rc_context({"font.family": fonts}):
        figure = Figure(figsize=(7, 4.5), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        plot_losses(axes, rows, words)
        plot_levels(axes, rows[-1][0], ln_v, entropy, words)
        axes.set(xlabel=words("plot.steps"), ylabel=words("plot.nats"), ylim=(0, None))
        axes.set_title(words("plot.title"), loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path)
    return words.lang


def plot_losses(axes, rows, words):
    """Each step in light grey, its mean over 20 steps darker, validation as black dots."""
    steps, training, _ = zip(*rows)
    axes.plot(steps, training, color="0.8", linewidth=0.8)
    axes.plot(steps, smooth(training), color="0.5", label=words("plot.training"))
    judged = [(step, validation) for step, _, validation in rows if validation is not None]
    if judged:
        name = words("plot.validation", loss=judged[-1][1])
        axes.plot(*zip(*judged), "o-", color="black", markersize=4, label=name)


def plot_levels(axes, last, ln_v, entropy, words):
    """Two levels to compare with, named at their right end."""
    for level, style, key in ((ln_v, "--", "plot.ln_v"), (entropy, ":", "plot.unigram")):
        axes.axhline(level, color="black", linestyle=style, linewidth=1)
        above = {"xytext": (0, 2), "textcoords": "offset points"}
        above["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
        axes.annotate(words(key, level=level), (last, level), ha="right", va="bottom", **above)


def smooth(losses, width=20):
    """The mean of each loss and up to ``width - 1`` before it."""
    parts = [losses[max(0, i + 1 - width) : i + 1] for i in range(len(losses))]
    return [sum(part) / len(part) for part in parts]


def labels(words):
    """The words and fonts for the labels: English where no font here holds Japanese."""
    if words.lang != "ja":
        return words, ["DejaVu Sans"]
    font = japanese_font()
    return (words, [font, "DejaVu Sans"]) if font else (Words("en"), ["DejaVu Sans"])
