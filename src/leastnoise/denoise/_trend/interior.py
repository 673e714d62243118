"""Trend filters of order 1 and 2 by an interior point, on the dual. With M = L (order 1) or D L (order 2) and bounds
c = penalty (order 1) or penalty times the edges' weights (order 2),

    min_b 1/2 ||y - b||^2 + c'|M b|    =    max over |v| <= c of  1/2 ||y||^2 - 1/2 ||b||^2,    b = y - M'v.

Slacks c - v, c + v and their multipliers stay positive while Mehrotra's (1992) predictor and corrector, and Gondzio's
(1996) further ones, bring their products down together: one factor (`newton.py`) an iteration, five to fifteen of them
at any penalty. Any v within the bounds proves how good any b is,

    gap = c'|M b| - v'M b + 1/2 ||y - M'v - b||^2  >=  objective(b) - least objective.

Once it is small, the rows where v is at its bound (the knots: elsewhere M b = 0) are guessed and the equations solved
with these held; where v then leaves its bounds or M b has the wrong sign, the guess is mended and solved again. A right
guess is the solution but for rounding, with its degrees of freedom; a wrong one costs a factor or two.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from leastnoise._support.threads import one_thread
from leastnoise.denoise._trend.degrees import joined, supports
from leastnoise.denoise._trend.inverse import Inverse
from leastnoise.denoise._trend.newton import Mask, Newton
from leastnoise.denoise._trend.total_variation import Network, centred
from leastnoise.denoise.arrays import Floats

MAX_ITERATIONS = 100
MAX_CORRECTORS = {1: 1, 2: 2}  # more solutions with the same factor, while they lengthen the step
GAP_TO_GUESS_KNOTS = {1: 3e-4, 2: 1e-5}  # the gap from which on knots are guessed
MAX_GUESSES_IN_A_ROW = 3
GAP_RATIO_TO_GUESS_AGAIN = 10.0  # times smaller must the gap be for the next ones
MAX_GAP_RATIO_OF_GUESS = 10.0  # times the gap before: a guess not worth mending
FREE_ROW_SLACK = 1e-9  # h of free rows while knots are guessed, in parts of 1/bound: M b is zero there to this
STEP_FRACTION = 0.99  # of the way to the nearest bound
DIFFUSION_STEPS = 12
TINY = 1e-300  # keeps quotients finite


class Trend(NamedTuple):
    """An approximate minimiser, its degrees of freedom, and how far from the least objective it is at most."""

    values: Floats
    degrees_of_freedom: int
    gap: float
    iterations: int


class Point(NamedTuple):
    """Values, the relative gap at them, and which rows are no knots."""

    values: Floats
    gap: float
    free: Mask


class Step(NamedTuple):
    """Of values, dual and both multipliers; and how much of it leaves slacks and multipliers positive."""

    db: Floats
    dv: Floats
    dp: Floats
    dn: Floats
    reach: float


class Interior:
    """A graph ready for trend filters of order 1 or 2."""

    def __init__(self, network: Network, order: int) -> None:
        self.network, self.graph, self.order = network, network.graph, order

    @cached_property
    def newton(self) -> Newton:
        return Newton(self.graph, self.network.weights, self.order)

    @cached_property
    def inverse(self) -> Inverse:
        return Inverse(self.graph, self.network.weights)

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

    def is_flat(self, y: Floats, penalty: float) -> bool:
        """Whether `top` is at most the penalty. It is at least y'b / R(Lb) for every b, R the penalty's norm: smooth
        ones say so cheaply."""
        b = centred(y, self.graph.components)[self.newton.order]
        y, bound = b, self._bound(1.0)
        step = 0.5 / max(float(self.newton.diagonal.max()), TINY)
        for _ in range(DIFFUSION_STEPS):
            if float(y @ b) > penalty * (1 + 1e-9) * float(bound @ np.abs(self.newton.forward(b))):
                return False
            b = b - step * (self.newton.laplacian @ b)
        return penalty >= self.top(self._back(y))

    def _bound(self, penalty: float) -> Floats:
        return np.full(self.graph.size, penalty) if self.order == 1 else penalty * self.network.weights

    def solve(self, y: Floats, penalty: float, tolerance: float) -> Trend:
        """The trend filter of y, to a relative duality gap of `tolerance` if it can be reached."""
        part = self.graph.components
        values = centred(y, part)
        if self.is_flat(values, penalty):
            return Trend(y - values, int(part.max()) + 1, 0.0, 0)
        scale = math.sqrt(float(np.mean(values * values)))
        with one_thread(), np.errstate(all="ignore"):  # what overflows is no better than the best before it
            search = Search(self.newton, values[self.newton.order] / scale, self._bound(penalty / scale))
            made, iterations = search.run(tolerance)
        return Trend(scale * self._back(made.values) + (y - values), self._free(made.free), made.gap, iterations)

    def _free(self, free: Mask) -> int:
        if self.order == 2:
            return int(joined(self.graph, free).max()) + 1
        return supports(self._back((~free).astype(float)), self.graph, 0.0)

    def _back(self, values: Floats) -> Floats:
        """In the graph's own numbering."""
        out = np.empty(values.size)
        out[self.newton.order] = values
        return out


class Search:
    """The iteration for values y of size one."""

    def __init__(self, newton: Newton, y: Floats, bound: Floats) -> None:
        self.newton, self.y, self.bound = newton, y, bound
        self.v, self.b = np.zeros(bound.size), y
        self.z, self.left = newton.forward(y), np.zeros(y.size)  # M b; y - M'v - b, which is rounding
        least = 0.3 * float(np.abs(self.z).mean())
        self.p, self.n = np.maximum(self.z, 0) + least, np.maximum(-self.z, 0) + least  # of c - v and of c + v

    def run(self, tolerance: float) -> tuple[Point, int]:
        best, factors, ready = Point(self.y, math.inf, self._free()), 0, GAP_TO_GUESS_KNOTS[self.newton.degree]
        while factors < MAX_ITERATIONS:
            self._advance()
            factors += 1
            best = min(best, self._point(self.v, self.b, self.z, self.left, self._free()), key=lambda point: point.gap)
            if best.gap <= max(ready, tolerance):
                guess, tried = self._guess(best.gap, tolerance)
                factors += tried
                best, ready = min(best, guess, key=lambda point: point.gap), best.gap / GAP_RATIO_TO_GUESS_AGAIN
            if best.gap <= tolerance or not math.isfinite(float(self.b @ self.b)):
                break
        return best, factors

    def _free(self) -> Mask:
        """Rows whose slack is larger than their multiplier, each beside the size it would have."""
        return np.maximum(self.p / (self.bound - self.v), self.n / (self.bound + self.v)) * self.bound < 1.0

    def _advance(self) -> None:
        above, below, p, n = self.bound - self.v, self.bound + self.v, self.p, self.n
        mean = float(above @ p + below @ n) / (2 * p.size)
        up, down = p / above, n / below
        self.newton.factorise(up + down)

        def toward(over: Floats | float, under: Floats | float) -> Step:
            """The step that would make the products above p, below n what they are aimed at."""
            db, dv = self.newton.solve(self.left, over - under - self.z)
            dp, dn = over + up * dv - p, under - down * dv - n
            fastest = max(float((dv / above).max()), float((-dv / below).max()), -float((dp / p).min()))
            return Step(db, dv, dp, dn, 1.0 / max(fastest, -float((dn / n).min()), 1.0))

        straight = toward(0.0, 0.0)
        one, two = self._products(straight, straight.reach)
        goal = float((one.mean() + two.mean()) / (2 * mean)) ** 3 * mean
        over, under = (goal + straight.dv * straight.dp) / above, (goal - straight.dv * straight.dn) / below
        step = toward(over, under)
        for _ in range(MAX_CORRECTORS[self.newton.degree]):
            one, two = self._products(step, min(1.0, 1.5 * step.reach + 0.1))
            over, under = over + distance_to_goal(one, goal) / above, under + distance_to_goal(two, goal) / below
            other = toward(over, under)
            if other.reach < step.reach + 0.01:
                break
            step = other
        a = min(1.0, STEP_FRACTION * step.reach)
        self.b, self.v = self.b + a * step.db, self.v + a * step.dv
        self.p, self.n = p + a * step.dp, n + a * step.dn
        self.z, self.left = self.newton.forward(self.b), self.y - self.b - self.newton.backward(self.v)

    def _products(self, step: Step, a: float) -> tuple[Floats, Floats]:
        """Of slacks and multipliers, so far along the step."""
        v = self.v + a * step.dv
        return (self.bound - v) * (self.p + a * step.dp), (self.bound + v) * (self.n + a * step.dn)

    def _point(self, v: Floats, b: Floats, z: Floats, left: Floats, free: Mask) -> Point:
        """The relative gap at b, with z = M b and left = y - M'v - b."""
        moved = self.y - b
        paid = float(self.bound @ np.abs(z))
        gap = paid - float(v @ z) + float(left @ left) / 2
        return Point(b, max(gap, 0.0) / (float(moved @ moved) / 2 + paid + TINY), free)

    def _guess(self, now: float, tolerance: float) -> tuple[Point, int]:
        """With the knots held, from a gap of `now`. The free rows move from where they are."""
        free, v = self._free(), self.v
        sign = np.where(self.p > self.n, 1.0, -1.0)
        best = Point(self.b, now, free)
        tried = 0
        while tried < MAX_GUESSES_IN_A_ROW:
            tried += 1
            v = np.where(free, np.clip(v, -self.bound, self.bound), sign * self.bound)
            self.newton.factorise(FREE_ROW_SLACK / self.bound, free)
            b = self.y - self.newton.backward(v)
            db, dv = self.newton.solve(np.zeros(b.size), -self.newton.forward(b))
            b, v = b + db, v + dv
            z, inside = self.newton.forward(b), np.clip(v, -self.bound, self.bound)
            here = self._point(inside, b, z, self.y - b - self.newton.backward(inside), free)
            if here.gap > MAX_GAP_RATIO_OF_GUESS * best.gap:
                break
            best = here
            if best.gap <= tolerance:
                break
            sign = np.where(free, np.sign(v), sign)
            wrong = z * sign < 0
            free = np.where(free, np.abs(v) <= self.bound, wrong)
        return best, tried


def distance_to_goal(products: Floats, goal: float) -> Floats:
    """What brings products within a factor of ten of the goal, if large ones need not come down at once (Gondzio
    1996)."""
    return np.maximum(np.clip(products, 0.1 * goal, 10 * goal) - products, -10 * goal)
