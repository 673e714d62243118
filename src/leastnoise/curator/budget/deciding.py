"""Which noise a request gets, and what it costs: of every question in one way, from public facts alone.

The noise that (epsilon, delta) or sigma ask for; or, of a budget, the noise that a share pays for. A share is a part of
mu^2, or for Laplace noise of the reserve where there is one. Laplace noise pays its own price in mu^2, and is the
smaller one where the share is worth a large epsilon. Without a budget "auto" takes whichever of Gaussian and Laplace
noise has the lesser error, but never Laplace noise that protects nobody where Gaussian noise does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import library_warnings, validation
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Terms, share_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.noise_plan import NoisePlanner, NoiseReason, Plan, ReasonCode
from leastnoise.privacy.strength import Strength, judge, protects_alone

_MOST_LOG_EPSILON = 14.0  # nobody needs more
_LAPLACE_MAY_WIN = 8  # mu^2 of a share; below it Gaussian noise is the smaller one


def decide(request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Charge[Plan]:
    """The noise and its cost. Nothing is paid."""
    if request.budget is not None:
        plan, cost = _bought(request, request.budget.terms, planner)
        return Charge(plan, cost, request.budget)
    plan = _least(request, planner)
    return Charge(plan, Cost(), None, _strength(plan, request, planner))


def _asked(request: PrivacyRequest, planner: NoisePlanner[Plan], *, pure: bool) -> Plan:
    """For the promise, or the sigma, of the request. pure: with noise that is epsilon-DP."""
    if request.sigma is not None:
        return planner.of_sigma(request.sigma, laplace=pure)
    epsilon, delta = request.promise()
    return planner.laplace(epsilon) if pure else planner.promised(epsilon, delta)


def _because(plan: Plan, code: ReasonCode, other_error: float | None = None) -> Plan:
    return replace(plan, reason=NoiseReason(code, other_error))


# Without a budget


def _least(request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Plan:
    """The mechanism that was asked for, or the one of less error."""

    def told(plan: Plan, code: ReasonCode, other_error: float | None = None) -> Plan:
        plan = replace(plan, other_error=other_error)
        return _because(plan, code, other_error) if planner.explains else plan

    automatic = request.mechanism == "auto"
    if request.mechanism == "laplace":
        return told(_asked(request, planner, pure=True), "requested")
    if automatic and request.sigma is None and validation.is_zero(request.delta):
        return told(_asked(request, planner, pure=True), "delta is zero")
    normal = _asked(request, planner, pure=False)
    if not automatic:
        return told(normal, "requested")
    if request.sigma is not None:
        return told(normal, "sigma given")
    if validation.is_zero(request.epsilon):
        return told(normal, "epsilon is zero")
    if not planner.compares:
        return told(normal, "no L1 sensitivity")
    try:
        pure = _asked(request, planner, pure=True)
    except errors.OutOfRange:  # too wide to be drawn, so it is not the lesser
        return told(normal, "smaller")
    if pure.error >= normal.error:
        return told(normal, "smaller", pure.error)
    if protects_alone(normal.guarantee, pure.guarantee):
        return told(normal, "stronger", pure.error)
    return told(pure, "smaller", normal.error)


def _strength(plan: Plan, request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Strength:
    """How strong the promise of noise is that no budget pays for; where that of Laplace noise is weak, told beside
    Gaussian noise for the same epsilon and delta."""
    own = judge(plan.guarantee)
    promised = request.epsilon is not None and not validation.is_zero(request.delta)
    if plan.mechanism != "laplace" or not promised or not own.is_weak:
        return own
    other = _asked(request, planner, pure=False)
    return own.beside(judge(other.guarantee), times_as_large(other.error, plan.error))


def times_as_large(error: float, other: float) -> float | None:
    """The one over the other; None where that is a million or more, and says no more than that the other is none."""
    return error / other if error < 1e6 * other else None


# From a budget


def cost_of(terms: Terms, planner: NoisePlanner[Plan], plan: Plan) -> Cost:
    """What noise takes of a budget, rounded up. Quantiles by rank never draw on a reserve for Laplace noise."""
    price = planner.price(plan)
    if plan.mechanism == "laplace" or terms.laplace_only:
        return terms.pure_cost(plan.cost, price)
    return terms.mu_squared_cost(price)


def _bought(request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """The noise that the request gets from the budget."""
    automatic = request.mechanism == "auto"
    if request.mechanism == "laplace" or (automatic and (terms.laplace_only or validation.is_zero(request.delta))):
        return _pure(request, terms, planner)
    if terms.laplace_only:
        raise errors.BudgetMismatch(
            "All of this budget's epsilon is set aside for Laplace releases, so Gaussian noise has no limit to spend "
            "from. Take Laplace noise, or open a budget with a pure_epsilon below its epsilon.",
            parameter="mechanism",
            value=request.mechanism,
            example={"mechanism": "laplace"},
        )
    if request.share is None:
        why: ReasonCode = "sigma given" if request.sigma is not None else "budget with a delta"
        return _of_request(request, terms, planner, why, pure=False)
    part = share_of(request.share)
    cost = terms.gaussian_share(part)
    plan = replace(planner.gaussian(terms.mu_squared_for(cost)), delta=terms.gaussian_promise[1])
    plan = _because(plan, "budget share")
    beats = terms.mu_squared_for(cost) > _LAPLACE_MAY_WIN and not terms.pure_epsilon
    if not (automatic and planner.compares and beats):
        return plan, cost
    try:
        pure, paid = _of_mu_squared(part, terms, planner)
    except errors.OutOfRange:  # Laplace noise too wide to be drawn, so it is not the lesser
        return plan, cost
    return (plan, cost) if pure.error >= plan.error else (_because(pure, "smaller", plan.error), paid)


def _pure(request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Laplace noise; the exponential mechanism of ranks."""
    if request.share is None:
        why: ReasonCode = "budget of Laplace noise" if terms.laplace_only else "delta is zero"
        return _of_request(request, terms, planner, why, pure=True)
    part = share_of(request.share)
    return _of_reserve(part, terms, planner) if terms.pure_epsilon else _of_mu_squared(part, terms, planner)


def _of_request(
    request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan], why: ReasonCode, *, pure: bool
) -> tuple[Plan, Cost]:
    """What was asked for by its promise or its sigma, paid at its price."""
    plan = _asked(request, planner, pure=pure)
    if request.mechanism == "auto":
        plan = _because(plan, why)
    elif planner.explains:
        plan = _because(plan, "requested")
    return plan, cost_of(terms, planner, plan).at_least(LEAST_SHARE, terms.whole_caps)


def _of_reserve(part: Fraction, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Noise for this part of the reserve, which may be all of epsilon."""
    paid = terms.pure_share(part)
    plan = planner.laplace(some_epsilon(terms.epsilon_for(paid)))
    cost = cost_of(terms, planner, plan).at_least(LEAST_SHARE, terms.whole_caps)
    return _because(plan, "budget share"), cost._replace(pure=paid.pure)


def _of_mu_squared(part: Fraction, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Laplace noise for this part of mu^2: of the largest epsilon that it pays for, to 1e-9.

    What epsilon-DP at its worst may have is paid in any case; the noise's own price allows more.
    """
    from scipy.optimize import brentq

    paid = terms.laplace_share(part)
    epsilon = some_epsilon(terms.epsilon_for(paid))
    plan = planner.laplace(epsilon)

    def over(log_epsilon: float) -> float:
        price = cost_of(terms, planner, planner.laplace(math.exp(log_epsilon))).gaussian
        return math.log(price / paid.gaussian)

    with library_warnings.none_at_all():  # what there is to warn of was said once
        low, high = math.log(epsilon), math.log(epsilon) + 1
        while over(high) <= 0 and high < _MOST_LOG_EPSILON:
            low, high = high, high + 1
        if high < _MOST_LOG_EPSILON and over(low) < 0:
            low = brentq(over, low, high, xtol=2e-10)
        more = planner.laplace(max(epsilon, math.exp(low - 5e-10)))
        if cost_of(terms, planner, more).gaussian <= paid.gaussian:
            plan = more
    return _because(plan, "budget share"), paid


def some_epsilon(epsilon: float) -> float:
    if epsilon > 0:
        return epsilon
    raise errors.InvalidParameter(
        "This share is worth no epsilon that a double can hold. Take a larger one.",
        parameter="share",
        example={"share": 0.01},
    )
