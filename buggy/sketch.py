"""Pictures in letters for a terminal: bars for curves, shades for maps. Needs no other library."""

import math

from .wrapping import width as _cells

BARS = "▁▂▃▄▅▆▇█"
SHADES = " ░▒▓█"
WIDTH = 44  # bars of a curve: with a name and two numbers they fit 80 columns in Japanese too
STRANGE = "×"  # NaN or infinity


def curve(values, low, high, width=WIDTH):
    """One line of bars; values beyond low and high are cut off, NaN is a cross."""
    return "".join(_bar(value, low, high) for value in _resampled(values, width))


def curves(named, width=WIDTH, powers=False):
    """Several curves on one scale, a line each: name, bars, first and last value.

    powers: bars grow with the logarithm of the value.
    """
    scaled = {name: _logarithms(v) if powers else v for name, v in named.items()}
    known = [v for values in scaled.values() for v in values if math.isfinite(v)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if powers:
        low = min(low, high - 2)  # less than two powers of ten are no difference to speak of
    room = max(map(_cells, named), default=0)
    lines = []
    for name, values in named.items():
        bars = curve(scaled[name], low, high, width)
        ends = f"{_number(values[0])} … {_number(values[-1])}" if values else ""
        lines.append(f"{name}{' ' * (room - _cells(name))}  {bars}  {ends}")
    return "\n".join(lines)


def maps(named, gap=4):
    """Square maps side by side, two columns a cell; each is as dark as its largest number."""
    blocks = {name: _map(rows) for name, rows in named.items()}
    heads, bodies = [], []
    for name, lines in blocks.items():
        width = max(_cells(name), *map(len, lines))
        heads.append(name + " " * (width - _cells(name)))
        bodies.append([line.ljust(width) for line in lines])
    rows = [heads, *zip(*bodies)]
    return "\n".join((" " * gap).join(row).rstrip() for row in rows)


def _map(rows):
    known = [v for row in rows for v in row if math.isfinite(v)]
    high = max(known, default=0.0) or 1.0
    return ["".join(2 * _shade(value, high) for value in row) for row in rows]


def _shade(value, high):
    if not math.isfinite(value):
        return STRANGE
    # Whatever is not zero is seen: a leak may be small.
    return SHADES[min(4, max(math.ceil(4 * value / high), 1 if value > 0 else 0))]


def _bar(value, low, high):
    if not math.isfinite(value):
        return STRANGE
    place = (value - low) / (high - low) if high > low else 0.0
    return BARS[min(7, max(0, int(8 * place)))]


def _logarithms(values):
    return [math.log10(v) if v > 0 else math.nan for v in values]


def _resampled(values, width):
    if len(values) <= width:
        return values
    return [values[i * len(values) // width] for i in range(width)]


def _number(value):
    return f"{value:.3g}" if math.isfinite(value) else "NaN"
