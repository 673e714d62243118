"""How far a linear combination of independent draws lies from zero: a_1 X_1 + ... + a_k X_k, each X of its own scale.

An h with P(|sum| <= h) >= confidence, never too small and hardly too large; all draws are Gaussian, or all are Laplace.
Without a grid:

*Gaussian*: h = z sqrt(sum (a sigma)^2).

*Laplace*, with s = |a| b all different (Mathai 1993):

    P(|sum| > u)  =  sum_i exp(-u/s_i) prod_{j != i} s_i^2/(s_i^2 - s_j^2).

Each draw is symmetric and unimodal, so this grows with every s: scales that are nearly equal are raised until they
differ by 3 %, which makes h at most some per cent too large, and keeps the sum free of cancellation. Two draws X + r Y
of one scale b, 0 <= r <= 1, need none of that: with u = h/b the chance to lie beyond h is

    (exp(-u) - r^2 exp(-u/r)) / (1 - r^2)  =  exp(-u) (1 + u r/(1 + r) phi(u (1 - r)/r)),   phi(v) = (1 - exp(-v))/v,

and the right side has no cancellation where r is near 1. As X is symmetric and unimodal, P(|X + y| > h) grows with |y|,
so that h grows with r: of all ratios between two ends the larger end needs the most.

*On a grid of step g*. A Gaussian draw is a continuous one, rounded: at most g/2 off. For the two-sided geometric
distribution P(|X| >= k g) = exp(-(k - 1/2) g/b)/cosh(g/(2b)), so X is a function of a continuous draw, at most
g/2 + b log cosh(g/(2b)) off. Hence the continuous h, and |a| times that for each draw: about one step where r = 1.
That is little where the noise is 32 steps wide. Where two draws of one noise are narrower the probabilities are summed,
with m the middle of the two ends and w half their distance, because |X + r Y| <= |X + m Y| + w |Y|:

    sum over j of P(Y = j) P(|X + m j| + w |j| > h),   and what lies beyond the last j counts as a miss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace

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
    rounding = np.tensordot([_rounding(noise) for noise in noises], factors, axes=1)
    if all(isinstance(noise, Gaussian) for noise in noises):
        spread = np.sqrt(np.tensordot([noise.sigma**2 for noise in noises], factors**2, axes=1))  # type: ignore[union-attr]
        return np.asarray((_z_score(confidence) * spread + rounding) * OUTWARD)
    scales = [noise.scale if isinstance(noise, Laplace) else math.nan for noise in noises]
    if any(map(math.isnan, scales)):
        raise ValueError("draws of two kinds")
    each = np.reshape(np.asarray(scales), (-1, *[1] * (factors.ndim - 1))) * factors
    return np.asarray((_of_laplace(each, confidence) + rounding) * OUTWARD)


def _z_score(confidence: float) -> float:
    if confidence <= 1e-5:  # 1 - confidence would round; the density is flat there
        return math.sqrt(math.pi / 2) * confidence
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def _rounding(noise: Distribution) -> float:
    if isinstance(noise, Gaussian):
        return noise.grid / 2
    half = noise.grid / (2 * noise.scale)
    if half > 300:  # log cosh x = x - log 2 there; the noise is zero
        return noise.grid
    return noise.grid / 2 + noise.scale * math.log(math.cosh(half))


def _of_laplace(scales: Floats, confidence: float) -> Floats:
    """Of draws with these scales, the first axis of which is the draws."""
    s = np.sort(scales, axis=0)
    widest = s[-1]
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
        return float(half_widths(self.below, confidence))

    def pair_half_width(self, ratio: float, confidence: float) -> float:
        """Of X + ratio Y."""
        return float(self.pair_half_widths([ratio], [ratio], confidence)[0])

    def pair_half_widths(self, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
        """For each pair of ends an h that holds for every ratio between them: that of the farther end."""
        ratio = np.asarray(np.maximum(np.abs(low), np.abs(high)), dtype=np.float64)
        terms = [(np.ones_like(ratio), self.above), *((ratio * factor, noise) for factor, noise in self.below)]
        return half_widths(terms, confidence)

    def total_half_width(self, count: int, confidence: float) -> float:
        """Of the sum of `count` numbers below: each noise by itself, all of them together with this confidence."""
        each = 1 - (1 - confidence) / len(self.below)
        return float(sum(abs(factor) * noise.sum_half_width(count, each) for factor, noise in self.below))


def pair_half_widths(noise: Distribution, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
    """Of X + r Y, two draws of one noise: for each pair of ends an h that holds for every ratio r between them."""
    gaussian = isinstance(noise, Gaussian)
    scale = noise.sigma if isinstance(noise, Gaussian) else noise.scale
    if scale * FINE_GRID < noise.grid:
        rare = max(NEGLECTED * (1 - confidence), 1e-300)
        farthest = -NormalDist().inv_cdf(rare / 2) if gaussian else -math.log(rare)
        return _summed(noise, scale, farthest, low, high, confidence)
    ratio = np.asarray(np.maximum(np.abs(low), np.abs(high)), dtype=np.float64)
    with np.errstate(over="ignore"):  # infinite beyond the largest double
        smooth = (
            _z_score(confidence) * OUTWARD * np.hypot(1.0, ratio) if gaussian else _of_two_laplace(ratio, confidence)
        )
        return np.asarray(scale * smooth + (1 + ratio) * _rounding(noise))


def _of_two_laplace(ratio: Floats, confidence: float) -> Floats:
    """Of X + r Y for Laplace draws of scale 1 without a grid; in units of the wider of the two, then scaled."""
    wider, r = np.maximum(1.0, ratio), np.minimum(ratio, 1 / np.maximum(ratio, 1e-300))
    # |X + r Y| <= |X| + |Y|, of which the half-width is below twice that of one draw at half the chance to miss
    below, above = np.zeros(r.shape), np.full(r.shape, 2 * -math.log1p(-confidence) + 2.0)
    for _ in range(STEPS):
        u = (below + above) / 2
        missed = np.exp(-u) * (1 + u * r / (1 + r) * _phi(u * (1 - r) / np.maximum(r, 1e-300)))
        out = missed > 1 - confidence
        below, above = np.where(out, u, below), np.where(out, above, u)
    least = confidence * (1 + r)  # the density is at most 1/(2 (1 + r)); it decides where 1 - confidence rounds to 1
    return np.asarray(wider * np.maximum(above, least) * OUTWARD)


def _phi(v: Floats) -> Floats:
    """(1 - exp(-v))/v, and 1 at v = 0."""
    return np.where(v > 0, -np.expm1(-v) / np.where(v > 0, v, 1.0), 1.0)


def _summed(
    noise: Distribution, scale: float, farthest: float, low: ArrayLike, high: ArrayLike, confidence: float
) -> Floats:
    """By summing the probabilities on the grid, in units of its step; ratios in pieces."""
    low, high = np.atleast_1d(np.asarray(low, dtype=float)), np.atleast_1d(np.asarray(high, dtype=float))
    middle, spread = np.abs(low + high) / 2, np.abs(high - low) / 2
    last = math.ceil(farthest * scale / noise.grid) + 1
    draws = np.arange(last + 1)
    chance = noise.at_or_above(draws) - noise.at_or_above(draws + 1)
    chance[1:] *= 2  # -Y with -X is as likely
    beyond = 2 * float(noise.at_or_above(np.array([last + 1]))[0])
    centre, slack = np.outer(middle, draws), np.outer(spread, draws)
    below, above = np.full(middle.shape, -1.0), (1 + middle + spread) * (last + 1.0)
    for _ in range(STEPS):
        h = (below + above) / 2
        left = h[:, None] - slack
        missed = noise.at_or_above(np.floor(centre + left) + 1) + noise.at_or_above(np.floor(left - centre) + 1)
        out = (h < 0) | (np.where(left < 0, 1.0, missed) @ chance + beyond > (1 - confidence) / OUTWARD)
        below, above = np.where(out, h, below), np.where(out, above, h)
    return np.asarray(np.where(above < 1e-12, 0.0, above * OUTWARD) * noise.grid)
