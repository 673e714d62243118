"""What limits cost: the rows that they leave out and the noise that they need, together, from counts of units.

Rows are kept by lot, by max_per_bin p first and then by max_rows m. So of a unit with N rows, n_b of them in bin b,
there remain min(m, K), where K is the sum of min(n_b, p). What is counted of a unit is N, and n of one row r drawn of
its own; K is N times the mean over r of min(1, p/n). Over all units with N rows

    N mean of min(1, p/n, m/N)  <=  mean of min(m, K)  <=  min(m, N mean of min(1, p/n))

for min(m, .) is concave: the left side is equal where the bins of one unit are alike, the right side where all units
are. Half of both sides is taken for what remains, and L is what is lost in all.

The root mean square over the D bins of what is lost is sqrt(k L^2 / D), where k, the sum of the squares of the bins'
shares of what is lost, is 1/D where all bins lose alike and 1 where one loses everything. The counts of one row a unit
estimate the k of all rows, which is taken for it. With s the standard deviation of the noise that the limits need,

    error^2 = k L^2 / D + s^2

The regret of limits is by how much their error exceeds the least one, as a part of that. Over many tables that the
counts cannot tell apart, drawn by how plausible they are (`unit_size_fit`, `unit_spread_fit`), the limits of the least
mean regret are proposed. So limits that would be very bad for a table that may well be there are not, even if others
are likelier; and where the least mean regret is large, the counts do not decide.

What is shown beside limits is of a typical table: the medians over those tables of what a bin loses, and of the rows
kept. So the error that is shown need not be least at the limits that are proposed. Around both stand ends between which
PLAUSIBLE of those tables are, each with the less favourable of the two sides above, and with a hundredth of the rows
more for what classes hide. Nothing is between them that no noisy count can show: one unit with more rows than all
others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, last_of_each, octaves_of
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.releases.unit_size_fit import Fit

MUCH = 0.5  # regret
PLAUSIBLE = 0.98  # the part of the tables whose kept rows and errors are between the ends that are shown
HIDDEN = 0.01  # of the rows: what may be lost more or less than the classes tell
USUAL_CONCENTRATION, CONCENTRATION_SPREAD = 2.0, 1.1  # against even bins, beforehand: median, and of the logarithm


@dataclass(frozen=True, slots=True)
class AskedNoise:
    """The noise of the question that limits are for: its standard deviation where one unit moves the answer by 1.

    per_l2: of Gaussian noise, for 1 in L2; per_l1: of Laplace noise, for 1 in L1. None: that noise will not be taken.
    """

    per_l2: float | None
    per_l1: float | None
    neighbours: Neighbours = "add-remove"

    def std(self, limits: Limits, bins: int) -> float:
        """Of a histogram with these limits, by the noise that has less."""
        moved = _moved(limits, bins, self.neighbours)
        gaussian = math.inf if self.per_l2 is None else self.per_l2 * moved.l2
        return min(gaussian, math.inf if self.per_l1 is None else self.per_l1 * moved.l1)


def kept_in_words(kept: float, low: float, high: float) -> str:
    """A share of the rows and its ends, which are rounded outwards.

    >>> kept_in_words(0.871, 0.833, 0.905)
    '87% (83 to 91)'
    """
    return f"{100 * kept:.0f}% ({math.floor(100 * low)} to {math.ceil(100 * high)})"


@dataclass(frozen=True, slots=True)
class LimitErrors:
    """One entry for each pair of limits: what is kept, what is lost, and the noise."""

    max_rows: NDArray[np.int64]
    max_per_bin: NDArray[np.int64]
    kept: Floats  # the share of rows: the median over what is plausible
    bias: Floats  # root mean square of what a bin loses: error^2 = bias^2 + noise^2
    noise: Floats  # standard deviation
    error: Floats  # both together
    kept_low: Floats  # ends between which PLAUSIBLE of the tables are
    kept_high: Floats
    error_low: Floats
    error_high: Floats
    regret: Floats  # mean, over what is plausible, of the error over the least one, less one
    risk: Floats  # the part of what is plausible in which that is over MUCH

    @property
    def best(self) -> int:
        """Where the mean regret is least."""
        return int(np.argmin(self.regret))

    def best_for_each(self) -> NDArray[np.int64]:
        """For each max_rows that ends a class, and for the best, the entry of the least mean regret.

        Other max_rows, p times the number of bins, were weighed with max_per_bin = p alone, so they have no best one.
        """
        order = np.lexsort((self.regret, self.max_rows))
        shown = order[np.isin(self.max_rows[order], last_of_each(ROW_STARTS)) | (order == self.best)]
        return np.asarray(shown[np.unique(self.max_rows[shown], return_index=True)[1]], dtype=np.int64)


def predict(rows: Fit, spread: Fit | None, *, concentrations: Floats, bins: int, noise: AskedNoise) -> LimitErrors:
    """The errors of all limits that are worth trying. `spread` is None where there is one bin; `concentrations` has one
    number for each table of `rows`."""
    counts = _there(rows.counts)
    limits = _worth_trying(rows.weights @ counts, bins, spread is None)
    m = np.array([limit.max_rows for limit in limits], dtype=np.float64)
    p = np.array([limit.max_per_bin for limit in limits], dtype=np.float64)
    std = np.array([noise.std(limit, bins) for limit in limits])
    classes = int(np.flatnonzero(counts.sum(axis=0))[-1]) + 1 if counts.any() else 1
    counts = counts[:, :classes]
    ratios, risk, usual = np.zeros(m.size), np.zeros(m.size), np.zeros((m.size, classes))
    ways = _lost_by_both(m, p, spread, bins, classes)
    most, least = (np.zeros((m.size, len(counts))) for _ in range(2))  # of every table under one of the ways
    number_of_ways = 1 if spread is None else len(spread.weights)
    way_of = (_even_chances(len(counts), math.sqrt(2)) * number_of_ways).astype(np.int64)
    for number, (chance, at_most, at_least) in enumerate(ways):
        by_both = (at_most + at_least) / 2
        errors = np.log(concentrations / bins * (by_both @ counts.T) ** 2 + std[:, None] ** 2) / 2
        errors -= errors.min(axis=0)
        ratios += chance * (np.exp(errors) @ rows.weights)
        risk += chance * ((errors > math.log1p(MUCH)) @ rows.weights)
        usual += chance * by_both
        here = way_of == number
        most[:, here], least[:, here] = at_most @ counts[here].T, at_least @ counts[here].T
    lost, every = usual @ counts.T, np.maximum(counts @ _rows_of_each()[:classes], 1e-300)
    in_bin = np.sqrt(concentrations / bins)
    bias, kept = np.median(in_bin * lost, axis=1), np.clip(1 - np.median(lost / every, axis=1), 0.0, 1.0)
    error, tail = np.hypot(bias, std), (1 - PLAUSIBLE) / 2
    most, least = np.minimum(most + HIDDEN * every, every), np.maximum(least - HIDDEN * every, 0.0)
    kept_low, kept_high = (1 - np.quantile(part / every, at, axis=1) for part, at in ((most, 1 - tail), (least, tail)))
    error_low = np.hypot(np.quantile(in_bin * least, tail, axis=1), std)
    error_high = np.hypot(np.quantile(in_bin * most, 1 - tail, axis=1), std)
    return LimitErrors(
        max_rows=m.astype(np.int64),
        max_per_bin=p.astype(np.int64),
        kept=kept,
        bias=bias,
        noise=std,
        error=error,
        kept_low=np.minimum(kept_low, kept),
        kept_high=np.maximum(kept_high, kept),
        error_low=np.minimum(error_low, error),
        error_high=np.maximum(error_high, error),
        regret=np.maximum(ratios - 1, 0.0),
        risk=risk,
    )


def _there(counts: Floats) -> Floats:
    """The same without classes from which on there is no unit, by chance.

    Where v units are expected from some class on there is none with chance exp(-v), for Poisson numbers. A thousandth
    of a unit with a million rows would otherwise count as a thousand rows that are lost.
    """
    beyond = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return np.where(beyond < -np.log(_even_chances(len(counts)))[:, None], 0.0, counts)


def _even_chances(number: int, step: float = (math.sqrt(5) - 1) / 2) -> Floats:
    """Numbers between 0 and 1 that are spread evenly, in an order of no meaning: multiples of the golden ratio, or of
    another irrational number."""
    return np.asarray((np.arange(number) + 0.5) * step % 1.0, dtype=np.float64)


def concentrations(noisy: Floats, std: float, units: float, number: int) -> Floats:
    """The sum of the squares of the bins' shares of the rows, from one row a unit with noise.

    E sum(y^2) = sum(c^2) + D s^2, and drawing one row a unit adds at most one a unit; the noise of that sum of squares
    is nearly normal. Before anything is counted, bins are taken to be uneven by some small factor. So many numbers are
    given, spread as that leaves it plausible.
    """
    bins, units = noisy.size, max(units, 1.0)
    found = float((noisy**2).sum()) - bins * std**2 - units
    logs = np.linspace(-math.log(bins), 0.0, 200)
    expected = np.exp(logs) * units**2
    off = np.sqrt(2 * bins * std**4 + 4 * std**2 * expected) + 0.1 * expected
    uneven = (logs + math.log(bins / USUAL_CONCENTRATION)) / CONCENTRATION_SPREAD
    chances = -(((found - expected) / off) ** 2) / 2 - np.log(off) - uneven**2 / 2
    below = np.cumsum(np.exp(chances - chances.max()))
    return np.asarray(np.exp(np.interp(_even_chances(2 * number)[1::2], below / below[-1], logs)))


def _worth_trying(units: Floats, bins: int, one_bin: bool) -> list[Limits]:
    """The ends of classes, up to where hardly any unit is; each with every max_per_bin that binds."""
    beyond = np.cumsum(units[::-1])[::-1] > 0.01
    last = int(np.flatnonzero(beyond)[-1]) + 1 if beyond.any() else 1
    rows = [int(end) for end in last_of_each(ROW_STARTS)[: min(last + 1, len(ROW_STARTS))]]
    in_bin = [int(end) for end in last_of_each(BIN_STARTS)]
    pairs = [(min(m, p * bins), p) for m in rows for p in ([m] if one_bin else [*(p for p in in_bin if p < m), m])]
    return [Limits(max_rows=m, max_per_bin=p, max_bins=min(m, bins)) for m, p in dict.fromkeys(pairs)]


@lru_cache(maxsize=2**14)
def _moved(limits: Limits, bins: int, neighbours: Neighbours) -> Sensitivity:
    """What one unit moves a histogram by: exact arithmetic, which takes a while."""
    return sensitivities.of_sum(limits, low=0, high=1, bins=bins, neighbours=neighbours)


@lru_cache(maxsize=2**14)
def _inside(first: float, last: float, points: int) -> Floats:
    """Some whole numbers from the first to the last."""
    return np.unique(np.geomspace(first, last, points).round())


@lru_cache(maxsize=1)
def _rows_of_each() -> Floats:
    """How many rows a unit of each class has, about."""
    ends = zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)
    return np.array([_inside(first, last, 3).mean() for first, last in ends])


def _lost_by_rows(m: Floats, most: float = math.inf) -> Floats:
    """The rows that a unit of each class, which has `most` or fewer, loses by max_rows alone: limits by classes."""
    ends = zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)
    sizes = [np.minimum(_inside(*end, 3), most) for end in ends]
    return np.stack([np.maximum(size - m[:, None], 0.0).mean(axis=1) for size in sizes], axis=1)


def _lost_by_both(
    m: Floats, p: Floats, spread: Fit | None, bins: int, classes: int
) -> Iterator[tuple[float, Floats, Floats]]:
    """The same by both limits, at most and at least, for each plausible way to share bins, with its chance. Where no
    rows of a unit share a bin, it has no more of them than there are bins."""
    by_rows = _lost_by_rows(m)[:, :classes]
    if spread is None:
        yield 1.0, by_rows, by_rows
        return
    ways = spread.counts.reshape(-1, len(OCTAVES), len(BIN_STARTS) + 1)
    most, least = _lost_where_shared(m, p, ways, classes)
    by_bin, octaves = _lost_by_rows(p)[:, :classes], octaves_of(ROW_STARTS)[:classes]
    for chance, way, *both in zip(spread.weights, ways, most, least, strict=True):
        together = way[octaves, -1]
        if not way[:, 1:].any():
            alone = _lost_by_rows(m, bins)[:, :classes]
            yield float(chance), alone, alone
        else:
            high, low = ((1 - together) * np.maximum(lost, by_rows) + together * by_bin for lost in both)
            yield float(chance), high, low


def _lost_where_shared(m: Floats, p: Floats, ways: Floats, classes: int) -> tuple[Floats, Floats]:
    """The rows that a unit of each class loses by both limits, at most and at least, if not all of its rows are in one
    bin: ways to share bins, by limits, by classes.

    What is known of n is known by the octave of N. Within an octave n - 1 is taken to go with N - 1, as it does where
    the other rows meet a row each with the same chance.
    """
    most, least = np.zeros((2, classes, len(ways), m.size))
    points, places = _points()
    octaves, deep = octaves_of(ROW_STARTS), octaves_of(BIN_STARTS)
    different, which = np.unique(p, return_inverse=True)
    for place in range(classes):
        rows, octave = _rows_of_each()[place], octaves[place]
        usual = _rows_of_each()[octaves == octave].mean()
        known = deep[places] <= octave
        share = ways[:, octave][:, places[known]] / np.bincount(places)[places[known]]
        total = share.sum(axis=1, keepdims=True)
        share = share / np.maximum(total, 1e-300)
        n = np.clip(1 + (points[known] - 1) * (rows - 1) / max(usual - 1, 1.0), 1.0, rows)
        in_bins, in_all = np.minimum(rows, different * (rows / n)[:, None]), np.minimum(rows, m)
        kept_least = share @ np.minimum(in_bins[:, which], in_all)
        kept_most = np.minimum((share @ in_bins)[:, which], in_all)
        most[place] = np.where(total > 1e-9, rows - kept_least, 0.0)
        least[place] = np.where(total > 1e-9, rows - kept_most, 0.0)
    return np.moveaxis(most, 0, -1), np.moveaxis(least, 0, -1)


@lru_cache(maxsize=1)
def _points() -> tuple[Floats, NDArray[np.int64]]:
    """Some numbers of each class of rows in a bin, and which class they are in."""
    inside = [_inside(first, last, 3) for first, last in zip(BIN_STARTS, last_of_each(BIN_STARTS), strict=True)]
    return np.concatenate(inside), np.repeat(np.arange(len(inside)), [part.size for part in inside])
