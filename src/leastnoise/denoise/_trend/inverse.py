"""The Laplacian's inverse L^+ on vectors that sum to zero on every component."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from leastnoise.denoise._trend.total_variation import centred
from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph


class Inverse:
    """One node of each component is held at zero, and then the means go."""

    def __init__(self, graph: Graph, weights: Floats) -> None:
        self.graph = graph
        held = np.unique(graph.components, return_index=True)[1]
        self.free = np.setdiff1d(np.arange(graph.size), held)
        inside = csc_array(laplacian(graph, weights)[self.free][:, self.free])
        self.factor: Any = None
        if self.free.size:
            symmetric = {"SymmetricMode": True}
            self.factor = splu(inside, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)

    def __call__(self, y: Floats) -> Floats:
        v = np.zeros(self.graph.size)
        if self.factor is not None:
            v[self.free] = self.factor.solve(centred(y, self.graph.components)[self.free])
        return centred(v, self.graph.components)


def laplacian(graph: Graph, weights: Floats) -> csc_array:
    """L = D'WD."""
    low, high = graph.edges.T
    n = graph.size
    degree = np.bincount(graph.edges.ravel(), np.repeat(weights, 2), n)
    rows = np.concatenate([low, high, np.arange(n)])
    columns = np.concatenate([high, low, np.arange(n)])
    return csc_array((np.concatenate([-weights, -weights, degree]), (rows, columns)), shape=(n, n))
