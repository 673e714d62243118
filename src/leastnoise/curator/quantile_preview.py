"""What to expect of quantiles, free, and their mechanisms side by side: how far off ranks are, in rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.curator.budget import quantile_charge
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.preview import Computed, Expectation, of_listed
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.quantile import ranks_in_words
from leastnoise.releases.quantile_histogram import rank_error, rank_std


def expected(
    decided: quantile_charge.QuantileCharge, *, levels: Sequence[Fraction], steps: Steps, limits: Limits
) -> Expectation:
    """Of the mechanism that was chosen."""
    names = tuple(float(level) for level in levels)
    if isinstance(decided.noise, RankNoise):
        return _by_rank(decided, names, steps, limits)
    counted: Charge[NoiseChoice] = decided
    distribution = counted.noise.distribution
    errors_ = np.array([rank_error(distribution, steps=steps.bins, level=level) for level in names])
    why = (
        f"noise of standard deviation {rounded(distribution.std)} is added to each of the histogram's "
        f"{steps.bins:,} steps, and it adds up"
    )
    computed = Computed(_named(errors_, names), ranks_in_words(errors_, names, why))
    return of_listed(
        counted, size=steps.bins, limits=limits, threshold=None, computed=computed, note=counted.noise.note
    )


def _by_rank(decided: Charge[RankNoise], levels: tuple[float, ...], steps: Steps, limits: Limits) -> Expectation:
    rates = decided.noise.rates
    off = np.array(rates.rank_errors(spread=step_weights(steps).total))
    stds = ", ".join(f"{rounded(std, 3)} at {q:g}" for q, std in zip(levels, rates.rank_stds, strict=True))
    why = f"whatever the rows are. Where they lie densely the standard deviation of the rank is, in rows: {stds}"
    return Expectation(
        mechanism="exponential",
        sigma=rates.rank_std,
        std=rates.rank_std,
        half_width=None,
        half_width_all=None,
        threshold=None,
        limits=limits.numbers,
        bins=steps.bins,
        guarantee=decided.noise.guarantee,
        note=decided.noise.reason.in_words("exponential", rates.rank_std),
        half_widths=_named(off, levels),
        description=ranks_in_words(off, levels, why),
        strength=decided.strength,
    )


def _named(rows: Floats, levels: Sequence[float]) -> dict[str, float]:
    return {f"rank at {level:g}": float(each) for level, each in zip(levels, rows, strict=True)}


def compared(
    ranks: RankQuestion,
    count: Callable[[PrivacyRequest], Charge[NoiseChoice]],
    fine: Steps,
    coarse: Steps,
    *,
    epsilon: Number,
    delta: Number,
) -> Comparison:
    """Every mechanism at this (epsilon, delta), by how far off ranks are: in rows, over all levels.

    fine, coarse: the steps that candidates are taken from, and those of a histogram.
    """
    levels = [float(level) for level in ranks.levels]
    asked = {"epsilon": epsilon, "delta": delta}
    rows = []
    for name in ("exponential", "laplace", "gaussian"):
        if name == "gaussian" and validation.is_zero(delta):
            continue
        request = PrivacyRequest(mechanism=name, mechanisms=("auto", name), **asked)  # type: ignore[arg-type]
        try:
            decided = quantile_charge.decide(request, ranks, count, steps=coarse.bins)
        except errors.OutOfRange:  # too wide to be drawn
            continue
        noise = decided.noise
        if isinstance(noise, RankNoise):
            off = np.array(noise.rates.rank_errors(spread=step_weights(fine).total))
            std, cost = noise.rates.rank_std, float(ranks.price(noise))
            note = f"candidates: {fine.bins:,} steps"
        else:
            distribution = noise.distribution
            off = np.array([rank_error(distribution, steps=coarse.bins, level=q) for q in levels])
            std = rank_std(distribution, steps=coarse.bins, levels=levels)
            guarantee = noise.guarantee
            mu = guarantee.mu if isinstance(guarantee, GaussianDP) else guarantee.to_gaussian().mu
            cost, note = mu**2, f"a histogram of {coarse.bins:,} steps"
        rows.append(Row(name, std, float(off.min()), float(off.max()), 1.0, cost, note))
    rows.sort(key=lambda row: row.std)
    least = rows[0].std
    scaled = tuple(
        Row(r.mechanism, r.std, r.half_width, r.half_width_all, (r.std / least) ** 2, r.budget_cost, r.note)
        for r in rows
    )
    return Comparison(
        scaled,
        _verdict(scaled),
        validation.number("epsilon", epsilon),
        0.0 if validation.is_zero(delta) else validation.number("delta", delta),
        len(levels) * ranks.groups,
    )


def _verdict(rows: Sequence[Row]) -> str:
    best, others = rows[0], rows[1:]
    how = "The exponential mechanism on ranks" if best.mechanism == "exponential" else best.note.capitalize()
    beside = "; ".join(f"{row.mechanism}: {rounded(row.std, 3)}" for row in others)
    return (
        f"{how} has the least error: ranks are off by {rounded(best.std, 3)} rows (standard deviation, where rows lie "
        f"densely), against {beside}. The columns of 95 % are what ranks are off by at most, whatever the rows "
        "are: of the best level, and of all."
    )
