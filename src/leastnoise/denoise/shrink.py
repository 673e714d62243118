"""Shrinkage toward a public centre: James-Stein (Theorem 11), and the linear rules that know a ball.

    h = c + (1 - k sigma^2 / ||y - c||^2) (y - c),    k = d - 2, or d - 3 toward the mean of y.

The positive part (the factor never below zero) is never worse and is the default.

**Erratum to Theorem 11.** Under f ~ N(0, w^2 I) the risk of the plain rule is

    d sigma^2 (1 - ((d - 2)/d) sigma^2/(w^2 + sigma^2)),

not with ((d - 2)/d)^2: E[1/||y||^2] = 1/((d - 2)(w^2 + sigma^2)). It exceeds the Bayes risk by the factor
1 + (2/d) sigma^2/w^2, which no constant bounds over all w.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Mechanism, companion, given, squares
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import stein_estimate
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

LAGUERRE_RULE = np.polynomial.laguerre.laggauss(12)


@estimator
def james_stein(
    y: Any,
    sigma: Number,
    *,
    toward: Any | Literal["mean"] = 0.0,
    positive_part: bool = True,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Shrink all values by one factor that the values choose themselves.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    toward: a public centre: a number, an array of the shape of y, or "mean" for the mean of y itself.
    positive_part: never shrink past the centre, which is never worse.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    Three bins are needed (four toward the mean); below that no such rule improves on y everywhere (Stein 1956).

    >>> james_stein([3.0, -1.0, 2.0, 0.0, 1.0], sigma=1.0).values
    array([ 2.4, -0.8,  1.6,  0. ,  0.8])
    """
    y, sigma, xp = given(y, sigma, mechanism)
    d = math.prod(y.shape)
    to_mean = isinstance(toward, str)
    if to_mean:
        validation.word("toward", toward, ("mean",))
    lost = 3 if to_mean else 2
    if d <= lost:
        raise errors.InvalidParameter(
            f"James-Stein needs {lost + 1} bins or more{' toward the mean' if to_mean else ''}; there are {d}. With "
            "fewer no rule improves on the raw values for every truth. Keep them, or state a prior: gaussian_prior."
        )
    centre = xp.mean(y) if to_mean else companion("toward", toward, y, xp)
    centred = y if isinstance(centre, float) and centre == 0.0 else y - centre
    pull = (d - lost) * sigma**2
    norm = squares(centred, xp)
    factor = xp.where(norm > 0, 1 - pull / xp.where(norm > 0, norm, xp.ones_like(norm)), xp.zeros_like(norm))
    if positive_part:
        factor = xp.clip(factor, 0.0, None)
    values = factor * centred if centred is y else centre + factor * centred

    def estimate_risk() -> RiskEstimate:
        shrunk, total = float(factor), float(norm)
        if total == 0 or (positive_part and shrunk == 0 and mechanism == "gaussian"):
            slope = 0.0
        elif mechanism == "gaussian":
            slope = d - to_mean - pull * (d - lost) / total
        else:
            slope = laplace_slope(centred, total, pull, sigma, 1 - to_mean / d, positive_part, xp)
        return stein_estimate((1 - shrunk) ** 2 * total, slope + to_mean, d, sigma)

    chosen = {"toward": toward if isinstance(toward, (str, int, float)) else "array", "positive_part": positive_part}
    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="james_stein",
        parameters=chosen,
        estimate_risk=estimate_risk,
    )


def laplace_slope(x: Any, total: float, pull: float, sigma: float, share: float, positive: bool, xp: Any) -> float:
    """sum_i E d_i of (1 - pull/||x||^2) x_i when y_i moves by n' ~ Laplace, by Gauss-Laguerre quadrature.

    x is y, or a projection of it whose matrix has the same number, `share`, all along its diagonal (y less its mean has
    (d - 1)/d): a unit move of y_i moves x_i by the share, and ||x||^2, which is `total`, by 2 x_i + share.
    """
    scale = sigma / math.sqrt(2)
    slope = 0.0
    for node, weight in zip(*LAGUERRE_RULE, strict=True):
        for move in (scale * float(node), -scale * float(node)):
            moved = x + share * move
            norm = total + 2 * move * x + share * move**2
            part = share * (1 - pull / norm) + 2 * pull * moved * moved / (norm * norm)
            if positive:
                part = xp.where(norm > pull, part, xp.zeros_like(part))
            slope += float(weight) / 2 * float(xp.sum(part))
    return slope
