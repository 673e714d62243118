"""How many units there are of each size, from counts with noise: smooth shapes, and where the counts differ from them.

Noise of a few dozen units on each of eighty classes hides most of a histogram, and what it does in the classes of very
large units would decide every limit. So the counts y are read as f (1 + d) + noise. f is a number of units times one of
many smooth shapes, or a sum of two: lognormal and Weibull, from all alike to heavy tails, whole or cut off. d, by how
much the truth differs from it, is a Gaussian process over the logarithm of the size: about half of f, and much the same
within an octave. Given f, this is a linear model, and its mean and likelihood are exact:

    u = f + F K F (F K F + s^2 I)^-1 (y - f),    F = diag(f)

Where counts are far above the noise u is what was counted; where they are not, it is the shape that fits the rest.
Before anything is counted, most units are taken to have from one row to some hundreds: only counts that stand out say
that they have many thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, VALUE_ENDS, last_of_each

DIFFERENCE = 0.5  # of the truth from a shape, relative
OWN_DIFFERENCE = 0.1  # of one class by itself
USUAL_SIZE, SIZE_SPREAD = 1.5, 2.0  # mean and standard deviation of the logarithm of a typical unit's rows, beforehand
SHAPES_KEPT = 60  # the likeliest, of which the mean is taken
PAIRS_TRIED, SECOND_SHAPE = 20, 7.5  # shapes to which another is added, and what that must gain in log-likelihood
SPREADS_KEPT = 12
_LOGNORMAL = (0.15, 0.3, 0.5, 0.75, 1.0, 1.4, 1.9, 2.5)  # standard deviations of the logarithm
_WEIBULL = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Fit:
    """What the counts may be: one row of `counts` a shape, and how likely each is."""

    counts: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """The counts to be expected."""
        expected: Floats = self.weights @ self.counts
        return expected


def of_rows(noisy: Floats, std: float) -> Fit:
    """Units by their number of rows, in the classes of ROW_STARTS."""
    return _scaled(noisy, std, tuple(map(float, ROW_STARTS)), SIZE_SPREAD)


def of_values(noisy: Floats, std: float) -> Fit:
    """Values above zero, in the classes between VALUE_ENDS."""
    return _scaled(noisy, std, VALUE_ENDS[:-1], np.inf)


def of_spread(noisy: Floats, std: float, units: Floats) -> Floats:
    """The chance that a row of a unit in octave i shares its bin with 2^j to 2^(j+1) - 1 of the unit's rows: row i,
    column j. `units` are those in each octave."""
    wide, deep = np.tril_indices(len(OCTAVES))
    seen = np.flatnonzero(units > 0.5)
    kept = wide <= max(2, int(seen[-1]) if seen.size else 0)
    wide, deep = wide[kept], deep[kept]
    shapes = _spreads()
    away = np.hypot(np.subtract.outer(wide, wide), np.subtract.outer(deep, deep))
    expected = shapes[:, wide, deep] * units[wide]
    fit = _posterior(noisy[kept], std, expected, away, SPREADS_KEPT, np.zeros(len(expected)))
    found = np.zeros((len(OCTAVES), len(OCTAVES)))
    found[wide, deep] = fit.mean
    total = found.sum(axis=1, keepdims=True)
    usual = shapes.mean(axis=0)
    spread: Floats = np.where(total > 1e-6, found / np.maximum(total, 1e-300), usual)
    return spread


def _scaled(noisy: Floats, std: float, starts: tuple[float, ...], size_spread: float) -> Fit:
    """The shapes, each times the number of units by least squares; and the best of them with another one added."""
    shapes, scales = _shapes(starts)
    squares = (shapes**2).sum(axis=1)
    one = np.maximum(shapes @ noisy / squares, 1.0)[:, None] * shapes
    beforehand = -(((scales - USUAL_SIZE) / size_spread) ** 2) / 2
    best = np.argsort(_rough(noisy, std, one) - 2 * beforehand, kind="stable")[:PAIRS_TRIED]
    left = np.maximum((noisy - one[best]) @ shapes.T, 0.0)
    second = np.argmax(left**2 / (2 * std**2 * squares) + beforehand, axis=1)
    more = left[np.arange(best.size), second] / squares[second]
    two = one[best] + more[:, None] * shapes[second]
    octaves = np.log2(np.asarray(starts))
    away = np.abs(np.subtract.outer(octaves, octaves))
    chances = np.concatenate([beforehand, beforehand[best] + beforehand[second] - SECOND_SHAPE])
    return _posterior(noisy, std, np.concatenate([one, two]), away, SHAPES_KEPT, chances)


def _rough(noisy: Floats, std: float, expected: Floats) -> Floats:
    """Twice the negative log-likelihood, as if every class differed by itself."""
    variance = std**2 + (DIFFERENCE * expected) ** 2
    found: Floats = ((noisy - expected) ** 2 / variance + np.log(variance)).sum(axis=1)
    return found


def _posterior(noisy: Floats, std: float, expected: Floats, away: Floats, kept: int, beforehand: Floats) -> Fit:
    """The counts given each of the likeliest expectations, and how likely these are; `beforehand`, as a logarithm."""
    kernel = DIFFERENCE**2 * np.exp(-(away**2) / 2) + OWN_DIFFERENCE**2 * np.eye(noisy.size)
    rough = _rough(noisy, std, expected) - 2 * beforehand
    counts, likelihoods = [], []
    for place in np.argsort(rough, kind="stable")[:kept]:
        shape = expected[place]
        covariance = shape[:, None] * kernel * shape
        factor = np.linalg.cholesky(covariance + std**2 * np.eye(noisy.size))
        white = np.linalg.solve(factor, noisy - shape)
        counts.append(np.maximum(shape + covariance @ np.linalg.solve(factor.T, white), 0.0))
        likelihoods.append(beforehand[place] - white @ white / 2 - np.log(np.diag(factor)).sum())
    chances = np.exp(np.array(likelihoods) - max(likelihoods))
    return Fit(np.array(counts), chances / chances.sum())


@lru_cache(maxsize=4)
def _shapes(starts: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Lognormal and Weibull distributions over classes that start here, whole and cut off at the end of each octave:
    one a row, adding up to one, and the logarithm of the scale of each."""
    from scipy.special import ndtr

    log = np.log(np.asarray(starts))
    scales = np.arange(log[0], max(log[0] + 9.0, log[-1] - 4.0), 0.25)[:, None, None]
    lognormal = ndtr((log - scales) / np.array(_LOGNORMAL)[:, None])
    weibull = -np.expm1(-np.exp(np.minimum((log - scales) * np.array(_WEIBULL)[:, None], 30.0)))
    below = np.concatenate([lognormal.reshape(-1, log.size), weibull.reshape(-1, log.size)])
    below[:, 0] = 0.0
    whole = np.diff(below, axis=1, append=1.0)
    located = np.concatenate([np.broadcast_to(scales, part.shape)[..., 0].ravel() for part in (lognormal, weibull)])
    ends = np.searchsorted(log, np.arange(log[0] + 2 * np.log(2), log[-1], np.log(2)))
    kept = [whole, *(np.where(np.arange(log.size) < end, whole, 0.0) for end in ends)]
    cut, total = np.concatenate(kept), np.concatenate([part.sum(axis=1) for part in kept])
    enough = total > 0.2  # of a distribution that is cut nearer to its beginning another has the shape
    return cut[enough] / total[enough, None], np.tile(located, len(kept))[enough]


@lru_cache(maxsize=1)
def _spreads() -> Floats:
    """Of N rows 1 + floor((N - 1) x) share a bin, where log x is normal and x at most 1: shape, octave of N, of n."""
    from scipy.special import ndtr

    middle, width = np.meshgrid(np.linspace(0, 7, 22), (0.2, 0.5, 0.9, 1.4), indexing="ij")
    middle, width = middle.ravel()[:, None], width.ravel()[:, None]
    starts = np.array(OCTAVES[1:], dtype=np.float64)
    found = np.zeros((middle.size, len(OCTAVES), len(OCTAVES)))
    for octave, (first, last) in enumerate(zip(OCTAVES, last_of_each(OCTAVES), strict=True)):
        sizes = np.unique(np.geomspace(first, last, 5).round())
        for rows in sizes:
            least = (starts - 1) / max(rows - 1, 1e-9)
            above = np.where(least <= 1, ndtr(-(np.log(np.clip(least, 1e-300, 1)) + middle) / width), 0.0)
            reached = np.hstack([np.ones((middle.size, 1)), above, np.zeros((middle.size, 1))])
            found[:, octave] -= np.diff(reached, axis=1) / sizes.size
    return found
