"""Upper limits for the error that denoising left, from the noisy values alone.

The unbiased risk estimate R of an estimate v of x is right on average, but its own error is not small: by the second
order of Stein's formula (Bellec and Zhang, 2021), for Gaussian noise of standard deviation sigma on d bins,

    E (d R - |v - x|^2)^2 = E [ 4 sigma^2 |y - v|^2 + 4 sigma^4 tr(J^2) - 2 sigma^4 d ],     J the derivative of v.

With |y - v|^2 = d R + d sigma^2 - 2 sigma^2 df, and assuming tr(J^2) <= 2 df, that is at most d sigma^4 (2 + 4
R/sigma^2). The assumption holds where J is symmetric with eigenvalues in [0, 2], so for every linear smoother; a
posterior mean between two far atoms breaks it. R here is that of the loss itself, so the limit is where the loss is as
far above its estimate as such a loss would be: the root of a quadratic equation. The 2 is the variance of a squared
standard normal; a squared Laplace draw of variance one has 5 in its place, and a longer tail, so the quantile is that
of a gamma distribution of the sum's skewness (for Gaussian noise: of chi-square with d degrees of freedom). The 5 is
exact for v = 0 and v = y, an upper bound for linear v, and else by analogy; degrees of freedom are partly approximate
there, too (`denoise/empirical_bayes.py`). This limit is asymptotic: no proof covers a d of ten, or the choice between
estimators; `benchmarks/error_limits.py` has how often it held. Where every bin has a sigma of its own, the largest of
them in place of sigma makes it larger: the first term is then at most 4 sigma^2 |y - v|^2, and 4 sigma^2 sigma_i^2 -
2 sigma_i^4 <= 2 sigma^4 in every bin.

A proof needs data that the estimate has not seen. `fission_limit` makes some.

**The raw values' own limit** is known without either: |v - x| <= |v - y| + |y - x|, and the last is a sum of squares
of noise (`moved_limit`). With few bins, or where little was moved, it is the least of them. Half of the risk that the
confidence allows goes to each, so that the lesser of two holds with that confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats

FISSIONS = 8
SPLIT = 1.0  # t^2: both halves of the data have twice the variance
BEYOND_CHANCE = 0.95  # of the standard normal: how far a gain must be above zero to be called one
SEED = 20180710  # of the auxiliary draws, which only need to be independent of the noise


class Squares(NamedTuple):
    """Of a squared draw of variance one: its variance and its skewness."""

    variance: float
    skewness: float


SQUARES = {"gaussian": Squares(2.0, 8 / 2**1.5), "laplace": Squares(5.0, 74 / 5**1.5)}


@dataclass(frozen=True, slots=True)
class RmseLimit:
    """The root mean squared error is at most `value`, with this confidence; `proved`, or to an approximation.

    It stands for its value where numbers are compared, and `float` of it is the value. Two of them are equal where all
    three are.

    >>> RmseLimit(12.5, 0.95, False) < 20
    True
    """

    value: float
    confidence: float
    proved: bool

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: float | RmseLimit) -> bool:
        return self.value < float(other) if isinstance(other, _NUMBERS) else NotImplemented

    def __le__(self, other: float | RmseLimit) -> bool:
        return self.value <= float(other) if isinstance(other, _NUMBERS) else NotImplemented

    def __gt__(self, other: float | RmseLimit) -> bool:
        return self.value > float(other) if isinstance(other, _NUMBERS) else NotImplemented

    def __ge__(self, other: float | RmseLimit) -> bool:
        return self.value >= float(other) if isinstance(other, _NUMBERS) else NotImplemented


_NUMBERS = (Real, RmseLimit)


@dataclass(frozen=True, slots=True)
class NoiseOfLoss:
    """What is known of an estimated loss: the noise of what was published, in blocks of orthogonal numbers.

    variances: of one number of each block, in units in which losses add up. dimensions: how many numbers each has. Of a
    vector of d bins, whose loss is the mean squared error, there is one block: sigma^2/d, and d; of a table those that
    it is a sum of; of several tables the same, for the cells of all.
    """

    variances: Floats
    dimensions: Floats
    mechanism: Literal["gaussian", "laplace"]

    @classmethod
    def of_vector(cls, sigma: float, bins: int, mechanism: Literal["gaussian", "laplace"]) -> NoiseOfLoss:
        """Of the mean squared error a bin."""
        return cls(np.array([sigma**2 / bins]), np.array([float(bins)]), mechanism)

    def _moment(self, power: int) -> float:
        return float((self.variances**power * self.dimensions).sum())

    @property
    def spread(self) -> float:
        """The variance of the unbiased estimate where nothing is lost."""
        return SQUARES[self.mechanism].variance * self._moment(2)

    def quantile(self, confidence: float) -> float:
        """Of the weighted sum of squared draws, in its own standard deviations from its mean."""
        square = SQUARES[self.mechanism]
        return _gamma_quantile(square.skewness * square.variance**1.5 * self._moment(3) / self.spread**1.5, confidence)

    def limit(self, seen: float, confidence: float, *, drawn: float = 0.0) -> float:
        """The upper limit for the loss, given its estimate; `drawn` is the variance that measuring it added."""
        k, largest = self.quantile(confidence) ** 2, float(self.variances.max())
        return loss_limit(max(seen, 0.0), k=k, largest=largest, spread=self.spread + drawn)

    def gain_error(self, moved: Floats, freedom: Floats, *, drawn: float = 0.0) -> float:
        """The standard error of the gain over what was published.

        moved: |v - y|^2 of each block, in the units of the loss. freedom: the degrees of freedom that are counted.
        drawn: the variance that measuring it added.
        """
        apart = float((self.variances * moved + self.variances**2 * (self.dimensions - freedom)).sum())
        return math.sqrt(2 * SQUARES[self.mechanism].variance * apart + drawn)


def loss_limit(seen: float, *, k: float, largest: float, spread: float) -> float:
    """The loss that is as far above its estimate as such a loss would be: the root L of

        (L - seen)^2 = k (spread + 4 largest L).

    k: the squared quantile. Noise is in blocks of D numbers, of variance a each, in units in which losses add up: of a
    vector one, of a table those that it is a sum of, of a level of a tree its nodes. largest: of the a. spread: the
    variance of the estimate where nothing is lost, sum(a^2 D) times that of a squared draw.
    """
    return seen + 2 * k * largest + math.sqrt(4 * (k * largest) ** 2 + k * (spread + 4 * largest * seen))


def is_beyond_chance(gain: float, error: float) -> bool:
    """Whether a gain with this standard error is above zero by more than chance."""
    return gain > NormalDist().inv_cdf(BEYOND_CHANCE) * error


def least_plausible(p_value: Callable[[float], float], high: float, confidence: float) -> float:
    """The least loss, up to `high`, whose p-value is at most 1 - confidence; p-values fall with the loss."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) > 1 - confidence else (low, middle)
    return high


def moved_limit(
    moved: float, sigma: float, bins: int, confidence: float, mechanism: Literal["gaussian", "laplace"], grid: float
) -> float:
    """An upper limit for the root mean squared error of values that are `moved` (root mean square) from the noisy ones.

    Proved for Gaussian noise without a grid. For Laplace noise the quantile is a gamma distribution's (at 97.5% it
    held 97.4 to 97.9% of a million simulated sums of 1 to 1,000 squares); a grid is allowed for as in `fission_limit`.
    """
    noise = NoiseOfLoss.of_vector(1.0, bins, mechanism)
    squares = 1 + math.sqrt(noise.spread) * noise.quantile(confidence)
    return moved + sigma * math.sqrt(squares) + grid * (1.5 + grid / sigma)


def _gamma_quantile(skewness: float, confidence: float) -> float:
    """Of a gamma distribution of this skewness, in its own standard deviations from its mean."""
    from scipy.special import gammaincinv

    shape = 4 / skewness**2
    return (float(gammaincinv(shape, confidence)) - shape) / math.sqrt(shape)


def fission_limit(
    estimate: Callable[[Floats, float], Floats],
    y: Floats,
    sigma: float,
    values: Floats,
    confidence: float,
    grid: float = 0.0,
) -> float:
    """A proved upper limit for the root mean squared error of `values` = estimate(y, sigma) under Gaussian noise.

    With w standard normal and independent of the noise, y + t sigma w and y2 = y - sigma w / t are independent (Tian
    and Taylor 2018; Leiner and others, "data fission", 2023). So for v1 = estimate(y + t sigma w), |y2 - v1|^2 over
    s^2 = sigma^2 (1 + 1/t^2) is non-central chi-square with non-centrality |v1 - x|^2 / s^2, whose lower tail is a
    p-value for every loss of v1. If v's loss is r^2, v1's is at least (r - |v - v1|)^2 where that is positive, so the
    p-value of r is at most F(T; (r - |v - v1|)_+^2 / s^2). Twice the mean of several p-values is one (Ruschendorf). The
    chance is over the noise and w; the seed of w is fixed so that the limit repeats. Where chance made T less than its
    mean without any loss, which is d, d stands in its place: a limit of zero would hold as often, and say nothing (a
    power-constrained limit: Cowan, Cranmer, Gross and Vitells 2011).

    That is a proof for noise without a grid. On a grid of step g, y2 given y + t sigma w lies on a lattice of step 2 g:
    a monotone function of a normal draw, off from it by at most g (1 + g/sigma) within seven standard deviations
    (computed for sigma from 0.8 g to 32 g, not proved). That is added for every bin, and half a step for values that
    were rounded before the noise.
    """
    from scipy.stats import ncx2

    generator = np.random.default_rng(SEED)
    t, s = math.sqrt(SPLIT), sigma * math.sqrt(1 + 1 / SPLIT)
    off = grid * (1 + grid / sigma) * math.sqrt(y.size)
    tests, apart = np.empty(FISSIONS), np.empty(FISSIONS)
    for k in range(FISSIONS):
        w = generator.standard_normal(y.shape)
        v1 = estimate(y + t * sigma * w, sigma * math.sqrt(1 + SPLIT))
        tests[k] = ((float(np.linalg.norm(y - sigma * w / t - v1)) + off) / s) ** 2
        apart[k] = float(np.linalg.norm(values - v1)) + grid / 2 * math.sqrt(y.size)
    tests = np.maximum(tests, y.size)

    def p_value(r: float) -> float:
        smallest = np.maximum((np.maximum(r - apart, 0.0) / s) ** 2, 1e-300)
        return 2 * float(np.mean(ncx2.cdf(tests, y.size, smallest)))

    high = float(apart.max()) + s * (math.sqrt(float(tests.max())) + 10 * math.sqrt(y.size))
    return least_plausible(p_value, high, confidence) / math.sqrt(y.size)
