"""The truth in an Lp ball of known radius B: how small the worst error can be, and the rules that come near it.

R = min over rules, max over ||f||_p <= B, of E ||h(y) - f||^2 (all bins together), up to a constant (equation (7)):

    p < 2    B^p sigma^(2-p) (1 + log(d sigma^p / B^p))^(1-p/2),  never more than B^2 (the zero rule) or d sigma^2 (y)
    p >= 2   d sigma^2 tau^2/(sigma^2 + tau^2),  tau = B d^(-1/p)

**Errata.** The paper's formula for p < 2 leaves its regime at its own example p = 1, B = sigma (it says 2.37 at
d = 100 where the zero rule risks 1 at most), so it is capped. Its formula for p >= 2 holds at p = 2 only: the
largest cube inside the ball has half-side tau, and over a cube the linear rule tau^2/(tau^2 + sigma^2) y is within
1.25 of the best (Donoho, Liu & MacGibbon 1990).

The functions that return a risk take arrays, which are broadcast, in place of numbers.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number, over_arrays
from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.threshold import soft_risk, softened


@over_arrays("bins", "sigma", "p", "radius")
def minimax_risk(*, bins: int, sigma: Number, p: Number, radius: Number) -> float:
    """The least worst-case squared error over an Lp ball, all bins together, up to a constant factor.

    bins: how many values. sigma: the standard deviation of their noise. p, radius: of the ball ||f||_p <= radius.

    >>> minimax_risk(bins=100, sigma=1.0, p=1, radius=1.0)
    1.0
    >>> minimax_risk(bins=100, sigma=1.0, p=math.inf, radius=1.0)
    50.0
    """
    d, sigma, p, b = validation.integer("bins", bins), validation.number("sigma", sigma), _power(p), _radius(radius)
    if p >= 2:
        tau = _half_side(d, p, b)
        return float(d * sigma**2 * tau**2 / (sigma**2 + tau**2))
    log_sparsity = max(0.0, math.log(d) - p * math.log(b / sigma))
    return float(min(b**2, b**p * sigma ** (2 - p) * (1 + log_sparsity) ** (1 - p / 2), d * sigma**2))


@denoiser(on_device=True)
def lp_ball(y: Any, sigma: float, *, p: Number, radius: Number, mechanism: Mechanism = "gaussian") -> Denoised:
    """The rule that knows ||f||_p <= radius: linear shrinkage for p >= 2, a soft threshold for p < 2.

    The threshold is sigma sqrt(2 log(d sigma^p / B^p)): of d bins about (B/sigma)^p can stand above the noise.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    p: above 0, also infinity. radius: B, a public bound. mechanism: "gaussian" or "laplace".
    """
    power, ball, d = _power(p), _radius(radius), y.shape[0]
    chosen = {"p": power if math.isfinite(power) else "inf", "radius": ball}
    if power < 2:
        log_sparsity = math.log(d) - power * math.log(ball / sigma)
        t = sigma * math.sqrt(2 * max(0.0, log_sparsity))
        return Denoised(softened(y, t), chosen | {"threshold": t}, partial(soft_risk, y, t, sigma, mechanism))
    tau = _half_side(d, power, ball)
    factor = tau**2 / (tau**2 + sigma**2)
    return Denoised(factor * y, chosen | {"factor": factor}, Stein(d * factor))


@over_arrays("bins", "sigma", "prior_std")
def bayes_risk(*, bins: int, sigma: Number, prior_std: Number) -> float:
    """After Theorem 10: d w^2 sigma^2/(w^2 + sigma^2), the error of the posterior mean under f ~ N(0, w^2 I).

    bins: d. sigma: the standard deviation of the noise. prior_std: w.

    >>> bayes_risk(bins=5, sigma=1.0, prior_std=1.0)
    2.5
    """
    d, s, w = _three(bins, sigma, prior_std)
    return d * w**2 * s**2 / (w**2 + s**2)


@over_arrays("bins", "sigma", "prior_std")
def james_stein_risk(*, bins: int, sigma: Number, prior_std: Number) -> float:
    """Theorem 11, corrected: d sigma^2 (1 - ((d-2)/d) sigma^2/(w^2 + sigma^2)) for the plain rule under N(0, w^2 I).

    bins: d. At two the rule is y itself, and so is its risk; at one it is infinite, and refused.
    sigma: the standard deviation of the noise. prior_std: w.

    >>> james_stein_risk(bins=5, sigma=1.0, prior_std=1.0)
    3.5
    >>> james_stein_risk(bins=2, sigma=1.0, prior_std=1.0)
    2.0
    """
    d, s, w = _three(bins, sigma, prior_std)
    if d < 2:
        raise errors.InvalidParameter(
            "With one bin the risk of James-Stein is infinite; there must be two or more.",
            parameter="bins",
            value=d,
            example={"bins": 3},
        )
    return d * s**2 * (1 - (d - 2) / d * s**2 / (w**2 + s**2))


def _three(bins: int, sigma: Number, prior_std: Number) -> tuple[int, float, float]:
    d = validation.integer("bins", bins)
    return d, validation.number("sigma", sigma), validation.number("prior_std", prior_std)


def _power(p: Number) -> float:
    return math.inf if p == math.inf else validation.number("p", p)


def _radius(radius: Number) -> float:
    return validation.number("radius", radius)


def _half_side(d: int, p: float, b: float) -> float:
    return b if math.isinf(p) else b * d ** (-1 / p)
