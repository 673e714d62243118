"""Trend filters of order 1 with few knots, by an active set: where splitting is slow, this is quick and nearly exact.

With z = Lb and y centred on every component, b = L^+ z and z sums to zero on each: a lasso. On a set A of knots with
known signs s it is linear; with G the columns A of L^+,

    G'G z_A + penalty s = (L^+ y)_A + c,    sum z_A = 0    (c: one unknown a component).

Then v = L^+(y - b) + c is penalty s on A. If |v| <= penalty everywhere it proves the solution; if not, nodes where |v|
peaks become knots too, and knots whose sign would change on the way are dropped. Shrunk into its bounds v is feasible
in the dual, so the gap is known in every round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.trends.total_variation import centred
from leastnoise.graphs import Graph

ROUNDS = 120
MEMORY = 20_000_000  # doubles for the columns of L^+
Index = NDArray[np.intp]


class Knotted(NamedTuple):
    """b, z = Lb, v, and the relative gap they prove."""

    values: Floats
    z: Floats
    v: Floats
    gap: float
    rounds: int


class Inverse:
    """L^+ on vectors that sum to zero on every component: one node of each is held, and then the means go."""

    def __init__(self, laplacian: csc_array, graph: Graph, factorised: Any) -> None:
        self.graph = graph
        held = np.unique(graph.components, return_index=True)[1]
        self.free = np.setdiff1d(np.arange(graph.size), held)
        self.factor = factorised(csc_array(laplacian[self.free][:, self.free])) if self.free.size else None

    def __call__(self, y: Floats) -> Floats:
        v = np.zeros(self.graph.size)
        if self.factor is not None:
            v[self.free] = self.factor.solve(centred(y, self.graph.components)[self.free])
        return centred(v, self.graph.components)


class Columns:
    """Columns of L^+ and their products, made when first asked for."""

    def __init__(self, inverse: Inverse, most: int) -> None:
        self.inverse, self.most = inverse, most
        self.slot: dict[int, int] = {}
        size = inverse.graph.size
        self.rows, self.products = np.empty((most, size)), np.empty((most, most))

    def slots(self, nodes: Index) -> Index | None:
        """Where they are kept; None when there is no more room."""
        for node in nodes.tolist():
            if node in self.slot:
                continue
            k = len(self.slot)
            if k == self.most:
                return None
            self.slot[node] = k
            one = np.zeros(self.inverse.graph.size)
            one[node] = 1.0
            self.rows[k] = self.inverse(one)
            self.products[k, : k + 1] = self.products[: k + 1, k] = self.rows[: k + 1] @ self.rows[k]
        return np.array([self.slot[node] for node in nodes.tolist()], dtype=np.intp)


def room(size: int) -> int:
    """How many knots are worth trying."""
    return min(size, 600, MEMORY // size)


def with_knots(y: Floats, penalty: float, start: Floats, inverse: Inverse, tolerance: float) -> Knotted | None:
    """From a z nearby to the solution; None when it takes too many knots or rounds."""
    graph = inverse.graph
    columns = Columns(inverse, room(graph.size))
    target = inverse(y)
    nodes = np.flatnonzero(start)
    z, sign = np.zeros(nodes.size), np.sign(start[nodes])
    if nodes.size > columns.most // 2:
        return None
    for rounds in range(1, ROUNDS + 1):
        slots = columns.slots(nodes)
        if slots is None:
            return None
        aim, shift = _aim(columns.products[np.ix_(slots, slots)], target[nodes] - penalty * sign, graph, nodes)
        wrong = aim * sign < 0
        if wrong.any():
            far = np.full(nodes.size, np.inf)
            far[wrong] = np.abs(z[wrong]) / (np.abs(z[wrong]) + np.abs(aim[wrong]))
            z = z + far.min() * (aim - z)
            keep = far > far.min()
            nodes, z, sign = nodes[keep], z[keep], sign[keep]
            continue
        z = aim
        b = z @ columns.rows[slots]
        v = _centre(inverse(y - b), shift, graph)
        whole = np.zeros(graph.size)
        whole[nodes] = z
        gap = _gap(y, b, z, v, penalty)
        if gap <= tolerance:
            return Knotted(b, whole, np.clip(v, -penalty, penalty), gap, rounds)
        fresh = np.setdiff1d(_peaks(v, penalty, graph), nodes)
        if not fresh.size:
            return None
        nodes = np.concatenate([nodes, fresh])
        z, sign = np.concatenate([z, np.zeros(fresh.size)]), np.concatenate([sign, np.sign(v[fresh])])
    return None


def _aim(products: Floats, right: Floats, graph: Graph, nodes: Index) -> tuple[Floats, dict[int, float]]:
    """z_A on the set, and c on every component that has a knot."""
    parts, which = np.unique(graph.components[nodes], return_inverse=True)
    k, q = nodes.size, parts.size
    matrix, side = np.zeros((k + q, k + q)), np.zeros(k + q)
    scale = float(np.abs(products).max(initial=0.0)) or 1.0
    matrix[:k, :k] = products / scale
    matrix[np.arange(k), k + which] = matrix[k + which, np.arange(k)] = 1.0
    side[:k] = right / scale
    try:
        solved = np.asarray(np.linalg.solve(matrix, side))
    except np.linalg.LinAlgError:  # twin knots
        solved = np.asarray(np.linalg.lstsq(matrix, side, rcond=1e-15)[0])
    return solved[:k], {int(p): -scale * float(c) for p, c in zip(parts, solved[k:], strict=True)}


def _centre(v: Floats, shift: dict[int, float], graph: Graph) -> Floats:
    """v + c, with c in the middle of v's range on components without a knot."""
    parts = int(graph.components.max()) + 1
    most, least = np.full(parts, -np.inf), np.full(parts, np.inf)
    np.maximum.at(most, graph.components, v)
    np.minimum.at(least, graph.components, v)
    c = -(most + least) / 2
    for part, value in shift.items():
        c[part] = value
    return np.asarray(v + c[graph.components])


def _gap(y: Floats, b: Floats, z: Floats, v: Floats, penalty: float) -> float:
    """With L v = y - b, shrinking v by a factor shrinks y - b alike."""
    theta = min(1.0, penalty / max(float(np.abs(v).max()), 1e-300))
    left = y - theta * (y - b)
    primal = float(((y - b) ** 2).sum()) / 2 + penalty * float(np.abs(z).sum())
    return max(primal - float(y @ y - left @ left) / 2, 0.0) / primal


def _peaks(v: Floats, penalty: float, graph: Graph) -> Index:
    """Nodes beyond the penalty that no neighbour is further beyond on the same side."""
    size = np.abs(v)
    low, high = graph.edges.T
    same = v[low] * v[high] > 0
    peak = size > penalty * (1 + 1e-12)
    lower = np.where(size[low] < size[high], low, high)[same & (size[low] != size[high])]
    peak[lower] = False
    return np.flatnonzero(peak)
