"""Differences of order k + 1 along rows of values, and Newton's equations for them (`kalman.py`)."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from leastnoise.denoise._graph.lattices import Nodes
from leastnoise.denoise.arrays import Floats


class Group(NamedTuple):
    """Rows of one length, all with at least one difference: where their values and differences are."""

    many: int
    length: int
    values: slice
    rows: slice


class Differences:
    """D on several rows at once: `nodes` says which value is where; rows of k + 1 values or fewer have no difference.

    (D b)_i is the (k+1)-th forward difference of b at i, along its row.
    """

    def __init__(self, paths: list[Nodes], order: int) -> None:
        m = order + 1
        self.nodes = np.concatenate([each.ravel() for each in paths])
        self.size, self.groups, self.rows = self.nodes.size, [], 0
        start = 0
        for each in paths:
            count, length = each.shape
            if length > m:
                added = count * (length - m)
                values = slice(start, start + each.size)
                self.groups.append(Group(count, length, values, slice(self.rows, self.rows + added)))
                self.rows += added
            start += each.size
        signs = [[(-1) ** i * comb(j, i) for i in range(j + 1)] for j in range(m)]
        self.begin = np.array([[0.0] * (m - 1 - j) + row[::-1] for j, row in enumerate(signs)])
        flipped = np.linalg.cholesky((self.begin @ self.begin.T)[::-1, ::-1])
        self.root = np.ascontiguousarray(flipped[::-1, ::-1])
        self.gain, self.spread = np.empty((self.rows, m)), np.empty(self.rows)

    def factorise(self, h: Floats) -> None:
        """Ready for `solve` with this h."""
        from leastnoise.denoise._trend.kalman import factorise

        for one in self.groups:
            factorise(h[one.rows], self.root, one.many, one.length, self.gain[one.rows], self.spread[one.rows])

    def solve(self, r: Floats, q: Floats) -> tuple[Floats, Floats]:
        """r - b and v with  b + D'v = r  and  D b - h v = q."""
        from leastnoise.denoise._trend.kalman import substitute

        off, v = np.zeros(self.size), np.empty(self.rows)
        for one in self.groups:
            shape, made = (one.many, one.length), (self.gain[one.rows], self.spread[one.rows])
            here = r[one.values].reshape(shape)
            substitute(here, q[one.rows], self.begin, *shape, *made, off[one.values].reshape(shape), v[one.rows])
        return off, v
