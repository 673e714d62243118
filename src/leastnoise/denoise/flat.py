"""One value for all bins, but for the few that stand out: what can be said where the noise drowns everything.

    c = (1 - (a/z)^2)^+ m        m = the mean of the bins that do not stand out, z = m over its standard error
    h_i = c + firm(y_i - c)      firm(x) = 0 up to t, x from 3t/2 on, linear in between          (Gao & Bruce 1997)

**The value** is the non-negative garrotte of the mean (Breiman 1995): exactly zero within a standard errors of zero,
and less than half of one from m at five. Whether zero or the mean is nearer to a flat truth, one number cannot always
tell. Let f be such a truth, not negative, in standard errors, and take the mean of |c - f| over that of the better of
the two, min(f, 0.8), but 0.1 at least (at f = 0 no rule has a finite ratio). The mean is sufficient for a flat truth
under Gaussian noise, so that this bounds every estimator: the largest ratio over f is 1.23 at least, and 1.41 for rules
that are exactly zero up to 1.5 standard errors (a convex programme over all rules, solved numerically; its solution
jumps and stays far below m up to f = 8). Here it is 1.55, at f = 2.2, and above 1.25 from 1.2 to 4.3 and from 0.08 to
0.16, where a negative m is zero (`nonnegative`). Else a negative c costs as much again there, and the largest is 1.85,
at f = 0.1. Of root mean squared errors, with 0.3 in place of 0.1, and `nonnegative`: 1.22, 1.36 and 1.48.

Under Laplace noise m is the median of the values, which has half the variance of their mean. It is close to the *mean*
of truths that are small beside the noise, since its pull is linear there, and a large one hardly moves it. (1.55 above
becomes 1.31, and 1.48 becomes 1.14.) Its covariance with the values is its variance, as for every efficient estimate,
so it has half a degree of freedom.

**Absolute error** is least at the median of the truth, not at its mean. If the mean f sits in few bins that do not
stand out, zero is the best answer, and c makes the error 1 + E|c|/f times as large; if the truth is flat, c is what is
wanted. While nothing tells the two apart, no rule has less than 2f/(f + 0.8) on both (|c| + |f - c| >= f), 1.58 at 3.
a = 1.7 makes them equal up to there: 1.69 on flat truths, 1.67 on the others. Beyond, such bins show in the squares of
the values, and another candidate says so. (`benchmarks/flat_truths.py` has the programme and the quadratures.)

**What stands out** is beyond t, which noise alone passes upward in any of the bins with a chance of `FALSE_ALARM`.
Three times of what exceeds t is kept, so that a false alarm costs little, and from 3t/2 on everything. One bin of s
sigma or more among 4,096 that are empty: the mean error over that of the better of zeros and the universal soft
threshold is 1.03 at worst under Gaussian noise, for s from 0.5 on, and 1.21 under Laplace noise (s = 7), where a chance
of 0.02 makes it 1.33 (s = 8) and 0.1 makes it 1.35 (s = 0.5).
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, given_on_host
from leastnoise.denoise.risk import beyond, stein_estimate
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

ZERO_WITHIN = {"squared": 1.5, "absolute": 1.7}  # a: standard errors within which the mean is taken to be zero
FALSE_ALARM = 0.05  # the chance that noise makes some bin stand out upward
FULL = 1.5  # times t, where a value is kept as it is


def flat(
    y: Any,
    sigma: Number,
    *,
    nonnegative: bool = False,
    loss: Literal["squared", "absolute"] = "squared",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """One value for all bins, drawn toward zero by as much as chance may have moved it; what stands out is kept.

    y: the noisy values. sigma: the standard deviation of their noise.
    nonnegative: whether the truth is; a negative mean is then zero.
    loss: "squared", or "absolute", which asks for more before the value is not zero.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> flat([3.0, 5.0, 4.0, 4.0, 3.0, 5.0, 40.0], sigma=1.0).values.round(2)
    array([ 3.91,  3.91,  3.91,  3.91,  3.91,  3.91, 40.  ])
    """
    y, sigma = given_on_host(y, sigma, mechanism)
    edge = standing_out(y.size, mechanism) * sigma
    middle = float(np.median(y))
    rest = y[np.abs(y - middle) <= edge]
    mean = middle if mechanism == "laplace" or not rest.size else float(rest.mean())
    variance = 0.5 if mechanism == "laplace" else 1.0
    errors = mean / sigma * math.sqrt(rest.size / variance)  # how many standard errors the mean is from zero
    kept = (errors if nonnegative else abs(errors)) > ZERO_WITHIN[loss]
    drawn = (ZERO_WITHIN[loss] / errors) ** 2 if kept else 1.0
    value = (1 - drawn) * mean
    departure = y - value
    firm = np.clip((np.abs(departure) - edge) * (FULL / (FULL - 1)), 0.0, np.abs(departure))
    values = value + np.sign(departure) * firm
    if nonnegative:
        values = np.maximum(values, 0.0)

    @cache
    def estimate_risk() -> RiskEstimate:
        slope = variance * (1 + drawn) if kept else 0.0
        free = slope + _firm_slope(departure, edge, sigma, mechanism, one_sided=nonnegative and not value)
        return stein_estimate(float(((y - values) ** 2).sum()), min(free, float(y.size)), y.size, sigma)

    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="flat",
        parameters={
            "value": value,
            "standard_errors": errors,
            "standing_out": int((values != value).sum()),
        },
        estimate_risk=estimate_risk,
    )


def standing_out(bins: int, mechanism: Mechanism) -> float:
    """t in units of sigma: P(n > t) = `FALSE_ALARM` / bins."""
    chance = FALSE_ALARM / bins
    return -math.log(2 * chance) / math.sqrt(2) if mechanism == "laplace" else -NormalDist().inv_cdf(chance)


def _firm_slope(x: Floats, edge: float, sigma: float, mechanism: Mechanism, *, one_sided: bool) -> float:
    """The sum of the slopes: FULL/(FULL - 1) between t and FULL t, 1 beyond; averaged over x + n' for Laplace noise."""
    total = 0.0
    for side in (x,) if one_sided else (x, -x):
        begun, whole = (beyond(side, at, sigma, mechanism, np).sum() for at in (edge, FULL * edge))
        total += float(FULL / (FULL - 1) * (begun - whole) + whole)
    return total
