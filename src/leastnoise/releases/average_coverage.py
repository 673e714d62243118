"""Which interval an estimate has around each of its values, and what that one promises.

The prior's where one was stated, an exact one for linear unbiased estimates, else one for a share of the bins
(below), or the raw values' own where that is no longer.

**For a share of the bins.** These hold for every truth: as nearly as bins are many and
the estimator is linear over the noise's width.

No interval that is always shorter than the raw one, by any fixed part, holds for every bin and every truth. But one
that covers 95% *of the bins* does exist. Write the error of a bin as a bias b plus noise of standard deviation t, with
t <= sigma: a smoother keeps only part of the noise. Over the bins, the mean of t^2 is T = sigma^2 |J|^2 / d (J the
estimator's derivative, seen by moving the noisy values a little), and the mean of b^2 is at most M - T, with M an upper
limit for the mean squared error. An interval of half-length h misses a bin with probability

    r(b, t) = Phi(-(h - b) / t) + Phi(-(h + b) / t)

so the share that it misses is at most the largest mean of r over all distributions of (b^2, t^2) with these two means:
a linear programme. h is the least for which that is 1 - confidence. At T = sigma^2 and M = T that is the raw interval;
at T = 0 it is Chebyshev's inequality; in between it is akin to the robust empirical Bayes interval of Armstrong,
Kolesar and Plagborg-Moller (Econometrica 2022), with the noise's share measured instead of assumed.

The share of a confidence's risk that goes to the limit M is a fifth; the rest is missed by h.

**Truths that are not negative** have another one, whatever the estimate is: of d bins at most d m / t are above t if
their mean is m (Markov), so [0, t] misses that share of them. m is known far better than any bin: its upper limit is
the mean of the noisy values plus a quantile of sigma / sqrt d. Where nearly everything is empty, that is the shorter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, as_host
from leastnoise.releases.block import BinPromise, EstimateInterval
from leastnoise.releases.risk_limits import NoiseOfLoss

if TYPE_CHECKING:
    from leastnoise.releases.estimate import Estimate

Mechanism = Literal["gaussian", "laplace"]

PROBE = 0.05  # sigma: how far the values are moved to see the derivative
SEED = 20221005
PRECISION = 2e-3  # sigma
RISK_OF_LIMIT = 0.2  # of 1 - confidence


def noise_kept(estimate: Callable[[Floats, float], Floats], y: Floats, sigma: float) -> float:
    """|J|^2 / d, at most 1: the mean share of the noise's variance that is still in a value.

    For w standard normal E |J w|^2 = |J|^2; one w is enough from a few hundred bins on, fewer bins take several.
    """
    generator = np.random.default_rng(SEED)
    draws = [generator.standard_normal(y.shape) for _ in range(max(1, min(16, 800 // y.size)))]
    moved = [
        (estimate(y + PROBE * sigma * w, sigma) - estimate(y - PROBE * sigma * w, sigma)) / (2 * PROBE * sigma)
        for w in draws
    ]
    return min(1.0, float(np.mean([np.mean(step * step) for step in moved])))


class NoiseKept:
    """The mean share of the noise's variance that is still in a value, measured at the first call."""

    def __init__(self, measure: Callable[[], float] | None = None, known: float | None = None) -> None:
        self.measure, self.known = measure, known

    def __call__(self) -> float | None:
        """The share; None where the denoiser cannot be run again."""
        if self.known is None and self.measure is not None:
            self.known = self.measure()
        return self.known

    def __reduce__(self) -> tuple[Any, ...]:
        """What was measured travels; what measures it reads the values, and does not."""
        return NoiseKept, (None, self.known)


@functools.lru_cache(maxsize=256)
def half_length(bias: float, noise: float, missed: float, mechanism: Mechanism = "gaussian") -> float:
    """The least h, in units of sigma, at which at most `missed` of the bins are missed; `bias` and `noise` are the
    means of b^2 and t^2 in units of sigma^2.

    >>> round(half_length(0.0, 1.0, 0.05), 2), round(half_length(0.25, 0.0, 0.05) / 0.5, 2)
    (1.96, 4.48)
    """
    from scipy.optimize import brentq

    high = 1.001 * math.sqrt((bias + noise) / missed)  # Chebyshev
    if high == 0:
        return 0.0
    found = brentq(lambda h: _most_missed(h, bias, noise, mechanism) - missed, 0.0, high, xtol=PRECISION)
    return min(float(found) + PRECISION, high)


def highest(noisy: Floats, std: float, *, above: int, missed: float, sure: float) -> float:
    """The least t at which at most `missed` of the bins of a truth that is not negative are above it, or among the
    `above` that are left out of it; with probability `sure`, by the central limit theorem for Laplace noise."""
    left = missed - above / noisy.size
    limit = max(float(noisy.mean()), 0.0) + NormalDist().inv_cdf(sure) * std / math.sqrt(noisy.size)
    return limit / left if left > 0 else math.inf


def _most_missed(h: float, bias: float, noise: float, mechanism: Mechanism) -> float:
    """The largest share of bins that intervals of half-length h can miss."""
    from scipy.optimize import linprog
    from scipy.special import ndtr

    # Fine where the worst points lie, just beyond h; four times as many points change the fifth digit.
    inside, outside = h * np.linspace(0, 1, 20), h * (1 + 1e-9) + 6 * np.linspace(0, 1, 24) ** 2
    b, t = (part.ravel() for part in np.meshgrid(np.concatenate([inside, outside]), np.linspace(0, 1, 14)))
    spread = np.maximum(t, 1e-12)
    missed = ndtr((b - h) / spread) + ndtr(-(b + h) / spread)
    if mechanism == "laplace":  # what a mean of many draws keeps is nearly normal, what one draw keeps is not
        missed = np.maximum(missed, _laplace_tail((h - b) / spread) + _laplace_tail((h + b) / spread))
    found = linprog(
        -missed, A_ub=[b * b, t * t], b_ub=[bias, noise], A_eq=[np.ones(b.size)], b_eq=[1.0], method="highs"
    )
    return -float(found.fun or 0.0)


def _laplace_tail(x: Floats) -> Floats:
    """P(L > x) for a Laplace draw of variance one."""
    tail = np.exp(-math.sqrt(2) * np.abs(x)) / 2
    return np.where(x >= 0, tail, 1 - tail)


def interval(e: Estimate, confidence: float) -> EstimateInterval:
    """Where the truth lies, bin by bin."""
    if e.noise.is_none:
        return _raw_interval(e, raw_half_width(e, confidence))
    reach = NormalDist().inv_cdf((1 + confidence) / 2)
    if e.exact_std is not None and e.mechanism == "gaussian":
        # Half a step for the noise's rounding and half for the value's: a proof for a bin that is left as it is; a
        # combination of many is nearly normal.
        return _around(e, e.values, reach * e.exact_std + e.grid, "every bin")
    if e.sigmas is not None:
        raise errors.InvalidParameter(
            "Intervals around denoised values are known for noise of one sigma in all bins, and here they differ. "
            "The raw values have theirs: y plus and minus 1.96 sigma under Gaussian noise, for 95%."
        )
    if e.posterior_std is not None:
        return _around(e, e.values, reach * e.posterior_std, "prior")
    raw = raw_half_width(e, confidence)
    half = _half_length(e, confidence, raw)
    around = _around(e, e.values, half, "share of the bins") if half < raw else _raw_interval(e, raw)
    return _from_zero(e, confidence, raw, around) if e.nonnegative else around


def _half_length(e: Estimate, confidence: float, raw: float) -> float:
    """Around every value, so that the share of the bins is covered on average; `raw` if it cannot be less."""
    risk = e.risk
    if risk is None:
        raise e._unknown_error("so no interval around the values is known to hold")
    missed = 1 - confidence
    sure = 1 - RISK_OF_LIMIT * missed
    limit = NoiseOfLoss.of_vector(1.0, e.bins, e.mechanism).limit(risk / e.std**2, sure)
    rest = (1 - RISK_OF_LIMIT) * missed
    if limit - 1 >= rest * (raw / e.std) ** 2:  # Chebyshev: too long even if all of the noise were kept
        return raw
    kept = e.noise_kept()
    if kept is None:
        raise errors.InvalidParameter(
            "The intervals of this estimate were not asked for before it was written to its file, and need the "
            "denoiser to be run again. Denoise the release once more, and ask the new estimate."
        )
    bias = max(limit - kept, 0.0)
    return e.std * half_length(bias, kept, rest, e.mechanism)


def _from_zero(e: Estimate, confidence: float, raw: float, other: EstimateInterval) -> EstimateInterval:
    """From zero to one height for all bins but those estimated above it, if that is shorter than `other`."""
    noisy, values = as_host(e.noisy), as_host(e.values)
    spent = RISK_OF_LIMIT * (1 - confidence)
    above_all = partial(highest, noisy, e.std, missed=1 - confidence - spent, sure=1 - spent)
    height = above_all(above=int((values > above_all(above=0)).sum()))
    if height == math.inf:
        return other
    above = values > height
    low = np.where(above, np.maximum(np.minimum(noisy - raw, values), 0.0), 0.0)
    high = np.where(above, np.maximum(noisy + raw, values), height)
    shorter = float((high - low).mean()) < float((other.high - other.low).mean())
    return EstimateInterval(low, high, "share of the bins") if shorter else other


def raw_half_width(e: Estimate, confidence: float, bins: int = 1) -> float:
    """That of the release's own interval, of one bin or of so many at once: real numbers were rounded to the grid
    before the noise, whole ones not."""
    whole = "int" in str(e.noisy.dtype)
    return e.distribution.half_width(confidence, bins) + (0.0 if whole else e.grid / 2)


def _raw_interval(e: Estimate, raw: float) -> EstimateInterval:
    """Around the noisy values; it is lengthened up to a denoised value that lies outside."""
    low, high = _around(e, e.noisy, raw, "every bin")
    low, high = _chosen(low, e.values, low <= e.values), _chosen(high, e.values, high >= e.values)
    return EstimateInterval(low, high, "every bin")


def _around(e: Estimate, values: Any, half: Any, promise: BinPromise) -> EstimateInterval:
    """values - half to values + half; where no truth x is negative, around the nearest value that is not either.

    |max(y, 0) - x| <= |y - x| for x >= 0: whatever the noise is, that holds x wherever y - half to y + half does, and
    is never shorter than `half`. Cut at zero alone, y + half < 0 would be an interval without length.
    """
    if not e.nonnegative:
        return EstimateInterval(values - half, values + half, promise)
    nearest = values * (values > 0)
    low = nearest - half
    return EstimateInterval(low * (low > 0) + 0.0, nearest + half, promise)  # -0.0 + 0.0 = 0.0


def _chosen(one: Any, other: Any, first: Any) -> Any:
    """`one` where it is to be the first and `other` elsewhere, exactly, in any array library."""
    return one * first + other * ~first
