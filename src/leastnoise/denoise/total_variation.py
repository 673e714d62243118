"""Total variation on a graph, exactly:

    b = argmin_b  1/2 ||y - b||^2 + sum_e c_e |b_low - b_high|,    c_e >= 0.

Its dual is a flow u within the capacities c, and  b = y - D'u  at the optimum. Any such u proves how good any b is:

    gap = sum_e (c_e |(Db)_e| - u_e (Db)_e) + 1/2 ||y - D'u - b||^2  >=  objective(b) - least objective.

A few passes of accelerated gradient bring u near; cuts on level sets then end it exactly (`flow.py`, imported when
first used: it is compiled).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

T = TypeVar("T", bound=np.generic)
MAX_PASSES = 30
MAX_EDGE_SPAN = 4.0  # mean distance of an edge's ends, in sqrt(size), beyond which nodes are numbered anew
NO_LIMIT = 2**62
# This part of ||y||^2 is added to the objective: where b is y to ten digits, doubles say no more of the gap.
ROUNDING_OF_OBJECTIVE = 1e-20


class Solution(NamedTuple):
    """The minimiser, the flow that proves it, and the proof: the gap as a part of the objective."""

    values: Floats
    flow: Floats
    gap: float
    rounds: int


@dataclass(frozen=True, eq=False)
class Network:
    """A graph ready for flows. Large graphs whose neighbours lie far apart in memory are numbered anew inside."""

    graph: Graph

    @cached_property
    def weights(self) -> Floats:
        return np.ones(len(self.graph.edges)) if self.graph.weights is None else np.asarray(self.graph.weights)

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """Which node comes first inside, second, ... (reverse Cuthill-McKee); None: as they came."""
        size, edges = self.graph.size, self.graph.edges
        if size < 20_000 or np.abs(edges[:, 0] - edges[:, 1]).mean(dtype=float) < MAX_EDGE_SPAN * math.sqrt(size):
            return None
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        ones = np.ones(len(self.graph.neighbours), dtype=np.int8)
        matrix = csr_matrix((ones, self.graph.neighbours, self.graph.start), shape=(size, size))
        return np.asarray(reverse_cuthill_mckee(matrix, symmetric_mode=True), dtype=np.intp)

    @cached_property
    def inside(self) -> Inside:
        return Inside.of(self.graph, self.order)

    def minimise(
        self, y: Floats, capacity: Floats, flow: Floats | None = None, passes: int = MAX_PASSES
    ) -> tuple[Floats, Floats, int]:
        """The minimiser for values y about zero and capacities c, perhaps from a flow nearby; its flow; the rounds."""
        here = self.inside
        values, bound, warm = here.enter(y, capacity, flow)
        scale = float(np.abs(values).max())
        bound = np.minimum(bound, 2 * float(np.abs(values).sum()) + scale)  # no flow is larger, and infinity is a trap
        found, rounds, _ = here.run(values, bound, warm, scale, passes, NO_LIMIT)
        part, u = here.leave(found, warm)
        return part, np.clip(u, -capacity, capacity), rounds

    def solve(self, y: Floats, capacity: Floats) -> Solution:
        """The minimiser with its certificate."""
        middle = float(y.mean())  # far from zero the rounding of the values would drown the gap
        y = y - middle
        values, u, rounds = self.minimise(y, capacity)
        low, high = self.graph.edges.T
        slope = values[low] - values[high]
        moved = y - values
        left = moved - np.bincount(low, u, y.size) + np.bincount(high, u, y.size)
        penalty = float(np.where(slope == 0, 0.0, capacity) @ np.abs(slope))
        objective = float(moved @ moved) / 2 + penalty + ROUNDING_OF_OBJECTIVE * float(y @ y)
        gap = penalty - float(u @ slope) + float(left @ left) / 2
        return Solution(values + middle, u, gap / objective if gap > 0 else 0.0, rounds)

    def least_capacity(self, y: Floats) -> float:
        """The least lambda for which the minimiser with c = lambda weights is constant on every component.

        lambda = max over sets S of  |sum_S (y - mean)| / (weight of the edges that leave S): a set that a cut finds at
        some lambda has a larger ratio, and its ratio is the next lambda (Dinkelbach 1967).
        """
        middle = centred(y, self.graph.components)
        strength = np.bincount(self.graph.edges.ravel(), np.repeat(self.weights, 2), self.graph.size)
        alone = strength > 0
        if not alone.any() or not (scale := float(np.abs(middle).max())):
            return 0.0
        best = float((np.abs(middle[alone]) / strength[alone]).max())
        low, high = self.graph.edges.T
        for _ in range(60):
            values, bound, warm = self.inside.enter(middle, best * self.weights, None)
            part = self.inside.back(self.inside.run(values, bound, warm, scale, MAX_PASSES, 1)[2])
            if part.max() < 0:
                break
            total = np.bincount(part + 1, middle)
            across = part[low] != part[high]
            border = np.bincount(
                part[self.graph.edges[across]].ravel() + 1, np.repeat(self.weights[across], 2), total.size
            )
            found = float((np.abs(total[1:]) / border[1:]).max())
            if found <= best * (1 + 1e-12):
                break
            best = found
        return best


@dataclass(frozen=True, eq=False)
class Inside:
    """The arrays of a network in its own numbering, and the way in and out."""

    low: NDArray[np.uint32]
    high: NDArray[np.uint32]
    start: NDArray[np.uint32]
    neighbours: NDArray[np.uint32]
    incident: NDArray[np.uint32]
    rate: Floats  # of descent along each edge
    parts: NDArray[np.int32]
    node: NDArray[np.intp] | None = None  # inside -> outside, or None where nothing was renumbered
    edge: NDArray[np.intp] | None = None
    sign: Floats | None = None  # -1 where renumbering turned an edge around

    @classmethod
    def of(cls, graph: Graph, order: NDArray[np.intp] | None) -> Inside:
        if order is None:
            low, high = graph.edges.T.astype(np.uint32)
            lists = (graph.start.astype(np.uint32), graph.neighbours.view(np.uint32), graph.incident.view(np.uint32))
            return cls(low, high, *lists, 1 / graph.degrees[graph.edges].sum(axis=1), graph.components)
        place = np.empty(graph.size, dtype=np.int32)
        place[order] = np.arange(graph.size, dtype=np.int32)
        ends = place[graph.edges]
        turned = ends[:, 0] > ends[:, 1]
        ends.sort(axis=1)
        edge = np.lexsort((ends[:, 1], ends[:, 0]))
        plain = cls.of(Graph(graph.size, ends[edge]), None)
        return replace(plain, node=order, edge=edge, sign=np.where(turned, -1.0, 1.0)[edge])

    def enter(self, y: Floats, capacity: Floats, flow: Floats | None) -> tuple[Floats, Floats, Floats]:
        warm = np.zeros(capacity.size) if flow is None else np.clip(flow, -capacity, capacity)
        if self.node is None or self.edge is None or self.sign is None:
            return y, capacity, warm
        return y[self.node], capacity[self.edge], warm[self.edge] * self.sign

    def leave(self, y: Floats, flow: Floats) -> tuple[Floats, Floats]:
        if self.edge is None or self.sign is None:
            return y, flow
        out = np.empty_like(flow)
        out[self.edge] = flow * self.sign
        return self.back(y), out

    def back(self, y: NDArray[T]) -> NDArray[T]:
        if self.node is None:
            return y
        out = np.empty_like(y)
        out[self.node] = y
        return out

    def run(
        self, y: Floats, capacity: Floats, flow: Floats, scale: float, passes: int, rounds: int
    ) -> tuple[Floats, int, NDArray[np.int32]]:
        """Change `flow` in place; the values, how many rounds of cuts, and the parts that are left to be cut."""
        from leastnoise.denoise.flow import conquer, descend

        tiny = 1e-15 * scale
        if self.low.size:
            descend(y, capacity, self.low, self.high, self.rate, flow, passes)
        part, values = self.parts.copy(), np.empty(y.size)
        done = conquer(y, capacity, self.start, self.neighbours, self.incident, flow, part, tiny, rounds, values)
        return values, int(done), part


def component_means(y: Floats, components: NDArray[np.int32]) -> Floats:
    """Each value replaced by the mean of its component."""
    return np.asarray((np.bincount(components, y) / np.bincount(components))[components])


def centred(y: Floats, components: NDArray[np.int32]) -> Floats:
    """y less its mean on every component."""
    return y - component_means(y, components)
