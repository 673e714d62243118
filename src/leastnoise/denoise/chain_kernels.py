"""Compiled loops of the fused lasso on a chain: Johnson's dynamic programme (2013).

    min_b  1/2 sum_i (b_i - y_i)^2 + sum_i penalty_i |b_i - b_(i-1)|

Let m_i(b) be the derivative of the least cost of places 0 ... i when b_i = b. It is increasing and piecewise linear:

    m_i(b) = b - y_i + clip(m_(i-1)(b), -penalty_i, penalty_i),

so clipping drops knots at both ends and adds one at each, and a deque of knots does it all in O(n). Where m_i reaches
-+penalty_(i+1), at low_i and high_i, the solution is held: b_i = clip(b_(i+1), low_i, high_i).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.denoise.compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def fit(y: Array, order: Array, link: Array, penalty: float, most: float, total: Array) -> int:
    """Add the fit to `total` (both in the order of the nodes) and count its constant pieces.

    The chain visits `order`; its step to place i is penalised by penalty * link[i], at most `most`.
    """
    size = order.size
    low, high = np.empty(size), np.empty(size)
    knot = np.empty(2 * size)
    slope, level = np.empty(2 * size), np.empty(2 * size)  # what each knot adds from left to right
    first, last = size, size - 1  # the knots that are left
    before = 0.0
    for i in range(size):
        after = min(penalty * link[i + 1], most) if i + 1 < size and link[i + 1] > 0 else 0.0
        value = y[order[i]]
        a, c = 1.0, -value - before
        while first <= last and a * knot[first] + c <= -after:
            a += slope[first]
            c += level[first]
            first += 1
        low[i] = (-after - c) / a
        d, e = 1.0, before - value
        while first <= last and d * knot[last] + e >= after:
            d -= slope[last]
            e -= level[last]
            last -= 1
        high[i] = max((after - e) / d, low[i])
        first -= 1
        knot[first], slope[first], level[first] = low[i], a, c + after
        last += 1
        knot[last], slope[last], level[last] = high[i], -d, after - e
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
