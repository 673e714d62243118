"""Upper limits for the error that denoising left, from the noisy values alone.

The unbiased risk estimate R of an estimate v of x is right on average, but its own error is not small: by the second
order of Stein's formula (Bellec and Zhang, 2021), for Gaussian noise of standard deviation sigma on d bins,

    E (d R - |v - x|^2)^2 = E [ 4 sigma^2 |y - v|^2 + 4 sigma^4 tr(J^2) - 2 sigma^4 d ],     J the derivative of v.

With |y - v|^2 = d R + d sigma^2 - 2 sigma^2 df and tr(J^2) <= 2 df (a smoother has tr(J^2) <= df; a posterior mean may
bend more) that is at most d sigma^4 (2 + 4 R / sigma^2). The 2 is the variance of a squared standard normal; a squared
Laplace draw of variance one has 5 in its place, and a longer tail, so the quantile is that of a gamma distribution of
the sum's skewness (for Gaussian noise: of chi-square with d degrees of freedom). This limit is asymptotic: no proof
covers a d of ten, or the choice between estimators; `benchmarks/error_limits.py` has how often it held.

A proof needs data that the estimate has not seen. `fission_limit` makes some.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats

FISSIONS = 8
SPLIT = 1.0  # t^2: both halves of the data have twice the variance
SEED = 20180710  # of the auxiliary draws, which only need to be independent of the noise

# Of a squared draw of variance one: its variance, and the skewness of a sum of d of them times sqrt d.
_SQUARES = {"gaussian": (2.0, 8 / 2**1.5), "laplace": (5.0, 74 / 5**1.5)}


class RmseLimit(NamedTuple):
    """The root mean squared error is at most `value`, with this confidence; `proved`, or asymptotically."""

    value: float
    confidence: float
    proved: bool

    def __float__(self) -> float:
        return self.value


def asymptotic_limit(
    risk: float, sigma: float, bins: int, confidence: float, mechanism: Literal["gaussian", "laplace"]
) -> float:
    """The upper limit for the mean squared error a bin, given its unbiased estimate."""
    from scipy.stats import gamma

    variance, skewness = _SQUARES[mechanism]
    shape = 4 * bins / skewness**2
    quantile = (float(gamma.ppf(confidence, shape)) - shape) / math.sqrt(shape)
    seen = max(risk, 0.0) / sigma**2
    return sigma**2 * (seen + quantile * math.sqrt((variance + 4 * seen) / bins))


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
    p-value of r is at most F(T; (r - |v - v1|)_+^2 / s^2). Twice the mean of several p-values is one (Ruschendorf).

    Noise on a grid is continuous noise moved by at most half a step a bin. That moves |y2 - v1| by at most half a step
    times sqrt d, and v1 by no more than as much again where the estimator does not magnify: both are added.
    """
    from scipy.stats import ncx2

    generator = np.random.default_rng(SEED)
    t, s = math.sqrt(SPLIT), sigma * math.sqrt(1 + 1 / SPLIT)
    moved = grid / 2 * math.sqrt(y.size)
    tests, apart = np.empty(FISSIONS), np.empty(FISSIONS)
    for k in range(FISSIONS):
        w = generator.standard_normal(y.shape)
        v1 = estimate(y + t * sigma * w, sigma * math.sqrt(1 + SPLIT))
        tests[k] = ((float(np.linalg.norm(y - sigma * w / t - v1)) + moved) / s) ** 2
        apart[k] = float(np.linalg.norm(values - v1)) + moved

    def p_value(r: float) -> float:
        smallest = np.maximum((np.maximum(r - apart, 0.0) / s) ** 2, 1e-300)
        return 2 * float(np.mean(ncx2.cdf(tests, y.size, smallest)))

    low, high = 0.0, float(apart.max()) + s * (math.sqrt(float(tests.max())) + 10 * math.sqrt(y.size))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) > 1 - confidence else (low, middle)
    return high / math.sqrt(y.size)
