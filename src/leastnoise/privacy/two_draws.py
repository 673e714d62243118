"""How far X + r Y lies from zero, X and Y being two independent draws of one noise: the error of a ratio.

For ratios between two ends: an h with P(|X + r Y| <= h) >= confidence for every such ratio r. It
is never too small, and hardly too large. Three ways, all proved:

Gaussian noise without a grid: h = z sigma sqrt(1 + r^2).

Laplace noise of scale b without a grid: with 0 <= r <= 1 and u = h/b the chance to lie beyond h is

    (exp(-u) - r^2 exp(-u/r)) / (1 - r^2)  =  exp(-u) (1 + u r/(1 + r) phi(u (1 - r)/r)),   phi(v) = (1 - exp(-v))/v,

and the right side has no cancellation where r is near 1. As X is symmetric and unimodal, P(|X + y| > h) grows with |y|,
so that h grows with r: of all ratios between two ends the larger end needs the most.

On a grid of step g. A Gaussian draw is a continuous one, rounded: at most g/2 off. For the two-sided geometric
distribution P(|X| >= k g) = exp(-(k - 1/2) g/b)/cosh(g/(2b)), so X is a function of a continuous draw, at most
g/2 + b log cosh(g/(2b)) off. Hence the continuous h plus 1 + |r| times that holds: about one step where r = 1.
That is little where the noise is 32 steps wide. Where it is narrower the probabilities are summed, with m the middle of
the two ends and w half their distance, because |X + r Y| <= |X + m Y| + w |Y|:

    sum over j of P(Y = j) P(|X + m j| + w |j| > h),   and what lies beyond the last j counts as a miss.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.validation import Floats

if TYPE_CHECKING:
    from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace

FINE_GRID = 1 / 32  # of the scale: from here on rounding is added instead of summed over
OUTWARD = 1 + 1e-9  # floating-point errors of the sums and of bisection are far smaller
NEGLECTED = 1e-4  # of the chance to miss: draws beyond have this part of it
STEPS = 60  # of bisection: beyond the last bit of a double


def of_gaussian(noise: Gaussian, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
    """For each pair of ends an h that holds for every ratio between them."""
    if noise.sigma * FINE_GRID < noise.grid:
        reach = -NormalDist().inv_cdf(max(NEGLECTED * (1 - confidence), 1e-300) / 2)
        return _summed(noise, noise.sigma, reach, low, high, confidence)
    ratio = _farther(low, high)
    reach = math.sqrt(math.pi / 2) * confidence * OUTWARD
    if confidence > 1e-5:  # below, 1 - confidence would round; the density is flat there
        reach = -NormalDist().inv_cdf((1 - confidence) / 2) * OUTWARD
    with np.errstate(over="ignore"):  # infinite beyond the largest double
        return np.asarray(reach * noise.sigma * np.hypot(1.0, ratio) + (1 + ratio) * noise.grid / 2)


def of_laplace(noise: Laplace, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
    """For each pair of ends an h that holds for every ratio between them."""
    if noise.scale * FINE_GRID < noise.grid:
        reach = -math.log(max(NEGLECTED * (1 - confidence), 1e-300))
        return _summed(noise, noise.scale, reach, low, high, confidence)
    ratio = _farther(low, high)
    rounding = noise.grid / 2 + noise.scale * math.log(math.cosh(noise.grid / (2 * noise.scale)))
    with np.errstate(over="ignore"):  # infinite beyond the largest double
        return np.asarray(noise.scale * _of_two_laplace(ratio, confidence) + (1 + ratio) * rounding)


def _farther(low: ArrayLike, high: ArrayLike) -> Floats:
    return np.asarray(np.maximum(np.abs(low), np.abs(high)), dtype=np.float64)


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
    noise: Distribution, scale: float, reach: float, low: ArrayLike, high: ArrayLike, confidence: float
) -> Floats:
    """By summing the probabilities on the grid, in units of its step; ratios in pieces."""
    low, high = np.atleast_1d(np.asarray(low, dtype=float)), np.atleast_1d(np.asarray(high, dtype=float))
    middle, spread = np.abs(low + high) / 2, np.abs(high - low) / 2
    last = math.ceil(reach * scale / noise.grid) + 1
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
