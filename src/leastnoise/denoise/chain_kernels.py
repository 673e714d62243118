"""Compiled loops of the fused lasso on a chain: Johnson's dynamic programme (2013).

    min_b  1/2 sum_i (b_i - y_i)^2 + sum_i penalty_i |b_i - b_(i-1)|

Let m_i(b) be the derivative of the least cost of places 0 ... i when b_i = b. It is increasing and piecewise linear:

    m_i(b) = b - y_i + clip(m_(i-1)(b), -penalty_i, penalty_i),

so clipping drops knots at both ends and adds one at each, and a deque of knots does it all in O(n). Where m_i reaches
-+penalty_(i+1), at low_i and high_i, the solution is held: b_i = clip(b_(i+1), low_i, high_i).

The same from the other end gives what place i learns from both sides, F and B. As its own value moves, b_i solves
G(b) = b + F(b) + B(b) = y_i, so under Laplace noise the divergence that risk.py asks for is exact too:

    E d_i b_i(y + n' e_i) = integral of density(G(b) - y_i) db = sum over pieces of (difference of probability) / slope.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise._support.runtime import compiled

Array = np.ndarray[Any, Any]


@compiled
def _step(
    value: float, before: float, after: float, knot: Array, slope: Array, level: Array, first: int, last: int
) -> tuple[float, float, int, int]:
    """Add a place to the message and clip it: where it is held, and which knots are left.

    A knot adds its slope and level from left to right; left of all knots the message is -before, right of them before.
    """
    a, c = 1.0, -value - before
    while first <= last and a * knot[first] + c <= -after:
        a += slope[first]
        c += level[first]
        first += 1
    low = (-after - c) / a
    d, e = 1.0, before - value
    while first <= last and d * knot[last] + e >= after:
        d -= slope[last]
        e -= level[last]
        last -= 1
    high = max((after - e) / d, low)
    first -= 1
    knot[first], slope[first], level[first] = low, a, c + after
    last += 1
    knot[last], slope[last], level[last] = high, -d, after - e
    return low, high, first, last


@compiled
def fit(y: Array, order: Array, link: Array, penalty: float, most: float, total: Array) -> int:
    """Add the fit to `total` (both in the order of the nodes) and count its constant pieces.

    The chain visits `order`; its step to place i is penalised by penalty * link[i], at most `most`.
    """
    size = order.size
    low, high = np.empty(size), np.empty(size)
    knot, slope, level = np.empty(2 * size), np.empty(2 * size), np.empty(2 * size)
    first, last, before = size, size - 1, 0.0
    for i in range(size):
        after = min(penalty * link[i + 1], most) if i + 1 < size and link[i + 1] > 0 else 0.0
        low[i], high[i], first, last = _step(y[order[i]], before, after, knot, slope, level, first, last)
        before = after
    pieces = 1
    b = low[size - 1]
    total[order[size - 1]] += b
    for i in range(size - 2, -1, -1):
        moved = min(max(b, low[i]), high[i])
        if moved != b or link[i + 1] == 0:
            pieces += 1
        b = moved
        total[order[i]] += b
    return pieces


@compiled
def laplace_freedom(
    y: Array, order: Array, link: Array, penalty: float, most: float, scale: float, offset: int, stride: int
) -> float:
    """sum_i E d_i b_i(y + n' e_i) with n' ~ Laplace(scale), over every stride-th place from the offset on."""
    size = order.size
    knot, slope, level = np.empty(2 * size), np.empty(2 * size), np.empty(2 * size)
    many = (size - offset + stride - 1) // stride
    begin = np.zeros(many + 1, dtype=np.int64)  # of the knots that each chosen place has from the left
    kept = np.empty((4 * many + 16, 3))
    first, last, before = size, size - 1, 0.0
    seen = 0
    for i in range(size):
        if i >= offset and (i - offset) % stride == 0:
            end = begin[seen] + last - first + 1
            if end > kept.shape[0]:
                wider = np.empty((2 * end, 3))
                wider[: begin[seen]] = kept[: begin[seen]]
                kept = wider
            for k in range(first, last + 1):
                place = begin[seen] + k - first
                kept[place, 0], kept[place, 1], kept[place, 2] = knot[k], slope[k], level[k]
            seen += 1
            begin[seen] = end
        after = min(penalty * link[i + 1], most) if i + 1 < size and link[i + 1] > 0 else 0.0
        _, _, first, last = _step(y[order[i]], before, after, knot, slope, level, first, last)
        before = after
    total = 0.0
    first, last, before = size, size - 1, 0.0
    for i in range(size - 1, -1, -1):
        after = min(penalty * link[i], most) if i > 0 and link[i] > 0 else 0.0
        if i >= offset and (i - offset) % stride == 0:
            seen -= 1
            total += _smoothed(
                y[order[i]], scale, after, kept[begin[seen] : begin[seen + 1]], before, knot, slope, level, first, last
            )
        _, _, first, last = _step(y[order[i]], before, after, knot, slope, level, first, last)
        before = after
    return total


@compiled
def _smoothed(
    value: float,
    scale: float,
    left: float,
    from_left: Array,
    right: float,
    knot: Array,
    slope: Array,
    level: Array,
    first: int,
    last: int,
) -> float:
    """The integral above, piece by piece: knots from the left are in `from_left`, from the right in the deque."""
    a, c = 1.0, -left - right - value
    done, before = 0.0, 0.0
    k = 0
    while k < from_left.shape[0] or first <= last:
        if first > last or (k < from_left.shape[0] and from_left[k, 0] <= knot[first]):
            x, da, dc = from_left[k, 0], from_left[k, 1], from_left[k, 2]
            k += 1
        else:
            x, da, dc = knot[first], slope[first], level[first]
            first += 1
        t = (a * x + c) / scale
        here = 0.5 * math.exp(t) if t < 0 else 1 - 0.5 * math.exp(-t)
        done += max(here - before, 0.0) / a
        before = max(here, before)
        a += da
        c += dc
        if before > 1 - 1e-15:
            break
    return done + (1 - before) / max(a, 1.0)
