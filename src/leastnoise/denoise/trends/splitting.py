"""Trend filters of order 1 and 2, by splitting (ADMM, over-relaxed):

    min_b  1/2 ||y - b||^2 + penalty R(z)  subject to  z = L b,      R(z) = ||z||_1 (order 1) or ||W D z||_1 (order 2)

    b <- (I + rho L^2)^-1 (y + rho L (z - u)),   z <- prox of (penalty/rho) R at Lb + u,   u <- Lb + u - z

1/(1 + rho x^2) is the real part of 1/(1 + i sqrt(rho) x), so one sparse factor of the complex I + i sqrt(rho) L does,
and the imaginary part of its solution is -sqrt(rho) L b. The prox is a soft threshold (order 1) or total variation,
exactly (order 2). Whatever the iterate, rho u is penalty times a subgradient, hence feasible in the dual, and

    gap = penalty R(Lb) - v'Lb + 1/2 ||y - Lv - b||^2  >=  objective(b) - least objective,    v = rho u.

It is computed at b and at y - Lv, and iteration ends when it is small enough. Order 1 with few
non-zero z takes thousands of iterations, and is ended by an active set instead (`knots.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.threads import one_thread
from leastnoise.denoise.trends.degrees import levelled, supports
from leastnoise.denoise.trends.knots import Inverse, room, with_knots
from leastnoise.denoise.trends.total_variation import PASSES, Network, centred
from leastnoise.graphs import Graph

RELAXED = 1.7
LOOK = 10  # iterations between two looks at the gap
UNBALANCED = 3.0  # a change of rho worth a new factor
SETTLED = 400  # iterations after which rho stays
AGAIN = 10  # passes over a flow that was good an iteration ago
KNOTTED = (20, 60, 200, 600, 2000)  # iterations after which few knots are tried (order 1)
MOST = 5000
SMOOTH = 12  # steps of diffusion
TINY = 1e-300


class State(NamedTuple):
    """Where the iteration stood, to start the next one from."""

    penalty: float
    rho: float
    z: Floats
    v: Floats  # rho u


class Trend(NamedTuple):
    """An approximate minimiser, its degrees of freedom, and how far from the least objective it is at most."""

    values: Floats
    degrees_of_freedom: int
    gap: float
    iterations: int
    state: State | None


class Splitting:
    """A graph ready for trend filters of order 1 or 2."""

    def __init__(self, network: Network, order: int) -> None:
        self.network, self.graph, self.order = network, network.graph, order
        self._factors: dict[float, Any] = {}

    @cached_property
    def laplacian(self) -> csc_array:
        return laplacian(self.graph, self.network.weights)

    @cached_property
    def inverse(self) -> Inverse:
        return Inverse(self.laplacian, self.graph, factorised)

    def top(self, y: Floats) -> float:
        """The least penalty that leaves only constants: with L v = y - mean, the least size of such a v (order 1: it is
        free by a constant on every component), or the least capacities of a flow that makes it
        (order 2)."""
        v = self.inverse(y)
        if self.order == 2:
            return self.network.least_capacity(v)
        part = self.graph.components
        most, least = np.full(part.max() + 1, -np.inf), np.full(part.max() + 1, np.inf)
        np.maximum.at(most, part, v)
        np.minimum.at(least, part, v)
        return float((most - least).max()) / 2

    def is_flat(self, y: Floats, penalty: float) -> bool:
        """Whether `top` is at most the penalty. It is at least y'b / R(Lb) for every b: smooth ones say so cheaply."""
        b = centred(y, self.graph.components)
        step = 0.5 / max(float(self.laplacian.diagonal().max()), TINY)
        for _ in range(SMOOTH):
            lb = self.laplacian @ b
            if float(y @ b) > penalty * (1 + 1e-9) * self._size(lb):
                return False
            b = b - step * lb
        return penalty >= self.top(y)

    def solve(self, y: Floats, penalty: float, tolerance: float, warm: State | None = None) -> Trend:
        """The trend filter of y, to a relative duality gap of `tolerance` if `MOST` iterations reach it."""
        part = self.graph.components
        values = centred(y, part)
        mean = y - values
        if self.is_flat(values, penalty):
            return Trend(mean, int(part.max()) + 1, 0.0, 0, None)
        with one_thread():
            made = self._iterate(values, penalty, tolerance, warm or self._cold(values, penalty))
        return made._replace(values=made.values + mean)

    def _cold(self, y: Floats, penalty: float) -> State:
        size = float(np.sqrt(np.mean(y * y)))
        return State(penalty, penalty / size, np.zeros(y.size), np.zeros(y.size))

    def _iterate(self, y: Floats, penalty: float, tolerance: float, warm: State) -> Trend:
        rho, z = warm.rho, warm.z
        u = warm.v * min(1.0, penalty / warm.penalty) / rho
        shrink = self._proximal()
        values, gap = y, math.inf
        for k in range(1, MOST + 1):
            pull = self.laplacian @ (z - u)
            w = self._factor(rho).solve((y + rho * pull).astype(complex))
            b, lb = np.ascontiguousarray(w.real), w.imag / -math.sqrt(rho)
            old = z
            mixed = RELAXED * lb + (1 - RELAXED) * old
            z, u = shrink(mixed + u, penalty / rho)
            if k % LOOK and k > 1:
                continue
            for now, point in self._gaps(y, penalty, (b, lb), rho * u):
                if now < gap:
                    gap, values = now, point
            if gap <= tolerance:
                break
            if self.order == 1 and k in KNOTTED and np.count_nonzero(z) <= room(y.size) // 2:
                found = with_knots(y, penalty, z, self.inverse, tolerance)
                if found is not None:
                    z, values, gap, u = found.z, found.values, found.gap, found.v / rho
                    break
            ratio = self._ratio(lb, z, old, u)
            if k <= SETTLED and (k // LOOK) % 2 and max(ratio, 1 / ratio) > UNBALANCED:
                ratio = min(max(ratio, 0.1), 10.0)
                rho, u = rho * ratio, u / ratio
        return Trend(values, self._free(z), gap, k, State(penalty, rho, z, rho * u))

    def _ratio(self, lb: Floats, z: Floats, old: Floats, u: Floats) -> float:
        """By what to multiply rho: how far the constraint is from holding over how far the dual is from standing
        still, both relative, and their square root."""
        norm = np.linalg.norm
        primal = norm(lb - z) / (max(norm(z), norm(lb)) + TINY)
        dual = norm(self.laplacian @ (z - old)) / (norm(self.laplacian @ u) + TINY)
        return math.sqrt((float(primal) + TINY) / (float(dual) + TINY))

    def _factor(self, rho: float) -> Any:
        if rho not in self._factors:
            if len(self._factors) > 2:
                self._factors.pop(next(iter(self._factors)))
            matrix = eye_array(self.graph.size, format="csc") + 1j * math.sqrt(rho) * self.laplacian
            self._factors[rho] = factorised(csc_array(matrix))
        return self._factors[rho]

    def _proximal(self) -> Callable[[Floats, float], tuple[Floats, Floats]]:
        """p, t -> the prox of t R at p, and what it took away (to the last bit t times a subgradient)."""
        if self.order == 1:
            return lambda p, t: (p - np.clip(p, -t, t), np.clip(p, -t, t))
        flow: Floats | None = None
        low, high = self.graph.edges.T

        def vary(p: Floats, t: float) -> tuple[Floats, Floats]:
            nonlocal flow
            z, flow = self.network.minimise(p, t * self.network.weights, flow, PASSES if flow is None else AGAIN)[:2]
            return z, np.asarray(np.bincount(low, flow, p.size) - np.bincount(high, flow, p.size), dtype=np.float64)

        return vary

    def _gaps(self, y: Floats, penalty: float, first: tuple[Floats, Floats], v: Floats) -> list[tuple[float, Floats]]:
        """Two primal points and the relative gap at each."""
        other = y - self.laplacian @ v
        made = []
        for b, lb in (first, (other, self.laplacian @ other)):
            paid = penalty * self._size(lb)
            gap = paid - float(v @ lb) + float((other - b) @ (other - b)) / 2
            made.append((max(gap, 0.0) / (float((y - b) @ (y - b)) / 2 + paid + TINY), b))
        return made

    def _size(self, z: Floats) -> float:
        if self.order == 1:
            return float(np.abs(z).sum())
        low, high = self.graph.edges.T
        return float(self.network.weights @ np.abs(z[low] - z[high]))

    def _free(self, z: Floats) -> int:
        if self.order == 1:
            return supports(z, self.graph, 0.0)
        return levelled(z, self.graph, 1e-12 * float(np.abs(z).max()))[1]


def laplacian(graph: Graph, weights: Floats) -> csc_array:
    """L = D'WD."""
    low, high = graph.edges.T
    n = graph.size
    degree = np.bincount(graph.edges.ravel(), np.repeat(weights, 2), n)
    rows = np.concatenate([low, high, np.arange(n)])
    columns = np.concatenate([high, low, np.arange(n)])
    return csc_array((np.concatenate([-weights, -weights, degree]), (rows, columns)), shape=(n, n))


def factorised(matrix: csc_array) -> Any:
    """A sparse LU factor of a symmetric matrix that needs no pivots."""
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
