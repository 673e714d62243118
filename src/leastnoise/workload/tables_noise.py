"""The noise of a set of tables, decided from public facts alone, and the guarantee that comes of it.

Gaussian noise on residual blocks is optimal among Gaussian mechanisms under add-remove, and its error grows with the
root of the number of tables; but its constant is large. Laplace noise on plain tables pays for every table in full,
with a small constant, and needs no delta. So for a handful of tables Laplace noise has the lesser error, all the more
where one larger table is released and summed up. Both are computed, and compared by the error that the caller asked
for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.guarantees import GaussianDP, PureDP, ReleaseGuarantee
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import (
    JointPlanner,
    Mechanism,
    NoisePlan,
    check_scale,
    compared_in_words,
)
from leastnoise.privacy.unit_cost import least_noise
from leastnoise.workload.columns import Table
from leastnoise.workload.noisy_tables import NoisyTables
from leastnoise.workload.ordered import MAX_KEYS
from leastnoise.workload.shares import laplace_tables
from leastnoise.workload.strategy import Weights, integer_scales, table_weights
from leastnoise.workload.tables import Workload
from leastnoise.workload.unit_cost import TableBlocks

MAX_PLAIN_TABLES = 200  # beyond, Laplace noise on each has several times the error, and is not tried
MOST_COMPARED = 1000  # tables: beyond, it is not even compared
TOO_WIDE = "Use coarser keys, a larger epsilon, or fewer rows of a unit."
NOTES: dict[Mechanism, str] = {
    "gaussian": "noise on the blocks of all tables, divided as is best",
    "laplace": "noise on whole tables, epsilon divided as is best",
}


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
        return noise_in_words(self.mechanism, self.weights, self.guarantee, self.compared, self.workload)


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

    @property
    def unit_cost(self) -> TableBlocks:
        """What one unit costs in plain tables."""
        return self.workload.unit_cost(self.row_size, self.neighbours)

    def gaussian(self, mu_squared: Fraction) -> TablesNoise:
        """As little Gaussian noise as costs one unit at most this, in the proportions that are best for the weights."""
        strategy = self.workload.optimize(weights=self.weights)
        cost = strategy.workload.unit_cost(self.row_size, self.neighbours)
        proportions = integer_scales(strategy, unit=self.row_size)
        scales, paid = least_noise(cost.mu_squared, proportions, mu_squared, power=2)
        check_scale(max(scales.values()), "gaussian", TOO_WIDE)
        guarantee = GaussianDP(sqrt_up(paid), self.neighbours)
        return self._plan(strategy.workload.with_noise(scales), paid, guarantee, gap=strategy.gap)

    def laplace(self, epsilon: Number) -> TablesNoise:
        """As little Laplace noise as epsilon allows, on the tables and in the shares that are best for the weights."""
        spend, size, side = validation.number("epsilon", epsilon), self.row_size, self.neighbours
        check_scale(size / spend if spend else 0.0, "laplace", TOO_WIDE)  # no table has less noise than that
        made = laplace_tables(self.workload, epsilon=epsilon, weights=self.weights, weight=size, neighbours=side)
        check_scale(max(made.scales.values()), "laplace", TOO_WIDE)
        paid = self.unit_cost.epsilon(made.scales)
        return self._plan(made, paid, PureDP(float(paid), side), delta=0.0)

    def _plan(self, made: NoisyTables, paid: Fraction, guarantee: GaussianDP | PureDP, **more: Any) -> TablesNoise:
        return TablesNoise(
            mechanism=made.mechanism,
            workload=made.workload,
            weights=self.weights if isinstance(self.weights, str) else "given",
            scales=made.scales,
            cost=paid,
            error=weighted_error(made, self.weights),
            guarantee=guarantee,
            **more,
        )

    def compare(self, *, epsilon: Number, delta: Number, step: float) -> Comparison:
        """Every way to keep (epsilon, delta) for these tables, the one of least error first.

        epsilon, delta: the guarantee of all of them. step: what one whole step is worth.

        `std` is the error that the weights ask for: the root of a weighted mean of variances, or the largest.
        """
        spend, pure, plans = validation.number("epsilon", epsilon), validation.is_zero(delta), list[TablesNoise]()
        if not pure:
            plans.append(self.gaussian(proof.mu(spend, validation.number("delta", delta)) ** 2))
        if spend > 0 and (pure or len(self.workload.tables) <= MOST_COMPARED):
            plans.append(self.laplace(spend))
        if not plans:
            raise errors.InvalidParameter(
                "No noise gives epsilon = 0 and delta = 0.", parameter="epsilon", value=epsilon, example={"epsilon": 1}
            )
        best, *others = sorted(plans, key=lambda plan: plan.error)
        more = [f"{each.error / best.error:.4g} times that with {NOTES[each.mechanism]}" for each in others]
        verdict = f"Least error: {NOTES[best.mechanism]} ({best.mechanism})."
        verdict += f" The error is {'; '.join(more)}." if more else ""
        rows = tuple(_row(each, step) for each in (best, *others))
        return Comparison(rows, verdict, spend, float(delta), self.workload.cells)


def _row(plan: TablesNoise, step: float) -> Row:
    workload, guarantee = plan.workload, plan.guarantee
    made = NoisyTables(workload, plan.scales, plan.mechanism)
    worst = workload.tables[int(np.argmax(made.table_variances))]
    one, every = (step * made.cell_half_width(worst, confidence=0.95, bins=bins) for bins in (1, workload.cells))
    # of Laplace noise the mu^2 of the Gaussian curve below its epsilon
    squared = guarantee.to_gaussian().mu ** 2 if isinstance(guarantee, PureDP) else float(plan.cost)
    return Row(plan.mechanism, step * plan.error, one, every, 1.0, squared, NOTES[plan.mechanism])


def weighted_error(made: NoisyTables, weights: Weights) -> float:
    """The root of the weighted mean of the variances, or the largest standard deviation.

    made: the errors of the tables. weights: which error is to be least, as for `Workload.optimize`.
    """
    if isinstance(weights, str) and weights == "worst":
        return made.largest_std
    c = table_weights(made.workload, weights)
    return math.sqrt(float(c @ made.table_variances) / float(c.sum()))


def noise_in_words(
    mechanism: Mechanism, weights: str, guarantee: ReleaseGuarantee | None, ratio: float | None, workload: Workload
) -> str:
    """What the noise of a set of tables is best for.

    mechanism: "gaussian" or "laplace". weights: what is least. guarantee: None: not known.
    ratio: its error over that of the other mechanism; None where they were not compared. workload: the tables.
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
    if workload.asked:
        return (
            "Gaussian noise on sums along the ordered columns, chosen for the least error of their cumulative sums or "
            f"ranges, and divided among the tables for the least error, {aim}.{_loss(workload)}{under}{compared}"
        )
    best = "under add-remove no other" if under else "no other"
    among = "that is the same for all nodes of a level" if workload.levels else "on linear sums"
    return (
        f"Gaussian noise divided among the tables so that, {aim}, {best} Gaussian noise {among} has less error, "
        f"but for rounding to whole numbers.{under}{compared}"
    )


def _loss(workload: Workload) -> str:
    """How far cumulative sums and ranges over very many keys are from the best; nothing where there are none."""
    long = [name for name in workload.strategies if workload.sizes[name] > MAX_KEYS]
    if not long:
        return ""
    return (
        f" Over the keys of {' and '.join(long)}, more than a matrix can hold, it is the square root of the "
        "cumulative sum, whose error is 5 to 20 % above the least that is known."
    )
