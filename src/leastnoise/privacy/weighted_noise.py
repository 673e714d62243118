"""How far a weighted sum of independent draws lies from zero: a_1 X_1 + ... + a_k X_k, each X of its own scale.

An h with P(|sum| <= h) >= confidence, never too small. All draws are Gaussian, or all are Laplace.

Gaussian: h = z sqrt(sum (a sigma)^2). Laplace, with s = |a| b all different (Mathai 1993):

    P(|sum| > u)  =  sum_i exp(-u/s_i) prod_{j != i} s_i^2/(s_i^2 - s_j^2).

Each draw is symmetric and unimodal, so this grows with every s: scales that are nearly equal are raised until they
differ by 3 %, which makes h at most some per cent too large, and keeps the sum free of cancellation.

On a grid of step g a Gaussian draw is at most g/2 away from a continuous one, and one of the two-sided geometric
distribution at most g/2 + b log cosh(g/(2b)) (see `two_draws`): |a| times that is added.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace

APART = 1.03  # the least ratio of two scales
SMALLEST = 1e-9  # of the largest scale: what is smaller counts as this
OUTWARD = 1 + 1e-9  # floating-point errors are far smaller
STEPS = 80  # of bisection

Term = tuple[ArrayLike, Distribution]


def half_widths(terms: Sequence[Term], confidence: float) -> Floats:
    """For each set of factors an h that holds: `terms` are (factors, the draw's distribution), arrays of one shape."""
    factors = np.array(np.broadcast_arrays(*(np.abs(np.asarray(a, dtype=np.float64)) for a, _ in terms)))
    noises = [noise for _, noise in terms]
    rounding = np.tensordot([_rounding(noise) for noise in noises], factors, axes=1)
    if all(isinstance(noise, Gaussian) for noise in noises):
        spread = np.sqrt(np.tensordot([noise.sigma**2 for noise in noises], factors**2, axes=1))  # type: ignore[union-attr]
        return np.asarray((_normal(confidence) * spread + rounding) * OUTWARD)
    scales = [noise.scale if isinstance(noise, Laplace) else math.nan for noise in noises]
    if any(map(math.isnan, scales)):
        raise ValueError("draws of two kinds")
    each = np.reshape(np.asarray(scales), (-1, *[1] * (factors.ndim - 1))) * factors
    return np.asarray((_laplace(each, confidence) + rounding) * OUTWARD)


def _normal(confidence: float) -> float:
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


def _laplace(scales: Floats, confidence: float) -> Floats:
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
