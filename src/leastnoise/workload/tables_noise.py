"""The noise of a set of tables, decided from public facts alone, and the promise that comes of it.

Gaussian noise is added to the integers of residual blocks, Laplace noise to plain tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.guarantee import GaussianDP, Promise, PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.privacy.noise_reason import NoiseReason, compared_in_words
from leastnoise.workload.integer_noise import scales_within
from leastnoise.workload.noise_options import weighted_error
from leastnoise.workload.plain_cost import plain_cost
from leastnoise.workload.plain_tables import laplace_tables
from leastnoise.workload.strategy import Weights
from leastnoise.workload.tables import Workload

MAX_SCALE = 2.0**52  # of Gaussian noise on whole numbers: the sampler's own limit, with which it is below 2^62
MAX_LAPLACE_SCALE = 2.0**43
Table = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesNoise:
    """The noise of one release of several tables."""

    mechanism: Mechanism
    workload: Workload
    weights: str  # what is least: "tables", "cells", "worst" or "given"
    scales: Mapping[Table, float]  # of the noise on whole numbers: of each block (Gaussian), or each table (Laplace)
    cost: Fraction  # what one unit costs at most: mu^2, or epsilon of Laplace noise
    error: float  # what was to be least, in whole steps: a root of a weighted mean of variances, or the largest std
    guarantee: GaussianDP | PureDP
    delta: float | None = None
    # How far the error before rounding may be above the least of any Gaussian linear mechanism under add-remove; None:
    # not known, with cumulative sums or ranges.
    gap: float | None = 0.0
    other_error: float | None = None  # of the noise that lost, where two were compared
    reason: NoiseReason | None = None

    @property
    def note(self) -> str:
        """Why this noise was chosen, and how good it is, in words."""
        ratio = None if self.other_error is None else self.error / self.other_error
        sums, among = bool(self.workload.asked), self.workload.among
        loss = self.workload.loss_in_words
        return noise_in_words(self.mechanism, self.weights, self.guarantee, ratio, sums=sums, among=among, loss=loss)


def noise_in_words(
    mechanism: Mechanism,
    weights: str,
    guarantee: Promise | None,
    ratio: float | None,
    *,
    sums: bool = False,
    among: str = "on linear sums",
    loss: str = "",
) -> str:
    """What the noise of a set of tables is best for.

    mechanism: "gaussian" or "laplace". weights: what is least. guarantee: what is promised.
    ratio: its error over that of the other mechanism; None where they were not compared.
    sums: whether cumulative sums or ranges were asked for. among: which Gaussian noise it is the best of.
    loss: what is known of how far those sums are from the best.
    """
    aims = {
        "tables": "every table counting the same",
        "cells": "every cell counting the same",
        "worst": "the least accurate table counting alone",
    }
    aim = aims.get(weights, "the tables weighted as was said")
    other = "Gaussian" if mechanism == "laplace" else "Laplace"
    compared = "" if ratio is None else compared_in_words(ratio, other)
    under = ""
    if guarantee is not None and guarantee.neighbours == "replace":
        under = " It was divided for add-remove; under replace, which is promised here, another division may have less."
    if mechanism == "laplace":
        return f"Laplace noise on whole tables, divided among them for the least error, {aim}.{under}{compared}"
    if sums:
        return (
            "Gaussian noise on sums along the ordered columns, chosen for the least error of their cumulative sums or "
            f"ranges, and divided among the tables for the least error, {aim}.{loss}{under}{compared}"
        )
    best = "under add-remove no other" if under else "no other"
    return (
        f"Gaussian noise divided among the tables so that, {aim}, {best} Gaussian noise {among} has less error, "
        f"but for rounding to whole numbers.{under}{compared}"
    )


def gaussian_noise(
    workload: Workload, weights: Weights, *, mu_squared: Fraction, row_size: int, neighbours: Neighbours
) -> TablesNoise:
    """As little Gaussian noise as mu_squared allows, in the proportions that are best for these weights.

    workload: the tables. weights: what is to be least, as in `Workload.optimize`.
    mu_squared: what one unit may cost, exactly. row_size: the most that its rows add up to, in whole steps.
    neighbours: "add-remove" or "replace".
    """
    strategy = workload.optimize(weights=weights)
    scales = scales_within(strategy, mu_squared, unit=row_size, parts=row_size, neighbours=neighbours)
    _check_scale(max(scales.values()), MAX_SCALE)
    workload = strategy.workload
    cost = Fraction(workload.squared_cost(scales, parts=row_size, neighbours=neighbours))
    return TablesNoise(
        mechanism="gaussian",
        workload=workload,
        weights=_word(weights),
        scales=scales,
        cost=cost,
        error=weighted_error(workload.with_noise(scales), weights),
        guarantee=GaussianDP(sqrt_up(cost), neighbours),
        gap=strategy.gap,
    )


def laplace_noise(
    workload: Workload, weights: Weights, *, epsilon: Number, row_size: int, neighbours: Neighbours
) -> TablesNoise:
    """As little Laplace noise as epsilon allows, on the tables and in the shares that are best for these weights.

    workload: the tables. weights: what is to be least, as in `Workload.optimize`.
    epsilon: what one unit may cost. row_size: the most that its rows add up to, in whole steps.
    neighbours: "add-remove" or "replace".
    """
    spend = validation.number("epsilon", epsilon)
    _check_scale(row_size / spend if spend else 0.0, MAX_LAPLACE_SCALE)  # no table has less noise than that
    made = laplace_tables(workload, epsilon=epsilon, weights=weights, parts=row_size, neighbours=neighbours)
    _check_scale(max(made.scales.values()), MAX_LAPLACE_SCALE)
    cost = plain_cost(made.scales, workload.sizes, mechanism="laplace", parts=row_size, neighbours=neighbours)
    return TablesNoise(
        mechanism="laplace",
        workload=workload,
        weights=_word(weights),
        scales=made.scales,
        cost=Fraction(cost),
        error=weighted_error(made, weights),
        guarantee=PureDP(cost, neighbours),
        delta=0.0,
    )


def _word(weights: Weights) -> str:
    return weights if isinstance(weights, str) else "given"


def _check_scale(scale: float, most: float) -> None:
    if scale > most:
        raise errors.OutOfRange(
            f"The noise would be wider than {most:.3g} steps of the integers that are counted. Use coarser keys, "
            "a larger epsilon, or fewer rows of a unit."
        )
