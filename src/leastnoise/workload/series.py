"""Series: sums over periods from noise that is drawn period by period, as accurate as if all were known at once.

**The mechanism.** C is a lower triangular matrix of integers with a row and a column per period, x_t the integers of
period t (of one bin, or of one block of residuals). In period t the integers y_t = C_t1 x_1 + ... + C_tt x_t are
published with Gaussian noise that is drawn then and never before. Sums W x, with W lower triangular, are estimated by
W C^-1 y: again lower triangular, so every sum up to period t is known at t, and it is unbiased and never changes.

**The best C.** For noise of variance 1 the sums have the variances of W X^-1 W', X = C'C: they depend on X alone. Every
positive definite X has a lower triangular C with C'C = X (reverse the periods, take Cholesky's factor, reverse it
back). So what is best for all periods at once can be had online, at no loss. X is found as in `optimal_weights`, which
has the proof of the bound: for weights d > 0 on the periods that sum to one, K = (D^.5 G D^.5)^.5 with G = W'W and X =
D^-.5 K D^-.5, no Gaussian mechanism whose periods cost at most one has a sum of variances below (tr K)^2.

**The guarantee holds for rows that come one period after the other**, and may depend on what was published: Denisov,
McMahan, Rush, Smith & Thakurta ("Improved differential privacy for SGD via optimal private linear operators on adaptive
streams", NeurIPS 2022, theorem 2.1) show that for Gaussian noise and a lower triangular C the mechanism on an adaptive
stream has the guarantee of the mechanism on a fixed one, if the bound on the sensitivity holds on every path. It does:
it follows from limits that are enforced on each unit's own rows, whatever was published. Rounding the noise to integers
is post-processing, as y_t is an integer.

**What a unit costs.** In period j a unit moves the integers x_j by d_j, of which the noise of one period's plan (scale
s on each block) costs |d_j/s|^2 <= m: that is what limits within a period, and `unit_cost`, prove. It is in the periods
of a set S, of at most k. The noise on y has scale 2^bits s. So it costs, with X = C'C in integers,

    4^-bits sum over i, j in S of X_ij <d_i/s, d_j/s>  <=  m 4^-bits sum over i, j in S of |X_ij|,

by Cauchy and Schwarz. `pattern_cost` bounds the last sum over all S: row j adds its diagonal element and at most the
k - 1 largest others, and k rows add at most the k largest such sums. Nothing is assumed about the order of the periods,
and for the matrices here the bound is attained, but for some tenths of a percent, by neighbouring periods.

**Several periods per unit.** With k > 1 the best X for one period is not best: neighbouring periods have much
information in common, and a unit in both pays for it several times. So the sums of single periods are added to W with a
weight, which makes X more diagonal, and of a few weights the one is taken whose error at the cost above is least; X =
I, each period by itself, is one of them.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import progress, validation

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PERIOD, TO_DATE = "period", "to date"
MAX_PERIODS = 512
BITS = 14  # of C: rounding costs some 1e-6 of the error
WEIGHT_BITS = 128  # of the weights of the published integers in a sum
GAP = 2e-5
STEPS = 300
EMPHASES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # on single periods, as a part of what the other sums weigh
_LAST = re.compile(r"last ([1-9]\d{0,3})")


def window(name: str, periods: int) -> int:
    """Over how many periods a sum goes, at most: of "period", "to date", or "last 4".

    >>> [window(name, 52) for name in ("period", "to date", "last 4")]
    [1, 52, 4]
    """
    if name in (PERIOD, TO_DATE):
        return 1 if name == PERIOD else periods
    found = _LAST.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise errors.InvalidParameter(
            f'Each of sums must be "{PERIOD}", "{TO_DATE}", or "last N" (got {name!r}).',
            parameter="sums",
            value=name,
            example={"sums": [PERIOD, TO_DATE, "last 4"]},
        )
    return min(int(found[1]), periods)


def sums_matrix(name: str, periods: int) -> Floats:
    """W of one kind of sum: in row t ones for the periods that the sum at t is of."""
    return np.tri(periods) - np.tri(periods, k=-window(name, periods))


def pattern_cost(gram: Integers, most: int) -> int:
    """At least the largest sum of |X_ij| over i and j in a set of at most `most` periods: exact integers.

    >>> pattern_cost(np.array([[4, -2, 0], [-2, 4, 1], [0, 1, 4]]), 2)
    12
    """
    size = np.abs(gram)
    diagonal = size.diagonal().copy()
    np.fill_diagonal(size, 0)
    beside = np.sort(size, axis=1)[:, ::-1][:, : most - 1].sum(axis=1)
    return int(np.sort(diagonal + beside)[::-1][:most].sum())


@dataclass(frozen=True, eq=False)
class SeriesStrategy:
    """C in integers, for these sums and at most so many periods of one unit.

    matrix: C. bits: by what power of two it was scaled before it was rounded. sums: the names of the sums that are
    wanted. max_periods: in how many periods rows of one unit count. bound: what the mean of the relative variances is
    at least, of every Gaussian linear mechanism where a unit is in one period; None for more periods, where it is not
    known.
    """

    matrix: Integers
    bits: int
    sums: tuple[str, ...]
    max_periods: int
    bound: float | None = None

    @property
    def periods(self) -> int:
        """How many there are."""
        return len(self.matrix)

    @functools.cached_property
    def cost(self) -> int:
        """The largest sum of |X_ij| over the periods of one unit, X = C'C: exact, rounded up."""
        return pattern_cost(self.matrix.T @ self.matrix, self.max_periods)

    @property
    def step(self) -> int:
        """What one is in C."""
        return 1 << self.bits

    @functools.cached_property
    def _inverse(self) -> Floats:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.matrix / self.step, np.eye(self.periods), lower=True))

    def factors(self, name: str) -> Floats:
        """The standard deviation of the sum at each period, where noise has standard deviation 1 on C x in steps."""
        return np.asarray(np.linalg.norm(sums_matrix(name, self.periods) @ self._inverse, axis=1))

    def errors(self, name: str) -> Floats:
        """The standard deviation of the sum at each period, where a unit may cost what noise of standard deviation 1
        costs whose rows are all in one period."""
        return self.factors(name) * math.sqrt(self.cost) / self.step

    def rmse(self, name: str) -> float:
        """The root of the mean variance of these sums over all periods."""
        return float(np.sqrt(np.mean(self.errors(name) ** 2)))

    @property
    def error(self) -> float:
        """The mean over the sums of their variance relative to that of periods by themselves, what is to be least."""
        own = [np.mean(sums_matrix(name, self.periods).sum(axis=1)) for name in self.sums]
        return float(np.mean([self.rmse(name) ** 2 / each for name, each in zip(self.sums, own, strict=True)]))

    @property
    def gap(self) -> float | None:
        """How far the error may be above the least, relatively; None where that is not known."""
        return None if self.bound is None else max(0.0, self.error / self.bound - 1)

    def weights(self, name: str, period: int) -> list[int]:
        """The weights of y_1 ... y_t in the sum at t = period (from 1 on), times 2^(WEIGHT_BITS + bits), rounded:
        row t of W C^-1, by substitution in integers."""
        found = [0] * period
        rest = [int(one) << (WEIGHT_BITS + self.bits) for one in sums_matrix(name, self.periods)[period - 1, :period]]
        rows = self.matrix[:period, :period].tolist()
        for j in range(period - 1, -1, -1):
            found[j] = (2 * rest[j] + rows[j][j]) // (2 * rows[j][j])
            for i in range(j):
                rest[i] -= found[j] * rows[j][i]
        return found


def best_strategy(periods: int, sums: Iterable[str], max_periods: int | None = None) -> SeriesStrategy:
    """The strategy for sums of a series.

    periods: how many there will be. sums: of "period", "to date" and "last N", which count the same: each relative to
    what its error would be if each period had noise of its own. max_periods: in how many periods rows of one unit
    count; None: in all.

    >>> round(best_strategy(12, ["to date"], 1).rmse("to date"), 3)
    1.607
    """
    count = validation.integer("periods", periods, least=1)
    if count > MAX_PERIODS:
        raise errors.InvalidParameter(f"periods must be at most {MAX_PERIODS} (got {count}).", parameter="periods")
    most = count if max_periods is None else min(validation.integer("max_periods", max_periods, least=1), count)
    names = tuple(dict.fromkeys([sums] if isinstance(sums, str) else sums))
    for name in names:
        window(name, count)
    if not names:
        raise errors.MissingParameter("Which sums?", parameter="sums", example={"sums": [PERIOD, TO_DATE]})
    return _best(count, names, most)


@functools.lru_cache(maxsize=16)
def _best(periods: int, sums: tuple[str, ...], most: int) -> SeriesStrategy:
    gram = np.zeros((periods, periods))
    for name in sums:
        asked = sums_matrix(name, periods)
        gram += asked.T @ asked / (asked.sum() * len(sums))
    tried: list[SeriesStrategy] = []
    emphases = EMPHASES if most > 1 else EMPHASES[:1]
    with progress.bar("finding a strategy", len(emphases) + 1) as advance:
        for emphasis in emphases:
            x, bound = _information(gram + emphasis * np.eye(periods) / periods)
            tried.append(_rounded(x, sums, most, bound if most == 1 else None))
            advance(1)
        tried.append(_rounded(np.eye(periods), sums, most, tried[0].bound))
    return min(tried, key=lambda strategy: strategy.error)


def _information(gram: Floats) -> tuple[Floats, float]:
    """X with X_jj = 1, nearly the best for these questions, and the bound (tr K)^2."""
    weights = np.full(len(gram), 1 / len(gram))
    for _ in range(STEPS):
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(root[:, None] * gram * root)
        k = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        diagonal, trace = k.diagonal() / weights, float(k.trace())
        if diagonal.max() <= trace * (1 + GAP):
            break
        weights = weights * diagonal**2
        weights /= weights.sum()
    x = k / np.outer(root, root)
    x /= x.diagonal().max()
    np.fill_diagonal(x, 1.0)  # a period that is told more about costs no more
    return x, trace**2


def _rounded(x: Floats, sums: tuple[str, ...], most: int, bound: float | None) -> SeriesStrategy:
    """The strategy of C'C near X: C is the reversed transpose of the Cholesky factor of the reversed X."""
    lower = np.linalg.cholesky(x[::-1, ::-1])
    matrix = np.rint(np.ldexp(lower.T[::-1, ::-1], BITS)).astype(np.int64)
    return SeriesStrategy(np.tril(matrix), BITS, sums, most, bound)
