"""Newton's equations of a trend filter's dual. With M = L (order 1) or D L (order 2) they are

    [ I   M'       ] [b]   [r]
    [ M   -diag(h) ] [v] = [q],    h > 0,

and v may be held at zero where it is not `free`. Order 1 has b_i and v_i at node i: pairs. Order 2 has v on the edges,
v = (D L b - q) / h, and with p = L b, s = D'v three unknowns a node (`sparse_factor/blocks.py`):

    b + L s = r,    L_g p - s = D' g q,    L b - p = 0,      g = 1/h on free edges, else 0.

Where g is large v is a small difference many times over, and what rounding took is given back by refinement.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

Mask = NDArray[np.bool_]
MAX_REFINEMENTS = 2  # times at most
RESIDUAL_TOLERANCE = 1e-9  # of b may be missing from its equation


class Newton:
    """A graph numbered in the order of its elimination, ready for factors: b[k] belongs to node order[k]."""

    def __init__(self, graph: Graph, weights: Floats, order: int) -> None:
        from leastnoise.denoise._trend.sparse_factor.elimination import eliminate, postordered, renumbered, transposed

        self.degree, self.pairs, self.size = order, order == 1, graph.size
        start = graph.start.astype(np.int32)
        self.order, first, left = postordered(*eliminate(start, graph.neighbours))
        place = np.empty(graph.size, dtype=np.int32)
        place[self.order] = np.arange(graph.size, dtype=np.int32)
        begin, columns, _ = transposed(first, place[left])
        self.pattern = transposed(begin, columns)[:2]
        self.by_rows = transposed(*self.pattern)
        self.low, self.high = place[graph.edges[:, 0]], place[graph.edges[:, 1]]
        self.start, self.neighbours, self.edge = renumbered(self.order, place, start, graph.neighbours, graph.incident)
        self.weights = weights[self.edge]
        self.diagonal = np.bincount(self.low, weights, self.size) + np.bincount(self.high, weights, self.size)

    @cached_property
    def laplacian(self) -> csr_array:
        shape = (self.size, self.size)
        diagonal = csr_array((self.diagonal, np.arange(self.size), np.arange(self.size + 1)), shape=shape)
        return diagonal - csr_array((self.weights, self.neighbours, self.start), shape=shape)

    def forward(self, b: Floats) -> Floats:
        """M b."""
        lb = np.asarray(self.laplacian @ b)
        return lb if self.pairs else lb[self.low] - lb[self.high]

    def backward(self, v: Floats) -> Floats:
        """M'v."""
        return np.asarray(self.laplacian @ (v if self.pairs else self._gather(v)))

    def _gather(self, v: Floats) -> Floats:
        return np.asarray(np.bincount(self.low, v, self.size) - np.bincount(self.high, v, self.size), dtype=np.float64)

    @cached_property
    def _blocks(self) -> tuple[Floats, Floats]:
        from leastnoise.denoise._trend.sparse_factor.blocks import BLOCK_SHAPES

        shape = BLOCK_SHAPES[self.degree]
        return np.empty((self.pattern[1].size, *shape)), np.empty((self.size, shape[0] * (shape[0] + 1)))

    def factorise(self, h: Floats, free: Mask | None = None) -> None:
        """Ready for `solve` with this h."""
        from leastnoise.denoise._trend.sparse_factor.blocks import factorise_pairs, factorise_triples

        rest = (self.diagonal, *self.pattern, *self.by_rows, *self._blocks)
        if self.pairs:
            self.free = np.ones(self.size) if free is None else free.astype(float)
            d = h if free is None else np.where(free, h, 1.0)
            factorise_pairs(self.free, d, self.start, self.neighbours, self.weights, *rest)
        else:
            self.h, self.g = h, 1 / h if free is None else np.where(free, 1 / h, 0.0)
            factorise_triples(self.g[self.edge], self.start, self.neighbours, self.weights, *rest)

    def solve(self, r: Floats, q: Floats) -> tuple[Floats, Floats]:
        """b and v."""
        from leastnoise.denoise._trend.sparse_factor.blocks import substitute_pairs

        if self.pairs:
            x = np.stack([r, q * self.free], axis=1)
            substitute_pairs(*self.pattern, *self._blocks, x)
            return x[:, 0], x[:, 1] * self.free
        b, v = self._triples(r, q)
        for _ in range(MAX_REFINEMENTS):
            off = r - b - self.backward(v)
            if float(off @ off) <= RESIDUAL_TOLERANCE**2 * float(b @ b):
                break
            db, dv = self._triples(off, q + self.h * v - self.forward(b))
            b, v = b + db, v + dv
        return b, v

    def _triples(self, r: Floats, q: Floats) -> tuple[Floats, Floats]:
        from leastnoise.denoise._trend.sparse_factor.blocks import substitute_triples

        x = np.stack([r, self._gather(self.g * q), np.zeros(self.size)], axis=1)
        substitute_triples(*self.pattern, *self._blocks, x)
        p = x[:, 1]
        return x[:, 0], self.g * (p[self.low] - p[self.high] - q)
