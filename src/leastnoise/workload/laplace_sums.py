"""How far a sum of Laplace draws lies from zero: a half-width whose coverage is at least what is stated.

X = sum of step_k K, over independent whole numbers K with P(K) proportional to exp(-|K|/scale_k), count_k of each kind.
One K has the characteristic function 1/(1 + sin^2(u/2)/sinh^2(1/(2 scale))), which is never negative, so that of X is
the product phi(u) of their powers.

*Inversion that cannot say too much.* Let U be a sum of p uniform draws on [-w/2, w/2], so |U| <= r = p w/2 and
P(|X| <= h + r) >= P(|X + U| <= h). X + U has a density; wrapped around a circle of circumference P it has the Fourier
coefficients phi(v) psi(v) at v = 2 pi k/P, psi(v) = (sin(v w/2)/(v w/2))^p. So

    P(|X + U| <= h) >= 2 h/P + sum over k = 1 .. m of 4 phi psi sin(v h)/(P v) - what the circle brings in - the rest,

    what the circle brings in <= P(|X + U| >= P - h) <= 2 M(theta) exp(-theta (P - h - r)) for every theta (Chernoff),
    the rest <= sum over k > m of 4/(P v) (2/(v w))^p <= 2/(pi p) (P/(pi m w))^p.

P, w and m are chosen so that both are 1e-4 of the chance to miss, and r is 1/1400 of the half-width by Chernoff's
bound: what is returned is that much too wide. Doubles round by far less than 1e-11, which is added. Below a chance of
1e-8, where that would matter, and for very many kinds of draws, Chernoff's bound itself is the half-width. One draw
alone has an exact one (`privacy.distributions`).

**Many nodes.** For the nodes of a large tree the distribution of each one's error would take too long. The error of a
node is one draw of its own, step times a whole number of scale b, and the rest: a sum of very many draws, of which the
variance is known, and the largest. With t = log(2/chance) the rest satisfies

    P(|rest| > sqrt(2 V t) + m t) <= chance,    V >= the sum of 2 (s b)^2,  m >= s b for each step s and scale b,

because a draw has E exp(x s K) <= 1/(1 - (x s b)^2) (it is 1/(1 - sinh^2(x s/2)/sinh^2(1/(2b))), and sinh z/z grows),
so that the logarithm of the moments of the rest is at most V x^2/(2 (1 - m x)) (Boucheron, Lugosi and Massart 2013,
section 2.4). One draw has no more than the V of all, so m = sqrt(V/2) will always do. The chance to miss is divided
between the two, in several proportions; or the whole error is taken for the rest. The least of these holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leastnoise._support.rounding import next_up
from leastnoise.privacy.distributions import Laplace
from leastnoise.workload.incidence import Floats

_POWER = 10  # p
_SMOOTH = 1 / 1400  # r, of the half-width by Chernoff's bound
_NEGLECTED = 1e-4  # of the chance to miss
_ROUNDING = 1e-11
_LEAST_CHANCE = 1e-8
_SILENT = 1 / 600  # a scale below: the draw is zero but for e^-600
_MOST_KINDS = 2**14
_PARTS = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)  # of the chance to miss that the rest of many draws may have


@dataclass(frozen=True)
class Term:
    """`count` independent draws: step times a whole number K with P(K) proportional to exp(-|K|/scale)."""

    step: float
    count: int
    scale: float


class LaplaceSum:
    """The sum of such terms: its characteristic function, its moments, its tail."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.steps = np.array([term.step for term in terms])
        self.counts = np.array([float(term.count) for term in terms])
        self.sinh = np.sinh(0.5 / np.array([term.scale for term in terms]))
        self.farthest = float((1 / (self.steps * np.array([term.scale for term in terms]))).min())

    @property
    def std(self) -> float:
        """The standard deviation: K has the variance 1/(2 sinh^2(1/(2 scale)))."""
        return math.sqrt(float((self.counts * self.steps**2 / (2 * self.sinh**2)).sum()))

    def characteristic(self, u: Floats, least: float = 0.0) -> Floats:
        """phi(u), or 0 where it is below `least`: each kind makes it smaller, the widest are multiplied first, and
        what has become too small is not computed further."""
        logarithm, lowest = np.zeros(u.shape), math.log(least) if least else -math.inf
        open_ = np.arange(u.size)
        for place in np.argsort(-self.counts * (self.steps / self.sinh) ** 2).tolist():
            step, count, sinh = self.steps[place], self.counts[place], self.sinh[place]
            logarithm[open_] -= count * np.log1p((np.sin(u[open_] * (step / 2)) / sinh) ** 2)
            open_ = open_[logarithm[open_] >= lowest]
        return np.where(logarithm >= lowest, np.exp(logarithm), 0.0)

    def reach(self, chance: float) -> float:
        """An x with P(|X| >= x) <= chance: (log M(theta) + log(2/chance))/theta, nearly at the best theta."""
        theta = self.farthest * (1 - np.geomspace(1e-6, 0.999999, 400))
        theta = np.concatenate([theta, self.farthest * np.geomspace(1e-6, 1, 200, endpoint=False)])
        inside = (np.sinh(np.outer(theta, self.steps / 2)) / self.sinh) ** 2
        ratio = np.where(inside < 1, inside, np.nan)
        moments = -(np.log1p(-ratio) @ self.counts)
        return float(np.nanmin((moments + math.log(2 / chance)) / theta)) * (1 + 1e-12)


def half_width(terms: Sequence[Term], *, miss: float) -> float:
    """An h with P(|X| > h) <= miss, hardly wider than needed."""
    return _half_width(tuple(term for term in terms if term.scale > _SILENT), miss)


@functools.lru_cache(maxsize=4096)  # many tables, and many releases of one question, have the same
def _half_width(terms: tuple[Term, ...], miss: float) -> float:
    if not terms:
        return 0.0
    if len(terms) == 1 and terms[0].count == 1 and miss > _LEAST_CHANCE:
        return next_up(Laplace(terms[0].scale, 1.0).half_width(next_up(1 - miss)) * terms[0].step)
    made = LaplaceSum(terms)
    widest = made.reach(miss)
    smooth = _SMOOTH * widest
    width = 2 * smooth / _POWER
    circle = widest + smooth + made.reach(_NEGLECTED * miss)
    ratio = (2 / (math.pi * _POWER * _NEGLECTED * miss)) ** (1 / _POWER)
    terms_needed = ratio * circle / (math.pi * width)
    if miss < _LEAST_CHANCE or len(terms) > _MOST_KINDS:
        return widest
    v = 2 * math.pi / circle * np.arange(1, math.ceil(terms_needed) + 1)
    silent = 1e-18 / len(v)
    factors = made.characteristic(v, silent) * np.sinc(v * (width / (2 * math.pi))) ** _POWER * (4 / (circle * v))
    needed = 1 - miss + 2 * _NEGLECTED * miss + _ROUNDING
    points = 2 << len(v).bit_length()  # h = P j/points: a Fourier transform has the sum for all of them at once
    inside = 2 / points * np.arange(points // 2 + 1) - np.fft.rfft(np.concatenate([[0.0], factors]), points).imag
    enough = np.flatnonzero(inside >= needed)
    return min(float(circle / points * enough[0]) * (1 + 1e-12) + smooth, widest) if enough.size else widest


def bounds(steps: Floats, scale: float, rest: Floats, most: Floats, miss: float) -> Floats:
    """How far off each node may be, with a chance of at most `miss` to be farther.

    steps: what the draw of its own counts in each node. scale: of these draws; 0: there is none.
    rest: V of the others. most: m of the others. miss: the chance.
    """
    v = np.maximum(rest, 0.0) * (1 + 1e-9)
    m = np.minimum(most * (1 + 1e-9), np.sqrt(v / 2))
    own = np.abs(steps) * scale
    best = _tail(v + 2 * own**2, np.maximum(m, own), miss)
    for part in _PARTS if scale else ():
        alone = Laplace(scale, 1.0).half_width(1 - (1 - part) * miss) * np.abs(steps)
        best = np.minimum(best, alone + _tail(v, m, part * miss))
    return np.asarray(np.nextafter(best * (1 + 1e-11), np.inf))


def _tail(v: Floats, m: Floats, chance: float) -> Floats:
    t = math.log(2 / chance)
    return np.asarray(np.sqrt(2 * v * t) + m * t)
