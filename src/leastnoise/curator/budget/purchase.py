"""The noise that a budget pays for: Gaussian or Laplace, and what it costs. Nothing is paid yet.

A share is a part of mu^2, or for Laplace noise of the reserve; and in a budget that Laplace releases alone may spend
instead (`privacy_filter`), of epsilon. The latter has less noise for one number of one row, and often uses up more than
all of mu^2: from then on only Laplace noise can be released. So "auto" takes it where nothing of mu^2 would be left
anyway, or already is, unless that leaves a budget that protects nobody (`promise`) and Gaussian noise does not; whoever
asks for Laplace noise gets whichever of the two ways to pay has less of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, TypeVar

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.privacy_filter import LEAST_SHARE, Cost, Terms
from leastnoise.curator.budget.promise import strength
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.noise_reason import NoiseReason, ReasonCode

_MOST_LOG_EPSILON = 14.0  # nobody needs more
_LAPLACE_MAY_WIN = 8  # mu^2 of a share; below it Gaussian noise is the smaller one
Noise = TypeVar("Noise")


@dataclass(frozen=True, slots=True)
class Makers(Generic[Noise]):
    """How the noise of one release is made from public facts, what it costs, and by what noises are compared."""

    gaussian: Callable[[Fraction], Noise]  # by mu^2
    laplace: Callable[[float], Noise]  # by epsilon
    asked: Callable[[bool], Noise]  # by the promise of the request; whether with Laplace noise
    cost: Callable[[Terms, Noise], Cost]
    error: Callable[[Noise], float]
    compare: bool  # whether "auto" may take Laplace noise


@dataclass(frozen=True, slots=True)
class Purchase(Generic[Noise]):
    """Noise, its cost, and why it is this one (None: as the maker of the noise says)."""

    noise: Noise
    cost: Cost
    reason: NoiseReason | None


def purchase(request: PrivacyRequest, budget: Budget, makers: Makers[Noise]) -> Purchase[Noise]:
    """The noise that the request gets from the budget."""
    terms, automatic = budget.terms, request.mechanism == "auto"
    if request.mechanism == "laplace" or (automatic and (terms.laplace_only or validation.is_zero(request.delta))):
        return _laplace(request, terms, budget._spent(), makers)
    if terms.laplace_only:
        raise errors.BudgetMismatch(
            "All of this budget's epsilon is set aside for Laplace releases, so Gaussian noise has no limit to spend "
            "from. Take Laplace noise, or open a budget with a pure_epsilon below its epsilon.",
            parameter="mechanism",
            value=request.mechanism,
            example={"mechanism": "laplace"},
        )
    gaussian = _gaussian(request, terms, makers)
    if not automatic or not makers.compare or request.sigma is not None:
        return gaussian
    try:
        return _lesser(gaussian, request, budget, makers)
    except errors.OutOfRange:  # Laplace noise too wide to be drawn, so it is not the lesser
        return gaussian


def _gaussian(request: PrivacyRequest, terms: Terms, makers: Makers[Noise]) -> Purchase[Noise]:
    if request.share is None:
        why: ReasonCode = "sigma given" if request.sigma is not None else "budget with a delta"
        return _asked(False, why if request.mechanism == "auto" else None, terms, makers)
    cost = terms.gaussian_share(privacy_filter.share_of(request.share))
    return Purchase(makers.gaussian(terms.mu_squared_for(cost)), cost, NoiseReason("budget share"))


def _laplace(request: PrivacyRequest, terms: Terms, spent: Cost, makers: Makers[Noise]) -> Purchase[Noise]:
    """By the way to pay that has less noise, of those that are open."""
    if request.share is None:
        why: ReasonCode = "budget of Laplace noise" if terms.laplace_only else "delta is zero"
        return _asked(True, why if request.mechanism == "auto" else None, terms, makers)
    part = privacy_filter.share_of(request.share)
    if terms.pure_epsilon or not terms.keeps_caps(spent):
        return _of_epsilon(part, terms, makers)
    capped = _of_mu_squared(part, terms, makers)
    if not terms.left(spent).pure:
        return capped
    return min(capped, _of_epsilon(part, terms, makers), key=lambda each: makers.error(each.noise))


def _lesser(
    gaussian: Purchase[Noise], request: PrivacyRequest, budget: Budget, makers: Makers[Noise]
) -> Purchase[Noise]:
    """Gaussian noise, or Laplace noise where that is less and takes nothing from later releases."""
    terms, spent = budget.terms, budget._spent()
    if request.share is not None and not terms.pure_epsilon:
        part = privacy_filter.share_of(request.share)
        if terms.mu_squared_for(gaussian.cost) > _LAPLACE_MAY_WIN:
            gaussian = _least(gaussian, _of_mu_squared(part, terms, makers), budget, makers)
    after = spent + gaussian.cost
    if not terms.pure_instead or terms.keeps_caps(after + Cost(gaussian=math.ceil(LEAST_SHARE * terms.caps.gaussian))):
        return gaussian
    laplace = (
        _asked(True, "share of epsilon", terms, makers) if request.share is None else _of_epsilon(part, terms, makers)
    )
    if not terms.allows(spent + laplace.cost):
        return gaussian
    if not terms.allows(after):
        return laplace
    return _least(gaussian, laplace, budget, makers)


def _least(
    gaussian: Purchase[Noise], laplace: Purchase[Noise], budget: Budget, makers: Makers[Noise]
) -> Purchase[Noise]:
    """The one with the smaller error, but for a budget that would protect nobody; Gaussian noise that has it has no
    sentence about the other one here."""
    error, other = makers.error(gaussian.noise), makers.error(laplace.noise)
    if other >= error:
        return gaussian
    if _protects_nobody(budget, laplace.cost) and not _protects_nobody(budget, gaussian.cost):
        return replace(gaussian, reason=NoiseReason("stronger", other))
    code: ReasonCode = "share of epsilon" if laplace.reason == NoiseReason("share of epsilon") else "smaller"
    return replace(laplace, reason=NoiseReason(code, error))


def _protects_nobody(budget: Budget, cost: Cost) -> bool:
    """Of all that the budget allows once this is paid: what is promised, its first release decides."""
    first = budget._first()
    return strength(budget._account.whole, cost if first is None else first).protects_nobody


def _asked(laplace: bool, why: ReasonCode | None, terms: Terms, makers: Makers[Noise]) -> Purchase[Noise]:
    noise = makers.asked(laplace)
    cost = makers.cost(terms, noise).at_least(LEAST_SHARE, terms.whole_caps)
    return Purchase(noise, cost, None if why is None else NoiseReason(why))


def _of_epsilon(part: Fraction, terms: Terms, makers: Makers[Noise]) -> Purchase[Noise]:
    """Laplace noise for this part of epsilon, or of the reserve."""
    paid = terms.pure_share(part)
    noise = makers.laplace(some_epsilon(terms.epsilon_for(paid)))
    cost = makers.cost(terms, noise).at_least(LEAST_SHARE, terms.whole_caps)
    why: ReasonCode = "share of epsilon" if terms.pure_instead else "budget share"
    return Purchase(noise, replace(cost, pure=paid.pure), NoiseReason(why))


def _of_mu_squared(part: Fraction, terms: Terms, makers: Makers[Noise]) -> Purchase[Noise]:
    """Laplace noise for this part of mu^2: of the largest epsilon that it pays for, to 1e-9.

    What epsilon-DP at its worst may have is paid in any case; the noise's own price allows more.
    """
    from scipy.optimize import brentq

    paid = terms.laplace_share(part)
    epsilon = some_epsilon(terms.epsilon_for(paid))

    def over(log_epsilon: float) -> float:
        price = makers.cost(terms, makers.laplace(math.exp(log_epsilon))).gaussian
        return math.log(price / paid.gaussian)

    low, high = math.log(epsilon), math.log(epsilon) + 1
    while over(high) <= 0 and high < _MOST_LOG_EPSILON:
        low, high = high, high + 1
    if high < _MOST_LOG_EPSILON and over(low) < 0:
        low = brentq(over, low, high, xtol=2e-10)
    noise = makers.laplace(max(epsilon, math.exp(low - 5e-10)))
    cost = makers.cost(terms, noise)
    if cost.gaussian > paid.gaussian:
        noise = makers.laplace(epsilon)
        cost = makers.cost(terms, noise)
    return Purchase(noise, replace(paid, pure=cost.pure), NoiseReason("budget share"))


def some_epsilon(epsilon: float) -> float:
    if epsilon > 0:
        return epsilon
    raise errors.InvalidParameter(
        "This share is worth no epsilon that a double can hold. Take a larger one.",
        parameter="share",
        example={"share": 0.01},
    )
