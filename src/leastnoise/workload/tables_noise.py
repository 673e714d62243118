"""The noise of a set of tables, decided from public facts alone, and the promise that comes of it.

Gaussian noise is added to the integers of residual blocks, Laplace noise to plain tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.guarantees import GaussianDP, PureDP, ReleaseGuarantee
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import (
    JointPlanner,
    Mechanism,
    NoisePlan,
    check_scale,
    compared_in_words,
    published_mu_squared,
)
from leastnoise.workload.shares import laplace_tables
from leastnoise.workload.strategy import Weights, scales_within, table_weights
from leastnoise.workload.table_errors import TableErrors
from leastnoise.workload.tables import Workload

Table = tuple[str, ...]
MAX_PLAIN_TABLES = 200  # beyond, Laplace noise on each has several times the error, and is not tried
TOO_WIDE = "Use coarser keys, a larger epsilon, or fewer rows of a unit."


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesNoise(NoisePlan):
    """The noise of one release of several tables: its scales are by block (Gaussian) or by table (Laplace), its error,
    in whole steps, the root of a weighted mean of variances, or the largest standard deviation."""

    mechanism: Mechanism
    guarantee: GaussianDP | PureDP
    workload: Workload
    weights: str  # what is least: "tables", "cells", "worst" or "given"
    # How far the error before rounding may be above the least of any Gaussian linear mechanism under add-remove; None:
    # not known, with cumulative sums or ranges.
    gap: float | None = 0.0

    @property
    def described(self) -> str:
        """What a ledger says of it."""
        return f"{self.mechanism} noise on {len(self.workload.tables):,} tables"

    def integers_of(self, counts: Mapping[Table, NDArray[np.int64]]) -> dict[Table, NDArray[np.int64]]:
        """The integers that get this noise.

        counts: the exact tables that no other table contains.

        Gaussian noise is added to N_A C_A m_A, whole numbers whose sensitivity is exactly that of the residual, or to
        those of the strategies of ordered columns. (To round m_A with noise and take the means out afterwards is
        another mechanism: it costs 1/y_A a block, not p_A/y_A.) Laplace noise is added to plain tables.
        """
        workload, gaussian = self.workload, self.mechanism == "gaussian"
        sums = workload.sums_of(counts, self.scales)
        return {name: workload.integers(name, exact) if gaussian else exact for name, exact in sums}

    @property
    def note(self) -> str:
        """Why this noise was chosen, and how good it is, in words."""
        sums, among = bool(self.workload.asked), self.workload.among
        loss = self.workload.loss_in_words
        return noise_in_words(
            self.mechanism, self.weights, self.guarantee, self.compared, sums=sums, among=among, loss=loss
        )


def noise_in_words(
    mechanism: Mechanism,
    weights: str,
    guarantee: ReleaseGuarantee | None,
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


@dataclass(frozen=True, slots=True)
class TablesPlanner(JointPlanner[TablesNoise]):
    """The ways to add noise to a set of tables: Gaussian noise on blocks, or Laplace noise on plain tables.

    weights: what is to be least, as in `Workload.optimize`. row_size: the most that the rows of one unit add up to, in
    whole steps.
    """

    workload: Workload
    weights: Weights
    row_size: int
    neighbours: Neighbours
    what: ClassVar[str] = "table of a set"

    @property
    def compares(self) -> bool:
        """Whether "auto" may take Laplace noise."""
        return len(self.workload.tables) <= MAX_PLAIN_TABLES

    def gaussian(self, mu_squared: Fraction) -> TablesNoise:
        """As little Gaussian noise as costs one unit at most this."""
        size, side = self.row_size, self.neighbours
        return gaussian_noise(self.workload, self.weights, mu_squared=mu_squared, row_size=size, neighbours=side)

    def laplace(self, epsilon: Number) -> TablesNoise:
        """As little Laplace noise as epsilon allows."""
        size, side = self.row_size, self.neighbours
        return laplace_noise(self.workload, self.weights, epsilon=epsilon, row_size=size, neighbours=side)

    def price(self, plan: TablesNoise) -> Fraction:
        """mu^2, rounded up."""
        if plan.mechanism == "gaussian":
            return published_mu_squared(plan)
        return self.workload.unit_cost(self.row_size, self.neighbours).laplace_mu_squared(plan.scales)


def gaussian_noise(
    workload: Workload, weights: Weights, *, mu_squared: Fraction, row_size: int, neighbours: Neighbours
) -> TablesNoise:
    """As little Gaussian noise as mu_squared allows, in the proportions that are best for these weights.

    workload: the tables. weights: what is to be least, as in `Workload.optimize`.
    mu_squared: what one unit may cost, exactly. row_size: the most that its rows add up to, in whole steps.
    neighbours: "add-remove" or "replace".
    """
    strategy = workload.optimize(weights=weights)
    scales = scales_within(strategy, mu_squared, weight=row_size, neighbours=neighbours)
    check_scale(max(scales.values()), "gaussian", TOO_WIDE)
    workload = strategy.workload
    cost = workload.unit_cost(row_size, neighbours).mu_squared(scales)
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
    check_scale(row_size / spend if spend else 0.0, "laplace", TOO_WIDE)  # no table has less noise than that
    made = laplace_tables(workload, epsilon=epsilon, weights=weights, weight=row_size, neighbours=neighbours)
    check_scale(max(made.scales.values()), "laplace", TOO_WIDE)
    cost = workload.unit_cost(row_size, neighbours).epsilon(made.scales)
    return TablesNoise(
        mechanism="laplace",
        workload=workload,
        weights=_word(weights),
        scales=made.scales,
        cost=cost,
        error=weighted_error(made, weights),
        guarantee=PureDP(float(cost), neighbours),
        delta=0.0,
    )


def weighted_error(made: TableErrors, weights: Weights) -> float:
    """The root of the weighted mean of the variances, or the largest standard deviation.

    made: the errors of the tables. weights: which error is to be least, as for `Workload.optimize`.
    """
    if isinstance(weights, str) and weights == "worst":
        return made.largest_std
    c = table_weights(made.workload, weights)
    return math.sqrt(float(c @ made.table_variances) / float(c.sum()))


def _word(weights: Weights) -> str:
    return weights if isinstance(weights, str) else "given"
