"""One statistic of a summary, bin by bin, as a drawing that needs no script: a mark for each value, a line for its
interval. Its colours are those of the page's style."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats
from leastnoise.releases.display import TOO_FEW

WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 360.0, 116.0, 14.0, 6.0, 20.0, 22.0
LINE = 13.0  # pixels, from one line of a name to the next
MAX_BINS = 40  # that have a line and a name each


def dots(name: str, values: Floats, low: Floats, high: Floats, keys: list[str]) -> str:
    """The values of a statistic of this name, with their intervals; a bin a line, from the top."""
    known = ~np.isnan(values)
    ends = np.concatenate([low[known], high[known], values[known], [0.0] if not known.any() else []])
    first, last = float(ends.min()), float(ends.max())
    if 0 < first < 0.5 * (last - first):  # near enough to zero to show it
        first = 0.0
    if first == last:
        first, last = first - 1.0, last + 1.0
    names = [in_lines(key, LEFT - 8) for key in keys]
    row = max(ROW, LINE * max(map(len, names), default=1) + 6)
    height = TOP + row * len(keys) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (float(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    ticks = "".join(_tick(at, x(at), height) for at in levels(first, last))
    lines = "".join(
        _line(TOP + row * (place + 0.5), key, names[place], value, a, b, x)
        for place, (key, value, a, b) in enumerate(zip(keys, values, low, high, strict=True))
    )
    about = f"{name}: {int(known.sum())} of {len(keys)} bins, from {rounded(first)} to {rounded(last)}"
    return (
        f'<svg class="dots" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(about, quote=True)}">'
        f"{ticks}{lines}</svg>"
    )


def _line(y: float, key: str, name: list[str], value: float, low: float, high: float, x: object) -> str:
    label = "".join(
        f'<text class="key" x="{LEFT - 8:g}" y="{y + 4 + LINE * (k - (len(name) - 1) / 2):.2f}">{escape(line)}</text>'
        for k, line in enumerate(name)
    )
    if math.isnan(value):
        return f'{label}<text class="few" x="{LEFT + 4:g}" y="{y + 4:.2f}">{TOO_FEW}</text>'
    at = x  # from a value to its place
    told = escape(f"{key}: {rounded(value)}, 95 % between {rounded(low)} and {rounded(high)}")
    return (
        f'{label}<g><title>{told}</title><line class="range" x1="{at(low):.2f}" x2="{at(high):.2f}" '  # type: ignore[operator]
        f'y1="{y:.2f}" y2="{y:.2f}"/><circle cx="{at(value):.2f}" cy="{y:.2f}" r="4"/></g>'  # type: ignore[operator]
    )


def _tick(value: float, x: float, height: float) -> str:
    return (
        f'<line class="grid" x1="{x:.2f}" x2="{x:.2f}" y1="{TOP:g}" y2="{height - BOTTOM:g}"/>'
        f'<text class="tick" x="{x:.2f}" y="{height - 6:g}">{short_number(value)}</text>'
    )


def in_lines(text: str, room: float, most: int = 4) -> list[str]:
    """A text in at most so many lines, broken between words; what still does not fit is cut.

    text: a name. room: in pixels.

    >>> in_lines("Registration of new inhabitants", 108)
    ['Registration', 'of new', 'inhabitants']
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(lines) < most and fitting(longer, room) != longer:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [fitting(line, room) for line in lines]


def fitting(text: str, room: float) -> str:
    """A text, cut where letters of 12 pixels would need more than this room.

    text: a name. room: in pixels.

    >>> fitting("New Hampshire", 104), fitting("MASSACHUSETTS", 104)
    ('New Hampshire', 'MASSACHUSE…')
    """
    # A sans serif, and a wide one: the page does not choose it, and a drawing cuts off what passes its edge.
    taken = np.cumsum([12.0 if ord(c) > 0x2E7F else 9.5 if c.isupper() or c in "mw@%" else 7.2 for c in text])
    if not text or taken[-1] <= room:
        return text
    return f"{text[: max(1, int(np.searchsorted(taken, room - 7.2, side='right')))].rstrip()}…"


def short_number(value: float) -> str:
    """A number of a scale: 20 k.

    value: a round one.
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


def levels(first: float, last: float) -> list[float]:
    """Three to five round numbers in between.

    first, last: the ends of a scale.
    """
    rough = (last - first) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= rough)
    start = math.ceil(first / step)
    return [round(k * step, 12) for k in range(start, math.floor(last / step) + 1)]
