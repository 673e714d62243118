"""How quantiles are found, and what that costs: drawn by rank, or read off a noisy histogram. Nothing is paid yet.

A histogram's noise is on every count, or, Gaussian, on the sums of counts that are best for cumulative sums.

"auto" takes the least error that public facts let expect (`releases.quantile_errors`): levels, groups, limits, the
promise, and how many rows somebody who asks expects. How many there are, and where, is private; where the expectation
is wrong, neither the promise nor the intervals suffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise._support.validation import Floats
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.guarantee import PureDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion
from leastnoise.releases.quantile_errors import errors_by_histogram, errors_by_rank, typical_error
from leastnoise.releases.quantile_histogram import rank_stds
from leastnoise.releases.sum_moments import Moments, moments
from leastnoise.workload.ordered import prefix_strategy
from leastnoise.workload.ordered.integer_strategy import IntegerStrategy

Count = Callable[[PrivacyRequest], Charge[NoiseChoice]]
SumCount = Callable[[PrivacyRequest, IntegerStrategy], Charge[NoiseChoice]]
_GUESS_WITHIN = 1.1  # what is guessed of sums may be off by


@dataclass(frozen=True, slots=True)
class QuantileCharge:
    """The mechanism and its cost; `typical_error`: in rows; `steps`: of the histogram (None: there is none);
    `strategy`: noise is on these sums of its counts (None: on every count)."""

    charge: Charge[RankNoise] | Charge[NoiseChoice]
    typical_error: float
    steps: int | None = None
    strategy: IntegerStrategy | None = None

    @property
    def moments(self) -> Moments:
        """Of the noise of a histogram's cumulative sums."""
        assert self.steps is not None
        return moments(self.strategy or self.steps)

    def because(self, other: QuantileCharge) -> QuantileCharge:
        """The same, chosen because ranks would be off by more rows otherwise."""
        made, why = self.charge, NoiseReason("rank error", other.typical_error)
        if isinstance(made.noise, RankNoise):
            return replace(self, charge=replace(made, noise=replace(made.noise, reason=why)))
        return replace(self, charge=replace(made, noise=replace(made.noise, reason=why)))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Noise of a histogram for a request, and its cost: on every count, or on sums that are best for cumulative ones
    (None: of so many steps there are none). `rows`: of a group, in the tables to judge by."""

    levels: tuple[float, ...]
    steps: int
    rows: Floats
    plain: Count
    cumulative: SumCount | None

    def on_counts(self, request: PrivacyRequest) -> QuantileCharge:
        """Noise on every count."""
        made = self.plain(request)
        stds = rank_stds(made.noise.distribution, moments(self.steps), self.levels)
        return QuantileCharge(made, self._error(stds), self.steps)

    def on_sums(self, request: PrivacyRequest) -> QuantileCharge | None:
        """Gaussian noise on sums of counts."""
        if self.cumulative is None:
            return None
        strategy = prefix_strategy(self.steps)  # charged and applied: the same one
        made = self.cumulative(replace(request, mechanism="gaussian"), strategy)
        stds = rank_stds(made.noise.distribution, moments(strategy), self.levels)
        return QuantileCharge(made, self._error(stds), self.steps, strategy)

    def guess(self, request: PrivacyRequest) -> float:
        """About what `on_sums` would have: its strategy takes seconds to find the first time."""
        std = self.plain(replace(request, mechanism="gaussian")).noise.distribution.std
        return self._error([std * (1.56 + 0.302 * math.log(max(1.0, self.steps / 10)))] * len(self.levels))

    def _error(self, stds: Sequence[float]) -> float:
        return typical_error(errors_by_histogram(stds, self.levels, self.steps, self.rows))


def decide(request: PrivacyRequest, ranks: RankQuestion, histograms: Sequence[Histogram]) -> QuantileCharge:
    """The mechanism and its cost; a histogram's noise, where that is asked for, on the steps that suit it best.

    histograms: of several numbers of steps, or of the one that was asked for; all judged by the same tables.
    """
    best = _decide(request, ranks, histograms)
    own, promised = best.charge.strength, request.epsilon is not None and request.delta is not None
    if request.budget is not None or not own.is_weak or not promised or validation.is_zero(request.delta):
        return best
    other = _decide(replace(request, mechanism="gaussian"), ranks, histograms)
    told = own.beside(other.charge.strength, other.typical_error / best.typical_error)
    return replace(best, charge=replace(best.charge, own_strength=told))


def _decide(request: PrivacyRequest, ranks: RankQuestion, histograms: Sequence[Histogram]) -> QuantileCharge:
    rows = histograms[0].rows
    if request.mechanism == "exponential":
        return drawn(by_rank(request, ranks), rows)
    if request.sigma is not None and request.mechanism == "auto":
        request = replace(request, mechanism="gaussian")
    counted = [each.on_counts(request) for each in histograms]
    if request.mechanism == "laplace" or request.sigma is not None:
        return _least(counted)
    if request.mechanism == "gaussian":
        return _least(_with_sums(counted, request, histograms))
    by_ranks = drawn(by_rank(request, ranks), rows)
    pure = validation.is_zero(request.delta) or (request.budget is not None and request.budget.terms.laplace_only)
    beside = [by_ranks, *counted]
    every = beside if pure else _with_sums(beside, request, histograms)
    best = _least(every)
    others = [one for one in every if one.steps is not None]
    return best.because(_least(others) if best is by_ranks else by_ranks)


def _with_sums(
    found: Sequence[QuantileCharge], request: PrivacyRequest, histograms: Sequence[Histogram]
) -> list[QuantileCharge]:
    """These, and noise on sums where its guess comes near the least."""
    near = _GUESS_WITHIN * _least(found).typical_error
    sums = [each.on_sums(request) for each in histograms if each.cumulative and each.guess(request) <= near]
    return [*found, *(each for each in sums if each is not None)]


def _least(found: Sequence[QuantileCharge]) -> QuantileCharge:
    return min(found, key=lambda each: each.typical_error)


def drawn(made: Charge[RankNoise], rows: Floats) -> QuantileCharge:
    """Of the exponential mechanism."""
    return QuantileCharge(made, typical_error(errors_by_rank(made.noise.rates, rows)))


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
