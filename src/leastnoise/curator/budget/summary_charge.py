"""What several statistics released together cost: the noise of each, and one price in a budget. Nothing is paid yet."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import calibration
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.privacy.summary_noise import Asked, SummaryNoise, gaussian_noise, laplace_noise

SummaryCharge = Charge[SummaryNoise]


def decide(request: PrivacyRequest, asked: Asked) -> SummaryCharge:
    """The noise of all statistics together, and its cost: one debit.

    Without a budget "auto" takes whichever of Gaussian and Laplace noise has the lesser error by the weights; with a
    budget Gaussian noise, as `charge.decide` does.
    """
    _refuse_sigma(request)
    if request.budget is None:
        made = _without_budget(request, asked)
        return Charge(made, made.guarantee, Cost(), None)
    terms = request.budget.terms
    zero, automatic = validation.is_zero(request.delta), request.mechanism == "auto"
    pure = request.mechanism == "laplace" or (automatic and (terms.laplace_only or zero))
    if not pure and terms.laplace_only:
        raise errors.BudgetMismatch(
            "All of this budget's epsilon is set aside for Laplace releases, so Gaussian noise has no limit to spend "
            "from. Take Laplace noise, or open a budget with a pure_epsilon below its epsilon.",
            parameter="mechanism",
            value=request.mechanism,
            example={"mechanism": "laplace"},
        )
    if request.share is not None:
        part = privacy_filter.share_of(request.share)
        cost = terms.laplace_share(part) if pure else terms.gaussian_share(part)
        if pure:
            made = laplace_noise(asked, epsilon=terms.epsilon_for(cost))
        else:
            made = replace(
                gaussian_noise(asked, mu_squared=terms.mu_squared_for(cost)), delta=terms.gaussian_promise[1]
            )
        return Charge(_because(made, "budget share"), made.guarantee, cost, request.budget)
    epsilon, delta = request.promise()
    made = laplace_noise(asked, epsilon=epsilon) if pure else _gaussian(asked, epsilon, delta)
    cost = (
        terms.laplace_cost(l1_sensitivity=round_up(made.cost), scale=1.0)
        if pure
        else terms.gaussian_cost(sensitivity=sqrt_up(made.cost), sigma=1.0)
    )
    return Charge(made, made.guarantee, cost.at_least(privacy_filter.LEAST_SHARE, terms.caps), request.budget)


def _without_budget(request: PrivacyRequest, asked: Asked) -> SummaryNoise:
    epsilon, delta = request.promise()
    if request.mechanism == "laplace" or (request.mechanism == "auto" and validation.is_zero(delta)):
        return laplace_noise(asked, epsilon=epsilon)
    normal = _gaussian(asked, epsilon, delta)
    if request.mechanism == "gaussian" or validation.is_zero(epsilon):
        return normal
    try:
        pure = laplace_noise(asked, epsilon=epsilon)
    except errors.OutOfRange:  # too wide to be drawn, so it is not the lesser
        return normal
    if pure.error < normal.error:
        return replace(pure, other_error=normal.error)
    return replace(normal, other_error=pure.error)


def _gaussian(asked: Asked, epsilon: Number, delta: Number) -> SummaryNoise:
    """mu^2 is (1/sigma)^2 of the proved sigma of sensitivity one."""
    allowed = 1 / Fraction(calibration.sigma(epsilon=epsilon, delta=delta)) ** 2
    return replace(gaussian_noise(asked, mu_squared=allowed), delta=validation.number("delta", delta))


def _because(made: SummaryNoise, code: str) -> SummaryNoise:
    return replace(made, reason=NoiseReason(code))  # type: ignore[arg-type]


def _refuse_sigma(request: PrivacyRequest) -> None:
    """Every statistic has a noise of its own, so one sigma says nothing."""
    if request.sigma is not None:
        raise errors.InvalidParameter(
            "Every statistic of a summary has noise of its own, so one standard deviation cannot be asked for. Say how "
            "private the summary must be.",
            parameter="sigma",
            value=request.sigma,
            example={"epsilon": 1, "delta": 1e-6},
        )
