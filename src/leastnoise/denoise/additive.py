"""Row and column effects: a table drawn toward what its axes alone say of it.

A complete table is the sum of parts that are orthogonal to one another (analysis of variance): the grand mean, an
effect of each axis, with three axes or more an interaction of each pair, and the rest. Each part P y has m dimensions,
and is shrunk by the positive-part James-Stein factor that it chooses itself; the grand mean is kept:

    h = mean + sum over parts  (1 - (m - 2) sigma^2 / ||P y||^2)^+  P y

So an effect that is noise vanishes, one that is large stays, and the rest, in which nearly all of the noise is, keeps
only what exceeds it. Parts of one or two dimensions are kept as they are.

**Degrees of freedom.** The divergence of a factor above zero is m - (m - 2)^2 sigma^2/||P y||^2, that of one at zero is
0, and the mean has 1. The diagonal of P is m/d throughout, so Laplace noise is as in `shrink.py` (where moving one
value may lift a factor above zero, so its divergence is not 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.shrink import laplace_slope


@denoiser()
def additive(y: Any, sigma: float, *, shape: tuple[int, ...], mechanism: Mechanism = "gaussian") -> Denoised:
    """The grand mean, the effects of the axes and the rest, each shrunk by what the values say of it.

    y: the noisy cells of a table, in any shape. sigma: the standard deviation of their noise.
    shape: how many cells along each axis, the last turning fastest; two axes of two cells or more are needed.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> rows, columns = np.array([0.0, 50, 90, 200]), np.array([10.0, 11, 12, 13])
    >>> additive(rows[:, None] + columns, 5.0, shape=(4, 4)).values.round(1)
    array([[ 11.5,  11.5,  11.5,  11.5],
           [ 61.5,  61.5,  61.5,  61.5],
           [101.5, 101.5, 101.5, 101.5],
           [211.5, 211.5, 211.5, 211.5]])
    """
    if math.prod(shape) != y.size:
        raise errors.InvalidParameter(
            f"a table of shape {tuple(shape)} has {math.prod(shape):,} cells, and y {y.size:,}."
        )
    lengths = tuple(int(length) for length in shape if length > 1)
    if len(lengths) < 2:
        raise errors.InvalidParameter("row and column effects need two axes of two bins or more.")
    table = y.reshape(lengths)
    parts = [_shrunk(name, part, dimensions, sigma) for name, part, dimensions in _parts(table)]
    values = (table.mean() + sum(part.factor * part.projected for part in parts)).ravel()
    chosen = {"shape": list(lengths), "factors": {part.name: part.factor for part in parts}}
    return Denoised(
        values, chosen, lambda: Stein(min(1.0 + sum(_freedom(part, sigma, mechanism) for part in parts), float(y.size)))
    )


class Part(NamedTuple):
    """P y, and the factor (1 - pull/total)^+ that it is shrunk by."""

    name: str
    projected: Floats
    dimensions: int
    total: float  # ||P y||^2
    pull: float  # (m - 2) sigma^2
    factor: float


def _shrunk(name: str, projected: Floats, dimensions: int, sigma: float) -> Part:
    total = float((projected * projected).sum())
    pull = max(dimensions - 2, 0) * sigma**2
    return Part(name, projected, dimensions, total, pull, max(0.0, 1 - pull / total) if total > 0 else 0.0)


def _parts(table: Floats) -> Iterator[tuple[str, Floats, int]]:
    """(name, P y, dimensions) of every part but the grand mean."""
    axes = range(table.ndim)
    mean = table.mean()
    rest, left = table - mean, table.size - 1
    effects: dict[int, Floats] = {}
    for axis in axes:
        others = tuple(other for other in axes if other != axis)
        effects[axis] = table.mean(axis=others, keepdims=True) - mean
        yield f"axis {axis}", np.broadcast_to(effects[axis], table.shape), table.shape[axis] - 1
        rest, left = rest - effects[axis], left - table.shape[axis] + 1
    for one, two in combinations(axes, 2) if table.ndim > 2 else ():
        others = tuple(other for other in axes if other not in (one, two))
        joint = table.mean(axis=others, keepdims=True) - mean - effects[one] - effects[two]
        dimensions = (table.shape[one] - 1) * (table.shape[two] - 1)
        yield f"axes {one} and {two}", np.broadcast_to(joint, table.shape), dimensions
        rest, left = rest - joint, left - dimensions
    yield "rest", rest, left


def _freedom(part: Part, sigma: float, mechanism: Mechanism) -> float:
    """The divergence of a part that is shrunk."""
    if not part.pull:
        return float(part.dimensions)
    if mechanism == "gaussian":
        return part.dimensions - part.pull * (part.dimensions - 2) / part.total if part.factor > 0 else 0.0
    share = part.dimensions / part.projected.size
    return float(laplace_slope(part.projected.ravel(), part.total, part.pull, sigma, share, True, np))
