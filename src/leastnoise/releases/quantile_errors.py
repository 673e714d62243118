"""How far off quantiles are expected to be, from public facts: by this the mechanisms are compared.

How many rows there are, and where, is private. So a mechanism is judged by tables of a thousand to a hundred thousand
rows, or of as many as somebody expects, with long tails: beyond the rows on either side lies as much of the clip again.
The error in rows, root mean square over the levels, is of

- noise, where rows lie densely;
- quantiles that fall into a tail and are as good as lost, n rows off: by rank, with odds of n lambda exp(-lambda r),
  n lambda being how much wider the tail is than the rows among which a quantile falls, and r the rows between the level
  and the tail; off a histogram, where the noise exceeds r;
- a histogram's steps, within which values are interpolated: 0.3 n/steps, as real columns have it.

What counts is the geometric mean over the tables: a mechanism that is twice as good on one and half as good on another
is as good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.privacy.rank_noise import RankRates

REFERENCE_ROWS = np.array([1e3, 3e3, 1e4, 3e4, 1e5])
_WITHIN_STEP = 0.3
_LEAST_STD = 1e-100  # noise of a tiny scale is zero but for a chance that no double holds


def judged_rows(each: int, expected: float | None = None) -> Floats:
    """How many rows a group has in the tables to judge by; `each`: how many rows of a group one unit may have."""
    return REFERENCE_ROWS * each if expected is None else np.array([expected])


def errors_by_rank(rates: RankRates, rows: Floats) -> Floats:
    """Of quantiles drawn by rank, for every number of rows."""
    lost = np.zeros_like(rows)
    for node in rates.nodes:
        rate, level = float(rates.rank_rate(node)), float(rates.levels[node.place])
        sides = [level] * (node.below is None) + [1 - level] * (node.above is None)
        odds = sum((rows * rate * np.exp(-rate * rows * side) for side in sides), np.zeros_like(rows))
        lost += odds / (1 + odds) / len(rates.levels)
    return np.asarray(np.sqrt(rates.rank_std**2 + lost * rows**2))


def errors_by_histogram(stds: Sequence[float], levels: Sequence[float], steps: int, rows: Floats) -> Floats:
    """Of quantiles read off a histogram; `stds`: of the noise in the rank of each level."""
    from scipy.special import ndtr

    wide = [max(std, _LEAST_STD) for std in stds]
    lost = [ndtr(-rows * q / std) + ndtr(-rows * (1 - q) / std) for std, q in zip(wide, levels, strict=True)]
    noise = np.mean(np.square(stds)) + (_WITHIN_STEP * rows / steps) ** 2
    return np.asarray(np.sqrt(noise + np.mean(lost, axis=0) * rows**2))


def typical_error(errors: Floats) -> float:
    """One number for all tables: the geometric mean, in rows."""
    return float(np.exp(np.log(errors).mean()))
