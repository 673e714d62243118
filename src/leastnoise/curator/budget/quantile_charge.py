"""How quantiles are found, and what that costs: drawn by rank, or read off a noisy histogram. Nothing is paid yet.

A histogram's noise is on every count, or, Gaussian, on the sums of counts that are best for cumulative sums.

"auto" takes the one whose ranks are off by fewer rows, from public facts alone: levels, groups, limits and the promise.
How many rows there are, and where, is private. So both are judged as where rows are many and lie densely; where that
is wrong, neither the promise nor the intervals suffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.guarantee import PureDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion
from leastnoise.releases.quantile_histogram import rank_std

Count = Callable[[PrivacyRequest], Charge[NoiseChoice]]


@dataclass(frozen=True, slots=True)
class QuantileCharge:
    """The mechanism and its cost; `cumulative`: noise is on sums of counts that are best for cumulative sums."""

    charge: Charge[RankNoise] | Charge[NoiseChoice]
    rank_std: float
    cumulative: bool = False

    def because(self, other: float) -> QuantileCharge:
        """The same, chosen because ranks would be off by `other` rows otherwise."""
        made, why = self.charge, NoiseReason("rank error", other)
        if isinstance(made.noise, RankNoise):
            return replace(self, charge=replace(made, noise=replace(made.noise, reason=why)))
        return replace(self, charge=replace(made, noise=replace(made.noise, reason=why)))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Noise of a histogram for a request, and its cost: on every count, or on sums that are best for cumulative ones
    (None: of so many steps there are none)."""

    levels: tuple[float, ...]
    steps: int
    plain: Count
    cumulative: Count | None

    def on_counts(self, request: PrivacyRequest) -> QuantileCharge:
        """Noise on every count."""
        made = self.plain(request)
        return QuantileCharge(made, rank_std(made.noise.distribution, steps=self.steps, levels=self.levels))

    def on_sums(self, request: PrivacyRequest) -> QuantileCharge | None:
        """Gaussian noise on sums of counts."""
        if self.cumulative is None:
            return None
        made = self.cumulative(replace(request, mechanism="gaussian"))
        found = rank_std(made.noise.distribution, steps=self.steps, levels=self.levels, cumulative=True)
        return QuantileCharge(made, found, cumulative=True)

    def guess(self, request: PrivacyRequest) -> float:
        """About what `on_sums` would have: its strategy takes seconds to find the first time."""
        if self.cumulative is None:
            return math.inf
        each = self.plain(replace(request, mechanism="gaussian")).noise.distribution.std
        return each * (1.56 + 0.302 * math.log(max(1.0, self.steps / 10)))


def decide(request: PrivacyRequest, ranks: RankQuestion, histogram: Histogram) -> QuantileCharge:
    """The mechanism and its cost; "gaussian" takes whichever noise of a histogram has the lesser error in ranks."""
    if request.mechanism == "exponential":
        return drawn(by_rank(request, ranks))
    if request.mechanism == "laplace" or request.sigma is not None:
        return histogram.on_counts(replace(request, mechanism="gaussian") if request.mechanism == "auto" else request)
    if request.mechanism == "gaussian":
        counted = histogram.on_counts(request)
        sums = histogram.on_sums(request) if histogram.guess(request) < 1.2 * counted.rank_std else None
        return counted if sums is None or counted.rank_std < sums.rank_std else sums
    by_ranks, counted = drawn(by_rank(request, ranks)), histogram.on_counts(request)
    best, other = sorted([by_ranks, counted], key=lambda each: each.rank_std)
    pure = validation.is_zero(request.delta) or (request.budget is not None and request.budget.terms.laplace_only)
    if not pure and histogram.guess(request) < 1.1 * best.rank_std:
        sums = histogram.on_sums(request)
        if sums is not None and sums.rank_std < best.rank_std:
            return sums.because(by_ranks.rank_std)
    return best.because(other.rank_std)


def drawn(made: Charge[RankNoise]) -> QuantileCharge:
    """Of the exponential mechanism."""
    return QuantileCharge(made, made.noise.rates.rank_std)


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
        cost = _cost(terms, ranks, made).at_least(privacy_filter.LEAST_SHARE, terms.whole_caps)
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
    """epsilon of a budget for pure releases alone, else mu^2, with epsilon where pure releases may spend that instead;
    rounded up."""
    squared = ranks.price(made)
    if isinstance(made.guarantee, PureDP) and (terms.laplace_only or terms.pure_instead):
        return terms.pure_cost(Fraction(made.guarantee.epsilon), squared)
    return terms.gaussian_cost(sensitivity=sqrt_up(squared), sigma=1.0)
