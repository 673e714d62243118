"""How many units there are of each size, from counts with noise: smooth shapes, and where the counts differ from them.

Noise of a few dozen units on each of eighty classes hides most of a histogram, and what it does in the classes of very
large units would decide every limit. So the counts y are read as f (1 + d) + noise. f is a number of units times one of
many smooth shapes, or a sum of two: lognormal, Weibull, log-logistic and power laws, from all alike to heavy tails,
whole or cut off.
d, by how much the truth differs from it, is a Gaussian process over the logarithm of the size: about half of f, and
much the same within an octave. Given f, this is a linear model, and its mean and likelihood are exact:

    u = f + F K F (F K F + s^2 I)^-1 (y - f),    F = diag(f)

Where counts are far above the noise u is what was counted; where they are not, it is the shape that fits the rest.
Before anything is counted, most units are taken to have from one row to some hundreds, only counts that stand out say
that they have many thousands; and their number may be of any order of magnitude. What is kept is not the best f, nor
its u, but many tables drawn from all that are plausible: where noise drowns the counts that is all that was believed
beforehand, and where tails cannot be seen they differ from table to table. Where few units are expected d is larger, by
what Poisson numbers differ from their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, VALUE_ENDS, WIDE

DIFFERENCE = 0.5  # of the truth from a shape, relative
OWN_DIFFERENCE = 0.1  # of one class by itself
USUAL_SIZE, SIZE_SPREAD = 2.5, 1.8  # mean and standard deviation of the logarithm of a typical unit's rows, beforehand
SHAPES_KEPT = 150  # a sample of the plausible ones
DRAWN, SEED = 150, 1  # tables that may be
FEWEST_UNITS = 20.0  # of a table for which limits are worth proposing
NUMBERS_TRIED = 8  # of units, for each shape
PAIRS_TRIED, PAIR_STEP = 300, 2  # sums of two shapes, out of every other one
SECOND_SHAPE, HEAVY_SECOND = 2.0, 1.5  # what such sums, and shapes of heavy tails in them, must gain in log-likelihood
CUT_OFF = 0.5  # of the shapes, beforehand
_LOGNORMAL = (0.15, 0.3, 0.5, 0.75, 1.0, 1.4, 1.9, 2.5)  # standard deviations of the logarithm
_WEIBULL = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0)
_LOGISTIC = (1.2, 1.6, 2.2, 3.2)  # of log-logistic ones
_PARETO = (1.0, 1.3, 1.7, 2.3, 3.0)  # exponents of the tail


@dataclass(frozen=True, slots=True)
class Fit:
    """What the counts may be: one row of `counts` a table, and how likely each is."""

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
    return _of_values(np.asarray(noisy, dtype=np.float64).tobytes(), std)


@lru_cache(maxsize=16)  # it takes a second, and every page about a look's file asks again
def _of_values(noisy: bytes, std: float) -> Fit:
    counts = np.frombuffer(noisy)
    seen = Seen.of((counts, std, np.eye(counts.size)))
    return _scaled(seen, seen, VALUE_ENDS[:-1], np.inf)


def _scaled(seen: Seen, coarse: Seen, starts: tuple[float, ...], size_spread: float) -> Fit:
    """From the shapes, each times plausible numbers of units, and sums of two of them. `coarse` is what was seen, or
    the part of it by which plausible ones are found."""
    shapes, scales, kinds, second = _shapes(starts)
    weighed = shapes @ seen.total.T / seen.std
    squares, noisy = (weighed**2).sum(axis=1), seen.noisy / seen.std
    believed = kinds - ((scales - USUAL_SIZE) / size_spread) ** 2 / 2
    numbers, steps = _numbers(weighed @ noisy / squares, 1 / np.sqrt(squares))
    beforehand = (believed[:, None] + np.log(steps)).ravel()
    in_coarse = shapes @ coarse.total.T
    off = rough(coarse, (numbers[:, :, None] * in_coarse[:, None, :]).reshape(-1, in_coarse.shape[1]))
    first, numbers = np.arange(numbers.size) // NUMBERS_TRIED, numbers.ravel()
    two, chance = _pairs(coarse, shapes[: second.size], believed[: second.size] + second)
    chances = np.concatenate([beforehand, chance])
    every = np.concatenate([off, rough(coarse, two @ coarse.total.T)])
    places, logs = sample(chances - every / 2, SHAPES_KEPT)
    alone = places[places < numbers.size]
    expected = np.concatenate([numbers[alone, None] * shapes[first[alone]], two[places[alone.size :] - numbers.size]])
    octaves = np.log2(np.asarray(starts))
    away = np.abs(np.subtract.outer(octaves, octaves))
    return posterior(seen, expected, away, chances[places] + logs, DRAWN)


def _pairs(seen: Seen, shapes: Floats, believed: Floats) -> tuple[Floats, Floats]:
    """Sums of two shapes that may be, with the numbers of units of least squares; and how likely they are beforehand.

    Squares are weighed as if each number that was seen differed from the shapes by itself. A number of units that is n
    at best, with a standard deviation of s, is known within some s / n as a logarithm: that part of all that it could
    have been counts, as it does for a shape alone.
    """
    some = np.arange(0, len(shapes), PAIR_STEP)
    std = np.sqrt(seen.std**2 + (DIFFERENCE * np.maximum(seen.noisy, 0.0)) ** 2)
    weighed = shapes[some] @ (seen.total / std[:, None]).T
    gram, found = weighed @ weighed.T, weighed @ (seen.noisy / std)
    i, j = np.triu_indices(some.size, 1)
    own, other, cross = gram[i, i], gram[j, j], gram[i, j]
    det = own * other - cross**2
    det = np.where(det > 1e-6 * own * other, det, np.inf)
    one, two = (other * found[i] - cross * found[j]) / det, (own * found[j] - cross * found[i]) / det
    both = (one > FEWEST_UNITS / 2) & (two > FEWEST_UNITS / 2)
    if not both.any():
        return np.zeros((0, shapes.shape[1])), np.zeros(0)
    gains = (found[i] * one + found[j] * two)[both] / 2
    total = np.log(np.exp(believed[some]).sum())
    ends = ((other[both], one[both]), (own[both], two[both]))
    sure = [np.log(np.minimum(2.5 * np.sqrt(part / det[both]) / number, 2.5)) for part, number in ends]
    first, second = some[i[both]], some[j[both]]
    likely = believed[first] + believed[second] - total - SECOND_SHAPE + sure[0] + sure[1]
    places, logs = sample(gains + likely, PAIRS_TRIED)
    sums = one[both][places, None] * shapes[first[places]] + two[both][places, None] * shapes[second[places]]
    return sums, likely[places] + logs


def _numbers(likeliest: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Numbers of units for each shape, equally far from each other as logarithms; and how far."""
    low = np.log(np.maximum(likeliest - 2.5 * off, FEWEST_UNITS))
    high = np.log(np.maximum(likeliest + 2.5 * off, 2 * FEWEST_UNITS))
    step = (high - low) / NUMBERS_TRIED
    places = np.arange(NUMBERS_TRIED) + 0.5
    return np.exp(low[:, None] + step[:, None] * places), np.broadcast_to(step[:, None], (low.size, NUMBERS_TRIED))


def rough(seen: Seen, expected: Floats) -> Floats:
    """Twice the negative log-likelihood of such numbers, as if each differed by itself."""
    variance = seen.std**2 + (DIFFERENCE * expected) ** 2
    found: Floats = ((seen.noisy - expected) ** 2 / variance + np.log(variance)).sum(axis=1)
    return found


def posterior(seen: Seen, expected: Floats, away: Floats, beforehand: Floats, number: int) -> Fit:
    """So many tables that are plausible, from some expectations; `beforehand`, how likely these are as logarithms.

    Given f, the counts and what was seen are jointly normal: a draw of both from before anything was seen, moved by
    what the draw lacks of what was seen, is a draw given that.
    """
    from scipy.linalg import cho_solve, solve_triangular

    kernel = DIFFERENCE**2 * np.exp(-(away**2) / 2) + OWN_DIFFERENCE**2 * np.eye(len(away))
    root, likelihoods, factors, seen = np.linalg.cholesky(kernel), [], [], seen.reduced()
    for shape in expected:
        both = seen.total @ (shape[:, None] * kernel * shape + np.diag(shape**2 / (1 + shape)))
        factor = np.linalg.cholesky(both @ seen.total.T + np.diag(seen.std**2))
        white = solve_triangular(factor, seen.noisy - seen.total @ shape, lower=True)
        likelihoods.append(-white @ white / 2 - np.log(np.diag(factor)).sum())
        factors.append((both, factor))
    logs = beforehand + np.array(likelihoods)
    chances = np.exp(logs - logs.max())
    ends, chance = np.cumsum(chances / chances.sum()), np.random.default_rng(SEED)
    counts = []
    for place in np.minimum(np.searchsorted(ends, (np.arange(number) + 0.5) / number), len(expected) - 1):
        shape, (both, factor) = expected[place], factors[place]
        drawn = root @ chance.normal(size=shape.size) + chance.normal(size=shape.size) / np.sqrt(1 + shape)
        drawn = shape * (1 + drawn)
        lacks = seen.noisy - seen.total @ drawn - seen.std * chance.normal(size=seen.noisy.size)
        counts.append(np.maximum(drawn + both.T @ cho_solve((factor, True), lacks), 0.0))
    return Fit(np.array(counts), np.full(number, 1 / number))


def sample(logs: Floats, number: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    """Some of the places, evenly by a chance that goes with the square root of exp(logs): so the likeliest are there,
    and others too. How many of all places each stands for is beside it, as a logarithm."""
    chances = np.exp((logs - logs.max()) / 2)
    ends = np.cumsum(chances / chances.sum())
    hits = np.searchsorted(ends, (np.arange(number) + 0.5) / number)
    places, times = np.unique(np.minimum(hits, logs.size - 1), return_counts=True)
    return places, np.log(times / (number * chances[places] / chances.sum()))


@lru_cache(maxsize=4)
def _shapes(starts: tuple[float, ...]) -> tuple[Floats, Floats, Floats, Floats]:
    """Distributions over classes that start here, whole and cut off at the end of a class: one a row, adding up to
    one; the logarithm of the scale of each; that of how much it counts: all kinds alike, and CUT_OFF of each cut; and,
    of the whole ones, that of how much less it counts in sums.

    Power laws are of two kinds: those that begin at their scale, and those that are flat up to there.
    """
    from scipy.special import expit, ndtr

    log = np.log(np.asarray(starts))
    scales = np.arange(log[0], max(log[0] + 9.0, log[-1] - 4.0), 0.33)[:, None, None]
    away = log - scales
    kinds = (
        ndtr(away / np.array(_LOGNORMAL)[:, None]),
        -np.expm1(-np.exp(np.minimum(away * np.array(_WEIBULL)[:, None], 30.0))),
        -np.expm1(-np.array(_PARETO)[:, None] * np.log1p(np.exp(np.minimum(away, 700.0)))),
        -np.expm1(-np.array(_PARETO)[:, None] * np.maximum(away, 0.0)),
        expit(np.array(_LOGISTIC)[:, None] * away),
    )
    heavy = (
        np.array(_LOGNORMAL) > 1.0,
        *(np.full(kind.shape[1], number > 1) for number, kind in enumerate(kinds) if number),
    )
    tails = np.concatenate(
        [np.broadcast_to(tail, kind.shape[:2]).ravel() for tail, kind in zip(heavy, kinds, strict=True)]
    )
    below = np.concatenate([kind.reshape(-1, log.size) for kind in kinds])
    below[:, 0] = 0.0
    whole = np.diff(below, axis=1, append=1.0)
    located = np.concatenate([np.broadcast_to(scales, kind.shape)[..., 0].ravel() for kind in kinds])
    counts = np.concatenate([np.full(kind[..., 0].size, -np.log(kind.shape[1])) for kind in kinds])
    ends = np.arange(np.searchsorted(log, log[0] + 2 * np.log(2)), log.size)
    left = np.stack([np.where(np.arange(log.size) < end, whole, 0.0) for end in ends])
    total = left.sum(axis=2)
    cut, shape = np.nonzero((total > 0.4) & (total < 0.97))  # other cuts have nearly the shape of another one, or whole
    often = np.maximum(np.bincount(shape, minlength=len(whole)), 1)
    return (
        np.concatenate([whole, left[cut, shape] / total[cut, shape][:, None]]),
        np.concatenate([located, located[shape]]),
        np.concatenate([counts + np.log1p(-CUT_OFF), (counts + np.log(CUT_OFF / often))[shape]]),
        np.where(tails, -HEAVY_SECOND, 0.0),
    )
