"""One value for all bins, but for the few that stand out: what can be said where the noise drowns everything.

    c = (1 - (a/z)^2)^+ m        m = the mean of the bins that do not stand out, z = m over its standard error
    h_i = c + firm(y_i - c)      firm(x) = 0 up to t, x from 5t/4 on, linear in between          (Gao & Bruce 1997)

**The value** is the non-negative garrotte of the mean (Breiman 1995): exactly zero within a standard errors of zero,
and less than half of one from m at nine. Whether zero or the mean is nearer to a flat truth, one number cannot always
tell. Let f be such a truth, not negative, in standard errors, and take the mean of |c - f| over that of the better of
the two, min(f, 0.8). The mean is sufficient for a flat truth under Gaussian noise, so that a bound for functions of it
bounds every estimator: the largest ratio over f >= 0.02 is 1.52 at least, and no rule has a finite one down to f = 0
(a linear programme over all rules). A truth that is all but zero asks for a large a: where zeros are off by a fiftieth
of a standard error, as on maps at tiny epsilon, one false alarm in fifty doubles the error. A flat one of two or three
standard errors asks for a small a. With a = 2 the ratio is 1.74 at f = 0.02, 1.95 at 2.6 and 1.44 at 5, where a = 1.5
has 3.44, 1.53 and 1.19. Where m may be negative (`nonnegative=False`) false alarms are twice as many.

Under Laplace noise m is the median of the values, which has half the variance of their mean. It is close to the *mean*
of truths that are small beside the noise, since its pull is linear there, and a large one hardly moves it. (1.95 above
becomes 1.38, and 1.74 becomes 1.52.) Its covariance with the values is its variance, as for every efficient estimate,
so it has half a degree of freedom.

**Absolute error** is least at the median of the truth, not at its mean. If the mean f sits in few bins that do not
stand out, zero is the best answer, and c makes the error 1 + E|c|/f times as large; if the truth is flat, c is what is
wanted. While nothing tells the two apart, no rule has less than 2f/(f + 0.8) on both (|c| + |f - c| >= f), 1.58 at 3,
nor less than 1.90 for f from 0.01 to 3. So false alarms cost more than in squares, and with loss="absolute" c is zero
up to `ZERO_WITHIN_ABSOLUTE`, and as above beyond. That has 2.07 at worst on flat truths, and 1.87 on the others (1.95
and 2.54 without it); under Laplace noise 1.58 on either, where no rule has less than 1.48. Beyond f = 3 such bins show
in the squares of the values, and another candidate says so.

**What stands out** is beyond t, which noise alone passes upward in any of the bins with a chance of `FALSE_ALARM`.
Under Laplace noise t is less where k *other* bins do, for then the table is not empty: a share `FALSE_SHARE` of k is
expected beyond it of noise alone (the false discovery rate; Benjamini & Hochberg 1995, for squared error Abramovich et
al. 2006). Its own value does not count for a bin, so its t does not move with it, and the figure of the risk stays
exact.

Five times of what exceeds t is kept, so that a false alarm costs little, and from 5t/4 on everything. Two truths ask
for opposite things: one bin of any height among 4,096 that are empty, and a map so empty that zeros are off by a sixth
of sigma in all. The error is then at worst 1.00 times that of the better of zeros and the universal soft threshold on
the first, and 1.03 times that of zeros on the second, under Gaussian noise; 1.35 (a bin of eight sigma) and 1.21 under
Laplace noise, where no rule for single bins has less than 1.29 on both.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.empirical_bayes import Loss
from leastnoise.denoise.risk import beyond

ZERO_WITHIN = 2.0  # a: standard errors within which the mean is taken to be zero
ZERO_WITHIN_ABSOLUTE = {"gaussian": 2.5, "laplace": 2.7}  # and where the absolute error is to be small
FALSE_ALARM = {"gaussian": 0.005, "laplace": 0.01}  # the chance that noise makes some bin stand out upward
FALSE_SHARE = {"gaussian": 0.0, "laplace": 0.1}  # of the bins that stand out, how many of noise alone may join them
FULL = 1.25  # times t, where a value is kept as it is


@denoiser()
def flat(
    y: Any,
    sigma: float,
    *,
    nonnegative: bool = False,
    loss: Loss = "squared",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """One value for all bins, drawn toward zero by as much as chance may have moved it; what stands out is kept.

    y: the noisy values. sigma: the standard deviation of their noise.
    nonnegative: whether the truth is; a negative mean is then zero.
    loss: "squared", or "absolute", with which the value is zero more often.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> flat([3.0, 5.0, 4.0, 4.0, 3.0, 5.0, 40.0], sigma=1.0).values.round(2)
    array([ 3.83,  3.83,  3.83,  3.83,  3.83,  3.83, 40.  ])
    """
    middle = float(np.median(y))
    apart = np.abs(y - middle)
    edge = _edges(apart if not nonnegative else y - middle, sigma, mechanism)
    rest = y[apart <= edge]
    mean = middle if mechanism == "laplace" or not rest.size else float(rest.mean())
    variance = 0.5 if mechanism == "laplace" else 1.0
    errors = mean / sigma * math.sqrt(rest.size / variance)  # how many standard errors the mean is from zero
    nothing = ZERO_WITHIN if loss == "squared" else ZERO_WITHIN_ABSOLUTE[mechanism]
    kept = (errors if nonnegative else abs(errors)) > nothing
    drawn = (ZERO_WITHIN / errors) ** 2 if kept else 1.0
    value = (1 - drawn) * mean
    departure = y - value
    far = np.abs(departure)
    firm = np.minimum(np.clip((far - edge) * (FULL / (FULL - 1)), 0.0, None), far)
    values = value + np.sign(departure) * firm
    if nonnegative:
        values = np.clip(values, 0.0, None)

    def risk() -> Stein:
        slope = variance * (1 + drawn) if kept else 0.0
        free = slope + _firm_slope(departure, edge, sigma, mechanism, one_sided=nonnegative and not value)
        return Stein(min(free, float(y.size)))

    chosen = {"value": value, "standard_errors": errors, "standing_out": int((values != value).sum())}
    return Denoised(values, chosen, risk if loss == "squared" else None)


def _edges(apart: Floats, sigma: float, mechanism: Mechanism) -> Floats:
    """t for every bin, by how many of the others stand out."""
    first = apart > standing_out(apart.size, mechanism) * sigma
    k = int(first.sum())
    many, fewer = (standing_out(apart.size, mechanism, others) * sigma for others in (k, max(k - 1, 0)))
    return np.where(first, fewer, many)


def standing_out(bins: int, mechanism: Mechanism, others: int = 0) -> float:
    """t in units of sigma: P(n > t) = `FALSE_ALARM` / bins, or `FALSE_SHARE` others / bins where that is more."""
    chance = max(FALSE_ALARM[mechanism], FALSE_SHARE[mechanism] * others) / bins
    return -math.log(2 * chance) / math.sqrt(2) if mechanism == "laplace" else -NormalDist().inv_cdf(chance)


def _firm_slope(x: Floats, edge: Floats, sigma: float, mechanism: Mechanism, *, one_sided: bool) -> float:
    """The sum of the slopes: FULL/(FULL - 1) between t and FULL t, 1 beyond; averaged over x + n' for Laplace noise."""
    total = 0.0
    for side in (x,) if one_sided else (x, -x):
        begun, whole = (float(beyond(side, at, sigma, mechanism, np).sum()) for at in (edge, FULL * edge))
        total += FULL / (FULL - 1) * (begun - whole) + whole
    return total
