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
from leastnoise.denoise.arrays import Mechanism, device_of, namespace, squares
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.risk import beyond
from leastnoise.denoise.threshold import softened

Set = Literal["nonnegative", "l1", "l2", "linf", "simplex", "total"]


@denoiser(on_device=True)
def project(
    y: Any,
    sigma: float,
    *,
    onto: Set,
    radius: Number | None = None,
    total: Number | None = None,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
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
    validation.word("onto", onto, _RULES)
    size = _size(onto, radius, total)
    values, divergence = _RULES[onto](y, size, sigma, mechanism, namespace(y))

    def risk() -> Stein | None:
        free = divergence()
        return None if free is None else Stein(free)

    chosen = {"onto": onto} | ({} if size is None else {"total" if onto in _TOTALS else "radius": size})
    return Denoised(values, chosen, risk, nonnegative=onto in ("nonnegative", "simplex"))


@denoiser()
def isotonic(y: Any, sigma: float, *, increasing: bool = True, mechanism: Mechanism = "gaussian") -> Denoised:
    """The nearest monotone sequence, by pooling adjacent violators; its degrees of freedom are its levels.

    y: the noisy values, a sequence. sigma: the standard deviation of their noise.
    increasing: whether the truth rises along the sequence, or falls.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> isotonic([1.0, 3.0, 2.0, 5.0], sigma=1.0).values
    array([1. , 2.5, 2.5, 5. ])
    """
    from scipy.optimize import isotonic_regression

    made = isotonic_regression(y, increasing=increasing)
    levels = float(len(made.blocks) - 1)
    return Denoised(np.asarray(made.x), {"increasing": increasing}, Stein(levels) if mechanism == "gaussian" else None)


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
        d = y.shape[0]
        shrink = float(factor)
        if mechanism != "gaussian":
            return None
        return float(d) if shrink == 1 else (d - 1) * shrink

    return factor * y, free


def _l1(y: Any, radius: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    t = _water_level(xp.abs(y), radius, xp)
    values = softened(y, t)

    def free() -> float | None:
        return float(xp.sum(xp.astype(values != 0, y.dtype))) - bool(t > 0) if mechanism == "gaussian" else None

    return values, free


def _simplex(y: Any, total: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    shift = xp.max(y)  # what is near the total keeps its last digits
    t = _water_level(y - shift + total, total, xp)
    values = xp.clip(y - (shift - total + t), 0.0, None)
    return values, lambda: float(xp.sum(xp.astype(values > 0, y.dtype))) - 1 if mechanism == "gaussian" else None


def _total(y: Any, total: float, sigma: float, mechanism: Mechanism, xp: Any) -> tuple[Any, Any]:
    d = y.shape[0]
    return y - (xp.sum(y) - total) / d, lambda: d - 1.0


def _water_level(x: Any, total: float, xp: Any) -> Any:
    """The t >= 0 with sum max(x_i - t, 0) = total, or 0 where the sum over x_i > 0 is smaller already.

    It moves with every x_i above it, so it stays a number of x's library: derivatives pass through it.
    """
    high = xp.sort(x, descending=True)
    over = xp.cumulative_sum(high) - total
    rank = xp.astype(xp.arange(1, x.shape[0] + 1, device=device_of(x)), x.dtype)
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
