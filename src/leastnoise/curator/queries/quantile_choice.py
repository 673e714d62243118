"""How quantiles are found, what to expect of it, and the mechanisms side by side: drawn by rank, or read off a noisy
histogram. Nothing is paid yet.

A histogram's noise is on every count, or, Gaussian, on the sums of counts that are best for cumulative sums.

"auto" takes the least error that public facts let expect (`releases.quantile_errors`): levels, groups, limits, the
promise, and how many rows somebody who asks expects. How many there are, and where, is private; where the expectation
is wrong, neither the promise nor the intervals suffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.expectation import Expectation
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.noise_plan import NoisePlanner, NoiseReason
from leastnoise.privacy.rank_noise import RankPlan, RankPlanner
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.vector_noise import VectorPlan, VectorPlanner
from leastnoise.releases.noise import Noise
from leastnoise.releases.quantile import ranks_in_words
from leastnoise.releases.quantile_errors import errors_by_histogram, errors_by_rank, typical_error
from leastnoise.releases.quantile_histogram import Moments, moments, noise_in_words, rank_error, rank_stds
from leastnoise.releases.quantile_ranks import rank_noise
from leastnoise.workload.ordered import IntegerStrategy, prefix_strategy

_GUESS_WITHIN = 1.1  # what is guessed of sums may be off by


@dataclass(frozen=True, slots=True)
class Chosen:
    """The mechanism and its cost; `typical_error`: in rows; `steps`: of the histogram (None: there is none);
    `strategy`: noise is on these sums of its counts (None: on every count)."""

    charge: Charge[RankPlan] | Charge[VectorPlan]
    typical_error: float
    steps: int | None = None
    strategy: IntegerStrategy | None = None

    @property
    def moments(self) -> Moments:
        """Of the noise of a histogram's cumulative sums."""
        assert self.steps is not None
        return moments(self.strategy or self.steps)

    def because(self, why: NoiseReason) -> Chosen:
        """The same, chosen for this reason."""
        plan = replace(self.charge.plan, reason=why)
        return replace(self, charge=replace(self.charge, plan=plan))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Histogram:
    """The ways to add noise to a histogram of so many steps: on every count, or on sums that are best for cumulative
    ones (None: of so many steps there are none). `rows`: of a group, in the tables to judge by."""

    levels: tuple[float, ...]
    steps: int
    rows: Floats
    counts: NoisePlanner[VectorPlan]
    sums: Callable[[IntegerStrategy], VectorPlanner] | None

    def on_counts(self, request: PrivacyRequest) -> Chosen:
        """Noise on every count."""
        made = decide(request, self.counts)
        stds = rank_stds(made.plan.distribution, moments(self.steps), self.levels)
        return Chosen(made, self._error(stds), self.steps)

    def on_sums(self, request: PrivacyRequest, sums: Callable[[IntegerStrategy], VectorPlanner]) -> Chosen:
        """Gaussian noise on sums of counts."""
        strategy = prefix_strategy(self.steps)  # charged and applied: the same one
        made = decide(replace(request, mechanism="gaussian"), sums(strategy))
        stds = rank_stds(made.plan.distribution, moments(strategy), self.levels)
        return Chosen(made, self._error(stds), self.steps, strategy)

    def guess(self, request: PrivacyRequest) -> float:
        """About what `on_sums` would have: its strategy takes seconds to find the first time."""
        std = decide(replace(request, mechanism="gaussian"), self.counts).plan.error
        return self._error([std * (1.56 + 0.302 * math.log(max(1.0, self.steps / 10)))] * len(self.levels))

    def _error(self, stds: Sequence[float]) -> float:
        return typical_error(errors_by_histogram(stds, self.levels, self.steps, self.rows))


@dataclass(frozen=True, slots=True)
class Alternatives:
    """All ways to find some quantiles: by rank among the steps `fine`, or by histograms of several numbers of steps, or
    of the one that was asked for; all judged by the same tables."""

    ranks: RankPlanner
    histograms: tuple[Histogram, ...]
    fine: Steps

    def choose(self, request: PrivacyRequest) -> Chosen:
        """The mechanism and its cost; a histogram's noise, where that is asked for, on the steps that suit it best."""
        best = self._least_error(request)
        own, promised = best.charge.strength, request.epsilon is not None and request.delta is not None
        if request.budget is not None or not own.is_weak or not promised or validation.is_zero(request.delta):
            return best
        other = self._least_error(replace(request, mechanism="gaussian"))
        told = own.beside(other.charge.strength, other.typical_error / best.typical_error)
        return replace(best, charge=replace(best.charge, own_strength=told))

    def by_rank(self, request: PrivacyRequest) -> Chosen:
        """The exponential mechanism on ranks, for a promise or a share of a budget."""
        delta = 0 if request.delta is None and request.epsilon is not None else request.delta
        made = decide(replace(request, mechanism="auto", mechanisms=("auto",), delta=delta), self.ranks)
        error = typical_error(errors_by_rank(made.plan.rates, self.histograms[0].rows))
        why = NoiseReason("requested" if request.share is None else "budget share")
        return Chosen(made, error).because(why)

    def _least_error(self, request: PrivacyRequest) -> Chosen:
        if request.mechanism == "exponential":
            return self.by_rank(request)
        if request.sigma is not None and request.mechanism == "auto":
            request = replace(request, mechanism="gaussian")
        counted = [each.on_counts(request) for each in self.histograms]
        if request.mechanism == "laplace" or request.sigma is not None:
            return _least(counted)
        if request.mechanism == "gaussian":
            return _least(self._with_sums(counted, request))
        by_ranks = self.by_rank(request)
        pure = validation.is_zero(request.delta) or (request.budget is not None and request.budget.terms.laplace_only)
        every = [by_ranks, *counted]
        every = every if pure else self._with_sums(every, request)
        best = _least(every)
        other = _least([one for one in every if one.steps is not None]) if best is by_ranks else by_ranks
        return best.because(NoiseReason("rank error", other.typical_error))

    def _with_sums(self, found: Sequence[Chosen], request: PrivacyRequest) -> list[Chosen]:
        """These, and noise on sums where its guess comes near the least."""
        near = _GUESS_WITHIN * _least(found).typical_error
        sums = [
            each.on_sums(request, each.sums) for each in self.histograms if each.sums and each.guess(request) <= near
        ]
        return [*found, *sums]

    def compared(self, *, epsilon: Number, delta: Number) -> Comparison:
        """Every mechanism at this (epsilon, delta), by how far off ranks are: in rows, over all levels."""
        pure = validation.is_zero(delta)
        asked = {"epsilon": epsilon, "delta": delta, "mechanisms": ("exponential", "laplace", "gaussian")}
        rows = []
        for name in ("exponential", "laplace") if pure else ("exponential", "laplace", "gaussian"):
            request = PrivacyRequest(mechanism=name, **asked)  # type: ignore[arg-type]
            with suppress(errors.OutOfRange):  # too wide to be drawn
                rows.append(self._row(name, self.choose(request)))
        rows.sort(key=lambda row: row.std)
        scaled = tuple(replace(row, variance_ratio=(row.std / rows[0].std) ** 2) for row in rows)
        return Comparison(
            scaled,
            _verdict(scaled, self.histograms[0].rows),
            validation.number("epsilon", epsilon),
            0.0 if pure else validation.number("delta", delta),
            len(self.ranks.levels) * self.ranks.groups,
        )

    def _row(self, name: str, chosen: Chosen) -> Row:
        """One mechanism: errors in rows, and mu^2."""
        plan = chosen.charge.plan
        if isinstance(plan, RankPlan):
            off = plan.rates.rank_errors(spread=step_weights(self.fine).total)
            cost, note = float(self.ranks.price(plan)), f"candidates: {self.fine.bins:,} steps"
        else:
            off = tuple(rank_error(plan.distribution, chosen.moments, level=float(q)) for q in self.ranks.levels)
            cost = plan.guarantee.to_gaussian().mu ** 2
            note = f"a {'cumulative ' if chosen.strategy else ''}histogram of {chosen.steps:,} steps"
        return Row(name, chosen.typical_error, min(off), max(off), 1.0, cost, note)


def _least(found: Sequence[Chosen]) -> Chosen:
    return min(found, key=lambda each: each.typical_error)


def _verdict(rows: Sequence[Row], judged: Floats) -> str:
    best, others = rows[0], rows[1:]
    how = "The exponential mechanism on ranks" if best.mechanism == "exponential" else best.note.capitalize()
    beside = "; ".join(f"{row.mechanism}: {rounded(row.std, 3)}" for row in others)
    tables = "tables of many sizes" if len(judged) > 1 else f"a table of {rounded(judged[0], 3)} rows a group"
    return (
        f"{how} has the least error: ranks are typically off by {rounded(best.std, 3)} rows, against {beside}. That is "
        f"the root mean square, over {tables} with a long tail; what a table is really like is private. The "
        "columns of 95 % are what ranks are off by at most, whatever the rows are: of the best level, and of all."
    )


def expected(chosen: Chosen, levels: tuple[float, ...], *, steps: Steps, limits: Limits) -> Expectation:
    """Of the mechanism that was chosen, in the steps that it has."""
    plan = chosen.charge.plan
    if isinstance(plan, RankPlan):
        assert plan.reason is not None
        added = rank_noise(plan.rates)
        off = np.array(plan.rates.rank_errors(spread=step_weights(steps).total))
        stds = ", ".join(f"{rounded(std, 3)} at {q:g}" for q, std in zip(levels, plan.rates.rank_stds, strict=True))
        why = f"whatever the rows are. Where they lie densely the standard deviation of the rank is, in rows: {stds}"
        note = plan.reason.in_words(added.mechanism, added.std)
    else:
        added, note = Noise(plan.mechanism, plan.scale, plan.grid), plan.note
        off = np.array([rank_error(plan.distribution, chosen.moments, level=q) for q in levels])
        why = noise_in_words(plan.distribution, chosen.moments)
    return Expectation(
        mechanism=added.mechanism,
        sigma=added.sigma,
        std=added.std,
        half_width=None,
        half_width_all=None,
        threshold=None,
        limits=limits.numbers,
        bins=steps.bins,
        guarantee=plan.guarantee,
        note=note,
        half_widths={f"rank at {level:g}": float(rows) for level, rows in zip(levels, off, strict=True)},
        description=ranks_in_words(off, levels, why),
        strength=chosen.charge.strength,
    )
