"""What limits cost: the rows that they leave out and the noise that they need, together, from counts of units.

A row of a unit with N rows, n of them in its bin, is kept with chance min(1, p/n, m/N) under max_per_bin p and max_rows
m: the hash that chooses is uniform. So the rows lost in all are L = sum of N (1 - that). The root mean square over the
D bins of what is lost is sqrt(k L^2 / D), where k, the sum of the squares of the bins' shares of what is lost, is 1/D
where all bins lose alike and 1 where one loses everything. The counts of one row a unit estimate the k of all rows,
which is taken for it. With s the standard deviation of the noise that the limits need,

    error^2 = k L^2 / D + s^2

Among the numbers of units that are plausible, the limits of the least geometric mean error are proposed: that is, of
the least expected logarithm of the regret. That mean is at least s, and the bias that is shown is what it has beyond s,
so that the squares of bias and noise add up to that of the error.

The regret of limits is by how much their error exceeds the least one, as a part of that. Its mean over the plausible
numbers says how far the counts decide: where it is large, tables that they cannot tell apart need other limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import MOST_ROWS, OCTAVES, ROW_STARTS, last_of_each, octave_of_rows
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.releases.unit_size_fit import Fit

LIKELY_NONE = math.log(2)  # the mean below which a Poisson number is most likely 0
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


@dataclass(frozen=True, slots=True)
class LimitErrors:
    """One entry for each pair of limits: what is kept, what is lost, and the noise."""

    max_rows: NDArray[np.int64]
    max_per_bin: NDArray[np.int64]
    kept: Floats  # the share of rows
    bias: Floats  # root mean square of what a bin loses: error^2 = bias^2 + noise^2
    noise: Floats  # standard deviation
    error: Floats  # both together
    regret: Floats  # mean, over what is plausible, of the error over the least one, less one

    @property
    def best(self) -> int:
        """Where the error is least."""
        return int(np.argmin(self.error))

    def best_for_each(self) -> NDArray[np.int64]:
        """For each max_rows the entry of the least error."""
        order = np.lexsort((self.error, self.max_rows))
        return order[np.unique(self.max_rows[order], return_index=True)[1]]


def predict(rows: Fit, spread: Fit | None, *, concentration: float, bins: int, noise: AskedNoise) -> LimitErrors:
    """The errors of all limits that are worth trying. `spread` is None where there is one bin."""
    limits = _worth_trying(rows.mean, bins, spread is None)
    m = np.array([limit.max_rows for limit in limits], dtype=np.float64)
    p = np.array([limit.max_per_bin for limit in limits], dtype=np.float64)
    std = np.array([noise.std(limit, bins) for limit in limits])
    by_rows = _lost_by_rows(m)
    chances, counts = _likely(rows)
    counts = _there(counts)
    expected: Floats = chances @ counts
    answers = concentration / bins * (counts @ _rows_of_each()) ** 2  # mean square of the truth
    logs, stakes, lost, ratios = np.zeros(m.size), 0.0, np.zeros(m.size), np.zeros(m.size)
    for chance, by_both in _lost_by_both(m, p, spread, by_rows):
        errors = np.log(concentration / bins * (by_both @ counts.T) ** 2 + std[:, None] ** 2)
        stake = chance * chances * np.maximum(np.log(np.maximum(answers, 1e-300)) - errors.min(axis=0), 1e-9)
        logs += errors @ stake
        stakes += float(stake.sum())
        lost += chance * (by_both @ expected)
        ratios += chance * (np.exp((errors - errors.min(axis=0)) / 2) @ chances)
    error = np.exp(logs / stakes / 2)
    return LimitErrors(
        max_rows=m.astype(np.int64),
        max_per_bin=p.astype(np.int64),
        kept=np.clip(1 - lost / max(rows_of(expected), 1e-300), 0.0, 1.0),
        bias=np.sqrt(np.maximum(error**2 - std**2, 0.0)),
        noise=std,
        error=error,
        regret=ratios - 1,
    )


def _there(counts: Floats) -> Floats:
    """The same without classes from which on less than LIKELY_NONE of a unit is expected: most likely there is none.

    A thousandth of a unit with a million rows would otherwise count as a thousand rows that are lost.
    """
    beyond = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return np.where(beyond < LIKELY_NONE, 0.0, counts)


def _likely(fit: Fit) -> tuple[Floats, Floats]:
    """Of a fit what is not out of the question: chances, which add up to one, and counts."""
    likely = fit.weights > min(1e-3, float(fit.weights.max()) / 2)
    return fit.weights[likely] / fit.weights[likely].sum(), fit.counts[likely]


def concentration(noisy: Floats, std: float, units: float) -> float:
    """The sum of the squares of the bins' shares of the rows, from one row a unit with noise.

    E sum(y^2) = sum(c^2) + D s^2, and drawing one row a unit adds at most one a unit; the noise of that sum of squares
    is nearly normal. Before anything is counted, bins are taken to be uneven by some small factor.
    """
    bins, units = noisy.size, max(units, 1.0)
    found = float((noisy**2).sum()) - bins * std**2 - units
    logs = np.linspace(-math.log(bins), 0.0, 200)
    expected = np.exp(logs) * units**2
    off = np.sqrt(2 * bins * std**4 + 4 * std**2 * expected) + 0.1 * expected
    uneven = (logs + math.log(bins / USUAL_CONCENTRATION)) / CONCENTRATION_SPREAD
    chances = -(((found - expected) / off) ** 2) / 2 - np.log(off) - uneven**2 / 2
    weights = np.exp(chances - chances.max())
    return math.exp(float(weights @ logs / weights.sum()))


def _worth_trying(units: Floats, bins: int, one_bin: bool) -> list[Limits]:
    """The ends of classes, up to where hardly any unit is; each with every max_per_bin that binds."""
    beyond = np.cumsum(units[::-1])[::-1] > 0.01
    last = int(np.flatnonzero(beyond)[-1]) + 1 if beyond.any() else 1
    ends = [int(end) for end in last_of_each(ROW_STARTS)[: min(last + 1, len(ROW_STARTS))]]
    pairs = [(m, p) for m in ends for p in ends if (p == m if one_bin else p <= m <= p * bins)]
    return [Limits(max_rows=m, max_per_bin=p, max_bins=min(m, bins)) for m, p in pairs]


@lru_cache(maxsize=2**14)
def _moved(limits: Limits, bins: int, neighbours: Neighbours) -> Sensitivity:
    """What one unit moves a histogram by: exact arithmetic, which takes a while."""
    return sensitivities.of_sum(limits, low=0, high=1, bins=bins, neighbours=neighbours)


@lru_cache(maxsize=2**14)
def _inside(first: float, last: float, points: int) -> Floats:
    """Some whole numbers from the first to the last."""
    return np.unique(np.geomspace(first, last, points).round())


def rows_of(units: Floats) -> float:
    """How many rows so many units of each class have in all."""
    return float(_rows_of_each() @ units)


@lru_cache(maxsize=1)
def _rows_of_each() -> Floats:
    """How many rows a unit of each class has, about."""
    ends = zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)
    return np.array([_inside(first, last, 3).mean() for first, last in ends])


def _lost_by_rows(m: Floats) -> Floats:
    """The rows that a unit of each class loses by max_rows alone: limits by classes."""
    ends = zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)
    return np.stack([np.maximum(_inside(*end, 3) - m[:, None], 0.0).mean(axis=1) for end in ends], axis=1)


def _lost_by_both(m: Floats, p: Floats, spread: Fit | None, by_rows: Floats) -> Iterator[tuple[float, Floats]]:
    """The same by both limits, for each plausible way to share bins, with its chance."""
    if spread is None:
        yield 1.0, by_rows
        return
    shared, octaves = _lost_where_shared(m, p), octave_of_rows()
    for chance, flat in zip(*_likely(spread), strict=True):
        chances = flat.reshape(len(OCTAVES), len(OCTAVES))[octaves]
        yield float(chance), np.maximum(np.einsum("lco,co->lc", shared, chances), by_rows)


def _lost_where_shared(m: Floats, p: Floats) -> Floats:
    """The rows that a unit of each class loses by both limits, if a row shares its bin with as many of the unit's rows
    as each octave has: limits by classes by octaves. Rows beyond the last class lie anywhere: max_rows alone counts."""
    lost = np.zeros((m.size, len(ROW_STARTS), len(OCTAVES)))
    lasts = last_of_each(OCTAVES)
    for place, (first, rows) in enumerate(zip(ROW_STARTS, _rows_of_each(), strict=True)):
        for deep in range(int(octave_of_rows()[place]) + 1):
            shared = _inside(OCTAVES[deep], min(lasts[deep], rows), 3) if first < MOST_ROWS else np.ones(1)
            kept = np.minimum(np.minimum(rows, m)[:, None], (p * rows)[:, None] / shared)
            lost[:, place, deep] = rows - kept.mean(axis=1)
    return lost
