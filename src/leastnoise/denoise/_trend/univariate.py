"""The classical trend filter along rows of values (Kim, Koh, Boyd & Gorinevsky 2009; Tibshirani 2014), exactly.

    min_b 1/2 ||y - b||^2 + c ||D b||_1    =    max over |v| <= c of  1/2 ||y||^2 - 1/2 ||b||^2,    b = y - D'v,

D the differences of order k + 1. An interior point as in `interior.py`, but z = D b is carried along and never taken
from b: over a stretch of s values z is s^-(k+1) of b, and b holds no digit of it. It starts at the smoother with equal
variances h (Whittaker 1923; Hodrick & Prescott) whose v just stays inside the bounds: that is next to the central path,
at products of h c^2 / 2.

Once the gap is small, the knots are guessed (rows whose multiplier stays while their slack falls: Tapia's indicators,
El-Bakry, Tapia & Zhang 1994), the pieces between them are made exact polynomials, h = 0, and where a bound or a sign is
broken, the guess is mended. Any v proves how good b is: with v inside its bounds after division by 1 + e,

    gap = sum (c |z| - v z / (1 + e)) + (e / (1 + e))^2 ||y - b||^2 / 2  >=  objective(b) - least objective.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from leastnoise.denoise._graph.lattices import paths
from leastnoise.denoise._trend.differences import Differences
from leastnoise.denoise._trend.interior import STEP_FRACTION, TINY, Trend, distance_to_goal
from leastnoise.denoise._trend.newton import Mask
from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

MAX_ITERATIONS = 250
GAP_TO_GUESS_KNOTS = 1e-4
GAP_RATIO_TO_GUESS_AGAIN = 100.0
MAX_GUESSES_IN_A_ROW = 4
MAX_GAP_OF_EXACT = 1e-9  # rounding
MAX_CORRECTORS = 2
START_WITHIN = 0.5, 0.95  # of the bound is the largest v at the start
KNOT_VARIANCE = 1e3  # times |z| / c at knots: the larger, the sooner v is at its bound there, and the fewer digits stay
KNOT_VARIANCE_GROWTH = 1e4  # where it is not at its bound after so many steps: knots side by side need much more
MAX_KNOT_STEPS, MAX_KNOT_FACTORS = 6, 4
BOUND_TOLERANCE = 1e-12  # of v from its bound at knots, as a part of it


class Point(NamedTuple):
    """y - b, the relative gap, and which rows are no knots."""

    off: Floats
    gap: float
    free: Mask


class Univariate:
    """Paths ready for trend filters of order 1, 2 or 3."""

    def __init__(self, graph: Graph, order: int) -> None:
        self.differences = Differences(paths(graph), order)

    def polynomials(self, y: Floats) -> tuple[Floats, float]:
        """What an infinite penalty leaves, and the least penalty that leaves no more."""
        d = self.differences
        d.factorise(np.zeros(d.rows))
        off, v = d.solve(y[d.nodes], np.zeros(d.rows))
        values = np.empty(d.size)
        values[d.nodes] = y[d.nodes] - off
        return values, float(np.abs(v).max(initial=0.0))

    def top(self, y: Floats) -> float:
        """The least penalty that leaves nothing but a polynomial on each path."""
        return self.polynomials(y)[1]

    def solve(self, y: Floats, penalty: float, tolerance: float) -> Trend:
        """The trend filter of y; to a relative duality gap of `tolerance` where the knots cannot be had exactly."""
        d = self.differences
        flat, top = self.polynomials(y)
        if penalty >= top:
            return Trend(flat, d.size - d.rows, 0.0, 0)
        rest = (y - flat)[d.nodes]
        scale = math.sqrt(float(np.mean(rest * rest)))
        with np.errstate(all="ignore"):  # what overflows is no better than the best before it
            made, iterations = Search(d, rest / scale, penalty / scale).run(tolerance)
        values = np.empty(d.size)
        values[d.nodes] = rest - scale * made.off
        return Trend(flat + values, d.size - int(made.free.sum()), made.gap, iterations)


class Search:
    """The iteration for values y of size one and a bound c below the largest."""

    def __init__(self, differences: Differences, y: Floats, c: float) -> None:
        self.d, self.y, self.c = differences, y, c
        h, self.off, self.v = self._start()
        self.z = h * self.v
        mean = h * c * c / 2
        self.p, self.n = mean / (c - self.v), mean / (c + self.v)
        self.free = np.ones(self.v.size, dtype=np.bool_)

    def _start(self) -> tuple[float, Floats, Floats]:
        """A smoother with equal h whose v is inside the bounds. Its size falls with h: as h^-((m - 1/2) / 2m) where it
        spans many values, as 1/h where it spans none."""
        m = self.d.begin.shape[0]
        power = 2 * m / (m - 0.5)
        least, most = 0.0, math.inf
        h, aim = min(max(self.c, 1e-60), 1e60) ** -power, self.c * math.sqrt(START_WITHIN[0] * START_WITHIN[1])
        while True:
            self.d.factorise(np.full(self.d.rows, h))
            off, v = self.d.solve(self.y, np.zeros(self.d.rows))
            largest = float(np.abs(v).max())
            if START_WITHIN[0] * self.c <= largest <= START_WITHIN[1] * self.c:
                return h, off, v
            least, most = (h, most) if largest > aim else (least, h)
            h *= (largest / aim) ** power
            if not least < h < most:
                h = math.sqrt(least * most)

    def run(self, tolerance: float) -> tuple[Point, int]:
        best, factors, ready = Point(self.off, math.inf, self.free), 0, GAP_TO_GUESS_KNOTS
        while factors < MAX_ITERATIONS:
            self._advance()
            factors += 1
            best = min(best, self._point(self.v, self.off, self.z, self.free), key=lambda point: point.gap)
            if best.gap <= max(ready, tolerance):
                exact, tried = self._guess()
                factors += tried
                if exact is not None:
                    return exact, factors
                ready = best.gap / GAP_RATIO_TO_GUESS_AGAIN
            if best.gap <= min(tolerance, 1e-12) or not math.isfinite(float(self.off @ self.off)):
                break
        return best, factors

    def _advance(self) -> None:
        """One predictor and corrector (Mehrotra 1992), and further ones while they lengthen the step (Gondzio 1996)."""
        c, p, n = self.c, self.p, self.n
        above, below = c - self.v, c + self.v
        mean = float(above @ p + below @ n) / (2 * p.size)
        up, down = p / above, n / below
        h = up + down
        self.d.factorise(h)

        def toward(over: Floats | float, under: Floats | float) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
            """The step that would make the products above p, below n what they are aimed at, and its reach."""
            q = over - under - self.z
            off, dv = self.d.solve(np.zeros(self.d.size), q)
            dp, dn = over + up * dv - p, under - down * dv - n
            fastest = max(float((dv / above).max()), float((-dv / below).max()), -float((dp / p).min()))
            return 1.0 / max(fastest, -float((dn / n).min()), 1.0), off, dv, h * dv + q, dp, dn

        def products(a: float) -> tuple[Floats, Floats]:
            return (above - a * step[2]) * (p + a * step[4]), (below + a * step[2]) * (n + a * step[5])

        step = toward(0.0, 0.0)
        one, two = products(step[0])
        goal = float((one.mean() + two.mean()) / (2 * mean)) ** 3 * mean
        over, under = (goal + step[2] * step[4]) / above, (goal - step[2] * step[5]) / below
        step = toward(over, under)
        for _ in range(MAX_CORRECTORS):
            one, two = products(min(1.0, 1.5 * step[0] + 0.1))
            over, under = over + distance_to_goal(one, goal) / above, under + distance_to_goal(two, goal) / below
            other = toward(over, under)
            if other[0] < step[0] + 0.01:
                break
            step = other
        a = min(1.0, STEP_FRACTION * step[0])
        _, off, dv, dz, dp, dn = step
        self.off, self.v, self.z = self.off + a * off, self.v + a * dv, self.z + a * dz
        self.p, self.n = p + a * dp, n + a * dn
        slack, multiplier = (
            np.where(p > n, (c - self.v) / above, (c + self.v) / below),
            np.where(p > n, self.p / p, self.n / n),
        )
        self.free = multiplier < slack

    def _point(self, v: Floats, off: Floats, z: Floats, free: Mask) -> Point:
        beyond = max(float(np.abs(v).max()) / self.c - 1, 0.0)
        paid, moved = self.c * float(np.abs(z).sum()), float(off @ off) / 2
        gap = paid - float(v @ z) / (1 + beyond) + (beyond / (1 + beyond)) ** 2 * moved
        return Point(off, max(gap, 0.0) / (moved + paid + TINY), free)

    def _guess(self) -> tuple[Point | None, int]:
        """The solution with these knots, if they are the right ones; mended a few times if they are nearly."""
        free, sign, z = self.free, np.where(self.p > self.n, 1.0, -1.0), self.z
        factors = 0
        for _ in range(MAX_GUESSES_IN_A_ROW):
            z, v, off, tried = self._between(free, sign, np.where(free, 0.0, z))
            factors += tried
            wrong = np.where(free, np.abs(v) > self.c * (1 + 1e-9), z * sign < 0)
            if not wrong.any():
                made = self._point(v, off, z, free)
                return (made, factors) if made.gap <= MAX_GAP_OF_EXACT else (None, factors)
            sign = np.where(free, np.sign(v), sign)
            free = free ^ wrong
        return None, factors

    def _between(self, free: Mask, sign: Floats, z: Floats) -> tuple[Floats, Floats, Floats, int]:
        """z, v and y - b with polynomials between knots at which v = sign c. A knot has a variance h, and is moved on
        by what v = sign c + (z - z before) / h is short of its bound."""
        h = np.where(free, 0.0, KNOT_VARIANCE * float(np.abs(z).max()) / self.c + TINY)
        for factors in range(1, MAX_KNOT_FACTORS + 1):
            self.d.factorise(h)
            for _ in range(MAX_KNOT_STEPS):
                off, v = self.d.solve(self.y, z - h * sign * self.c)
                short = np.where(free, 0.0, v - sign * self.c)
                z = z + h * short
                if np.abs(short).max() <= BOUND_TOLERANCE * self.c:
                    return z, v, off, factors
            h = h * KNOT_VARIANCE_GROWTH
        return z, v, off, factors
