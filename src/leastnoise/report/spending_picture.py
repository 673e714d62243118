"""What a budget has spent over time, as a drawing that needs no script: its colours are those of the page's style."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from typing import Any

import numpy as np

from leastnoise._support.number_format import percent
from leastnoise._support.spending_steps import Steps, steps

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720.0, 300.0, 52.0, 40.0, 22.0, 24.0
MAX_NAMED = 8  # entries, side by side
BEYOND = 0.04  # of the time shown, after the last entry
_STRIPES = (
    '<defs><pattern id="reserved" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="stripe" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
)


def spending(entries: list[Any], cap: str) -> str:
    """Of one cap, by name, the share that releases have used, and above it what is allocated and not used."""
    drawn = steps(entries, cap)
    by_day = len(entries) > 1 and (entries[-1].created_at - entries[0].created_at) >= timedelta(days=1)
    places = [entry.created_at.timestamp() for entry in entries] if by_day else list(range(len(entries)))
    first, last = (places[0], places[-1]) if by_day else (0, len(entries))
    span = (last - first) * (1 + BEYOND * by_day) or 1  # what the last entry left has a width, too
    at = [LEFT + (WIDTH - LEFT - RIGHT) * (place - first) / span for place in places]
    used, booked = drawn.released[-1] / 100, (drawn.booked[-1] - drawn.released[-1]) / 100
    name = f"{percent(used, 4)} used by releases, {percent(booked, 4)} allocated."
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(name, quote=True)}">{_STRIPES}'
        f"{''.join(map(_rule, (0, 25, 50, 75)))}"
        f'<line class="cap" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{_y(100):g}" y2="{_y(100):g}"/>'
        f'<text class="cap-name" x="{LEFT + 4:g}" y="{_y(100) - 6:g}">100 %: the limit</text>'
        f"{_areas(drawn, at)}{_ends(entries, by_day)}</svg>"
    )


def _areas(drawn: Steps, at: list[float]) -> str:
    reserved = drawn.booked - drawn.released
    upper = _area(at, drawn.booked, drawn.released, "reserved") if np.any(reserved > 0) else ""
    return upper + _area(at, drawn.released, np.zeros_like(drawn.released), "released")


def _area(at: list[float], top: Any, bottom: Any, kind: str) -> str:
    """Between two stairs, from the left edge to the right one."""
    edges = [LEFT, *at, WIDTH - RIGHT]
    above = [(x, _y(level)) for place, level in enumerate(top) for x in edges[place : place + 2]]
    below = [(x, _y(level)) for place, level in enumerate(bottom) for x in edges[place : place + 2]]
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in [*above, *reversed(below)])
    return f'<polygon class="{kind}" points="{points}"/>'


def _rule(percent: int) -> str:
    y = _y(percent)
    return (
        f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:g}" y2="{y:g}"/>'
        f'<text class="end" x="{LEFT - 7:g}" y="{y + 4:g}">{percent} %</text>'
    )


def _ends(entries: list[Any], by_day: bool) -> str:
    y = HEIGHT - BOTTOM + 18
    if not by_day:
        return _entries(len(entries), y)
    first, last = (_day(entries[place].created_at) for place in (0, -1))
    return f'<text x="{LEFT:g}" y="{y:g}">{first}</text><text class="end" x="{WIDTH - RIGHT:g}" y="{y:g}">{last}</text>'


def _entries(many: int, y: float) -> str:
    """Each in the middle of what it left; of many the first and the last."""
    if not many:
        return f'<text class="end" x="{WIDTH - RIGHT:g}" y="{y:g}">no entry yet</text>'
    width = (WIDTH - LEFT - RIGHT) / many
    shown = range(many) if many <= MAX_NAMED else (0, many - 1)
    return "".join(
        f'<text class="middle" x="{LEFT + width * (place + 0.5):.2f}" y="{y:g}">entry {place + 1}</text>'
        for place in shown
    )


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _y(percent: float) -> float:
    return HEIGHT - BOTTOM - float(percent) / 100 * (HEIGHT - BOTTOM - TOP)
