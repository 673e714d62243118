"""Which noise for a set of tables: the mechanisms there are, with the error to expect of each, from public facts alone.

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
from typing import Any, Literal

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.workload.integer_noise import scales_within
from leastnoise.workload.plain_tables import laplace_tables
from leastnoise.workload.strategy import Weights, table_weights
from leastnoise.workload.table_errors import NoisyTables, TableErrors
from leastnoise.workload.tables import Table, Workload

Method = Literal["gaussian", "laplace"]
MOST_PLAIN = 1000  # tables: beyond, noise on each of them alone has several times the error, and is not computed


@dataclass(frozen=True, eq=False)
class NoiseOption:
    """One way to add noise.

    method: "gaussian" is noise on residual blocks by the optimal strategy, "laplace" noise on plain tables.
    errors: the noise on whole numbers, and the errors of every table, rounding included.
    error: the one that was to be least: the root of the weighted mean of the variances, or the largest standard
    deviation.
    """

    method: Method
    errors: NoisyTables
    error: float

    @property
    def scales(self) -> Mapping[Table, float]:
        """Of the noise on whole numbers, by block or by table: standard deviations, or Laplace scales."""
        return self.errors.scales


def noise_options(
    workload: Workload,
    *,
    epsilon: Number,
    delta: Number,
    weights: Weights = "tables",
    unit: int = 1,
    **unit_limits: Any,
) -> list[NoiseOption]:
    """Every way to keep (epsilon, delta) for these tables, the one of least error first. Sees no data.

    workload: the tables. epsilon: at least 0. delta: below 1; 0 leaves Laplace noise only.
    weights: which error is to be least, as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    unit_limits: neighbours, max_rows, row_weight, parts, distinct, always_counted, as for `squared_cost`.
    """
    spend = validation.number("epsilon", epsilon)
    found = []
    if not validation.is_zero(delta):
        mu_squared = proof.mu(spend, validation.number("delta", delta)) ** 2
        found.append(gaussian_option(workload, mu_squared, weights=weights, unit=unit, **unit_limits))
    if spend > 0 and (validation.is_zero(delta) or len(workload.lattice.cells) <= MOST_PLAIN):
        plain = {name: value for name, value in unit_limits.items() if name != "distinct"}  # L1 is the same for them
        laplace = laplace_tables(workload, epsilon=spend, weights=weights, unit=unit, **plain)
        found.append(NoiseOption("laplace", laplace, weighted_error(laplace, weights)))
    if not found:
        raise errors.InvalidParameter(
            "No noise gives epsilon = 0 and delta = 0.", parameter="epsilon", value=epsilon, example={"epsilon": 1}
        )
    return sorted(found, key=lambda option: option.error)


def gaussian_option(
    workload: Workload, mu_squared: Fraction, *, weights: Weights = "tables", unit: int = 1, **unit_limits: Any
) -> NoiseOption:
    """Gaussian noise on residual blocks, as little as keeps what a unit costs within mu_squared.

    workload: the tables. mu_squared: what a unit may cost, exactly: a share of a budget.
    weights: which error is to be least, as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    unit_limits: neighbours, max_rows, row_weight, parts, distinct, always_counted, as for `squared_cost`.
    """
    strategy = workload.optimize(weights=weights)
    scales = scales_within(strategy, mu_squared, unit=unit, **unit_limits)
    made = strategy.workload.with_noise(scales, unit=unit)
    return NoiseOption("gaussian", made, weighted_error(made, weights))


def weighted_error(made: TableErrors, weights: Weights) -> float:
    """The root of the weighted mean of the variances, or the largest standard deviation.

    made: the errors of the tables. weights: which error is to be least, as for `Workload.optimize`.
    """
    if isinstance(weights, str) and weights == "worst":
        return made.largest_std
    c = table_weights(made.workload, weights)
    return math.sqrt(float(c @ made.table_variances) / float(c.sum()))
