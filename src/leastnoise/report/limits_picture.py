"""The predicted error of limits, as a drawing that needs no script: what is left out, the noise, and both together.

Its colours are those of the style of the page that it is in.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.report.summary_picture import short_number

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460.0, 300.0, 54.0, 46.0, 14.0, 92.0
LINE = 17.0  # between names
MAX_TICKS = 5
CURVES = {"error": "together", "noise": "noise", "bias": "left out"}


def drawn(suggestion: LimitSuggestion) -> str:
    """Error of a bin against max_rows, each with its best max_per_bin, by powers of ten; the proposal is marked."""
    columns, best = suggestion._columns(), suggestion.errors.best
    rows = np.asarray(columns["max_rows"], dtype=float)
    chosen, least = float(suggestion.errors.max_rows[best]), float(suggestion.error)
    floor = least / 30  # what is left out falls to nothing, and a thirtieth of the error no longer matters
    top = max(float(np.max(columns[name])) for name in CURVES)
    x = _Scale(float(rows.min()), float(rows.max()), LEFT, WIDTH - RIGHT)
    y = _Scale(floor, max(top, 2 * floor), HEIGHT - BOTTOM, TOP)
    curves = {name: _shown(rows, np.asarray(columns[name], dtype=float), x, y, floor) for name in CURVES}
    lines = [f'<polyline class="{name}" points="{_points(places)}"/>' for name, places in curves.items() if places]
    lines += _names({name: places[-1] for name, places in curves.items() if places})
    ticks = "".join(
        f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y.at(tick):.1f}" y2="{y.at(tick):.1f}"/>'
        f'<text class="side" x="{LEFT - 6:g}" y="{y.at(tick) + 4:.1f}">{short_number(tick)}</text>'
        for tick in y.powers()
    )
    below = HEIGHT - BOTTOM + 18
    names = "".join(f'<text x="{x.at(tick):.1f}" y="{below:g}">{short_number(tick)}</text>' for tick in x.powers())
    mark = f'<circle class="best" cx="{x.at(chosen):.1f}" cy="{y.at(least):.1f}" r="5"/>'
    label = f"Predicted error of a bin for every limit; {chosen:g} rows, with {least:.3g}, are proposed."
    axis = f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 8:g}">rows of one that count</text>'
    return (
        f'<svg class="limits tradeoff" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{label}">'
        f"{ticks}{names}{axis}{''.join(lines)}{mark}</svg>"
    )


class _Scale:
    """Numbers along an axis, by powers of ten."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._high = math.log10(low), math.log10(max(high, 1.0001 * low))
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        """Where a number is."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + part * (self._end - self._start)

    def powers(self) -> list[float]:
        """Some powers of ten on it; where there are fewer than two, its ends."""
        found = [10.0**power for power in range(math.ceil(self._low), math.floor(self._high) + 1)]
        found = found[:: math.ceil(len(found) / MAX_TICKS)]
        return found if len(found) > 1 else [float(f"{10**end:.2g}") for end in (self._low, self._high)]


def _shown(rows: Any, values: Any, x: _Scale, y: _Scale, floor: float) -> list[tuple[float, float]]:
    return [(x.at(row), y.at(value)) for row, value in zip(rows, values, strict=True) if value >= floor]


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{down:.1f}" for left, down in places)


def _names(ends: dict[str, tuple[float, float]]) -> list[str]:
    """The names of the curves behind their ends, one below the other."""
    made, last = [], -LINE
    for name, (left, down) in sorted(ends.items(), key=lambda end: end[1][1]):
        last = max(down, last + LINE)
        made.append(f'<text class="name" x="{left + 8:.1f}" y="{last + 4:.1f}">{CURVES[name]}</text>')
    return made
