"""Thresholds: move every value toward zero by t (soft), or set those within t to zero (hard).

    soft   h_i = sign(y_i) max(|y_i| - t, 0)         argmin_h  1/2 ||y - h||^2 + t ||h||_1
    hard   h_i = y_i where |y_i| > t, else 0

Theorem 12 (Donoho 1995): with t = sigma sqrt(2 log d) the soft threshold's worst squared error over any Lp ball S is
at most (2 log d + 1)(sigma^2 + 2.22 R(S)), R(S) the least worst error of any rule. That is no constant times R(S): a
ball smaller than the noise has R(S) far below sigma^2, and there this threshold is any number of times worse than
answering zero (d = 1,000, radius 0.01 sigma: 221 times and more). The proof is in docs/theory-denoising.md.

On real histograms it is often worse than no denoising, and t chosen by unbiased risk (Donoho & Johnstone 1995) is far
better. The hard threshold jumps, so it has no unbiased risk: None.

Where every bin has a sigma of its own, t_i = sigma_i sqrt(2 log d), or t_i = sigma_i u with one u whose unbiased risk,
in the units of the values, is least.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import (
    Floats,
    Mechanism,
    given_with_sigmas,
    host_numbers,
    like,
    mean_square,
    root_mean_square,
)
from leastnoise.denoise.estimator import rowwise_estimator
from leastnoise.denoise.risk import beyond, stein_estimate, sure
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise


@rowwise_estimator
def soft_threshold(
    y: Any,
    sigma: Number | Any,
    *,
    threshold: Number | Literal["universal", "sure"] = "universal",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Move every value toward zero by a threshold: universal, chosen by unbiased risk ("sure"), or given.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise, or one for each value.
    threshold: a number, "universal" (sigma sqrt(2 log d)), or "sure", of least unbiased risk.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> soft_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([3., 0., 0.])
    """
    y, level, xp = given_with_sigmas(y, sigma, mechanism)
    t = _chosen(y, level, threshold, mechanism, xp)
    values = shrunk(y, t, xp)

    @cache
    def estimate_risk() -> RiskEstimate:
        if threshold == "sure":
            return held_out(y, level, mechanism, xp)
        return _threshold_risk(xp.abs(y), t, level, mechanism, xp)

    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=root_mean_square(level)),
        sigmas=_if_different(level),
        method="soft_threshold",
        parameters=_facts(t, level, threshold),
        estimate_risk=estimate_risk,
    )


@rowwise_estimator
def hard_threshold(
    y: Any,
    sigma: Number | Any,
    *,
    threshold: Number | Literal["universal"] = "universal",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Set values within a threshold of zero to zero and keep the others.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise, or one for each value.
    threshold: a number, or "universal", sigma sqrt(2 log d). mechanism: "gaussian" or "laplace".

    >>> hard_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([5., 0., 0.])
    """
    y, level, xp = given_with_sigmas(y, sigma, mechanism)
    if threshold == "sure":
        raise errors.InvalidParameter(
            'The threshold "sure" needs an unbiased risk, which a hard threshold does not have: it jumps. '
            "Take soft_threshold, or give a number.",
            parameter="threshold",
            value=threshold,
            example={"threshold": "universal"},
        )
    t = _chosen(y, level, threshold, mechanism, xp)
    values = xp.where(xp.abs(y) > t, y, xp.zeros_like(y))
    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=root_mean_square(level)),
        sigmas=_if_different(level),
        method="hard_threshold",
        parameters=_facts(t, level, threshold),
        estimate_risk=lambda: RiskEstimate(None, None),
    )


def universal(bins: int, sigma: float) -> float:
    """sigma sqrt(2 log d) of Theorem 12."""
    return sigma * math.sqrt(2 * math.log(bins))


def shrunk(y: Any, t: Any, xp: Any) -> Any:
    """The soft threshold itself; PyTorch has it as one pass over memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(y, torch.Tensor) and isinstance(t, float):
        return torch.nn.functional.softshrink(y, t)
    return y - xp.clip(y, -t, t)


def _chosen(y: Any, sigma: float | Floats, threshold: Any, mechanism: Mechanism, xp: Any) -> Any:
    """The threshold: a number, or an array that goes with y."""
    if not isinstance(threshold, str):
        return 0.0 if threshold == 0 and not isinstance(threshold, bool) else validation.number("threshold", threshold)
    validation.word("threshold", threshold, ("universal", "sure"))
    if threshold == "universal":
        return universal(y.shape[-1], like(sigma, y, xp))
    return _times(_least(y, sigma, mechanism, xp), sigma, y, xp)


def _least(y: Any, sigma: float | Floats, mechanism: Mechanism, xp: Any) -> Any:
    """The threshold of least unbiased risk of each row: itself where sigma is a number, else as a multiple of sigma.

    To a library that takes derivatives it is a constant.
    """
    y = y.detach() if hasattr(y, "detach") else y
    if isinstance(sigma, float):
        return least_risk(xp.abs(y), sigma, mechanism, xp)
    level = like(sigma, y, xp)
    return least_risk(xp.abs(y) / level, 1.0, mechanism, xp, weights=level**2)


def _times(least: Any, sigma: float | Floats, y: Any, xp: Any) -> Any:
    """The thresholds of a multiple that `_least` returned."""
    if isinstance(sigma, float):
        return float(least) if len(y.shape) == 1 else xp.expand_dims(least, axis=-1)
    return like(sigma, y, xp) * xp.expand_dims(least, axis=-1)


def _facts(t: Any, sigma: float | Floats, threshold: Any) -> dict[str, Any]:
    """What `parameters` says: the threshold where there is one, else how many sigmas it is."""
    chosen = threshold if isinstance(threshold, str) else "given"
    if isinstance(t, float):
        return {"threshold": t, "chosen": chosen}
    if len(t.shape) > 1:  # rows, each with facts of its own
        return {"chosen": chosen}
    return {"threshold_in_sigmas": float(t[0]) / float(np.ravel(sigma)[0]), "chosen": chosen}


def _if_different(sigma: float | Floats) -> Floats | None:
    return None if isinstance(sigma, float) or sigma.shape[-1] == 1 else sigma


def least_risk(size: Any, sigma: float, mechanism: Mechanism, xp: Any, weights: Any = None) -> Any:
    """The threshold among the sizes |y_i| of each row whose unbiased risk is least, by one sort and running sums.

    Gaussian: sum min(y_i^2, t^2) + 2 sigma^2 #{|y_i| > t}. Laplace: the count becomes
    sum P(|y_i + n'| > t), where P = exp(-t/b) cosh(y/b) for |y| <= t, and 1 - exp(-|y|/b) sinh(t/b) above.
    Thresholds beyond what noise alone reaches are not tried: sigma sqrt(2 log d), and b (log d + 3).
    With weights, the risk of each value counts as often as its weight says. Rows are along the last axis.
    """
    d = size.shape[-1]
    b = sigma / math.sqrt(2)
    reach = universal(d, sigma) if mechanism == "gaussian" else b * (math.log(d) + 3)
    if weights is None:
        whole, w = xp.sort(size, axis=-1), None
    else:
        order = xp.argsort(size, axis=-1)
        whole, w = (xp.take_along_axis(xp.broadcast_to(x, size.shape), order, axis=-1) for x in (size, weights))
    inside = xp.clip(whole, None, reach)
    t = xp.concat((xp.zeros_like(inside[..., :1]), inside), axis=-1)
    rank = xp.astype(xp.arange(d, -1, -1, device=_device(t)), t.dtype)
    below = _running(inside * inside, w, xp)
    above = rank if w is None else xp.sum(w, axis=-1, keepdims=True) - _running(w, None, xp)
    if mechanism == "gaussian":
        free = above
    else:
        near = _running(xp.exp((inside - reach) / b) + xp.exp(-(inside + reach) / b), w, xp)
        decay = xp.exp(-whole / b)
        every = xp.sum(decay if w is None else w * decay, axis=-1, keepdims=True)
        growth = xp.exp((reach - t) / b)
        far = xp.clip(every - _running(decay, w, xp), 0.0, None)
        free = growth * near / 2 + above - (xp.exp(t / b) - xp.exp(-t / b)) / 2 * far
    score = below + t * t * above + 2 * sigma**2 * free
    # The others stand at reach only because they were cut.
    tried = rank >= xp.sum(xp.astype(whole > reach, t.dtype), axis=-1, keepdims=True)
    score = xp.where(tried, score, xp.full_like(score, math.inf))
    least = xp.min(score, axis=-1, keepdims=True)
    return xp.min(xp.where(score == least, t, xp.full_like(t, math.inf)), axis=-1)  # the first of equals


def _running(x: Any, weights: Any, xp: Any) -> Any:
    """Sums of the first 0, 1, 2, ... of each row."""
    return xp.cumulative_sum(x if weights is None else weights * x, axis=-1, include_initial=True)


def held_out(y: Any, sigma: float | Floats, mechanism: Mechanism, xp: Any) -> RiskEstimate:
    """The risk of a threshold chosen by unbiased risk: each half of the bins is assessed where the *other* half chose.

    Assessed where it was chosen, the figure would be optimistic (and often negative), for it is the least of many.
    The degrees of freedom are those that make Stein's formula say the same of the threshold that was used. Of each row.
    """
    d, s = y.shape[-1], np.sqrt(mean_square(sigma))
    best = _times(_least(y, sigma, mechanism, xp), sigma, y, xp)
    plain = _threshold_risk(xp.abs(y), best, sigma, mechanism, xp)
    if d < 4:
        return plain
    order = np.random.default_rng(0).permutation(d)
    halves = order[: d // 2], order[d // 2 :]
    values = [xp.take(y, xp.asarray(half, device=_device(y)), axis=-1) for half in halves]
    levels = [sigma if isinstance(sigma, float) or sigma.shape[-1] == 1 else sigma[..., half] for half in halves]
    chosen = [_least(*half, mechanism, xp) for half in zip(values, levels, strict=True)]
    moved = spent = 0.0
    for half, level, least in zip(values, levels, reversed(chosen), strict=True):
        part = _parts(xp.abs(half), _times(least, level, half, xp), level, mechanism, xp)
        moved, spent = moved + part[0], spent + part[1]
    free = spent / s**2
    risk = np.maximum(sure(moved, free, d, s), (s * free / d) ** 2)
    free = free + (moved - _parts(xp.abs(y), best, sigma, mechanism, xp)[0]) / (2 * s**2)  # fits what best moved
    return RiskEstimate(host_numbers(risk), host_numbers(free), plain.sure)


def _parts(size: Any, t: Any, sigma: float | Floats, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    """||y - h||^2 and sum_i sigma_i^2 d_i h_i at fixed thresholds, of each row."""
    cut, level = xp.clip(size, None, t), like(sigma, size, xp)
    free = beyond(size, t, level, mechanism, xp)
    if mechanism == "laplace":
        free = free + beyond(-size, t, level, mechanism, xp)
    return host_numbers(xp.sum(cut * cut, axis=-1)), host_numbers(xp.sum(level**2 * free, axis=-1))


def _threshold_risk(size: Any, t: Any, sigma: float | Floats, mechanism: Mechanism, xp: Any) -> RiskEstimate:
    moved, spent = _parts(size, t, sigma, mechanism, xp)
    variance = mean_square(sigma)
    return stein_estimate(moved, spent / variance, size.shape[-1], variance**0.5)


def _device(array: Any) -> Any:
    import array_api_compat

    return array_api_compat.device(array)
