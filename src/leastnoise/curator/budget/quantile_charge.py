"""How quantiles are found, and what that costs: drawn by rank, or read off a noisy histogram. Nothing is paid yet.

"auto" takes the one whose ranks are off by fewer rows, from public facts alone: levels, groups, limits and the promise.
How many rows there are, and where, is private. So both are judged as where rows are many and lie densely; where that
is wrong, neither the promise nor the intervals suffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import ATOMS, Cost, Terms
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.guarantee import PureDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion
from leastnoise.releases.quantile_histogram import rank_std

QuantileCharge = Charge[RankNoise] | Charge[NoiseChoice]


def decide(
    request: PrivacyRequest,
    ranks: RankQuestion,
    count: Callable[[PrivacyRequest], Charge[NoiseChoice]],
    *,
    steps: int,
) -> QuantileCharge:
    """The mechanism and its cost.

    count: the noise of a histogram for a request, and its cost. steps: how many steps that has in a group.
    """
    if request.mechanism in ("gaussian", "laplace"):
        return count(request)
    if request.mechanism == "exponential":
        return by_rank(request, ranks)
    if request.sigma is not None:
        return count(replace(request, mechanism="gaussian"))
    drawn, counted = by_rank(request, ranks), count(request)
    own = drawn.noise.rates.rank_std
    other = rank_std(counted.noise.distribution, steps=steps, levels=[float(q) for q in ranks.levels])
    if own <= other:
        return replace(drawn, noise=replace(drawn.noise, reason=NoiseReason("rank error", other)))
    return replace(counted, noise=replace(counted.noise, reason=NoiseReason("rank error", own)))


def by_rank(request: PrivacyRequest, ranks: RankQuestion) -> Charge[RankNoise]:
    """The exponential mechanism on ranks, for a promise or a share of a budget."""
    if request.sigma is not None:
        raise errors.InvalidParameter(
            "The exponential mechanism adds no noise that has a standard deviation. Say how private it must be.",
            parameter="sigma",
            value=request.sigma,
            example={"epsilon": 1, "delta": 0},
        )
    budget = request.budget
    if budget is None:
        made = _promised(request, ranks, pure=False)
        return Charge(made, made.guarantee, Cost(), None)
    terms = budget.terms
    if request.share is None:
        made = _promised(request, ranks, pure=terms.laplace_only)
        cost = _cost(terms, ranks, made).at_least(privacy_filter.LEAST_SHARE, terms.caps)
        return Charge(made, made.guarantee, cost, budget)
    part, why = privacy_filter.share_of(request.share), NoiseReason("budget share")
    if terms.laplace_only:
        cost = terms.laplace_share(part)
        made = ranks.of_epsilon(terms.epsilon_for(cost), why)
    else:
        cost = terms.gaussian_share(part)
        made = ranks.of_mu_squared(terms.mu_squared_for(cost), terms.gaussian_promise[1], why)
    return Charge(made, made.guarantee, cost, budget)


def _promised(request: PrivacyRequest, ranks: RankQuestion, *, pure: bool) -> RankNoise:
    """For (epsilon, delta); `pure`: for epsilon alone."""
    why = NoiseReason("requested")
    if request.epsilon is None:
        raise errors.MissingParameter(
            "How private should this be?", parameter="epsilon", example={"epsilon": 1, "delta": 1e-6}
        )
    epsilon = validation.number("epsilon", request.epsilon)
    zero = request.delta is None or validation.is_zero(request.delta)
    delta = 0.0 if zero else validation.number("delta", request.delta)
    return ranks.of_epsilon(epsilon, why) if pure else ranks.of_promise(epsilon, delta, why)


def _cost(terms: Terms, ranks: RankQuestion, made: RankNoise) -> Cost:
    """epsilon of a budget for pure releases alone, else mu^2; rounded up."""
    if terms.laplace_only and isinstance(made.guarantee, PureDP):
        return terms.laplace_cost(l1_sensitivity=made.guarantee.epsilon, scale=1.0)
    return Cost(gaussian=math.ceil(ranks.price(made) / terms.mu**2 * ATOMS))
