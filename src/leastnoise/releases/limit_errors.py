"""What limits cost: the rows that they leave out and the noise that they need, together, from counts of units.

A row of a unit with N rows, n of them in its bin, is kept with chance min(1, p/n, m/N) under max_per_bin p and max_rows
m: the hash that chooses is uniform. So the rows lost in all are L = sum of N (1 - that), and max_rows alone loses L_m.
The root mean square over the D bins of what is lost is sqrt(k L^2 / D), where k, the sum of the squares of the bins'
shares, is 1/D where all bins lose alike and 1 where one loses everything. The counts of one row a unit estimate k; what
max_per_bin loses beyond L_m lies where units have most rows, and is taken to be more concentrated. With s the standard
deviation of the noise that the limits need,

    error^2 = (k L_m^2 + min(1, 4 k) (L - L_m)^2) / D + s^2

Among the numbers of units that are plausible, the limits of the least geometric mean error are proposed: that is, of
the least expected logarithm of the regret.
"""

from __future__ import annotations

import math
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

MORE_CONCENTRATED = 4.0  # of what max_per_bin loses, against what max_rows loses
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
    bias: Floats  # root mean square of what a bin loses
    noise: Floats  # standard deviation
    error: Floats  # both together

    @property
    def best(self) -> int:
        """Where the error is least."""
        return int(np.argmin(self.error))

    def best_for_each(self) -> NDArray[np.int64]:
        """For each max_rows the entry of the least error."""
        order = np.lexsort((self.error, self.max_rows))
        return order[np.unique(self.max_rows[order], return_index=True)[1]]


def predict(rows: Fit, spread: Floats | None, *, concentration: float, bins: int, noise: AskedNoise) -> LimitErrors:
    """The errors of all limits that are worth trying. `spread` is None where there is one bin."""
    limits = _worth_trying(rows.mean, bins, spread is None)
    m = np.array([limit.max_rows for limit in limits], dtype=np.float64)
    p = np.array([limit.max_per_bin for limit in limits], dtype=np.float64)
    by_rows, by_both = _lost(m, p, spread)
    std = np.array([noise.std(limit, bins) for limit in limits])

    def squares(units: Floats) -> Floats:
        first, more = by_rows @ units, np.maximum((by_both - by_rows) @ units, 0.0)
        lost: Floats = concentration * first**2 + min(1.0, MORE_CONCENTRATED * concentration) * more**2
        return lost / bins

    plausible = [(chance, counts) for chance, counts in zip(rows.weights, rows.counts, strict=True) if chance > 1e-3]
    total = sum(chance for chance, _ in plausible)
    logs = sum((chance / total * np.log(squares(counts) + std**2) for chance, counts in plausible), np.zeros(m.size))
    lost, every = by_both @ rows.mean, max(rows_of(rows.mean), 1e-300)
    return LimitErrors(
        max_rows=m.astype(np.int64),
        max_per_bin=p.astype(np.int64),
        kept=np.clip(1 - lost / every, 0.0, 1.0),
        bias=np.sqrt(squares(rows.mean)),
        noise=std,
        error=np.exp(logs / 2),
    )


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
    ends = zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)
    return float(np.array([_inside(first, last, 3).mean() for first, last in ends]) @ units)


def _lost(m: Floats, p: Floats, spread: Floats | None) -> tuple[Floats, Floats]:
    """The rows that a unit of each class loses by max_rows alone, and by both limits: limits by classes."""
    by_rows, by_both = np.zeros((m.size, len(ROW_STARTS))), np.zeros((m.size, len(ROW_STARTS)))
    octaves, lasts = octave_of_rows(), last_of_each(OCTAVES)
    for place, (first, last) in enumerate(zip(ROW_STARTS, last_of_each(ROW_STARTS), strict=True)):
        sizes = _inside(first, last, 3)
        for rows in sizes:
            alone = np.maximum(rows - m, 0.0)
            by_rows[:, place] += alone / sizes.size
            if spread is None or rows > MOST_ROWS:
                by_both[:, place] += alone / sizes.size
                continue
            for deep in np.flatnonzero(spread[octaves[place]] > 1e-3):
                shared = _inside(OCTAVES[deep], min(lasts[deep], rows), 3)
                for here in shared:
                    chance = spread[octaves[place], deep] / sizes.size / shared.size
                    by_both[:, place] += chance * (rows - np.minimum(np.minimum(rows, m), p * rows / here))
    return by_rows, np.maximum(by_both, by_rows)
