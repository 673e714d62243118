"""A path of penalties, and the one with the least unbiased risk.

It starts at the least penalty that leaves nothing but the trend itself (constants on the components, or polynomials on
the rows) and comes down by steps until the risk has clearly passed its minimum; then the steps around the minimum are
made finer.

**Degrees of freedom** of a trend filter: the dimension of what is left free once the zero rows of D^(k+1) b stay zero
(Tibshirani & Taylor 2012), which is its divergence under Gaussian noise. On any number of components:

    order 0   pieces of the graph on which b is constant
    order 1   over the components, the larger of 1 and the number of non-zero (Lb)_i there
    order 2   pieces of the graph on which Lb is constant

Order 1: rows of a connected Laplacian other than all of them are independent. Order 2: z = Lb is free on q pieces but
must sum to zero on each component, and b is free by one constant there, so the count is q again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import progress
from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.risk import sure
from leastnoise.graphs import Graph

PENALTY_RATIO = 10**0.25
STEPS_PAST_MINIMUM = 5  # steps past the minimum, to be sure that it is one
FINER_STEPS = (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75)  # steps from the least
MAX_PENALTIES = 48


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The trend filter at one penalty."""

    penalty: float
    values: Floats
    degrees_of_freedom: float  # the divergence, under the noise's own law
    gap: float  # of the objective, as a part of it: a certificate
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class TrendPath:
    """Trend filters at falling penalties: what each costs in degrees of freedom, its unbiased risk, its values."""

    order: int
    penalties: Floats
    sure: Floats  # mean squared error per bin, unbiased for each penalty by itself
    degrees_of_freedom: Floats
    gaps: Floats
    values: tuple[Floats, ...]
    chosen: int  # which has the least risk


def follow(fit: Callable[[float], Fit], y: Floats, sigma: float, order: int, penalties: Sequence[float]) -> TrendPath:
    """The path at these penalties."""
    with progress.bar("trend filter", len(penalties)) as advance:
        made = []
        for penalty in penalties:
            made.append(fit(penalty))
            advance(1)
    return _path(made, y, sigma, order)


def search(
    fit: Callable[[float], Fit], y: Floats, sigma: float, order: int, top: float, ratio: float = PENALTY_RATIO
) -> TrendPath:
    """The path from `top` down past the minimum of the risk by steps of this ratio, finer around it."""
    if top == 0:  # nothing but the trend was there: every penalty gives y back
        return _path([fit(0.0)], y, sigma, order)
    made: list[Fit] = []
    risks: list[float] = []
    with progress.bar("trend filter", MAX_PENALTIES // 2) as advance:
        for k in range(MAX_PENALTIES):
            made.append(fit(top * ratio**-k))
            risks.append(_risk(made[-1], y, sigma))
            advance(1)
            if k - int(np.argmin(risks)) >= STEPS_PAST_MINIMUM or made[-1].degrees_of_freedom > 0.99 * y.size:
                break
        best = made[int(np.argmin(risks))].penalty
        for shift in FINER_STEPS:
            if best * ratio**shift < top:
                made.append(fit(best * ratio**shift))
                advance(1)
    if min(risks) > sigma**2:  # a hub is pulled by all its edges: no penalty that was tried is as good as none
        made.append(fit(0.0))
    return _path(made, y, sigma, order)


def _risk(made: Fit, y: Floats, sigma: float) -> float:
    return float(sure(float(((y - made.values) ** 2).sum()), made.degrees_of_freedom, y.size, sigma))


def _path(made: list[Fit], y: Floats, sigma: float, order: int) -> TrendPath:
    made = sorted(made, key=lambda one: -one.penalty)
    risks = np.array([_risk(one, y, sigma) for one in made])
    return TrendPath(
        order=order,
        penalties=np.array([one.penalty for one in made]),
        sure=risks,
        degrees_of_freedom=np.array([float(one.degrees_of_freedom) for one in made]),
        gaps=np.array([one.gap for one in made]),
        values=tuple(one.values for one in made),
        chosen=int(np.argmin(risks)),
    )


def joined(graph: Graph, edges: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of the piece that each node is in, when only these edges are left."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = graph.edges[edges]
    left = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(graph.size, graph.size))
    return np.asarray(connected_components(left, directed=False)[1], dtype=np.int32)


def averaged_on_pieces(z: Floats, graph: Graph, tolerance: float) -> tuple[Floats, int]:
    """z made exactly constant on its pieces (neighbours within the tolerance are together), and how many there are."""
    part = joined(graph, np.abs(z[graph.edges[:, 0]] - z[graph.edges[:, 1]]) <= tolerance)
    level = np.bincount(part, z) / np.bincount(part)
    return level[part], int(level.size)


def supports(z: Floats, graph: Graph, tolerance: float) -> int:
    """Non-zero entries of z, at least one on every component."""
    count = np.bincount(graph.components, np.abs(z) > tolerance)
    return int(np.maximum(count, 1).sum())
