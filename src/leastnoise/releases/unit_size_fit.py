"""How many units there are of each size, from counts with noise: smooth shapes, and where the counts differ from them.

Noise of a few dozen units on each of eighty classes hides most of a histogram, and what it does in the classes of very
large units would decide every limit. So the counts y are read as f (1 + d) + noise. f is a number of units times one of
many smooth shapes, or a sum of two: lognormal, Weibull and power laws, from all alike to heavy tails, whole or cut off.
d, by how much the truth differs from it, is a Gaussian process over the logarithm of the size: about half of f, and
much the same within an octave. Given f, this is a linear model, and its mean and likelihood are exact:

    u = f + F K F (F K F + s^2 I)^-1 (y - f),    F = diag(f)

Where counts are far above the noise u is what was counted; where they are not, it is the shape that fits the rest.
Before anything is counted, most units are taken to have from one row to some hundreds, only counts that stand out say
that they have many thousands; and their number may be of any order of magnitude. What is kept is not the best f but a
sample of those that are plausible: where noise drowns the counts that is all that was believed beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, VALUE_ENDS, WIDE, last_of_each

DIFFERENCE = 0.5  # of the truth from a shape, relative
OWN_DIFFERENCE = 0.1  # of one class by itself
USUAL_SIZE, SIZE_SPREAD = 2.5, 1.8  # mean and standard deviation of the logarithm of a typical unit's rows, beforehand
SHAPES_KEPT = 150  # a sample of the plausible ones
FEWEST_UNITS = 20.0  # of a table for which limits are worth proposing
NUMBERS_TRIED = 8  # of units, for each shape
PAIRS_TRIED, SECOND_SHAPE = 20, 5.0  # shapes to which another is added, and what that must gain in log-likelihood
CUT_OFF = 0.5  # of the shapes, beforehand
SPREADS_KEPT = 16
_LOGNORMAL = (0.15, 0.3, 0.5, 0.75, 1.0, 1.4, 1.9, 2.5)  # standard deviations of the logarithm
_WEIBULL = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0)
_PARETO = (0.7, 1.0, 1.3, 1.7, 2.3)  # exponents of the tail


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


@dataclass(frozen=True, slots=True)
class Seen:
    """Counts with noise: of `total @ counts`, each with its standard deviation."""

    noisy: Floats
    std: Floats
    total: Floats

    @classmethod
    def of(cls, *parts: tuple[Floats, float, Floats]) -> Seen:
        """From several sets of sums of the same counts."""
        noisy, stds, totals = zip(*parts, strict=True)
        std = [np.full(part.size, value) for part, value in zip(noisy, stds, strict=True)]
        return cls(np.concatenate(noisy), np.concatenate(std), np.concatenate(totals))

    def reduced(self) -> Seen:
        """As many numbers as there are counts, with independent noise of one, that say as much of the counts: with
        total / std = Q R, those are Q' (noisy / std), of R @ counts."""
        q, r = np.linalg.qr(self.total / self.std[:, None])
        return Seen(q.T @ (self.noisy / self.std), np.ones(len(r)), r)


def of_rows(rows: tuple[Floats, float], octaves: tuple[Floats, float], wide: tuple[Floats, float]) -> Fit:
    """Units by their number of rows, in the classes of ROW_STARTS, from counts of these, of octaves and of the classes
    of WIDE, each with the standard deviation of its noise."""
    given = zip((ROW_STARTS, OCTAVES, WIDE), (rows, octaves, wide), strict=True)
    parts = [(noisy, std, _inside(starts)) for starts, (noisy, std) in given]
    return _scaled(Seen.of(*parts), Seen.of(*parts[1:]), tuple(map(float, ROW_STARTS)), SIZE_SPREAD)


def _inside(starts: tuple[int, ...]) -> Floats:
    """Which classes of ROW_STARTS lie in each of the classes that start here: a matrix of ones and zeros."""
    place = np.searchsorted(starts, ROW_STARTS, side="right") - 1
    found: Floats = (np.arange(len(starts))[:, None] == place).astype(np.float64)
    return found


def of_values(noisy: Floats, std: float) -> Fit:
    """Values above zero, in the classes between VALUE_ENDS."""
    seen = Seen.of((noisy, std, np.eye(noisy.size)))
    return _scaled(seen, seen, VALUE_ENDS[:-1], np.inf)


def of_spread(pairs: Floats, depths: Floats, *, std: float, depth_std: float, units: Floats, bins: int) -> Fit:
    """The chance that a row of a unit in octave i shares its bin with 2^j to 2^(j+1) - 1 of the unit's rows, as
    matrices (i, j) laid out flat, one for each plausible spread. `units` are those in each octave.

    Of n_b of its N rows in bin b, a row drawn at random shares its bin with a part sum (n_b / N)^2 >= 1 / bins.
    """
    size = len(OCTAVES)
    wide, deep = np.tril_indices(size)
    occupied = np.flatnonzero(units > 0.5)
    kept = wide <= max(2, int(occupied[-1]) if occupied.size else 0)
    wide, deep = wide[kept], deep[kept]
    shapes = _spreads(bins)
    away = np.hypot(np.subtract.outer(wide, wide), np.subtract.outer(deep, deep))
    expected = shapes[:, wide, deep] * units[wide]
    total = (deep[None, :] == np.arange(size)[:, None]).astype(np.float64)
    seen = Seen.of((pairs[kept], std, np.eye(wide.size)), (depths, depth_std, total))
    places, logs = _sample(-_rough(seen, expected @ seen.total.T) / 2, SPREADS_KEPT)
    fit = _posterior(seen, expected[places], away, logs)
    found = np.zeros((len(fit.weights), size, size))
    found[:, wide, deep] = fit.counts
    of_octave = found.sum(axis=2, keepdims=True)
    spread = np.where(of_octave > 1e-6, found / np.maximum(of_octave, 1e-300), shapes.mean(axis=0))
    return Fit(spread.reshape(len(spread), -1), fit.weights)


def _scaled(seen: Seen, coarse: Seen, starts: tuple[float, ...], size_spread: float) -> Fit:
    """The shapes, each times plausible numbers of units; and the best of them with another one added. `coarse` is what
    was seen, or the part of it by which plausible ones are found."""
    shapes, scales, kinds = _shapes(starts)
    weighed = shapes @ seen.total.T / seen.std
    squares, noisy = (weighed**2).sum(axis=1), seen.noisy / seen.std
    believed = kinds - ((scales - USUAL_SIZE) / size_spread) ** 2 / 2
    numbers, steps = _numbers(weighed @ noisy / squares, 1 / np.sqrt(squares))
    beforehand = (believed[:, None] + np.log(steps)).ravel()
    in_coarse = shapes @ coarse.total.T
    rough = _rough(coarse, (numbers[:, :, None] * in_coarse[:, None, :]).reshape(-1, in_coarse.shape[1]))
    first, numbers = np.arange(numbers.size) // NUMBERS_TRIED, numbers.ravel()
    best = np.argsort(rough - 2 * beforehand, kind="stable")[:PAIRS_TRIED]
    one = numbers[best, None] * shapes[first[best]]
    left = np.maximum((noisy - one @ seen.total.T / seen.std) @ weighed.T, 0.0)
    second = np.argmax(left**2 / (2 * squares) + believed, axis=1)
    more = left[np.arange(best.size), second] / squares[second]
    two = one + more[:, None] * shapes[second]
    chances = np.concatenate([beforehand, beforehand[best] + believed[second] - SECOND_SHAPE])
    roughs = np.concatenate([rough, _rough(coarse, two @ coarse.total.T)])
    places, logs = _sample(chances - roughs / 2, SHAPES_KEPT)
    alone = places[places < numbers.size]
    expected = np.concatenate([numbers[alone, None] * shapes[first[alone]], two[places[alone.size :] - numbers.size]])
    octaves = np.log2(np.asarray(starts))
    away = np.abs(np.subtract.outer(octaves, octaves))
    return _posterior(seen, expected, away, chances[places] + logs)


def _numbers(likeliest: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Numbers of units for each shape, equally far from each other as logarithms; and how far."""
    low = np.log(np.maximum(likeliest - 2.5 * off, FEWEST_UNITS))
    high = np.log(np.maximum(likeliest + 2.5 * off, 2 * FEWEST_UNITS))
    step = (high - low) / NUMBERS_TRIED
    places = np.arange(NUMBERS_TRIED) + 0.5
    return np.exp(low[:, None] + step[:, None] * places), np.broadcast_to(step[:, None], (low.size, NUMBERS_TRIED))


def _rough(seen: Seen, expected: Floats) -> Floats:
    """Twice the negative log-likelihood of such numbers, as if each differed by itself."""
    variance = seen.std**2 + (DIFFERENCE * expected) ** 2
    found: Floats = ((seen.noisy - expected) ** 2 / variance + np.log(variance)).sum(axis=1)
    return found


def _posterior(seen: Seen, expected: Floats, away: Floats, beforehand: Floats) -> Fit:
    """The counts given each of some plausible expectations, and how likely these are; `beforehand`, as a logarithm."""
    from scipy.linalg import solve_triangular

    kernel = DIFFERENCE**2 * np.exp(-(away**2) / 2) + OWN_DIFFERENCE**2 * np.eye(len(away))
    counts, likelihoods, seen = [], [], seen.reduced()
    for shape in expected:
        both = seen.total @ (shape[:, None] * kernel * shape)  # covariances of what was seen with the counts
        factor = np.linalg.cholesky(both @ seen.total.T + np.diag(seen.std**2))
        white = solve_triangular(factor, seen.noisy - seen.total @ shape, lower=True)
        back = solve_triangular(factor, white, lower=True, trans=1)
        counts.append(np.maximum(shape + both.T @ back, 0.0))
        likelihoods.append(-white @ white / 2 - np.log(np.diag(factor)).sum())
    logs = beforehand + np.array(likelihoods)
    chances = np.exp(logs - logs.max())
    return Fit(np.array(counts), chances / chances.sum())


def _sample(logs: Floats, number: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    """Some of the places, evenly by a chance that goes with the square root of exp(logs): so the likeliest are there,
    and others too. How many of all places each stands for is beside it, as a logarithm."""
    chances = np.exp((logs - logs.max()) / 2)
    ends = np.cumsum(chances / chances.sum())
    hits = np.searchsorted(ends, (np.arange(number) + 0.5) / number)
    places, times = np.unique(np.minimum(hits, logs.size - 1), return_counts=True)
    return places, np.log(times / (number * chances[places] / chances.sum()))


@lru_cache(maxsize=4)
def _shapes(starts: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Distributions over classes that start here, whole and cut off at the end of an octave: one a row, adding up to
    one; the logarithm of the scale of each; and that of how much it counts: all kinds alike, and CUT_OFF of each cut.

    Power laws are of two kinds: those that begin at their scale, and those that are flat up to there.
    """
    from scipy.special import ndtr

    log = np.log(np.asarray(starts))
    scales = np.arange(log[0], max(log[0] + 9.0, log[-1] - 4.0), 0.33)[:, None, None]
    away = log - scales
    kinds = (
        ndtr(away / np.array(_LOGNORMAL)[:, None]),
        -np.expm1(-np.exp(np.minimum(away * np.array(_WEIBULL)[:, None], 30.0))),
        -np.expm1(-np.array(_PARETO)[:, None] * np.log1p(np.exp(np.minimum(away, 700.0)))),
        -np.expm1(-np.array(_PARETO)[:, None] * np.maximum(away, 0.0)),
    )
    below = np.concatenate([kind.reshape(-1, log.size) for kind in kinds])
    below[:, 0] = 0.0
    whole = np.diff(below, axis=1, append=1.0)
    located = np.concatenate([np.broadcast_to(scales, kind.shape)[..., 0].ravel() for kind in kinds])
    counts = np.concatenate([np.full(kind[..., 0].size, -np.log(kind.shape[1])) for kind in kinds])
    ends = np.searchsorted(log, np.arange(log[0] + 2 * np.log(2), log[-1], np.log(2)))
    left = np.stack([np.where(np.arange(log.size) < end, whole, 0.0) for end in ends])
    total = left.sum(axis=2)
    cut, shape = np.nonzero((total > 0.4) & (total < 0.97))  # other cuts have nearly the shape of another one, or whole
    often = np.maximum(np.bincount(shape, minlength=len(whole)), 1)
    return (
        np.concatenate([whole, left[cut, shape] / total[cut, shape][:, None]]),
        np.concatenate([located, located[shape]]),
        np.concatenate([counts + np.log1p(-CUT_OFF), (counts + np.log(CUT_OFF / often))[shape]]),
    )


@lru_cache(maxsize=8)
def _spreads(bins: int) -> Floats:
    """Of N rows 1 + floor((N - 1) x) share a bin, where log x is normal and x at most 1: shape, octave of N, of n."""
    from scipy.special import ndtr

    middle, width = np.meshgrid(np.linspace(0, np.log(bins), 22), (0.2, 0.5, 0.9, 1.4), indexing="ij")
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
