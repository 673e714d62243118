"""Thresholds: move every value toward zero by t (soft), or set those within t to zero (hard).

    soft   h_i = sign(y_i) max(|y_i| - t, 0)         argmin_h  1/2 ||y - h||^2 + t ||h||_1
    hard   h_i = y_i where |y_i| > t, else 0

Theorem 12 (Donoho 1995): with t = sigma sqrt(2 log d) the soft threshold's worst squared error over any Lp ball S is
at most (2 log d + 1)(sigma^2 + 2.22 R(S)), R(S) the least worst error of any rule. That is no constant times R(S): a
ball smaller than the noise has R(S) far below sigma^2, and there this threshold is any number of times worse than
answering zero (d = 1,000, radius 0.01 sigma: 221 times and more). The proof is in docs/theory-denoising.md.

On real histograms it is often worse than no denoising, and t chosen by unbiased risk (Donoho & Johnstone 1995) is far
better. The hard threshold jumps, so it has no unbiased risk: None.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Mechanism, given
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import beyond, stein_estimate, sure
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise


@estimator
def soft_threshold(
    y: Any,
    sigma: Number,
    *,
    threshold: Number | Literal["universal", "sure"] = "universal",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Move every value toward zero by a threshold: universal, chosen by unbiased risk ("sure"), or given.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    threshold: a number, "universal" (sigma sqrt(2 log d)), or "sure", of least unbiased risk.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> soft_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([3., 0., 0.])
    """
    y, sigma, xp = given(y, sigma, mechanism)
    t = _chosen(y, sigma, threshold, mechanism, xp)
    values = shrunk(y, t, xp)

    def estimate_risk() -> RiskEstimate:
        if threshold == "sure":
            return held_out(y, sigma, mechanism, xp)
        size = xp.abs(y)
        return _threshold_risk(size, t, sigma, mechanism, xp)

    chosen = {"threshold": t, "chosen": threshold if isinstance(threshold, str) else "given"}
    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="soft_threshold",
        parameters=chosen,
        estimate_risk=estimate_risk,
    )


@estimator
def hard_threshold(
    y: Any, sigma: Number, *, threshold: Number | Literal["universal"] = "universal", mechanism: Mechanism = "gaussian"
) -> Estimate:
    """Set values within a threshold of zero to zero and keep the others.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    threshold: a number, or "universal", sigma sqrt(2 log d). mechanism: "gaussian" or "laplace".

    >>> hard_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([5., 0., 0.])
    """
    y, sigma, xp = given(y, sigma, mechanism)
    if threshold == "sure":
        raise errors.InvalidParameter(
            'The threshold "sure" needs an unbiased risk, which a hard threshold does not have: it jumps. '
            "Take soft_threshold, or give a number.",
            parameter="threshold",
            value=threshold,
            example={"threshold": "universal"},
        )
    t = _chosen(y, sigma, threshold, mechanism, xp)
    values = xp.where(xp.abs(y) > t, y, xp.zeros_like(y))
    chosen = {"threshold": t, "chosen": threshold if isinstance(threshold, str) else "given"}
    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="hard_threshold",
        parameters=chosen,
        estimate_risk=lambda: RiskEstimate(None, None),
    )


def universal(bins: int, sigma: float) -> float:
    """sigma sqrt(2 log d) of Theorem 12."""
    return sigma * math.sqrt(2 * math.log(bins))


def shrunk(y: Any, t: float, xp: Any) -> Any:
    """The soft threshold itself; PyTorch has it as one pass over memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(y, torch.Tensor):
        return torch.nn.functional.softshrink(y, t)
    return y - xp.clip(y, -t, t)


def _chosen(y: Any, sigma: float, threshold: Any, mechanism: Mechanism, xp: Any) -> float:
    if isinstance(threshold, str):
        validation.word("threshold", threshold, ("universal", "sure"))
        bins = math.prod(y.shape)
        return universal(bins, sigma) if threshold == "universal" else least_risk(xp.abs(y), sigma, mechanism, xp)
    return 0.0 if threshold == 0 and not isinstance(threshold, bool) else validation.number("threshold", threshold)


def least_risk(size: Any, sigma: float, mechanism: Mechanism, xp: Any) -> float:
    """The threshold among the sizes |y_i| whose unbiased risk is least, by one sort and running sums.

    Gaussian: sum min(y_i^2, t^2) + 2 sigma^2 #{|y_i| > t}. Laplace: the count becomes
    sum P(|y_i + n'| > t), where P = exp(-t/b) cosh(y/b) for |y| <= t, and 1 - exp(-|y|/b) sinh(t/b) above.
    Thresholds beyond what noise alone reaches are not tried: sigma sqrt(2 log d), and b (log d + 3).
    """
    flat = xp.reshape(size, (-1,))
    d = flat.shape[0]
    b = sigma / math.sqrt(2)
    reach = universal(d, sigma) if mechanism == "gaussian" else b * (math.log(d) + 3)
    t = xp.concat((xp.zeros_like(flat[:1]), xp.sort(xp.clip(flat, None, reach))))
    inside = t[1:]
    below = xp.cumulative_sum(inside * inside, include_initial=True)
    above = xp.astype(xp.arange(d, -1, -1, device=_device(t)), t.dtype)
    if mechanism == "gaussian":
        free = above
    else:
        near = xp.cumulative_sum(xp.exp((inside - reach) / b) + xp.exp(-(inside + reach) / b), include_initial=True)
        decay = xp.exp(-xp.sort(flat) / b)
        far = xp.sum(decay) - xp.cumulative_sum(decay, include_initial=True)
        growth = xp.exp((reach - t) / b)
        free = growth * near / 2 + above - (xp.exp(t / b) - xp.exp(-t / b)) / 2 * xp.clip(far, 0.0, None)
    score = below + t * t * above + 2 * sigma**2 * free
    tried = above >= xp.sum(xp.astype(flat > reach, t.dtype))  # the others stand at reach only because they were cut
    return float(t[int(xp.argmin(xp.where(tried, score, xp.full_like(score, math.inf))))])


def held_out(y: Any, sigma: float, mechanism: Mechanism, xp: Any) -> RiskEstimate:
    """The risk of a threshold chosen by unbiased risk: each half of the bins is assessed where the *other* half chose.

    Assessed where it was chosen, the figure would be optimistic (and often negative), for it is the least of many.
    The degrees of freedom are those that make Stein's formula say the same of the threshold that was used.
    """
    flat = xp.abs(xp.reshape(y, (-1,)))
    d = flat.shape[0]
    best = least_risk(flat, sigma, mechanism, xp)
    if d < 4:
        return _threshold_risk(flat, best, sigma, mechanism, xp)
    order = np.random.default_rng(0).permutation(d)
    mixed = xp.take(flat, xp.asarray(order, device=_device(flat)))
    halves = mixed[: d // 2], mixed[d // 2 :]
    chosen = [least_risk(half, sigma, mechanism, xp) for half in halves]
    parts = [_parts(half, t, sigma, mechanism, xp) for half, t in zip(halves, reversed(chosen), strict=True)]
    moved, free = (sum(values) for values in zip(*parts, strict=True))
    risk = max(sure(moved, free, d, sigma), (sigma * free / d) ** 2)
    free += (moved - _parts(flat, best, sigma, mechanism, xp)[0]) / (2 * sigma**2)  # so that it fits what best moved
    return RiskEstimate(risk, free)


def _parts(size: Any, t: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[float, float]:
    """||y - h||^2 and the degrees of freedom at a fixed threshold."""
    cut = xp.clip(size, None, t)
    free = beyond(size, t, sigma, mechanism, xp)
    if mechanism == "laplace":
        free = free + beyond(-size, t, sigma, mechanism, xp)
    return float(xp.sum(cut * cut)), float(xp.sum(free))


def _threshold_risk(size: Any, t: float, sigma: float, mechanism: Mechanism, xp: Any) -> RiskEstimate:
    moved, free = _parts(size, t, sigma, mechanism, xp)
    return stein_estimate(moved, free, math.prod(size.shape), sigma)


def _device(array: Any) -> Any:
    import array_api_compat

    return array_api_compat.device(array)
