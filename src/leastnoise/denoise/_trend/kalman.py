"""Newton's equations of a univariate trend filter, by a Kalman filter and smoother in compiled loops.

    [ I   D'       ] [b]   [r]
    [ D   -diag(h) ] [v] = [q],    h >= 0,    D b = differences of order m = k + 1 along a row of n values,

are the normal equations of  1/2 ||r - b||^2 + 1/2 sum (D b - q)^2 / h:  b is observed as r with unit noise, and its
m-th differences have means q and variances h. The state after value t is x = (b, del b, ..., del^k b) in backward
differences, and

    x' = F x + (q + noise of variance h) 1,    F = upper triangle of ones,    observed: the first entry.

Multiplied out, the equations lose all digits on long stretches without a knot (their condition is that length to the
power 2 m). The filter keeps them: it carries a triangular root S of the covariance (rotations add the noise, Carlson's
(1973) update observes), h may be zero, and the smoother (Bryson & Frazier 1963) finds v as a costate and not as the
small difference (D b - q) / h. The first m values are free, so the filter starts at them, exactly. O(n m^2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled


@compiled
def factorise(h: Any, root: Any, count: int, length: int, gain: Any, spread: Any) -> None:
    """Gains and innovation variances for `count` rows of `length` values each; h is rows of differences, one after the
    other. root: of the covariance of the first state (m x m, upper triangular)."""
    m = root.shape[0]
    rows = length - m
    s, add, b = np.empty((m, m)), np.empty(m), np.empty(m)
    for c in range(count):
        s[:] = root
        for i in range(rows):
            at = c * rows + i
            for j in range(m - 2, -1, -1):  # S = F S
                for k in range(j, m):
                    s[j, k] += s[j + 1, k]
            if h[at] > 0:  # S S' + h 1 1'
                add[:] = math.sqrt(h[at])
                for k in range(m - 1, -1, -1):
                    size = math.hypot(s[k, k], add[k])
                    cos, sin = s[k, k] / size, add[k] / size
                    for j in range(k + 1):
                        old = s[j, k]
                        s[j, k] = cos * old + sin * add[j]
                        add[j] = cos * add[j] - sin * old
            total = 1.0
            b[:] = 0.0
            for k in range(m):  # Carlson: the covariance after the first entry was seen with unit noise
                seen, before = s[0, k], total
                total += seen * seen
                keep, take = math.sqrt(before / total), seen / math.sqrt(before * total)
                for j in range(k + 1):
                    old = s[j, k]
                    s[j, k] = keep * old - take * b[j]
                    b[j] += seen * old
            spread[at] = total
            for j in range(m):
                gain[at, j] = b[j] / total


@compiled
def substitute(r: Any, q: Any, begin: Any, count: int, length: int, gain: Any, spread: Any, off: Any, v: Any) -> None:
    """off = r - b and v. begin: m x m, from the first m values to their state."""
    m = begin.shape[0]
    rows = length - m
    x, g = np.empty(m), np.empty(m)
    surprise = np.empty(rows)
    for c in range(count):
        for j in range(m):
            x[j] = 0.0
            for k in range(m):
                x[j] += begin[j, k] * r[c, k]
        for i in range(rows):
            at = c * rows + i
            for j in range(m - 2, -1, -1):
                x[j] += x[j + 1]
            for j in range(m):
                x[j] += q[at]
            surprise[i] = r[c, m + i] - x[0]
            for j in range(m):
                x[j] += gain[at, j] * surprise[i]
        g[:] = 0.0  # F' times the costate of the next state
        for i in range(rows - 1, -1, -1):
            at = c * rows + i
            left = surprise[i] / spread[at]
            for j in range(m):
                left -= gain[at, j] * g[j]
            off[c, m + i] = left
            g[0] += left
            total = 0.0
            for j in range(m):
                total += g[j]
            v[at] = total
            for j in range(1, m):
                g[j] += g[j - 1]
        for k in range(m):
            off[c, k] = 0.0
            for j in range(m):
                off[c, k] -= begin[j, k] * g[j]
