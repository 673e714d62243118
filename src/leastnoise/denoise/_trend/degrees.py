"""Degrees of freedom of a trend filter: the dimension of what is left free once the zero rows of D^(k+1) b stay zero
(Tibshirani & Taylor 2012), which is its divergence under Gaussian noise. On any number of components:

    order 0   pieces of the graph on which b is constant
    order 1   over the components, the larger of 1 and the number of non-zero (Lb)_i there
    order 2   pieces of the graph on which Lb is constant

Order 1: rows of a connected Laplacian other than all of them are independent. Order 2: z = Lb is free on q pieces but
must sum to zero on each component, and b is free by one constant there, so the count is q again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph


def joined(graph: Graph, edges: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of the piece that each node is in, when only these edges are left."""
    from leastnoise.denoise._trend.pieces import pieces

    return np.asarray(pieces(graph.size, graph.edges, edges), dtype=np.int32)


def averaged_on_pieces(z: Floats, graph: Graph, tolerance: float) -> tuple[Floats, int]:
    """z made exactly constant on its pieces (neighbours within the tolerance are together), and how many there are."""
    part = joined(graph, np.abs(z[graph.edges[:, 0]] - z[graph.edges[:, 1]]) <= tolerance)
    level = np.bincount(part, z) / np.bincount(part)
    return level[part], int(level.size)


def supports(z: Floats, graph: Graph, tolerance: float) -> int:
    """Non-zero entries of z, at least one on every component."""
    count = np.bincount(graph.components, np.abs(z) > tolerance)
    return int(np.maximum(count, 1).sum())
