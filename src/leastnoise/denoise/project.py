"""Consistency with what is known: the point of a convex set that is nearest to the noisy values.

    h = argmin_{h in C} ||y - h||^2

When the truth lies in C, projecting never increases the error, whatever the noise (projections are contractions).
Sets: the L1, L2, Linf ball of a radius, the non-negative orthant, the simplex {h >= 0, sum h = total}, a known
total, and monotone sequences. Known sums of bins (A h = totals, as in hierarchies) are in `known_sums.py`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Mechanism, given, given_on_host, squares
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import beyond, stein_estimate
from leastnoise.denoise.threshold import shrunk
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

Set = Literal["nonnegative", "l1", "l2", "linf", "simplex", "total"]


@estimator
def project(
    y: Any,
    sigma: Number,
    *,
    onto: Set,
    radius: Number | None = None,
    total: Number | None = None,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """The nearest point of a set that is known to hold the truth.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    onto: the set: "nonnegative", a ball "l1", "l2" or "linf", the "simplex" (non-negative, of known sum), or "total".
    radius: of a ball. total: the sum, for "simplex" and "total".
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> project([3.0, -1.0, 0.5], sigma=1.0, onto="nonnegative").values
    array([3. , 0. , 0.5])
    >>> project([3.0, 2.0, -1.0], sigma=1.0, onto="simplex", total=3.0).values
    array([2., 1., 0.])
    """
    y, sigma, xp = given(y, sigma, mechanism)
    validation.word("onto", onto, _RULES)
    size = _size(onto, radius, total)
    values, divergence = _RULES[onto](y, size, sigma, mechanism, xp)

    def estimate_risk() -> RiskEstimate:
        free = divergence()
        return (
            RiskEstimate(None, None) if free is None else stein_estimate(float(squares(y - values, xp)), free, d, sigma)
        )

    d = math.prod(y.shape)
    chosen = {"onto": onto} | ({} if size is None else {"total" if onto in _TOTALS else "radius": size})
    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="project",
        parameters=chosen,
        nonnegative=onto in ("nonnegative", "simplex"),
        estimate_risk=estimate_risk,
    )


@estimator
def isotonic(y: Any, sigma: Number, *, increasing: bool = True, mechanism: Mechanism = "gaussian") -> Estimate:
    """The nearest monotone sequence, by pooling adjacent violators; its degrees of freedom are its levels.

    y: the noisy values, a sequence. sigma: the standard deviation of their noise.
    increasing: whether the truth rises along the sequence, or falls.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> isotonic([1.0, 3.0, 2.0, 5.0], sigma=1.0).values
    array([1. , 2.5, 2.5, 5. ])
    """
    from scipy.optimize import isotonic_regression

    y, sigma = given_on_host(y, sigma, mechanism)
    if y.ndim != 1:
        raise errors.InvalidParameter(f"y must be a sequence. Got {y.ndim} dimensions instead: say y.ravel().")
    made = isotonic_regression(y, increasing=increasing)
    values = np.asarray(made.x)
    moved, levels = float(((values - y) ** 2).sum()), float(len(made.blocks) - 1)

    def estimate_risk() -> RiskEstimate:
        return stein_estimate(moved, levels, y.size, sigma) if mechanism == "gaussian" else RiskEstimate(None, None)

    return Estimate(
        values=values,
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="isotonic",
        parameters={"increasing": increasing},
        estimate_risk=estimate_risk,
    )


# Each rule returns the projection and a function for its divergence (None: not known under this noise).


def _nonnegative(y: Any, size: None, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    return xp.clip(y, 0.0, None), lambda: float(xp.sum(beyond(y, 0.0, sigma, mechanism, xp)))


def _linf(y: Any, radius: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    def free() -> float:
        inside = beyond(y, -radius, sigma, mechanism, xp) - beyond(y, radius, sigma, mechanism, xp)
        return float(xp.sum(inside))

    return xp.clip(y, -radius, radius), free


def _l2(y: Any, radius: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    norm = xp.sqrt(squares(y, xp))
    factor = radius / xp.clip(norm, radius, None)

    def free() -> float | None:
        d = math.prod(y.shape)
        shrink = float(factor)
        if mechanism != "gaussian":
            return None
        return float(d) if shrink == 1 else (d - 1) * shrink

    return factor * y, free


def _l1(y: Any, radius: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    t = _water_level(xp.reshape(xp.abs(y), (-1,)), radius, xp)
    values = shrunk(y, t, xp)

    def free() -> float | None:
        return float(xp.sum(xp.astype(values != 0, y.dtype))) - bool(t > 0) if mechanism == "gaussian" else None

    return values, free


def _simplex(y: Any, total: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    shift = xp.max(y)  # what is near the total keeps its last digits
    t = _water_level(xp.reshape(y, (-1,)) - shift + total, total, xp)
    values = xp.clip(y - (shift - total + t), 0.0, None)
    return values, lambda: float(xp.sum(xp.astype(values > 0, y.dtype))) - 1 if mechanism == "gaussian" else None


def _total(y: Any, total: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    d = math.prod(y.shape)
    return y - (xp.sum(y) - total) / d, lambda: d - 1.0


def _water_level(x: Any, total: float, xp: Any) -> Any:
    """The t >= 0 with sum max(x_i - t, 0) = total, or 0 where the sum over x_i > 0 is smaller already.

    It moves with every x_i above it, so it stays a number of x's library: derivatives pass through it.
    """
    high = xp.sort(x, descending=True)
    over = xp.cumulative_sum(high) - total
    rank = xp.astype(xp.arange(1, x.shape[0] + 1, device=_device(x)), x.dtype)
    kept = int(xp.sum(xp.astype(high * rank > over, xp.int64)))
    level = over[kept - 1] / kept
    return xp.where(level > 0, level, xp.zeros_like(level))


_RULES: dict[str, Any] = {
    "nonnegative": _nonnegative,
    "l1": _l1,
    "l2": _l2,
    "linf": _linf,
    "simplex": _simplex,
    "total": _total,
}
_TOTALS = ("simplex", "total")


def _size(onto: str, radius: Number | None, total: Number | None) -> float | None:
    """The one number that the set needs."""
    if onto == "nonnegative":
        return None
    name, value = ("total", total) if onto in _TOTALS else ("radius", radius)
    if value is None:
        raise errors.MissingParameter(
            f'The set "{onto}" needs its {name}.', parameter=name, example={"onto": onto, name: 100}
        )
    if onto == "total":
        if not math.isfinite(value):
            raise errors.InvalidParameter("total must be finite.")
        return float(value)
    return validation.number(name, value)


def _device(array: Any) -> Any:
    import array_api_compat

    return array_api_compat.device(array)
