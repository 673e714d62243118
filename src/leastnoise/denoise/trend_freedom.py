"""Degrees of freedom of a trend filter: the dimension of what is left free once the zero rows of D^(k+1) b stay zero
(Tibshirani & Taylor 2012), which is its divergence under Gaussian noise. On any number of components:

    order 0   pieces of the graph on which b is constant
    order 1   over the components, the larger of 1 and the number of non-zero (Lb)_i there
    order 2   pieces of the graph on which Lb is constant

Order 1: rows of a connected Laplacian other than all of them are independent. Order 2: z = Lb is free on q pieces but
must sum to zero on each component, and b is free by one constant there, so the count is q again.

**Laplace noise** asks for sum_i E d_i h_i(y + n' e_i), of a rule that is expensive to call. Integrating by parts, with
m ~ Gamma(2, b) (density m exp(-m/b) / b^2),

    E d_i h_i(y + n' e_i) = E [ h_i(y + m e_i) - h_i(y - m e_i) ] / (2 m):

a slope over a wide step, between 0 and 1 for a proximal map, and no derivative is needed. Moving one node at a time
would take two calls a node, so a random group of nodes moves at once, each by its own m and with its own random sign:
what they do to one another cancels to first order, and the rest falls with the group's share of all nodes. With a
sixteenth of the nodes at a time it is within a few per cent of the divergence on maps, and above it rather than below;
a filter of order 1 along 50 bins had a third too much, and none too much with one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.risk import Divergence
from leastnoise.graphs import Graph

NODE_GROUPS = 16


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


def smoothed_divergence(
    rule: Callable[[Floats], Floats],
    y: Floats,
    sigma: float,
    *,
    used: int = NODE_GROUPS,
    groups: int = NODE_GROUPS,
    seed: int = 0,
) -> Divergence:
    """The divergence, to the standard error that comes with it, from `used` of so many groups: two calls each."""
    rng = np.random.default_rng(seed)
    groups = min(groups, y.size)
    turn = rng.permutation(y.size) % groups
    move = rng.choice([-1.0, 1.0], y.size) * rng.gamma(2.0, sigma / math.sqrt(2), y.size)
    slopes = []
    for group in range(min(used, groups)):
        here = turn == group
        alone = np.where(here, move, 0.0)
        slopes.append((rule(y + alone) - rule(y - alone))[here] / (2 * move[here]))
    seen = np.concatenate(slopes)
    return Divergence(y.size * float(seen.mean()), y.size * float(seen.std()) / math.sqrt(seen.size))
