"""Thresholds: move every value toward zero by t (soft), or set those within t to zero (hard).

    soft   h_i = sign(y_i) max(|y_i| - t, 0)         argmin_h  1/2 ||y - h||^2 + t ||h||_1
    hard   h_i = y_i where |y_i| > t, else 0

Theorem 12 (Donoho 1995): with t = sigma sqrt(2 log d) the soft threshold's worst squared error over any Lp ball S is
at most (2 log d + 1)(sigma^2 + 2.22 R(S)), R(S) the least worst error of any rule. That is no constant times R(S): a
ball smaller than the noise has R(S) far below sigma^2, and there this threshold is any number of times worse than
answering zero (d = 1,000, radius 0.01 sigma: 221 times and more). The proof is in docs/research/theory-denoising.md.

On real histograms it is often worse than no denoising, and t chosen by unbiased risk (Donoho & Johnstone 1995) is far
better. The hard threshold jumps, so it has no unbiased risk: None.

Where every bin has a sigma of its own, t_i = sigma_i sqrt(2 log d), or t_i = sigma_i u with one u whose unbiased risk,
in the units of the values, is least.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import (
    Floats,
    Mechanism,
    device_of,
    host_number,
    like,
    mean_square,
    namespace,
    not_negative,
)
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.risk import beyond, stein_estimate, sure
from leastnoise.releases.estimate import RiskEstimate


@denoiser(sigmas=True, on_device=True)
def soft_threshold(
    y: Any,
    sigma: Any,
    *,
    threshold: Number | Literal["universal", "sure"] = "universal",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Move every value toward zero by a threshold: universal, chosen by unbiased risk ("sure"), or given.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise, or one for each value.
    threshold: a number, "universal" (sigma sqrt(2 log d)), or "sure", of least unbiased risk.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> soft_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([3., 0., 0.])
    """
    t = _chosen(y, sigma, threshold, mechanism)
    if threshold == "sure":
        return Denoised(softened(y, t), _facts(t, sigma, threshold), partial(held_out, y, sigma, mechanism))
    return Denoised(softened(y, t), _facts(t, sigma, threshold), partial(soft_risk, y, t, sigma, mechanism))


@denoiser(sigmas=True, on_device=True)
def hard_threshold(
    y: Any,
    sigma: Any,
    *,
    threshold: Number | Literal["universal"] = "universal",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Set values within a threshold of zero to zero and keep the others.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise, or one for each value.
    threshold: a number, or "universal", sigma sqrt(2 log d). mechanism: "gaussian" or "laplace".

    >>> hard_threshold([5.0, -0.5, 1.0], sigma=1.0, threshold=2.0).values
    array([5., 0., 0.])
    """
    if threshold == "sure":
        raise errors.InvalidParameter(
            'The threshold "sure" needs an unbiased risk, which a hard threshold does not have: it jumps. '
            "Take soft_threshold, or give a number.",
            parameter="threshold",
            value=threshold,
            example={"threshold": "universal"},
        )
    t, xp = _chosen(y, sigma, threshold, mechanism), namespace(y)
    return Denoised(xp.where(xp.abs(y) > t, y, xp.zeros_like(y)), _facts(t, sigma, threshold))


def universal(bins: int, sigma: Any) -> Any:
    """sigma sqrt(2 log d) of Theorem 12."""
    return sigma * math.sqrt(2 * math.log(bins))


def softened(y: Any, t: Any) -> Any:
    """The soft threshold itself; PyTorch has it as one pass over memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(y, torch.Tensor) and isinstance(t, float):
        return torch.nn.functional.softshrink(y, t)
    return y - namespace(y).clip(y, -t, t)


def soft_risk(y: Any, t: Any, sigma: float | Floats, mechanism: Mechanism) -> Stein:
    """What is known of the risk of a threshold that was fixed before y was seen."""
    moved, spent = _parts(y, t, sigma, mechanism)
    return Stein(spent / mean_square(sigma), moved)


def held_out(y: Any, sigma: float | Floats, mechanism: Mechanism) -> RiskEstimate:
    """The risk of a threshold chosen by unbiased risk: each half of the bins is assessed where the *other* half chose.

    Assessed where it was chosen, the figure would be optimistic (and often negative), for it is the least of many.
    The degrees of freedom are those that make Stein's formula say the same of the threshold that was used.
    """
    xp, d, s = namespace(y), y.shape[0], math.sqrt(mean_square(sigma))
    best = _parts(y, _chosen(y, sigma, "sure", mechanism), sigma, mechanism)
    plain = stein_estimate(best[0], best[1] / s**2, d, s)
    if d < 4:
        return plain
    order = np.random.default_rng(0).permutation(d)
    halves = order[: d // 2], order[d // 2 :]
    values = [xp.take(y, xp.asarray(half, device=device_of(y)), axis=0) for half in halves]
    levels = [sigma if isinstance(sigma, float) else sigma[half] for half in halves]
    chosen = [_least(*half, mechanism) for half in zip(values, levels, strict=True)]
    moved = spent = 0.0
    for half, level, least in zip(values, levels, reversed(chosen), strict=True):
        part = _parts(half, _times(least, level, half), level, mechanism)
        moved, spent = moved + part[0], spent + part[1]
    free = spent / s**2
    risk = max(sure(moved, free, d, s), (s * free / d) ** 2)
    free = free + (moved - best[0]) / (2 * s**2)  # fits what the threshold that was used moved
    return RiskEstimate(risk, free, plain.sure)


def _chosen(y: Any, sigma: float | Floats, threshold: Any, mechanism: Mechanism) -> Any:
    """The threshold: a number, or an array that goes with y."""
    if not isinstance(threshold, str):
        return not_negative("threshold", threshold)
    validation.word("threshold", threshold, ("universal", "sure"))
    if threshold == "universal":
        return universal(y.shape[0], like(sigma, y, namespace(y)))
    return _times(_least(y, sigma, mechanism), sigma, y)


def _least(y: Any, sigma: float | Floats, mechanism: Mechanism) -> float:
    """The threshold of least unbiased risk: itself where sigma is a number, else as a multiple of sigma.

    To a library that takes derivatives it is a constant.
    """
    y = y.detach() if hasattr(y, "detach") else y
    xp = namespace(y)
    if isinstance(sigma, float):
        return float(least_risk(xp.abs(y), sigma, mechanism, xp))
    level = like(sigma, y, xp)
    return float(least_risk(xp.abs(y) / level, 1.0, mechanism, xp, weights=level**2))


def _times(least: float, sigma: float | Floats, y: Any) -> Any:
    """The thresholds of a multiple that `_least` returned."""
    return least if isinstance(sigma, float) else like(sigma, y, namespace(y)) * least


def _facts(t: Any, sigma: float | Floats, threshold: Any) -> dict[str, Any]:
    """What `parameters` says: the threshold where there is one, else how many sigmas it is."""
    chosen = threshold if isinstance(threshold, str) else "given"
    if isinstance(t, float):
        return {"threshold": t, "chosen": chosen}
    return {"threshold_in_sigmas": float(t[0]) / float(np.ravel(sigma)[0]), "chosen": chosen}


def least_risk(size: Any, sigma: float, mechanism: Mechanism, xp: Any, weights: Any = None) -> Any:
    """The threshold among the sizes |y_i| whose unbiased risk is least, by one sort and running sums.

    Gaussian: sum min(y_i^2, t^2) + 2 sigma^2 #{|y_i| > t}. Laplace: the count becomes
    sum P(|y_i + n'| > t), where P = exp(-t/b) cosh(y/b) for |y| <= t, and 1 - exp(-|y|/b) sinh(t/b) above.
    Thresholds beyond what noise alone reaches are not tried: sigma sqrt(2 log d), and b (log d + 3).
    With weights, the risk of each value counts as often as its weight says.
    """
    d = size.shape[0]
    b = sigma / math.sqrt(2)
    reach = universal(d, sigma) if mechanism == "gaussian" else b * (math.log(d) + 3)
    if weights is None:
        whole, w = xp.sort(size), None
    else:
        order = xp.argsort(size)
        whole, w = (xp.take(x, order, axis=0) for x in (size, weights))
    inside = xp.clip(whole, None, reach)
    t = xp.concat((xp.zeros_like(inside[:1]), inside))
    rank = xp.astype(xp.arange(d, -1, -1, device=device_of(t)), t.dtype)
    below = _running(inside * inside, w, xp)
    above = rank if w is None else xp.sum(w) - _running(w, None, xp)
    if mechanism == "gaussian":
        free = above
    else:
        near = _running(xp.exp((inside - reach) / b) + xp.exp(-(inside + reach) / b), w, xp)
        decay = xp.exp(-whole / b)
        every = xp.sum(decay if w is None else w * decay)
        growth = xp.exp((reach - t) / b)
        far = xp.clip(every - _running(decay, w, xp), 0.0, None)
        free = growth * near / 2 + above - (xp.exp(t / b) - xp.exp(-t / b)) / 2 * far
    score = below + t * t * above + 2 * sigma**2 * free
    # The others stand at reach only because they were cut.
    tried = rank >= xp.sum(xp.astype(whole > reach, t.dtype))
    score = xp.where(tried, score, xp.full_like(score, math.inf))
    return t[int(xp.argmin(score))]  # the first of equals


def _running(x: Any, weights: Any, xp: Any) -> Any:
    """Sums of the first 0, 1, 2, ..."""
    return xp.cumulative_sum(x if weights is None else weights * x, include_initial=True)


def _parts(y: Any, t: Any, sigma: float | Floats, mechanism: Mechanism) -> tuple[float, float]:
    """||y - h||^2 and sum_i sigma_i^2 d_i h_i at a fixed threshold."""
    xp = namespace(y)
    size, level = xp.abs(y), like(sigma, y, xp)
    cut = xp.clip(size, None, t)
    free = beyond(size, t, level, mechanism, xp)
    if mechanism == "laplace":
        free = free + beyond(-size, t, level, mechanism, xp)
    return host_number(xp.sum(cut * cut)), host_number(xp.sum(level**2 * free))
