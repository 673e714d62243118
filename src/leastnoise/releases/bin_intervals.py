"""Which interval an estimate has around each of its values, and what that one promises.

The prior's where one was stated, an exact one for linear unbiased estimates, else one for a share of the bins
(`average_coverage.py`), or the raw values' own where that is no longer.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support.host_arrays import as_host
from leastnoise.releases import average_coverage, risk_limits
from leastnoise.releases.interval import BinPromise, EstimateInterval

if TYPE_CHECKING:
    from leastnoise.releases.estimate import Estimate


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
            "The raw values have theirs: y plus and minus 1.96 sigma under Gaussian noise, for 95 %."
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
    sure = 1 - average_coverage.RISK_OF_LIMIT * missed
    limit = risk_limits.asymptotic_limit(risk, e.std, e.bins, sure, e.mechanism) / e.std**2
    rest = (1 - average_coverage.RISK_OF_LIMIT) * missed
    if limit - 1 >= rest * (raw / e.std) ** 2:  # Chebyshev: too long even if all of the noise were kept
        return raw
    kept = e.noise_kept()
    if kept is None:
        raise errors.InvalidParameter(
            "The intervals of this estimate were not asked for before it was written to its file, and need the "
            "denoiser to be run again. Denoise the release once more, and ask the new estimate."
        )
    bias = max(limit - kept, 0.0)
    return e.std * average_coverage.half_length(bias, kept, rest, e.mechanism)


def _from_zero(e: Estimate, confidence: float, raw: float, other: EstimateInterval) -> EstimateInterval:
    """From zero to one height for all bins but those estimated above it, if that is shorter than `other`."""
    noisy, values = as_host(e.noisy), as_host(e.values)
    spent = average_coverage.RISK_OF_LIMIT * (1 - confidence)
    highest = partial(average_coverage.highest, noisy, e.std, missed=1 - confidence - spent, sure=1 - spent)
    height = highest(above=int((values > highest(above=0)).sum()))
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
