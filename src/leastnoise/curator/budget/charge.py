"""Decide from public facts, pay, and only then draw: the one way by which every release reaches a budget.

    decided = charge.decide(PrivacyRequest(budget=budget, share=0.25), bins=..., sensitivity=...)    # free
    ...                                                                     # every other public check belongs here
    receipt = decided.pay(query="...", unit="taxi")                         # on disk when this returns
    ...                                                                     # rows are read, noise is drawn
    Release(..., id=receipt.id)

Without a budget the same lines decide and pay nothing, so a releasing call has one path, not two. What is paid is never
given back. A failure that a row can cause tells about that row, and no cost makes up for it, so `receipt.close(...)`
closes the budget until its curator reopens it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import round_down, sqrt_up
from leastnoise._support.number_format import percent
from leastnoise._support.validation import Number
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.debit import Debit
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.budget.promise import strength as strength_of
from leastnoise.curator.budget.purchase import Makers, purchase, some_epsilon
from leastnoise.curator.budget.remaining import Remaining
from leastnoise.curator.budget.shares import Share
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import (
    baselines,
    calibration,
    laplace_threshold,
    noise_choice,
    partition_selection,
    rounding_charge,
    threshold_choice,
)
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.rank_noise import RankNoise
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.strength import Strength, judge, warn_if_weak
from leastnoise.privacy.summary_noise import SummaryNoise
from leastnoise.privacy.threshold_choice import Spread
from leastnoise.workload.tables_noise import TablesNoise

if TYPE_CHECKING:
    from leastnoise.curator.budget.kinds import OtherKind

Noise = TypeVar("Noise", NoiseChoice, Threshold, TablesNoise, SummaryNoise, RankNoise)
Compared = TypeVar("Compared", NoiseChoice, TablesNoise, SummaryNoise)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A debit that is on disk (or none, without a budget). `id` and `strength` are for the Release."""

    id: str
    budget: Budget | None
    strength: Strength

    @property
    def ledger(self) -> str | None:
        """The name of the ledger that has the debit: of its file alone, since folders are nobody's business."""
        return None if self.budget is None else self.budget._account.ledger.store.name

    def close(self, failed: errors.ReadingFailed) -> errors.ReadingFailed:
        """Close the budget because rows could not be read; what to raise, which is `failed` and what became of it."""
        if self.budget is None:
            return failed
        try:
            self.budget._close(self.id, "rows could not be read")
        except Exception:
            return errors.ReadingFailed(f"{failed} The budget should be closed now, and its ledger cannot be written.")
        return errors.ReadingFailed(f"{failed} {self.budget._how_to_reopen('The budget is closed')}")


@dataclass(frozen=True, slots=True)
class Charge(Generic[Noise]):
    """Noise, and what it costs; nothing is paid yet."""

    noise: Noise
    guarantee: GaussianDP | PureDP | ApproxDP
    cost: Cost
    budget: Budget | None
    own_strength: Strength | None = None  # of the guarantee, where more is known than that says

    @property
    def strength(self) -> Strength:
        """How strong the promise is; with a budget that of all of it, since other releases will follow."""
        if self.budget is None:
            return self.own_strength or judge(self.guarantee)
        first, whole = self.budget._first(), self.budget._account.whole
        if first is not None:
            return strength_of(whole, first)
        return strength_of(whole, self.cost).beside(strength_of(whole, None))

    def pay(
        self,
        *,
        query: str,
        unit: str | None = None,
        table: str | None = None,
        note: str = "",
        public_units: int | None = None,
    ) -> Receipt:
        """Debit the cost. When this returns the entry is on disk; BudgetExhausted leaves the ledger as it was.

        A weak promise is warned of first: from public facts, and before anything is paid.

        `query` describes what is released by public facts alone: it is written into the ledger as it is,
        and so is the note. `public_units`: how many units there are, where that is public.
        """
        strength, release = self.strength.with_units(public_units), secrets.token_hex(8)
        warn_if_weak(strength)
        if self.budget is None:
            return Receipt(release, None, strength)
        first = self.budget._debit(self._debit(query, unit, table, note, release))
        whole = strength_of(self.budget._account.whole, first)  # another may have been faster
        return Receipt(release, self.budget, whole.with_units(public_units))

    def check(self, *, query: str, unit: str | None = None, table: str | None = None, note: str = "") -> None:
        """Refuse what `pay` with the same arguments would, by the ledger as it is now. Nothing is paid."""
        if self.budget is not None:
            self.budget._check(self._debit(query, unit, table, note, release=""))

    def _debit(self, query: str, unit: str | None, table: str | None, note: str, release: str) -> Debit:
        return Debit(
            cost=self.cost,
            release=release,
            query=query,
            noise=_described(self.noise),
            neighbours=self.guarantee.neighbours,
            unit=unit,
            table=table,
            note=note.strip(),
        )


@dataclass(frozen=True, slots=True)
class BudgetExpectation:
    """What a release would be: its noise, the share it takes, and what would be left (None: it does not fit)."""

    noise: NoiseChoice
    share: float
    remaining: Remaining | None
    other_kind: OtherKind | None = None  # where a budget of the other kind would have less noise

    @property
    def fits(self) -> bool:
        """Whether the budget has that much left."""
        return self.remaining is not None

    def __str__(self) -> str:
        left = f"{percent(self.remaining.share, 6)} would be left" if self.remaining else "it does not fit"
        other = "" if self.other_kind is None else f" {self.other_kind.in_words()}"
        return f"{_described(self.noise)} for {percent(self.share, 6)} of the budget; {left}.{other}"


def decide(
    request: PrivacyRequest,
    *,
    bins: int,
    integers: bool,
    grid: float = 1.0,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    neighbours: Neighbours = "add-remove",
) -> Charge[NoiseChoice]:
    """The noise that a share of the budget buys, or that (epsilon, delta) or sigma ask for, and its cost.

    Which noise "auto" takes of a budget, `purchase` says.
    """
    choose = partial(
        noise_choice.choose,
        bins=bins,
        integers=integers,
        grid=grid,
        sensitivity=sensitivity,
        l1_sensitivity=l1_sensitivity,
        neighbours=neighbours,
    )
    asked = partial(choose, epsilon=request.epsilon, delta=request.delta, sigma=request.sigma)
    budget = request.budget
    if budget is None:
        made = asked(mechanism=request.mechanism)
        own = beside_gaussian(made, request, partial(asked, mechanism="gaussian"), lambda noise: noise.distribution.std)
        return Charge(made, made.guarantee, Cost(), None, own)
    pure = partial(choose, delta=0, mechanism="laplace")

    def laplace(epsilon: float) -> NoiseChoice:
        nonlocal pure
        made = pure(epsilon=epsilon)
        pure = partial(pure, l1_sensitivity=made.l1_sensitivity)  # what it may have warned of, once
        return made

    makers = Makers(
        gaussian=lambda squared: replace(
            choose(mu_squared=squared, mechanism="gaussian"), delta=budget.terms.gaussian_promise[1]
        ),
        laplace=laplace,
        asked=lambda laplace: asked(mechanism="laplace" if laplace else "gaussian"),
        cost=partial(_cost, bins=bins, integers=integers),
        error=lambda made: made.distribution.std,
        compare=l1_sensitivity is not None,
    )
    bought = purchase(request, budget, makers)
    made = bought.noise if bought.reason is None else replace(bought.noise, reason=bought.reason)
    return Charge(made, made.guarantee, bought.cost, budget)


def beside_gaussian(
    made: Compared, request: PrivacyRequest, gaussian: Callable[[], Compared], error: Callable[[Compared], float]
) -> Strength:
    """How strong the promise of noise is that no budget pays for; where that is weak, told beside Gaussian noise for
    the same epsilon and delta. gaussian: makes that. error: of a noise."""
    own = judge(made.guarantee)
    promised = request.epsilon is not None and request.delta is not None and not validation.is_zero(request.delta)
    if made.mechanism == "gaussian" or not promised or not own.is_weak:
        return own
    other = gaussian()
    return own.beside(judge(other.guarantee), times_as_large(error(other), error(made)))


def times_as_large(error: float, other: float) -> float | None:
    """The one over the other; None where that is a million or more, and says no more than that the other is none."""
    return error / other if error < 1e6 * other else None


def decide_unknown(
    request: PrivacyRequest,
    *,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: Spread = threshold_choice.ALONE,
) -> Charge[Threshold]:
    """Noise and threshold for bins that nobody listed, and their cost in two currencies.

    A share is taken of both: the noise from mu^2 (or the reserve for Laplace releases), then the least threshold that
    keeps to threshold_delta. With a budget "auto" takes Gaussian noise, which adds up exactly.
    """
    request = request.for_unknown_keys()
    budget, share = request.budget, request.share
    if budget is not None and not budget.terms.threshold_delta:
        raise errors.BudgetMismatch(
            "Unknown keys show a bin of one person's own with some small probability, which no mu pays for, and "
            "this budget set nothing aside for it. Open one with a threshold_delta, a part of its delta, or list the "
            "keys.",
            parameter="budget",
            example={"keys": ["a", "b"]},
        )
    if budget is None or share is None:
        epsilon, delta = request.promise()
        mechanism = "gaussian" if budget is not None and request.mechanism == "auto" else request.mechanism
        choose = partial(
            threshold_choice.choose, epsilon=epsilon, delta=delta, limits=limits, neighbours=neighbours, spread=spread
        )
        cut = choose(mechanism=mechanism)
        guarantee = ApproxDP(epsilon, delta, neighbours)  # type: ignore[arg-type]
        own = _strength(guarantee, cut, limits, spread)
        if own.is_weak and cut.scale is not None:
            other = choose(mechanism="gaussian")
            beside = _strength(guarantee, other, limits, spread)
            if mechanism == "auto" and own.protects_nobody and not beside.protects_nobody:
                cut, own = other, beside
            else:
                own = own.beside(beside, times_as_large(_std(other, spread), _std(cut, spread)))
        cost = Cost() if budget is None else _threshold_cost(budget.terms, cut, limits, neighbours, spread)
        return Charge(cut, guarantee, cost, budget, own)
    terms = budget.terms
    cost = terms.unknown_share(privacy_filter.share_of(share))
    if request.mechanism == "laplace":
        return _laplace_share(budget, share, cost, limits, neighbours, spread)
    l2, squared = _widest(limits, neighbours), terms.mu_squared_for(cost)
    sigma = noise_choice.choose(bins=1, integers=True, sensitivity=l2, mu_squared=squared, mechanism="gaussian").scale
    cut = partition_selection.within_chance(
        limits=limits, sigma=sigma * spread.gaussian, chance=terms.chance_for(cost), neighbours=neighbours
    )
    cut = replace(cut, sigma=sigma)
    return Charge(cut, _promise(terms, cut, limits, neighbours, spread), cost, budget)


def _laplace_share(
    budget: Budget, share: Share, both: Cost, limits: Limits, neighbours: Neighbours, spread: Spread
) -> Charge[Threshold]:
    """The same with Laplace noise: (epsilon, chance)-DP, paid from the reserve for Laplace releases where there is one,
    and from that for unknown keys. (Replace neighbours pay for the own bins of either person.)"""
    terms, sides = budget.terms, 2 if neighbours == "replace" else 1
    noise = terms.laplace_share(privacy_filter.share_of(share))
    epsilon = some_epsilon(terms.epsilon_for(noise))
    scale = baselines.laplace_scale(epsilon=epsilon, l1_sensitivity=laplace_threshold.rows_of(limits, neighbours))
    cost = replace(both, gaussian=0) + noise
    chance = round_down(Fraction(terms.chance_for(cost)) / sides)
    cut = laplace_threshold.within_chance(
        epsilon=epsilon,
        scale=scale,
        chance=chance,
        limits=limits,
        neighbours=neighbours,
        spread=spread.laplace,
        total=spread.total,
    )
    return Charge(cut, ApproxDP(epsilon, chance, neighbours), cost, budget)


def _promise(terms: Terms, cut: Threshold, limits: Limits, neighbours: Neighbours, spread: Spread) -> ApproxDP:
    """The epsilon of this mu at the budget's delta: delta_G(epsilon; mu) + chance <= delta is enough, as
    `privacy_filter` proves."""
    total = round_down(terms.delta)
    chance = partition_selection.chance_shown(
        limits=limits, sigma=cut.sigma * spread.gaussian, at_least=cut.at_least, neighbours=neighbours
    )
    left = round_down(Fraction(total) - Fraction(chance))
    least = calibration.epsilon(sigma=cut.sigma, delta=left, sensitivity=_widest(limits, neighbours))
    return ApproxDP(least, total, neighbours)


def _strength(guarantee: ApproxDP, cut: Threshold, limits: Limits, spread: Spread) -> Strength:
    """The counts are mu-GDP, but for the chance that a bin of one person's own shows."""
    side = guarantee.neighbours
    if cut.scale is not None:
        return judge(guarantee)
    sigma = cut.sigma * spread.gaussian
    chance = partition_selection.chance_shown(limits=limits, sigma=sigma, at_least=cut.at_least, neighbours=side)
    mu = GaussianDP.of(sigma=cut.sigma, sensitivity=_widest(limits, side), neighbours=side).mu
    return judge(guarantee, mu=mu, chance=chance)


def _std(cut: Threshold, spread: Spread) -> float:
    """Of the noise of counts."""
    return cut.distribution.std * spread.of(cut)


def _cost(terms: Terms, made: NoiseChoice, *, bins: int, integers: bool) -> Cost:
    if made.mechanism == "gaussian":
        return terms.gaussian_cost(sensitivity=made.charged, sigma=made.scale)
    moved = made.sensitivity if integers else rounding_charge.l2_charged(made.sensitivity, bins, made.grid)
    return terms.laplace_cost(l1_sensitivity=made.charged, scale=made.scale, l2_sensitivity=moved, grid=made.grid)


def _threshold_cost(terms: Terms, cut: Threshold, limits: Limits, neighbours: Neighbours, spread: Spread) -> Cost:
    if cut.scale is not None:
        sides = 2 if neighbours == "replace" else 1
        scale = cut.scale * spread.laplace
        shown = laplace_threshold.chance_shown(limits=limits, scale=scale, at_least=cut.at_least)
        rows = float(laplace_threshold.rows_of(limits, neighbours))
        pure = terms.laplace_cost(l1_sensitivity=rows, scale=cut.scale)
        return (pure + terms.threshold_cost(sides * shown)).at_least(privacy_filter.LEAST_SHARE, terms.whole_caps)
    chance = partition_selection.chance_shown(
        limits=limits, sigma=cut.sigma * spread.gaussian, at_least=cut.at_least, neighbours=neighbours
    )
    shared = terms.gaussian_cost(sensitivity=_widest(limits, neighbours), sigma=cut.sigma)
    return (shared + terms.threshold_cost(chance)).at_least(privacy_filter.LEAST_SHARE, terms.whole_caps)


def _widest(limits: Limits, neighbours: Neighbours) -> float:
    """The L2 sensitivity when all of a person's rows (replace: of both persons') fall into shared bins, rounded up."""
    square = limits.squared_norm * (2 if neighbours == "replace" else 1)
    return sqrt_up(Fraction(square))


AnyCharge = Charge[NoiseChoice] | Charge[Threshold] | Charge[TablesNoise] | Charge[SummaryNoise] | Charge[RankNoise]


def error_of(noise: NoiseChoice | Threshold | TablesNoise | SummaryNoise | RankNoise) -> float:
    """By which noise is compared with other noise of the same question; of ranks `quantile_charge` says."""
    if isinstance(noise, TablesNoise | SummaryNoise):
        return noise.error
    if isinstance(noise, RankNoise):
        return max(noise.rates.rank_stds)
    return noise.distribution.std


def _described(noise: NoiseChoice | Threshold | TablesNoise | SummaryNoise | RankNoise) -> str:
    if isinstance(noise, RankNoise):
        return f"exponential mechanism on ranks, epsilon {float(noise.rates.rate):.6g} a row"
    if isinstance(noise, SummaryNoise):
        return f"{noise.mechanism} noise on {len(noise.parts)} numbers of each bin"
    if isinstance(noise, TablesNoise):
        return f"{noise.mechanism} noise on {len(noise.workload.tables):,} tables"
    if isinstance(noise, Threshold):
        word, size = ("sigma", noise.sigma) if noise.scale is None else ("scale", noise.scale)
        return f"{noise.mechanism} noise of {word} {size:.6g}, shown from {noise.at_least} on"
    word = "sigma" if noise.mechanism == "gaussian" else "scale"
    return f"{noise.mechanism} noise of {word} {noise.scale:.6g}"
