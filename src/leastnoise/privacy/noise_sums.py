"""How far a linear combination of independent draws lies from zero: a_1 X_1 + ... + a_k X_k, each X of its own scale.

An h with P(|sum| <= h) >= confidence, never too small and hardly too large. One draw has an exact one
(`distributions`). `half_widths` and `RatioNoise` take arrays of factors, for a few draws; `laplace_half_width` any
number of Laplace draws on a grid, one sum at a time.

**A few draws**, all Gaussian or all Laplace. Without a grid:

*Gaussian*: h = z sqrt(sum (a sigma)^2).

*Laplace*, with s = |a| b all different (Mathai 1993):

    P(|sum| > u)  =  sum_i exp(-u/s_i) prod_{j != i} s_i^2/(s_i^2 - s_j^2).

Each draw is symmetric and unimodal, so this grows with every s: scales that are nearly equal are raised until they
differ by 3 %, which makes h at most some per cent too large, and keeps the sum free of cancellation. Two draws need
none of that: with s the larger scale, r s the other one, 0 <= r <= 1, and u = h/s the chance to lie beyond h is

    (exp(-u) - r^2 exp(-u/r)) / (1 - r^2)  =  exp(-u) (1 + u r/(1 + r) phi(u (1 - r)/r)),   phi(v) = (1 - exp(-v))/v,

and the right side has no cancellation where r is near 1. As X is symmetric and unimodal, P(|X + y| > h) grows with |y|,
so that h grows with r: of all ratios between two ends the larger end needs the most.

*On a grid of step g*. A Gaussian draw is a continuous one, rounded: at most g/2 off. For the two-sided geometric
distribution P(|X| >= k g) = exp(-(k - 1/2) g/b)/cosh(g/(2b)), so X is a function of a continuous draw, at most
g/2 + b log cosh(g/(2b)) off. Hence the continuous h, and |a| times that for each draw: about one step where r = 1.
That is little where the noise is 32 steps wide. In X + r Y with a narrower Y, itself perhaps a sum of draws on one
grid, the probabilities are summed, with m the middle of the two ends and w half their distance, because
|X + r Y| <= |X + m Y| + w |Y|:

    sum over j of P(Y = j) P(|X + m j| + w |j| > h),   and what lies beyond the last j counts as a miss.

**Very many Laplace draws**: X = sum of step_k K, over independent whole numbers K with P(K) proportional to
exp(-|K|/scale_k), count_k of each kind. One K has the characteristic function
1/(1 + sin^2(u/2)/sinh^2(1/(2 scale))), which is never negative, so that of X is the product phi(u) of their powers.

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
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.rounding import next_up
from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace, normal_reach

APART = 1.03  # the least ratio of two scales
SMALLEST = 1e-9  # of the largest scale: what is smaller counts as this
FINE_GRID = 1 / 32  # of the scale: from here on rounding is added instead of summed over
NEGLECTED = 1e-4  # of the chance to miss: draws beyond have this part of it
OUTWARD = 1 + 1e-9  # floating-point errors of the sums and of bisection are far smaller
STEPS = 80  # of bisection: beyond the last bit of a double

Term = tuple[ArrayLike, Distribution]


def half_widths(terms: Sequence[Term], confidence: float) -> Floats:
    """For each set of factors an h that holds: `terms` are (factors, the draw's distribution), arrays of one shape."""
    factors = np.array(np.broadcast_arrays(*(np.abs(np.asarray(a, dtype=np.float64)) for a, _ in terms)))
    noises = [noise for _, noise in terms]
    each = np.reshape([noise.width for noise in noises], (-1, *[1] * (factors.ndim - 1))) * factors
    rounding = np.tensordot([_rounding(noise) for noise in noises], factors, axes=1)
    if all(isinstance(noise, Gaussian) for noise in noises):
        spread = functools.reduce(np.hypot, each)
        return np.asarray((normal_reach(confidence, 1) * spread + rounding) * OUTWARD)
    if any(isinstance(noise, Gaussian) for noise in noises):
        raise ValueError("draws of two kinds")
    return np.asarray((_of_laplace(each, confidence) + rounding) * OUTWARD)


def _rounding(noise: Distribution) -> float:
    if isinstance(noise, Gaussian):
        return noise.grid / 2
    half = noise.grid / (2 * noise.width)
    if half > 300:  # log cosh x = x - log 2 there; the noise is zero
        return noise.grid
    return noise.grid / 2 + noise.width * math.log(math.cosh(half))


def _of_laplace(scales: Floats, confidence: float) -> Floats:
    """Of draws with these scales, the first axis of which is the draws."""
    s = np.sort(scales, axis=0)
    widest = s[-1]
    if len(s) == 2:
        return np.asarray(widest * _of_two_laplace(s[0] / np.where(widest > 0, widest, 1.0), confidence))
    s = np.maximum(s, SMALLEST * np.where(widest > 0, widest, 1.0))
    for place in range(1, len(s)):
        s[place] = np.maximum(s[place], APART * s[place - 1])
    square, coefficient = s**2, np.ones_like(s)
    for i, j in itertools.permutations(range(len(s)), 2):
        coefficient[i] *= square[i] / (square[i] - square[j])
    below, above = np.zeros(widest.shape), s.sum(axis=0) * (2.0 - math.log1p(-confidence) + math.log(len(s)))
    for _ in range(STEPS):
        u = (below + above) / 2
        missed = np.sum(coefficient * np.exp(-u / s), axis=0)
        out = missed > 1 - confidence
        below, above = np.where(out, u, below), np.where(out, above, u)
    return np.where(widest > 0, above, 0.0)


@dataclass(frozen=True, slots=True)
class RatioNoise:
    """above: the noise of the number above. below: those of the number below, and what each of them counts."""

    above: Distribution
    below: tuple[tuple[float, Distribution], ...]

    def half_width(self, confidence: float) -> float:
        """Of the number below."""
        if not self._step:
            return float(half_widths(self.below, confidence))
        held, _ = self._chances(confidence)
        return self._step * int(np.searchsorted(np.cumsum(held), 1 - (1 - confidence) / OUTWARD))

    def pair_half_width(self, ratio: float, confidence: float) -> float:
        """Of X + ratio Y."""
        return float(self.pair_half_widths([ratio], [ratio], confidence)[0])

    def pair_half_widths(self, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
        """For each pair of ends an h that holds for every ratio between them: that of the farther end, or of the
        probabilities added up where that is less."""
        ratio = np.asarray(np.maximum(np.abs(low), np.abs(high)), dtype=np.float64)
        terms = [(np.ones_like(ratio), self.above), *((ratio * factor, noise) for factor, noise in self.below)]
        with np.errstate(over="ignore"):  # infinite beyond the largest double
            rounded = half_widths(terms, confidence)
        if not (self._step and self.above.grid):
            return rounded
        return np.minimum(rounded, self._summed(np.atleast_1d(low), np.atleast_1d(high), confidence))

    def total_half_width(self, count: int, confidence: float) -> float:
        """Of the sum of `count` numbers below: each noise by itself, all of them together with this confidence."""
        each = 1 - (1 - confidence) / len(self.below)
        return float(sum(abs(factor) * noise.sum_half_width(count, each) for factor, noise in self.below))

    @property
    def _step(self) -> float:
        """That of the number below, where it has one and is narrow; else 0."""
        (step, *others) = {abs(factor) * noise.grid for factor, noise in self.below}
        narrow = all(noise.width * FINE_GRID < noise.grid for _, noise in self.below)
        return step if narrow and not others else 0.0

    def _chances(self, confidence: float) -> tuple[Floats, float]:
        """Of the sizes 0, 1 ... of the number below, in its steps; and of what lies beyond."""
        rare = max(NEGLECTED * (1 - confidence), 1e-300) / len(self.below)
        whole, beyond = np.ones(1), 0.0
        for _, noise in self.below:
            last = math.ceil(noise.farthest(rare) / noise.grid) + 1
            positive = noise.at_or_above(np.arange(last + 1)) - noise.at_or_above(np.arange(1, last + 2))
            whole = np.convolve(whole, np.concatenate([positive[:0:-1], positive]))
            beyond += 2 * float(noise.at_or_above(np.array([last + 1]))[0])
        chance = whole[len(whole) // 2 :].copy()
        chance[1:] *= 2  # -Y with -X is as likely
        return chance, beyond

    def _summed(self, low: Floats, high: Floats, confidence: float) -> Floats:
        """By summing the probabilities on the grids, in units of the step above; ratios in pieces."""
        chance, beyond = self._chances(confidence)
        draws, above = np.arange(chance.size) * (self._step / self.above.grid), self.above
        middle, spread = np.abs(low + high) / 2, np.abs(high - low) / 2
        centre, slack = np.outer(middle, draws), np.outer(spread, draws)
        own = math.ceil(above.farthest(max(NEGLECTED * (1 - confidence), 1e-300)) / above.grid) + 1.0
        least, most = np.full(middle.shape, -1.0), own + (middle + spread) * draws[-1]
        for _ in range(STEPS):
            h = (least + most) / 2
            left = h[:, None] - slack
            missed = above.at_or_above(np.floor(centre + left) + 1) + above.at_or_above(np.floor(left - centre) + 1)
            out = (h < 0) | (np.where(left < 0, 1.0, missed) @ chance + beyond > (1 - confidence) / OUTWARD)
            least, most = np.where(out, h, least), np.where(out, most, h)
        return np.asarray(np.where(most < 1e-12, 0.0, most * OUTWARD) * above.grid)


def _of_two_laplace(r: Floats, confidence: float) -> Floats:
    """Of X + r Y for Laplace draws of scale 1 without a grid, r from 0 to 1."""
    # |X + r Y| <= |X| + |Y|, of which the half-width is below twice that of one draw at half the chance to miss
    below, above = np.zeros(r.shape), np.full(r.shape, 2 * -math.log1p(-confidence) + 2.0)
    for _ in range(STEPS):
        u = (below + above) / 2
        missed = np.exp(-u) * (1 + u * r / (1 + r) * _phi(u * (1 - r) / np.maximum(r, 1e-300)))
        out = missed > 1 - confidence
        below, above = np.where(out, u, below), np.where(out, above, u)
    # the density is at most 1/(2 (1 + r)); it decides where 1 - confidence rounds to 1
    return np.asarray(np.maximum(above, confidence * (1 + r)) * OUTWARD)


def _phi(v: Floats) -> Floats:
    """(1 - exp(-v))/v, and 1 at v = 0."""
    return np.where(v > 0, -np.expm1(-v) / np.where(v > 0, v, 1.0), 1.0)


def sum_half_width(noise: Distribution, count: int, confidence: float) -> float:
    """The least h with P(|sum of `count` draws of one noise| <= h) >= confidence: Gaussian noise by the normal law past
    32 grid steps, Laplace noise on a grid of a 128th of its scale at the finest."""
    if count == 1:
        return noise.half_width(confidence)
    if isinstance(noise, Laplace):
        finest = max(noise.grid, noise.scale / 128)
        return _sum_on_grid(Laplace(noise.scale, finest), count, confidence) + (finest if finest > noise.grid else 0.0)
    if noise.grid and noise.width < 32 * noise.grid:
        return _sum_on_grid(noise, count, confidence)
    half = normal_reach(confidence, 1) * noise.std * math.sqrt(count)
    return math.ceil(half / noise.grid + 0.5) * noise.grid if noise.grid else half


def _sum_on_grid(distribution: Distribution, count: int, confidence: float) -> float:
    """By the discrete Fourier transform: the distribution of a sum is the power of the transform of one draw's.

    The circle is wide enough that what wraps around it is below 1e-15 of the probability.
    """
    spread = distribution.std / distribution.grid * math.sqrt(count)
    reach = 10 * spread + 40 * distribution.width / distribution.grid + 2
    size = 1 << max(6, math.ceil(math.log2(2 * reach)))
    own = int(min(size // 2 - 1, 40 * distribution.std / distribution.grid + 2))
    circle = np.zeros(size)
    for k in range(own + 1):
        circle[k] = circle[-k] = distribution.cell(k)
    total = np.fft.irfft(np.fft.rfft(circle).real ** count, size)
    covered = total[0] + 2 * np.cumsum(total[1 : size // 2])
    if total[0] >= confidence:
        return 0.0
    return float((np.searchsorted(covered, confidence) + 1) * distribution.grid)


# Very many Laplace draws

_POWER = 10  # p
_SMOOTH = 1 / 1400  # r, of the half-width by Chernoff's bound
_NEGLECTED = 1e-4  # of the chance to miss
_ROUNDING = 1e-11
_LEAST_CHANCE = 1e-8
_SILENT = 1 / 600  # a scale below: the draw is zero but for e^-600
_MOST_KINDS = 2**14
_PARTS = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)  # of the chance to miss that the rest of many draws may have


@dataclass(frozen=True)
class Draws:
    """`count` independent draws: step times a whole number K with P(K) proportional to exp(-|K|/scale)."""

    step: float
    count: int
    scale: float


class LaplaceSum:
    """The sum of such terms: its characteristic function, its moments, its tail."""

    def __init__(self, terms: Sequence[Draws]) -> None:
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


def laplace_half_width(terms: Sequence[Draws], *, miss: float) -> float:
    """An h with P(|X| > h) <= miss, hardly wider than needed."""
    return _laplace_half_width(tuple(term for term in terms if term.scale > _SILENT), miss)


@functools.lru_cache(maxsize=4096)  # many tables, and many releases of one question, have the same
def _laplace_half_width(terms: tuple[Draws, ...], miss: float) -> float:
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


def laplace_bounds(steps: Floats, scale: float, rest: Floats, most: Floats, miss: float) -> Floats:
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
