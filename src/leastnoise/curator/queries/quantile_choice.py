"""How quantiles are found, what to expect of it, and the mechanisms side by side: drawn by rank, or read off a noisy
histogram. Nothing is paid yet.

A histogram's noise is on every count, or, Gaussian, on the sums of counts that are best for cumulative sums.

"auto" takes the least error that public facts let expect (`releases.quantile`): levels, groups, limits, the
promise, and how many rows somebody who asks expects. How many there are, and where, is private; where the expectation
is wrong, neither the promise nor the intervals suffer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.expectation import Expectation
from leastnoise.curator.release import Decision, noise_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.noise_plan import NoiseReason
from leastnoise.privacy.rank_noise import RankPlan
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.quantile import errors_by_histogram, errors_by_rank, ranks_in_words, typical_error
from leastnoise.releases.quantile_readings import noise_in_words, rank_error, rank_noise, rank_stds
from leastnoise.workload.ordered import prefix_strategy

if TYPE_CHECKING:
    from leastnoise.curator.queries.quantile import Quantile

_GUESS_WITHIN = 1.1  # what is guessed of sums may be off by


def choose(asked: Quantile, request: PrivacyRequest) -> Decision[Any]:
    """The mechanism and its cost; a histogram's noise, where that is asked for, on the steps that suit it best."""
    best = _least_error(asked, request)
    own, promised = best.charge.strength, request.epsilon is not None and request.delta is not None
    if request.budget is not None or not own.is_weak or not promised or validation.is_zero(request.delta):
        return best
    other = _least_error(asked, replace(request, mechanism="gaussian"))
    told = own.beside(other.charge.strength, other.error / best.error)
    return replace(best, charge=replace(best.charge, own_strength=told))


def by_rank(asked: Quantile, request: PrivacyRequest) -> Decision[RankPlan]:
    """The exponential mechanism on ranks, for a promise or a share of a budget."""
    delta = 0 if request.delta is None and request.epsilon is not None else request.delta
    made = decide(replace(request, mechanism="auto", mechanisms=("auto",), delta=delta), asked.ranks)
    step_weights(asked.fine.steps)  # what is drawn from: once, and before anything is paid
    error = typical_error(errors_by_rank(made.plan.rates, asked.judged_rows))
    why = NoiseReason("requested" if request.share is None else "budget share")
    return _because(Decision(made, asked.fine, error), why)


def _by_histogram(asked: Quantile, request: PrivacyRequest) -> Decision[VectorPlan]:
    """Noise on every count of these steps; or, where there is a strategy, Gaussian noise on its sums."""
    made = decide(request if asked.strategy is None else replace(request, mechanism="gaussian"), asked.planner)
    return Decision(made, asked, _error(asked, rank_stds(made.plan.distribution, asked.moments, asked.level_names)))


def _error(asked: Quantile, stds: Sequence[float]) -> float:
    return typical_error(errors_by_histogram(stds, asked.level_names, asked.steps.bins, asked.judged_rows))


def _least_error(asked: Quantile, request: PrivacyRequest) -> Decision[Any]:
    if request.mechanism == "exponential":
        return by_rank(asked, request)
    if request.sigma is not None and request.mechanism == "auto":
        request = replace(request, mechanism="gaussian")
    histograms = asked.histograms
    counted = [_by_histogram(each, request) for each in histograms]
    if request.mechanism == "laplace" or request.sigma is not None:
        return _least(counted)
    if request.mechanism == "gaussian":
        return _least([*counted, *_on_sums(histograms, request, _least(counted))])
    ranks = by_rank(asked, request)
    pure = validation.is_zero(request.delta) or (request.budget is not None and request.budget.terms.laplace_only)
    if not pure:
        counted += _on_sums(histograms, request, _least([ranks, *counted]))
    best = _least([ranks, *counted])
    other = _least(counted) if best is ranks else ranks
    return _because(best, NoiseReason("rank error", other.error))


def _on_sums(
    histograms: Sequence[Quantile], request: PrivacyRequest, least: Decision[Any]
) -> list[Decision[VectorPlan]]:
    """Noise on sums of counts, where its guess comes near the least. (A strategy takes seconds to find the first
    time.)"""
    normal, found = replace(request, mechanism="gaussian"), []
    for each in histograms:
        if not each.may_have_sums:
            continue
        std = decide(normal, each.planner).plan.error
        guess = _error(each, [std * (1.56 + 0.302 * math.log(max(1.0, each.steps.bins / 10)))] * len(each.levels))
        if guess <= _GUESS_WITHIN * least.error:
            found.append(_by_histogram(replace(each, strategy=prefix_strategy(each.steps.bins)), request))
    return found


def _because(decided: Decision[Any], why: NoiseReason) -> Decision[Any]:
    plan = replace(decided.charge.plan, reason=why)
    return replace(decided, charge=replace(decided.charge, plan=plan))


def _least(found: Sequence[Decision[Any]]) -> Decision[Any]:
    return min(found, key=lambda each: each.error)


def compared(asked: Quantile, *, epsilon: Number, delta: Number) -> Comparison:
    """Every mechanism at this (epsilon, delta), by how far off ranks are: in rows, over all levels."""
    pure = validation.is_zero(delta)
    given = {"epsilon": epsilon, "delta": delta, "mechanisms": ("exponential", "laplace", "gaussian")}
    rows = []
    for name in ("exponential", "laplace") if pure else ("exponential", "laplace", "gaussian"):
        request = PrivacyRequest(mechanism=name, **given)  # type: ignore[arg-type]
        with suppress(errors.OutOfRange):  # too wide to be drawn
            rows.append(_row(asked, name, choose(asked, request)))
    rows.sort(key=lambda row: row.std)
    return Comparison(
        tuple(rows),
        _verdict(rows, asked.judged_rows),
        validation.number("epsilon", epsilon),
        0.0 if pure else validation.number("delta", delta),
        len(asked.levels) * asked.ranks.groups,
    )


def _row(asked: Quantile, name: str, decided: Decision[Any]) -> Row:
    """One mechanism: errors in rows, and mu^2."""
    plan, chosen = decided.charge.plan, cast("Quantile", decided.query)
    if isinstance(plan, RankPlan):
        cost, note = float(asked.ranks.price(plan)), f"candidates: {chosen.steps.bins:,} steps"
    else:
        cost = plan.guarantee.to_gaussian().mu ** 2
        note = f"a {'cumulative ' if chosen.strategy else ''}histogram of {chosen.steps.bins:,} steps"
    off = _rank_errors(chosen, plan)
    return Row(name, decided.error, min(off), max(off), 1.0, cost, note)


def _rank_errors(asked: Quantile, plan: RankPlan | VectorPlan) -> list[float]:
    """By how many rows the rank of each level is off at most, 95 % of the time."""
    if isinstance(plan, RankPlan):
        return list(plan.rates.rank_errors(spread=step_weights(asked.steps).total))
    return [rank_error(plan.distribution, asked.moments, level=level) for level in asked.level_names]


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


def expected(asked: Quantile, charge: Charge[Any]) -> Expectation:
    """Of the mechanism that was chosen, in the steps that it has."""
    plan, levels, off = charge.plan, asked.level_names, np.array(_rank_errors(asked, charge.plan))
    if isinstance(plan, RankPlan):
        assert plan.reason is not None
        added = rank_noise(plan.rates)
        stds = ", ".join(f"{rounded(std, 3)} at {q:g}" for q, std in zip(levels, plan.rates.rank_stds, strict=True))
        why = f"whatever the rows are. Where they lie densely the standard deviation of the rank is, in rows: {stds}"
        note = plan.reason.in_words(added.mechanism, added.std)
    else:
        added, note = noise_of(plan), plan.note
        why = noise_in_words(plan.distribution, asked.moments)
    return Expectation(
        mechanism=added.mechanism,
        sigma=added.sigma,
        std=added.std,
        half_width=None,
        half_width_all=None,
        threshold=None,
        limits=asked.limits.numbers,
        bins=asked.steps.bins,
        guarantee=plan.guarantee,
        note=note,
        half_widths={f"rank at {level:g}": float(rows) for level, rows in zip(levels, off, strict=True)},
        description=ranks_in_words(off, levels, why),
        strength=charge.strength,
    )
