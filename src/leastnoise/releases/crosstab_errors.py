"""How far off the tables of a set are, from the noise that was drawn, in the unit of the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.releases import fieller
from leastnoise.workload import Workload
from leastnoise.workload.table_errors import NoisyTables

Table = tuple[str, ...]
Positions = Mapping[str, Sequence[int]]  # of the keys that are summed, by column


def noisy_tables(mechanism: Mechanism, workload: Workload, scales: Mapping[Table, float], step: float) -> NoisyTables:
    """The errors of tables with this noise.

    mechanism: "gaussian" (on the integers of blocks) or "laplace" (on those of whole tables). workload: the tables.
    scales: of the noise on whole numbers. step: what one of these is worth, a power of two.
    """
    if mechanism == "gaussian":
        return workload.with_noise(scales, unit=1 / step)
    return workload.with_laplace(scales, unit=1 / step)


def cell_half_width(errors: NoisyTables, table: Table, confidence: float, bins: int = 1) -> float:
    """How far off one cell of a table may be, whichever it is, with this confidence; or `bins` such cells at once."""
    return errors.cell_half_width(table, confidence=confidence, bins=bins)


def difference_half_width(
    errors: NoisyTables, table: Table, one: Positions, other: Positions, confidence: float
) -> float:
    """How far off the sum over one rectangle minus that over another may be."""
    return errors.combination_half_width([(table, one), (table, other)], [1.0, -1.0], confidence=confidence)


def ratio_interval(
    errors: NoisyTables, table: Table, sums: tuple[float, float], one: Positions, other: Positions, confidence: float
) -> tuple[float, float]:
    """Where the sum over one rectangle over that over another lies, `sums` being the two as published.

    Fieller's interval for Gaussian noise; for Laplace noise both sums are enclosed, which is wider.
    """
    pair = [(table, one), (table, other)]
    if errors.mechanism == "gaussian":
        return fieller.interval(
            sums, lambda factors: errors.combination_half_width(pair, factors, confidence=confidence)
        )
    halves = [errors.combination_half_width([each], [1.0], confidence=confidence, bins=2) for each in pair]
    return fieller.enclosed(sums, (halves[0], halves[1]))


def largest(errors: NoisyTables, *, but_total: bool = False) -> Table:
    """The least accurate of the tables asked for; `but_total`: of those with a column, of which there is one."""
    named = zip(errors.workload.tables, errors.table_variances, strict=True)
    return max((variance, -i, table) for i, (table, variance) in enumerate(named) if table or not but_total)[2]


def rectangle_std(errors: NoisyTables, table: Table, keys: Positions) -> float:
    """The standard deviation of a sum over a rectangle."""
    return math.sqrt(max(0.0, float(errors.covariances([(table, keys)])[0, 0])))
