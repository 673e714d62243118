"""What a promise leaves an attacker, as a drawing that needs no script: its colours are those of the page's style."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from numpy.typing import ArrayLike

from leastnoise._support.number_format import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.privacy.attack_curve import attack_curve

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 340.0, 272.0, 46.0, 44.0, 8.0, 10.0
TICKS = (0, 20, 40, 60, 80, 100)


def tradeoff(most_found: Callable[[ArrayLike], Floats]) -> str:
    """What part of those present an attack finds at most against its false alarms, and what mere guessing finds
    (dashed). A hundredth of a pixel, to which places are written, is rounded to the left and up."""
    at = float(most_found(0.05))
    name = f"The most that any attack can find, against its false alarms: {percent_at_most(at)} % at 5 % false alarms."
    corners = zip(*attack_curve(most_found), strict=True)
    promise = " ".join(f"{_floor(_x(rate)):.2f},{_floor(_y(part)):.2f}" for rate, part in corners)
    return (
        f'<svg class="tradeoff" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(name, quote=True)}">'
        f"{''.join(map(_tick, TICKS))}"
        f'<line class="guess" x1="{_x(0):g}" y1="{_y(0):g}" x2="{_x(1):g}" y2="{_y(1):g}"/>'
        f'<polyline class="drawn" points="{promise}"/>'
        f'<text class="name" x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 6:g}">false alarms of an attack, %</text>'
        f'<text class="name" transform="translate(12 {(TOP + HEIGHT - BOTTOM) / 2:g}) rotate(-90)">'
        "found of those present, %</text></svg>"
    )


def _tick(percent: int) -> str:
    x, y = _x(percent / 100), _y(percent / 100)
    return (
        f'<line class="grid" x1="{x:g}" y1="{_y(0):g}" x2="{x:g}" y2="{_y(1):g}"/>'
        f'<line class="grid" x1="{_x(0):g}" y1="{y:g}" x2="{_x(1):g}" y2="{y:g}"/>'
        f'<text class="tick" x="{x:g}" y="{HEIGHT - BOTTOM + 17:g}">{percent}</text>'
        f'<text class="tick side" x="{LEFT - 7:g}" y="{y + 4:g}">{percent}</text>'
    )


def _floor(pixels: float) -> float:
    return math.floor(100 * pixels) / 100


def _x(part: float) -> float:
    return LEFT + float(part) * (WIDTH - LEFT - RIGHT)


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - float(part) * (HEIGHT - BOTTOM - TOP)
