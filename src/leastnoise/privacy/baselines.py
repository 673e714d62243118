"""What others do: the classical Gaussian mechanism, the zCDP and Renyi routes, Laplace; and the lower bounds.

None of these is needed to release anything. They are here to be compared with, in tables and figures.
All are in doubles, rounded to nearest, except where a docstring says more. All take arrays, which are broadcast, in
place of numbers (not `laplace_distribution`): every element is what it would be by itself.

    >>> zcdp_sigma(epsilon=[0.1, 1.0], delta=1e-6).round(2)
    array([52.66,  5.35])
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explain_public
from leastnoise._support.validation import Number, over_arrays
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.distributions import Laplace

LEAST_RENYI_EPSILON = 1e-100

__all__ = [
    "classical_sigma",
    "exact_zero_epsilon_sigma",
    "laplace_distribution",
    "laplace_scale",
    "lower_bound_delta",
    "lower_bound_sigma",
    "renyi_sigma",
    "zcdp_sigma",
    "zero_epsilon_sigma",
]


def __dir__() -> list[str]:
    return __all__


@over_arrays("epsilon", "delta", "sensitivity")
def classical_sigma(*, epsilon: Number, delta: Number, sensitivity: Number = 1.0, extrapolate: bool = False) -> float:
    """Theorem 1: sigma = sensitivity sqrt(2 log(1.25/delta))/epsilon, for epsilon < 1 only.

    epsilon, delta: the promise. sensitivity: how far one person can move the answer (L2).
    extrapolate: also at epsilon >= 1, where it is no theorem.

    >>> round(classical_sigma(epsilon=0.5, delta=1e-6), 3)
    10.598
    """
    epsilon, delta, sensitivity = _three(epsilon, delta, sensitivity)
    if epsilon == 0:
        raise errors.InvalidParameter(
            "The classical formula divides by epsilon, so there is none at epsilon = 0. Use ln.sigma, which has one.",
            parameter="epsilon",
            value=epsilon,
        )
    if epsilon >= 1 and not extrapolate:
        raise errors.InvalidParameter(
            f"The classical formula is a theorem for epsilon < 1 only; at epsilon = {epsilon:g} it may promise what "
            "it does not keep. Use ln.sigma, which is exact for every epsilon; or extrapolate, for a plot.",
            parameter="epsilon",
            value=epsilon,
            example={"extrapolate": True},
        )
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@over_arrays("delta", "sensitivity")
def zero_epsilon_sigma(*, delta: Number, sensitivity: Number = 1.0) -> float:
    """Theorem 2: sigma = sensitivity/(2 delta) is (0, delta)-DP. Sufficient; the exact one is 20 % less or more."""
    _, delta, sensitivity = _three(0, delta, sensitivity)
    return sensitivity / (2 * delta)


@over_arrays("delta", "sensitivity")
def exact_zero_epsilon_sigma(*, delta: Number, sensitivity: Number = 1.0) -> float:
    """The exact (0, delta) sigma: delta = 2 Phi(mu/2) - 1, so sensitivity/(2 sqrt 2 erfinv(delta)). Rounded up."""
    _, delta, sensitivity = _three(0, delta, sensitivity)
    with proof.precision(1200):
        return proof.upward(arb(sensitivity) / (arb(8).sqrt() * arb(delta).erfinv()))


@over_arrays("epsilon", "delta", "sensitivity")
def lower_bound_sigma(*, epsilon: Number, delta: Number, sensitivity: Number = 1.0) -> float:
    """Theorem 4, corrected: for delta < delta_0(epsilon) every valid sigma is >= sensitivity/sqrt(2 epsilon).

    delta_0(epsilon) = 1/2 - e^epsilon Phi(-sqrt(2 epsilon)) is delta at that sigma. The paper's condition
    delta < 1/2 - e^(-3 epsilon)/sqrt(4 pi epsilon) is too wide: it admits (1, 0.4), where 0.5873 suffices
    and the claimed bound is 0.7071. Outside the condition the bound is 0: nothing is claimed.
    """
    epsilon, delta, sensitivity = _three(epsilon, delta, sensitivity)
    return sensitivity / math.sqrt(2 * epsilon) if epsilon > 0 and delta < lower_bound_delta(epsilon) else 0.0


@over_arrays("epsilon")
def lower_bound_delta(epsilon: Number) -> float:
    """delta_0(epsilon) = 1/2 - e^epsilon Phi(-sqrt(2 epsilon)) = delta(epsilon, mu = sqrt(2 epsilon))."""
    epsilon = validation.number("epsilon", epsilon)
    with proof.precision(256):
        return float(arb(1) / 2 - proof.mills((2 * arb(epsilon)).sqrt()) * proof.density(arb(0)))


@over_arrays("epsilon", "delta", "sensitivity")
def zcdp_sigma(*, epsilon: Number, delta: Number, sensitivity: Number = 1.0) -> float:
    """Through rho-zCDP and epsilon = rho + 2 sqrt(rho log(1/delta)) (Bun & Steinke 2016): rho = 1/(2 sigma^2).

    The plain Renyi route (Mironov 2017), optimised over its order, gives the same number.

    epsilon, delta: the promise. sensitivity: how far one person can move the answer (L2).
    """
    epsilon, delta, sensitivity = _three(epsilon, delta, sensitivity)
    if epsilon == 0:
        raise errors.InvalidParameter(
            "The zCDP route has no answer at epsilon = 0. Use ln.sigma, which has.", parameter="epsilon", value=epsilon
        )
    tail = math.log(1 / delta)
    root = epsilon / (math.sqrt(tail + epsilon) + math.sqrt(tail))  # sqrt(rho), without cancellation
    return sensitivity / (math.sqrt(2) * root)


@over_arrays("epsilon", "delta", "sensitivity")
def renyi_sigma(*, epsilon: Number, delta: Number, sensitivity: Number = 1.0) -> float:
    """Through Renyi DP with the tight conversion (Canonne, Kamath & Steinke 2020), the best order of all:

    delta = min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1).

    epsilon, delta: the promise. sensitivity: how far one person can move the answer (L2).
    """
    epsilon, delta, sensitivity = _three(epsilon, delta, sensitivity)
    if epsilon < LEAST_RENYI_EPSILON:  # rho would underflow
        raise errors.InvalidParameter("The Renyi route has no answer below epsilon = 1e-100. Use ln.sigma, which has.")

    def excess(log_sigma: float) -> float:
        return _renyi_log_delta(epsilon, math.exp(-2 * log_sigma) / 2) - math.log(delta)

    above = math.log(zcdp_sigma(epsilon=epsilon, delta=delta))
    return sensitivity * math.exp(_falling_root(excess, above))


@over_arrays("epsilon", "l1_sensitivity")
def laplace_scale(*, epsilon: Number, l1_sensitivity: Number = 1.0) -> float:
    """The Laplace mechanism: scale = l1_sensitivity / epsilon, rounded up.

    epsilon: above 0. l1_sensitivity: how far one person can move the answer (L1).
    """
    epsilon = validation.number("epsilon", epsilon)
    l1 = validation.number("l1_sensitivity", l1_sensitivity)
    if epsilon == 0:
        raise errors.InvalidParameter(
            "Laplace noise needs epsilon > 0: at epsilon = 0 nothing about the data may be published."
        )
    with proof.precision(128):
        scale = proof.upward(arb(l1) / arb(epsilon))
    if math.isinf(scale):
        raise errors.OutOfRange(proof.too_large("Laplace scale"))
    return scale


def laplace_distribution(*, epsilon: Number, l1_sensitivity: Number = 1.0, grid: float = 0.0) -> Laplace:
    """The distribution of Laplace noise, or of its discrete form on a grid, at this epsilon.

    epsilon: above 0. l1_sensitivity: how far one person can move the answer (L1). grid: its step, 0 for none.
    """
    return Laplace(scale=laplace_scale(epsilon=epsilon, l1_sensitivity=l1_sensitivity), grid=grid)


def _three(epsilon: Number, delta: Number, sensitivity: Number) -> tuple[float, float, float]:
    return (
        validation.number("epsilon", epsilon),
        validation.number("delta", delta),
        validation.number("sensitivity", sensitivity),
    )


def _renyi_log_delta(epsilon: float, rho: float) -> float:
    from scipy.optimize import minimize_scalar  # half a second to import, so only here

    def at(log_order: float) -> float:
        alpha = 1 + math.exp(log_order)
        return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    # The exponent alone is least at alpha = (epsilon/rho + 1)/2; the other factor moves that a little.
    centre = math.log(max((epsilon / rho - 1) / 2, 1e-3))
    found = minimize_scalar(at, bounds=(centre - 4, centre + 4), method="bounded", options={"xatol": 1e-12})
    return float(found.fun)


def _falling_root(function: Callable[[float], float], above: float) -> float:
    """The root of a falling function, given a point at or past it."""
    from scipy.optimize import brentq

    low = above - 1.0
    while function(low) < 0:
        low -= 1.0
    high = above + 1e-9
    while function(high) > 0:
        high += 0.1
    return float(brentq(function, low, high, xtol=1e-14))


explain_public(globals(), __all__)
