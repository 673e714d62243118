"""Trend filters of order 1, 2 and 3, by the interior point of Clarabel (the extra "solvers").

    min_b 1/2 ||y - b||^2 + c'|M b|    =    max over |v| <= c of  1/2 ||y||^2 - 1/2 ||y - M'v||^2

with M and c of `trend_filter`. On a graph M = L and c = penalty (order 1), or M = D L and c = penalty times the edges'
weights (order 2). Along rows M takes differences of order k + 1, and c = penalty. Whatever a solver answers, any v
within the bounds proves how good any b is,

    gap = c'|M b| - v'M b + 1/2 ||y - M'v - b||^2  >=  objective(b) - least objective.

**On a graph** Clarabel is asked for r = y - b and s with -s <= M (y - r) <= s and 1/2 ||r||^2 + c's least; the
multipliers of the two bounds differ by v.

**Along rows** over a stretch of l values M b is l^-(k+1) of b, and b holds no digit of it. So the differences of every
order are unknowns of their own, each l times the difference of the one before, with l^(k+1) = c: all are of one size.
And v is not asked for: M'v = y - b has one solution where y - b is orthogonal to polynomials of degree k, sums of sums
of what b leaves. Divided by 1 + e it is within its bounds, and with z = M b

    gap = sum (c |z| - v z / (1 + e)) + (e / (1 + e))^2 ||y - b||^2 / 2.

A row is a knot where |M b|, as a part of what it usually is at knots, is more than what v is away from its bound, as a
part of it: one of the two goes to zero. Elsewhere M b is zero.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from leastnoise import errors
from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.lattices import paths
from leastnoise.denoise.penalty_path import Fit, joined, supports
from leastnoise.denoise.total_variation import ROUNDING_OF_OBJECTIVE, Network, centred
from leastnoise.graphs import Graph

MAX_ITERATIONS = 200
SOLVER_TOLERANCE = 1e-11  # what Clarabel is asked for; the gap that is told is our own

Mask = NDArray[np.bool_]
Rows = tuple[list[Any], list[Floats]]  # blocks of a sparse matrix, one below the other, and what they are compared with


class Solution(NamedTuple):
    """b, which rows of M b are zero, the relative gap, and how many iterations that took."""

    values: Floats
    free: Mask
    gap: float
    iterations: int


class OnGraph:
    """A graph ready for trend filters of order 1 or 2: an infinite penalty leaves constants on the components."""

    def __init__(self, network: Network, order: int) -> None:
        self.network, self.graph, self.order = network, network.graph, order

    @cached_property
    def matrix(self) -> Any:
        """M."""
        whole = self.graph.laplacian()
        if self.order == 1:
            return whole
        edges = np.arange(len(self.graph.edges))
        ends = np.concatenate([self.graph.edges[:, 0], self.graph.edges[:, 1]])
        signs = np.repeat([1.0, -1.0], edges.size)
        shape = edges.size, self.graph.size
        return sparse.csr_array((signs, (np.concatenate([edges, edges]), ends)), shape=shape) @ whole

    @cached_property
    def inverse(self) -> Inverse:
        return Inverse(self.graph)

    def top(self, y: Floats) -> float:
        """The least penalty that leaves only constants: with L v = y - mean, the least size of such a v (order 1: it is
        free by a constant on every component), or the least capacities of a flow that makes it (order 2)."""
        v = self.inverse(y)
        if self.order == 2:
            return self.network.least_capacity(v)
        part = self.graph.components
        most, least = np.full(part.max() + 1, -np.inf), np.full(part.max() + 1, np.inf)
        np.maximum.at(most, part, v)
        np.minimum.at(least, part, v)
        return float((most - least).max()) / 2

    def solve(self, y: Floats, penalty: float) -> Fit:
        """The trend filter of y."""
        values, part = centred(y, self.graph.components), self.graph.components
        if penalty >= self.top(values):
            return Fit(penalty, y - values, float(part.max() + 1), 0.0, 0)
        bound = np.full(y.size, penalty) if self.order == 1 else penalty * self.network.weights
        made = solved(values, self.matrix, bound)
        if self.order == 2:
            freedom = int(joined(self.graph, made.free).max()) + 1
        else:
            freedom = supports((~made.free).astype(float), self.graph, 0.0)
        return Fit(penalty, centred(made.values, part) + (y - values), float(freedom), made.gap, made.iterations)


class AlongRows:
    """Paths ready for trend filters of order 1, 2 or 3: an infinite penalty leaves a polynomial on each.

    Rows of k + 1 values or fewer have no difference of order k + 1, and are left alone.
    """

    def __init__(self, graph: Graph, order: int) -> None:
        self.size, self.order, self.paths = graph.size, order, paths(graph)
        self.long = [each for each in self.paths if each.shape[1] > order + 1]
        self.rows = sum(each.shape[0] * (each.shape[1] - order - 1) for each in self.long)

    def polynomials(self, y: Floats) -> Floats:
        """The polynomial of least squares on each path."""
        made = np.empty(self.size)
        for each in self.paths:
            degree = min(self.order, each.shape[1] - 1)
            basis = np.linalg.qr(chebvander(np.linspace(-1, 1, each.shape[1]), degree))[0]
            made[each] = (y[each] @ basis) @ basis.T
        return made

    def dual(self, left: Floats) -> Floats:
        """v with M'v = left, which is orthogonal to all polynomials of degree k."""
        made = []
        for each in self.long:
            sums = left[each]
            for _ in range(self.order + 1):
                sums = -np.cumsum(sums, axis=1)[:, :-1]
            made.append(sums.ravel())
        return np.concatenate([np.zeros(0), *made])

    def top(self, y: Floats) -> float:
        """The least penalty that leaves nothing but a polynomial on each path."""
        return float(np.abs(self.dual(y - self.polynomials(y))).max(initial=0.0))

    def solve(self, y: Floats, penalty: float) -> Fit:
        """The trend filter of y."""
        flat = self.polynomials(y)
        if penalty >= self.top(y):
            return Fit(penalty, flat, float(self.size - self.rows), 0.0, 0)
        rest = y - flat
        scale = math.sqrt(float(np.mean(rest * rest)))
        unit, c = rest / scale, penalty / scale
        values, z, iterations = self._program(unit, c)
        left = unit - values
        left -= self.polynomials(left)
        v = self.dual(left)
        beyond = max(0.0, float(np.abs(v).max()) / c - 1)
        v /= 1 + beyond
        paid, moved = c * float(np.abs(z).sum()), float(left @ left) / 2
        gap = paid - float(v @ z) + (beyond / (1 + beyond)) ** 2 * moved
        freedom = float(self.size - _zero_rows(z, v, np.full(self.rows, c)).sum())
        return Fit(penalty, flat + scale * (unit - left), freedom, max(gap, 0.0) / (moved + paid), iterations)

    def _program(self, y: Floats, c: float) -> tuple[Floats, Floats, int]:
        """b, M b and how many iterations they took."""
        length = max(1.0, c ** (1 / (self.order + 1)))
        levels = [[each.shape[1] - level for each in self.long] for level in range(self.order + 2)]
        many = [each.shape[0] for each in self.long]
        sizes = [sum(m * n for m, n in zip(many, level, strict=True)) for level in levels]
        equal = []
        for level in range(self.order + 1):
            step = sparse.block_diag([_first_differences(m, n) for m, n in zip(many, levels[level], strict=True)])
            blocks: list[Any] = [sparse.csc_matrix((sizes[level + 1], size)) for size in [*sizes, self.rows]]
            blocks[level], blocks[level + 1] = length * step, -sparse.identity(sizes[level + 1])
            if level == 0:  # of b = y - r
                first, blocks[0] = step, -blocks[0]
            equal.append(sparse.hstack(blocks))
        nodes = np.concatenate([each.ravel() for each in self.long])
        last = sparse.identity(self.rows)
        before = sparse.csc_matrix((self.rows, sum(sizes[:-1])))
        within = [sparse.hstack([before, sign * last, -last]) for sign in (1, -1)]
        paid = np.full(self.rows, c / length ** (self.order + 1))
        known = [-length * first @ y[nodes], *(np.zeros(size) for size in sizes[2:])]
        linear = np.concatenate([np.zeros(sum(sizes)), paid])
        x, _, iterations = minimised(sizes[0], linear, (equal, known), (within, [np.zeros(self.rows)] * 2))
        values = y.copy()
        values[nodes] -= x[: sizes[0]]
        begin = sum(sizes[:-1])
        return values, x[begin : begin + self.rows] / length ** (self.order + 1), iterations


def _first_differences(many: int, length: int) -> Any:
    """Along `many` rows of this length."""
    one: Any = sparse.diags([-1.0, 1.0], [0, 1], shape=(length - 1, length))
    return sparse.kron(sparse.identity(many), one)


def solved(y: Floats, matrix: Any, bound: Floats) -> Solution:
    """argmin_b 1/2 ||y - b||^2 + bound'|matrix b|."""
    rows, size = matrix.shape
    scale = math.sqrt(float(np.mean(y * y)))
    unit, limit = y / scale, bound / scale
    within = [sparse.hstack([sign * matrix, -sparse.identity(rows)]) for sign in (-1, 1)]
    bounds = [-(matrix @ unit), matrix @ unit]
    x, multipliers, iterations = minimised(size, np.concatenate([np.zeros(size), limit]), ([], []), (within, bounds))
    moved, v = x[:size], np.clip(multipliers[:rows] - multipliers[rows:], -limit, limit)
    free = _zero_rows(matrix @ (unit - moved), v, limit)
    at_knots = np.where(free, v, np.copysign(limit, v))  # there v is at its bound
    everywhere = np.copysign(limit, matrix @ unit)  # a tiny penalty makes every row a knot, and is lost to the solver
    answers = [
        (moved, v, free),
        (matrix.T @ at_knots, at_knots, free),
        (matrix.T @ everywhere, everywhere, np.zeros(rows, dtype=bool)),
    ]
    gaps = [_gap(unit, each, dual, matrix, limit) for each, dual, _ in answers]
    best = int(np.argmin(gaps))
    return Solution(scale * (unit - answers[best][0]), answers[best][2], gaps[best], iterations)


def _gap(y: Floats, moved: Floats, v: Floats, matrix: Any, bound: Floats) -> float:
    """How far the objective of b = y - moved is above the least one at most, as a part of it, by this v."""
    z, left = matrix @ (y - moved), moved - matrix.T @ v
    paid = float(bound @ np.abs(z))
    objective = float(moved @ moved) / 2 + paid + ROUNDING_OF_OBJECTIVE * float(y @ y)
    return max(0.0, paid - float(v @ z) + float(left @ left) / 2) / objective


def minimised(squared: int, linear: Floats, equal: Rows, within: Rows) -> tuple[Floats, Floats, int]:
    """x with 1/2 ||its first `squared` entries||^2 + linear'x least, where equal[0] x = equal[1] and
    within[0] x <= within[1]; the multipliers of the last; and how many iterations that took."""
    try:
        import clarabel
    except ImportError:
        raise errors.MissingPackage.named("clarabel", "A trend filter of order 1 or more", extra="solvers") from None
    rest = linear.size - squared
    squares = sparse.block_diag([sparse.identity(squared), sparse.csc_matrix((rest, rest))], format="csc")
    rows, sides = sparse.vstack([*equal[0], *within[0]], format="csc"), np.concatenate([*equal[1], *within[1]])
    fixed = sum(block.shape[0] for block in equal[0])
    cones = [clarabel.ZeroConeT(fixed), clarabel.NonnegativeConeT(rows.shape[0] - fixed)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter, settings.max_threads = False, MAX_ITERATIONS, 1
    settings.tol_gap_rel = settings.tol_feas = SOLVER_TOLERANCE
    settings.tol_gap_abs = SOLVER_TOLERANCE**2
    found = clarabel.DefaultSolver(squares, linear, rows, sides, cones, settings).solve()
    return np.array(found.x), np.array(found.z)[fixed:], int(found.iterations)


def _zero_rows(z: Floats, v: Floats, bound: Floats) -> Mask:
    """Which rows are no knots: beside the largest |z| first, and then beside the middle one of the knots found so."""
    size = np.abs(z)
    first = size * bound <= (bound - np.abs(v)) * size.max(initial=0.0)
    usual = float(np.median(size[~first])) if not first.all() else 0.0
    return np.asarray(size * bound <= (bound - np.abs(v)) * usual)


class Inverse:
    """One node of each component is held at zero, and then the means go."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        held = np.unique(graph.components, return_index=True)[1]
        self.free = np.setdiff1d(np.arange(graph.size), held)
        inside = csc_array(graph.laplacian()[self.free][:, self.free])
        self.factor: Any = None
        if self.free.size:
            symmetric = {"SymmetricMode": True}
            self.factor = splu(inside, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)

    def __call__(self, y: Floats) -> Floats:
        v = np.zeros(self.graph.size)
        if self.factor is not None:
            v[self.free] = self.factor.solve(centred(y, self.graph.components)[self.free])
        return centred(v, self.graph.components)
