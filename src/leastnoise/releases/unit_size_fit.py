"""How many units there are of each size, from counts with noise: shapes, and where the counts differ from them.

Noise of a few dozen units on each of 150 classes hides most of a histogram, and what it does in the classes of very
large units would decide every limit. So the counts y are read as f (1 + d) + e + noise. f is a number of units times
one of many shapes, or a sum of two: lognormal, Weibull, log-logistic and power laws, from all alike to heavy tails,
whole or cut off; and single classes, as where everybody has one row, or one for each wave of a panel. Any of these may
have some more units in one octave: a few with far more rows than all others. d, by how much
the truth differs from it, is a Gaussian process over the logarithm of the size: about half of f, and much the same
within an octave. e is each class's own: none, a little, or much of what is expected of it and of its neighbours. So
where all units but a few end at one number, the few beyond are not ruled out by a shape that ends there: a limit that
is one more costs little, and to miss them may cost far more. Given f and how large e is, this is a linear model, and
its likelihood, mean and spread are exact (`posterior`).

Where counts are far above the noise the mean is what was counted; where they are not, it is the shape that fits the
rest. Before anything is counted, most units are taken to have from one row to some hundreds, only counts that stand out
say that they have many thousands; their number may be of any order of magnitude; and that every unit has one row is
likelier than any other number. What is kept is not the best f, nor its mean, but many tables drawn from all that are
plausible: where noise drowns the counts that is all that was believed beforehand, and where tails cannot be seen they
differ from table to table. Where few units are expected d is larger, by what Poisson numbers differ from their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, WIDE

DIFFERENCE = 0.5  # of the truth from a shape, relative
OWN_DIFFERENCE = 0.1  # of one class by itself
USUAL_SIZE, SIZE_SPREAD = 2.5, 1.8  # mean and standard deviation of the logarithm of a typical unit's rows, beforehand
SHAPES_KEPT = 180  # a sample of the plausible ones
DRAWN, SEED = 150, 1  # tables that may be
FEWEST_UNITS = 20.0  # of a table for which limits are worth proposing
NUMBERS_TRIED = 6  # of units, for each shape
PAIRS_TRIED, PAIR_STEP = 300, 2  # sums of two shapes, out of every other one
SECOND_SHAPE, HEAVY_SECOND = 4.0, 1.5  # what such sums, and shapes of heavy tails in them, must gain in log-likelihood
CUT_OFF = 0.5  # of the shapes, beforehand
SCALE_STEP, CUT_STEP = 0.33, 0.11  # between shapes of a kind, and between cuts, as logarithms
ONE_ROW = 2.5  # how much likelier than other exact numbers it is that every unit has one row, as a logarithm
VISIBLE = 5.0  # standard deviations, of a number of units that is seen
ROUGH = ((0.1, 0.22), (0.6, 0.22))  # by how much a class may differ by itself, and how likely that is
HEAPED, HEAP_WIDTH, HEAPS = 3.0, 0.4, 0.08  # the same of heaped numbers, over how many octaves, and how likely
Versions = tuple[tuple[float, Floats], ...]  # chances, and what each class may differ by, by itself
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


def of_rows(rows: tuple[Floats, float], octaves: tuple[Floats, float], wide: tuple[Floats, float]) -> Fit:
    """Units by their number of rows, in the classes of ROW_STARTS, from counts of these, of octaves and of the classes
    of WIDE, each with the standard deviation of its noise."""
    given = zip((ROW_STARTS, OCTAVES, WIDE), (rows, octaves, wide), strict=True)
    parts = [(noisy, std, _inside(starts)) for starts, (noisy, std) in given]
    return _scaled(Seen.of(*parts), Seen.of(*parts[1:]), tuple(map(float, ROW_STARTS)))


def _inside(starts: tuple[int, ...]) -> Floats:
    """Which classes of ROW_STARTS lie in each of the classes that start here: a matrix of ones and zeros."""
    place = np.searchsorted(starts, ROW_STARTS, side="right") - 1
    found: Floats = (np.arange(len(starts))[:, None] == place).astype(np.float64)
    return found


def _scaled(seen: Seen, coarse: Seen, starts: tuple[float, ...]) -> Fit:
    """From the shapes, each times plausible numbers of units, and sums of two of them. `coarse` is what was seen, or
    the part of it by which plausible ones are found. In tables that can be seen it is likelier beforehand, by ONE_ROW,
    that all are in the first class."""
    shapes, scales, kinds, second = _shapes(starts)
    weighed = shapes @ seen.total.T / seen.std
    squares, noisy = (weighed**2).sum(axis=1), seen.noisy / seen.std
    believed = kinds - ((scales - USUAL_SIZE) / SIZE_SPREAD) ** 2 / 2
    numbers, steps = _numbers(weighed @ noisy / squares, 1 / np.sqrt(squares))
    seen_at_all = numbers > VISIBLE * seen.std.min()
    alone = np.where(np.arange(believed.size) == second.size - len(starts), ONE_ROW, 0.0)[:, None] * seen_at_all
    beforehand = (believed[:, None] + alone + np.log(steps)).ravel()
    in_coarse = shapes @ coarse.total.T
    off = rough(coarse, (numbers[:, :, None] * in_coarse[:, None, :]).reshape(-1, in_coarse.shape[1]))
    first, numbers = np.arange(numbers.size) // NUMBERS_TRIED, numbers.ravel()
    heavier = (kinds - ((scales - USUAL_SIZE) / (2 * SIZE_SPREAD)) ** 2 / 2)[: second.size]
    two, chance = _pairs(coarse, shapes[: second.size], scales, believed[: second.size] + second, heavier + second)
    chances = np.concatenate([beforehand, chance])
    every = np.concatenate([off, rough(coarse, two @ coarse.total.T)])
    places, logs = sample(chances - every / 2, SHAPES_KEPT)
    one = places[places < numbers.size]
    expected = np.concatenate([numbers[one, None] * shapes[first[one]], two[places[one.size :] - numbers.size]])
    known = chances[places] + logs
    octaves = np.log2(np.asarray(starts))
    expected, known = _with_few_others(coarse, expected, known, octaves)
    away = np.abs(np.subtract.outer(octaves, octaves))
    groups = np.floor(octaves - octaves[0]).astype(np.int64)
    return posterior(seen, expected, away, known, _own(away), groups, DRAWN)


def _own(away: Floats) -> Versions:
    """What each class may differ by, by itself, times what is expected: nothing; a part of an average over two classes
    on both sides; and, where numbers are heaped as the multiples of five are, several times an average over an octave.
    """
    parts = ((0, 0.4), (1, 0.22), (-1, 0.22), (2, 0.08), (-2, 0.08))
    near: Floats = np.sum([part * np.eye(len(away), k=shift) for shift, part in parts], axis=0)
    octave = np.exp(-((away / HEAP_WIDTH) ** 2) / 2)
    heaped = HEAPED * octave / octave.sum(axis=1, keepdims=True)
    chances = (1 - sum(chance for _, chance in ROUGH) - HEAPS, *(chance for _, chance in ROUGH), HEAPS)
    return tuple(zip(chances, (0 * near, *(part * near for part, _ in ROUGH), heaped), strict=True))


def _with_few_others(seen: Seen, expected: Floats, known: Floats, octaves: Floats) -> tuple[Floats, Floats]:
    """The same expectations, and each with some more units in one octave, of the number of least squares; a sample of
    them all, and how likely they are beforehand: as a second shape is, at the scales of one.

    A sum of two shapes is often needed for most units alone, and then the few that have far more rows, which may decide
    which limits are good, would have no shape left, however far their count stands out.
    """
    starts = np.arange(np.floor(octaves[-1]) + 1)
    there = (np.floor(octaves) == starts[:, None]).astype(np.float64)
    more = there / there.sum(axis=1, keepdims=True)
    scales = -(((starts * math.log(2) - USUAL_SIZE) / (2 * SIZE_SPREAD)) ** 2) / 2
    in_seen, add = expected @ seen.total.T, more @ seen.total.T
    precision = 1 / (seen.std**2 + (DIFFERENCE * in_seen) ** 2)
    squares = precision @ (add**2).T
    number = ((seen.noisy - in_seen) * precision) @ add.T / squares
    which, octave = np.nonzero(number > FEWEST_UNITS / 2)
    if not which.size:
        return expected, known
    units = number[which, octave]
    sure = np.log(np.minimum(2.5 / np.sqrt(squares[which, octave]) / units, 1.0))
    likely = known[which] - SECOND_SHAPE + scales[octave] - np.log(np.exp(scales).sum()) + sure
    every = np.concatenate([expected, expected[which] + units[:, None] * more[octave]])
    known = np.concatenate([known, likely])
    places, logs = sample(known - rough(seen, every @ seen.total.T) / 2, SHAPES_KEPT)
    return every[places], known[places] + logs


def _pairs(seen: Seen, shapes: Floats, scales: Floats, believed: Floats, heavier: Floats) -> tuple[Floats, Floats]:
    """Sums of two shapes that may be, with the numbers of units of least squares; and how likely they are beforehand:
    the one of smaller scale as by itself, the other at scales twice as uncertain.

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
    total = np.log(np.exp(heavier[some]).sum())
    ends = ((other[both], one[both]), (own[both], two[both]))
    sure = [np.log(np.minimum(2.5 * np.sqrt(part / det[both]) / number, 1.0)) for part, number in ends]
    first, second = some[i[both]], some[j[both]]
    small, large = np.where(scales[first] < scales[second], (first, second), (second, first))
    likely = believed[small] + heavier[large] - total - SECOND_SHAPE + sure[0] + sure[1]
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


def posterior(
    seen: Seen,
    expected: Floats,
    away: Floats,
    beforehand: Floats,
    own: Versions,
    groups: NDArray[np.int64],
    number: int,
) -> Fit:
    """So many tables that are plausible, from some expectations; `beforehand`, how likely these are as logarithms.

    Every expectation f is there in several versions: with some chance a class differs by itself with a standard
    deviation of `parts @ f`. With C = L L' the covariance of the counts about f, W the weights std^-2, G = total' W
    total, the counts are f + L z. z is normal, beforehand with covariance I, and afterwards with

        precision M = I + L' G L,    mean M^-1 L' total' W (noisy - total f)

    and what was seen has the log-likelihood of f itself, plus mean' M mean / 2 - log(det M) / 2. Numbers below zero are
    taken out of the others of their group: to leave them out would add as many units as noise has hidden.
    """
    from scipy.linalg import solve_triangular

    kernel = DIFFERENCE**2 * np.exp(-(away**2) / 2) + OWN_DIFFERENCE**2 * np.eye(len(away))
    weighed = seen.total / (seen.std**2)[:, None]
    told, gram = weighed.T @ seen.noisy, weighed.T @ seen.total
    roots, likelihoods = [], []
    for shape in expected:
        lacks = told - gram @ shape
        straight = shape @ (told + lacks) / 2  # log-likelihood of f itself, but for a constant
        for _, parts in own:
            there, root = _root(shape, parts @ shape, kernel)
            half = np.linalg.cholesky(np.eye(len(root)) + root.T @ gram[np.ix_(there, there)] @ root)
            white = solve_triangular(half, root.T @ lacks[there], lower=True)
            likelihoods.append(straight + white @ white / 2 - np.log(np.diag(half)).sum())
            roots.append((there, root, half, white))
    logs = (beforehand[:, None] + np.log([chance for chance, _ in own])).ravel() + np.array(likelihoods)
    chances = np.exp(logs - logs.max())
    ends, chance = np.cumsum(chances / chances.sum()), np.random.default_rng(SEED)
    counts = []
    for place in np.minimum(np.searchsorted(ends, (np.arange(number) + 0.5) / number), len(roots) - 1):
        drawn, (there, root, half, white) = expected[place // len(own)].copy(), roots[place]
        drawn[there] += root @ solve_triangular(half.T, white + chance.normal(size=len(root)))
        counts.append(_at_least_none(drawn, groups))
    return Fit(np.array(counts), np.full(number, 1 / number))


def _at_least_none(counts: Floats, groups: NDArray[np.int64]) -> Floats:
    """Without numbers below zero, and with the sums of the groups that were there, if these are above zero."""
    above: Floats = np.maximum(counts, 0.0)
    wanted, there = (np.bincount(groups, weights=part) for part in (counts, above))
    return above * (np.maximum(wanted, 0.0) / np.maximum(there, 1e-300))[groups]


def _root(shape: Floats, rough_part: Floats, kernel: Floats) -> tuple[NDArray[np.intp], Floats]:
    """L of C = F K F + Poisson numbers' part + rough part, for the classes in which anybody may be; and which."""
    own = shape**2 / (1 + shape) + rough_part**2
    there = np.flatnonzero(own + shape**2 > 1e-8)
    f, own = shape[there], own[there]
    covariance = f[:, None] * kernel[np.ix_(there, there)] * f + np.diag(own + 1e-12)
    return there, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


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
    scales = np.arange(log[0], max(log[0] + 9.0, log[-1] - 4.0), SCALE_STEP)[:, None, None]
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
    located = np.concatenate([np.broadcast_to(scales, kind.shape)[..., 0].ravel() for kind in kinds])
    counts = np.concatenate([np.full(kind[..., 0].size, -np.log(kind.shape[1])) for kind in kinds])
    smooth = np.diff(below, axis=1, append=1.0)
    widths = np.diff(log, append=2 * log[-1] - log[-2])
    whole = np.concatenate([smooth, np.eye(log.size)])
    located, counts = np.concatenate([located, log]), np.concatenate([counts, np.log(widths / SCALE_STEP)])
    tails = np.concatenate([tails, np.zeros(log.size, dtype=bool)])
    ends = np.arange(np.searchsorted(log, log[0] + 2 * np.log(2)), log.size)
    ends = ends[np.unique(np.rint(log[ends] / CUT_STEP), return_index=True)[1]]
    total = np.cumsum(whole, axis=1)[:, ends - 1].T
    cut, shape = np.nonzero((total > 0.4) & (total < 0.97))  # other cuts have nearly the shape of another one, or whole
    left = np.where(np.arange(log.size) < ends[cut][:, None], whole[shape], 0.0)
    whole_part = np.where(np.arange(len(whole)) < len(smooth), np.log1p(-CUT_OFF), 0.0)
    often = np.maximum(np.bincount(shape, minlength=len(whole)), 1)
    return (
        np.concatenate([whole, left / total[cut, shape][:, None]]),
        np.concatenate([located, located[shape]]),
        np.concatenate([counts + whole_part, (counts + np.log(CUT_OFF / often))[shape]]),
        np.where(tails, -HEAVY_SECOND, 0.0),
    )
