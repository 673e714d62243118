"""Fieller's interval for the ratio of two noisy sums whose errors are correlated.

Let S and M be published with errors X and Y, jointly normal but for roundings of at most r and q, and t the ratio of
the true numbers. Then S - t M = X - t Y, which lies within +-h(t) with the confidence asked for, where

    h(t) = z sqrt(v_SS - 2 t v_SM + t^2 v_MM) + r + |t| q.

So does {t : |S - t M| <= h(t)} hold the true t (Fieller 1954). If M is above zero by more than its own half-width,
that set is an interval around S/M. Proof: above S/M look at f(t) = t M - S - h(t). h is convex (a norm of a linear
function, and |t|), so f is concave; it is at most 0 at S/M, and at infinity it grows like t (M - z sqrt(v_MM) - q) > 0.
A concave function that ends increasing is increasing, so it crosses zero once. Below S/M the same holds for -S and -t.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from leastnoise._support.directed_rounding import next_up

STEPS = 200  # of a bisection; doubles end it sooner


def interval(sums: tuple[float, float], half_width: Callable[[tuple[float, float]], float]) -> tuple[float, float]:
    """Where the first sum over the second lies; everything where the second may be zero.

    sums: the two as published. half_width: that of a combination of the two errors, from their factors: h(t) is that of
    (1, -t).
    """
    top, bottom = sums
    if not bottom > half_width((0.0, 1.0)):
        return -math.inf, math.inf
    high = _crossing(top / bottom, lambda t: t * bottom - top > half_width((1.0, -t)))
    low = -_crossing(-top / bottom, lambda t: t * bottom + top > half_width((1.0, t)))
    return -next_up(-low), next_up(high)


def enclosed(sums: tuple[float, float], halves: tuple[float, float]) -> tuple[float, float]:
    """The same where the two sums are known to lie within these half-widths, whatever their errors are.

    sums, halves: of the one above and of the one below.
    """
    (top, bottom), (up, down) = sums, halves
    if not bottom > down:
        return -math.inf, math.inf
    ends = [above / below for above in (top - up, top + up) for below in (bottom - down, bottom + down)]
    return -next_up(-min(ends)), next_up(max(ends))


def _crossing(start: float, outside: Callable[[float], bool]) -> float:
    """The least t that is outside, from `start` upward, or a double above it."""
    step = max(abs(start), 1.0) * 2.0**-40
    while not outside(start + step):
        step *= 2
        if not math.isfinite(step):
            return math.inf
    inside, beyond = start, start + step
    for _ in range(STEPS):
        middle = (inside + beyond) / 2
        if not inside < middle < beyond:
            break
        inside, beyond = (inside, middle) if outside(middle) else (middle, beyond)
    return beyond
