"""What to expect of quantiles, free, and their mechanisms side by side: how far off ranks are, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.curator.budget import quantile_charge
from leastnoise.curator.budget.quantile_charge import Histogram, QuantileCharge
from leastnoise.curator.preview import Expectation
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion, RankRates
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.noise import Noise
from leastnoise.releases.quantile import ranks_in_words
from leastnoise.releases.quantile_histogram import noise_in_words, rank_error
from leastnoise.releases.quantile_ranks import rank_noise


def expected(chosen: QuantileCharge, *, levels: Sequence[Fraction], steps: Steps, limits: Limits) -> Expectation:
    """Of the mechanism that was chosen."""
    names, noise = tuple(float(level) for level in levels), chosen.charge.noise
    if isinstance(noise, RankNoise):
        added, (off, why) = rank_noise(noise.rates), _by_rank(noise.rates, names, steps)
        note = noise.reason.in_words(added.mechanism, added.std)
    else:
        added, note = Noise(noise.mechanism, noise.scale, noise.grid), noise.note
        off = np.array([rank_error(noise.distribution, chosen.moments, level=q) for q in names])
        why = noise_in_words(noise.distribution, chosen.moments)
    return Expectation(
        mechanism=added.mechanism,
        sigma=added.sigma,
        std=added.std,
        half_width=None,
        half_width_all=None,
        threshold=None,
        limits=limits.numbers,
        bins=steps.bins,
        guarantee=noise.guarantee,
        note=note,
        half_widths=_named(off, names),
        description=ranks_in_words(off, names, why),
        strength=chosen.charge.strength,
    )


def _by_rank(rates: RankRates, levels: tuple[float, ...], steps: Steps) -> tuple[Floats, str]:
    """By how many rows ranks are off at most, and what that is due to."""
    stds = ", ".join(f"{rounded(std, 3)} at {q:g}" for q, std in zip(levels, rates.rank_stds, strict=True))
    why = f"whatever the rows are. Where they lie densely the standard deviation of the rank is, in rows: {stds}"
    return np.array(rates.rank_errors(spread=step_weights(steps).total)), why


def _named(rows: Floats, levels: Sequence[float]) -> dict[str, float]:
    return {f"rank at {level:g}": float(each) for level, each in zip(levels, rows, strict=True)}


def compared(
    ranks: RankQuestion, histograms: Sequence[Histogram], fine: Steps, *, epsilon: Number, delta: Number
) -> Comparison:
    """Every mechanism at this (epsilon, delta), by how far off ranks are: in rows, over all levels.

    fine: the steps that candidates are taken from.
    """
    pure = validation.is_zero(delta)
    asked = {"epsilon": epsilon, "delta": delta, "mechanisms": ("exponential", "laplace", "gaussian")}
    rows = []
    for name in ("exponential", "laplace") if pure else ("exponential", "laplace", "gaussian"):
        request = PrivacyRequest(mechanism=name, **asked)  # type: ignore[arg-type]
        with suppress(errors.OutOfRange):  # too wide to be drawn
            rows.append(_row(name, quantile_charge.decide(request, ranks, histograms), ranks, fine))
    rows.sort(key=lambda row: row.std)
    least = rows[0].std
    scaled = tuple(
        Row(r.mechanism, r.std, r.half_width, r.half_width_all, (r.std / least) ** 2, r.budget_cost, r.note)
        for r in rows
    )
    return Comparison(
        scaled,
        _verdict(scaled, histograms[0].rows),
        validation.number("epsilon", epsilon),
        0.0 if validation.is_zero(delta) else validation.number("delta", delta),
        len(ranks.levels) * ranks.groups,
    )


def _row(name: str, chosen: QuantileCharge, ranks: RankQuestion, fine: Steps) -> Row:
    """One mechanism: errors in rows, and mu^2."""
    noise = chosen.charge.noise
    if isinstance(noise, RankNoise):
        off = noise.rates.rank_errors(spread=step_weights(fine).total)
        cost, note = float(ranks.price(noise)), f"candidates: {fine.bins:,} steps"
    else:
        off = tuple(rank_error(noise.distribution, chosen.moments, level=float(q)) for q in ranks.levels)
        cost = noise.guarantee.to_gaussian().mu ** 2
        note = f"a {'cumulative ' if chosen.strategy else ''}histogram of {chosen.steps:,} steps"
    return Row(name, chosen.typical_error, min(off), max(off), 1.0, cost, note)


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
