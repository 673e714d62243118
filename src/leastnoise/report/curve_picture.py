"""A cumulative curve with its band, as a drawing that needs no script: its colours are those of the page's style."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from leastnoise._support.number_format import rounded
from leastnoise.releases import labels
from leastnoise.releases.cumulative import CumulativeTable
from leastnoise.report.summary_picture import fitting, levels, short_number

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420.0, 250.0, 54.0, 44.0, 10.0, 42.0  # right: half the last name
MAX_NAMES = 6  # of keys below the curve
CONFIDENCE = 0.95


def curve(curves: CumulativeTable) -> str:
    """The sums from the first key up to each key of a column, and their 95 % intervals.

    curves: of a table of one column.
    """
    values = curves.values.ravel()
    low, high = (np.asarray(end, dtype=float).ravel() for end in curves.interval(CONFIDENCE))
    first, last = min(0.0, float(low.min())), float(high.max())
    last = last if last > first else first + 1.0

    def x(place: float) -> float:
        return LEFT + place / max(1, values.size - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (float(value) - first) / (last - first) * (HEIGHT - BOTTOM - TOP)

    def points(numbers: Any, places: Any) -> str:
        return " ".join(f"{x(place):.2f},{y(number):.2f}" for place, number in zip(places, numbers, strict=True))

    steps = np.arange(values.size)
    band = f"{points(high, steps)} {points(low[::-1], steps[::-1])}"
    widest = float((high - low).max()) / 2
    column = curves.table._words(curves.column)
    about = f"{column}: {values.size} cumulative sums, up to {rounded(values[-1])}, off by at most {rounded(widest)}"
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(about, quote=True)}">'
        f"{''.join(_level(value, y(value)) for value in levels(first, last))}"
        f"{''.join(_name(curves, int(place), x(place)) for place in _named(values.size))}"
        f'<polygon class="within" points="{band}"/><polyline class="drawn" points="{points(values, steps)}"/>'
        f'<text x="{middle:g}" y="{HEIGHT - 6:g}">{escape(column)}, up to and including</text></svg>'
    )


def _named(size: int) -> list[int]:
    return sorted(set(np.linspace(0, size - 1, min(MAX_NAMES, size)).astype(int).tolist()))


def _level(value: float, y: float) -> str:
    return (
        f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.2f}" y2="{y:.2f}"/>'
        f'<text class="tick side" x="{LEFT - 7:g}" y="{y + 4:.2f}">{short_number(value)}</text>'
    )


def _name(curves: CumulativeTable, place: int, x: float) -> str:
    assert curves.table.domain is not None
    axis = curves.table.domain.axes[curves.table.columns.index(curves.column)]
    room = (WIDTH - LEFT - RIGHT) / max(1, len(_named(curves.values.shape[0])) - 1) - 6
    name = labels.text(axis.key(place))
    short = escape(fitting(name, min(room, 2 * RIGHT) * 12 / 13))  # its letters have 13 pixels
    return f'<text class="tick" x="{x:.2f}" y="{HEIGHT - BOTTOM + 17:g}"><title>{escape(name)}</title>{short}</text>'
