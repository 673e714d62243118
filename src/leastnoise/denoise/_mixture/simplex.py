"""The least value of a quadratic on the simplex, exactly: argmin a'Qa + 2 c'a over a >= 0, sum a = 1.

An active set. From the best corner on: let in the corner toward which the value falls fastest, go to the minimum over
the face (linear equations), stop at the first side in the way and drop it, until no corner outside promises anything.
The value falls with every new face, so none comes twice.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.denoise.arrays import Floats


def least_on_simplex(quadratic: Floats, linear: Floats) -> Floats:
    """The minimum, for Q positive semidefinite; to rounding, whatever its rank."""
    scale = max(float(np.abs(quadratic).max()), float(np.abs(linear).max()), np.finfo(float).tiny)
    q, c = quadratic / scale, linear / scale
    face = [int(np.argmin(np.diag(q) + 2 * c))]
    a = np.zeros(c.size)
    a[face] = 1.0
    for _ in range(10 * c.size**2):
        slope = q @ a + c
        promise = slope - a @ slope
        promise[face] = math.inf
        if promise.min() >= -1e-13:
            break
        face.append(int(np.argmin(promise)))
        while face:
            way, length = _downhill(q, c, a, face)
            falling = way < 0
            longest = np.where(falling, a[face] / np.where(falling, -way, 1.0), math.inf)
            a[face] += min(length, longest.min()) * way
            if longest.min() >= length:
                break
            blocked = int(np.argmin(longest))
            a[face[blocked]] = 0.0
            del face[blocked]
    return np.asarray(a / a.sum())


def _downhill(q: Floats, c: Floats, a: Floats, face: list[int]) -> tuple[Floats, float]:
    """The way to the minimum over sum a = 1 on the face, and how long it is: 1, or without end where Q is flat."""
    count = len(face)
    inner = np.block([[q[np.ix_(face, face)], np.ones((count, 1))], [np.ones((1, count)), np.zeros((1, 1))]])
    slope = np.append(-(q @ a + c)[face], 0.0)
    found = np.linalg.lstsq(inner, slope, rcond=1e-12)[0]
    left = (slope - inner @ found)[:count]  # what no step can balance lies along directions in which Q is flat
    left -= left.mean()  # near twins leave rounding there, and a way off the plane would have no end
    if np.abs(left).max() > 1e-12 * max(1.0, float(np.abs(slope).max())):
        return left, math.inf
    return found[:count], 1.0
