"""One bin that stands out among empty ones, or none: what it costs to keep it, and the least that any rule can.

A rule h, the same for every bin, gives h(y) for a noisy value y, in units of sigma. Two truths ask for opposite things.

- **One bin of s** among d that are empty. The best simple answer is zeros, off by s, or the universal soft threshold,
  off by less where s is large. The rule is off by E|h(s + n) - s|.
- **Nearly empty**: bins so low that none shows, whose squares sum to r^2. Zeros are off by r, and the rule by about
  r + d E h(n) at least, since false alarms are rare. Maps at tiny epsilon have an r of 0.15 to 0.2.

**What no rule can do.** For a given worst ratio R over the heights s, the least d E h(n) is the value of a linear
programme over all rising h >= 0. Where 1 + d E h(n) / r crosses R is the least worst ratio over both. The other bins
say nothing about one of them, so rules that look at several gain only what they know of the number that stand out.

The one value of `auto` (`denoise/flat.py`) is zero here, so its h is what it does with a bin that stands out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from accuracy import LAWS
from findings import Findings, Headline, Table
from scipy.optimize import brentq, linprog
from scipy.sparse import coo_array
from scipy.stats import laplace, norm

from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.flat import FULL, standing_out

BINS = 4096
NEARLY_EMPTY = 0.163  # r of the pick-ups by day at sigma 3,630
RATIOS = (1.1, 1.25, 1.4)
HEIGHTS = np.array([0.2, 0.5, 1, 2, 3, 4, 5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 10, 11, 12, 14, 16])
DENSITY = {"gaussian": norm.pdf, "laplace": laplace(scale=1 / math.sqrt(2)).pdf}
STEP, DRAWS = 0.1, 1000
Floats = np.ndarray[Any, Any]


def run(*, toy: bool = False) -> Findings:
    heights, draws, near = (HEIGHTS[::4], 20, 0.05) if toy else (HEIGHTS, DRAWS, 1e-3)
    values, rows, heads = np.arange(0, heights[-1] + 6, STEP), [], []
    for law in LAWS:
        best = np.minimum(heights, [_universal(s, law, draws) for s in heights])
        given = _kept(values, law)
        found = {"auto": (_worst(given, values, heights, best, law), _false_alarms(given, values, law))}

        def cost(ratio: float, best: Floats = best, law: Mechanism = law) -> float:
            return least_cost(ratio, best, heights, values, law)

        least = brentq(lambda ratio, cost=cost: ratio - 1 - cost(ratio) / NEARLY_EMPTY, 1.001, 2, xtol=near)
        found |= {f"the least false alarms at {ratio:g}": (ratio, cost(ratio)) for ratio in RATIOS}
        found["the best for both"] = least, cost(least)
        heads.append(Headline(f"one bin or nearly none, {law}: the best there can be for both", least))
        rows += [
            {"noise": law, "rule": rule, "one bin, worst": ratio, "nearly empty": 1 + alarms / NEARLY_EMPTY}
            | {"false alarms": alarms}
            for rule, (ratio, alarms) in found.items()
        ]
    title = f"The error over that of the best simple answer, {BINS:,} bins; false alarms in sigma, all bins together:"
    return [Table("single_bins", title, rows), *heads]


def least_cost(ratio: float, best: Floats, heights: Floats, values: Floats, law: Mechanism) -> float:
    """The least d E h(n) of a rule whose error is at most `ratio` times the best at every height.

    Its values h_j at y_j, rising, and u_ij >= |h_j - s_i| are the variables. Below zero h is zero, and the error s.
    """
    many, size = heights.size, values.size
    chances = DENSITY[law](values - heights[:, None]) * STEP
    i, j = (index.ravel() for index in np.indices((many, size)))
    row, ones, step = np.arange(many * size), np.ones(many * size), np.arange(size - 1)
    above, begin = size + row, 2 * many * size
    # h - u <= s, then -h - u <= -s, then sum of p u <= ratio best - (1 - sum of p) s, then h_j - h_(j+1) <= 0
    parts = [(row, j, ones), (row, above, -ones), (many * size + row, j, -ones), (many * size + row, above, -ones)]
    parts += [(begin + i, above, chances.ravel())]
    parts += [(begin + many + step, step, np.ones(size - 1)), (begin + many + step, step + 1, -np.ones(size - 1))]
    limits = [np.repeat(heights, size), -np.repeat(heights, size)]
    limits += [ratio * best - (1 - chances.sum(axis=1)) * heights, np.zeros(size - 1)]
    rows, columns, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    alarms = np.concatenate([BINS * DENSITY[law](values) * STEP, np.zeros(many * size)])
    matrix = coo_array((numbers, (rows, columns))).tocsr()
    found = linprog(alarms, A_ub=matrix, b_ub=np.concatenate(limits), method="highs")
    return float(found.fun)


def _kept(values: Floats, law: Mechanism) -> Floats:
    """What `auto` gives for a value where the others are zero."""
    edge = standing_out(BINS, law)
    return np.where(values < edge, 0.0, np.minimum((values - edge) * FULL / (FULL - 1), values))


def _worst(given: Floats, values: Floats, heights: Floats, best: Floats, law: Mechanism) -> float:
    chances = DENSITY[law](values - heights[:, None]) * STEP
    off = (np.abs(given - heights[:, None]) * chances).sum(axis=1) + (1 - chances.sum(axis=1)) * heights
    return float((off / best).max())


def _false_alarms(given: Floats, values: Floats, law: Mechanism) -> float:
    return float(BINS * (given * DENSITY[law](values)).sum() * STEP)


def _universal(height: float, law: Mechanism, draws: int) -> float:
    """The mean error of the universal soft threshold, by simulation: all bins together, in sigma."""
    rng, edge = np.random.default_rng(4096), math.sqrt(2 * math.log(BINS))
    errors = []
    for _ in range(draws):
        y = rng.standard_normal(BINS) if law == "gaussian" else rng.laplace(0, 1 / math.sqrt(2), BINS)
        y[0] += height
        given = np.sign(y) * np.maximum(np.abs(y) - edge, 0)
        given[0] -= height
        errors.append(math.sqrt(float(given @ given)))
    return float(np.mean(errors))
