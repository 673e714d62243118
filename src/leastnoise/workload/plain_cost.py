"""What one unit costs where plain tables are published with noise: epsilon of Laplace noise, mu^2 of Gaussian noise.

Let W be the most that the rows of a unit weigh together. With Laplace noise of scales b_R the epsilons of the tables
add up. One unit adds W times a convex combination of zero and of single rows, and the sum of L1 distances over b_R is
convex, so it is largest at the ends: a row that comes or goes, W sum_R 1/b_R; and with "replace" also a row against one
that differs everywhere, 2 W times the sum of 1/b_R over the tables with more than one cell. With Gaussian noise
likewise W^2 times the sum of 1/sigma_R^2, and 2 W^2 times that over the tables with more than one cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from flint import arb, fmpq

from leastnoise._support import validation
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import step_prices
from leastnoise.privacy.neighbours import Neighbours, check_neighbours

Table = tuple[str, ...]
Mechanism = Literal["laplace", "gaussian"]


def plain_cost(
    scales: Mapping[Table, float],
    sizes: Mapping[str, int],
    *,
    mechanism: Mechanism,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    row_weight: int = 1,
    parts: int | None = None,
    always_counted: bool = False,
) -> float:
    """What one unit costs: epsilon of Laplace noise, mu^2 of Gaussian noise, rounded up over the scales as they are.

    scales: of the noise on the integers of each table. sizes: how many keys each column has.
    mechanism: "laplace" or "gaussian". neighbours: "add-remove" or "replace".
    max_rows, row_weight, parts: what a unit weighs at most, as for `squared_cost`.
    always_counted: whether every unit certainly weighs the whole amount.
    """
    check_neighbours(neighbours)
    together = validation.integer("max_rows", max_rows) * validation.integer("row_weight", row_weight)
    together = together if parts is None else validation.integer("parts", parts)
    power = 1 if mechanism == "laplace" else 2
    with proof.precision(256):
        every, moved = arb(0), arb(0)
        for table, scale in scales.items():
            cost = (arb(together) / arb(scale)) ** power
            every += cost
            moved += 2 * cost if math.prod(sizes[column] for column in table) > 1 else arb(0)
        if neighbours == "add-remove":
            return float(proof.upward(every))
        return float(proof.upward(moved if always_counted else moved.max(every)))


def laplace_price(
    scales: Mapping[Table, float], *, sizes: Mapping[str, int], parts: int, neighbours: Neighbours
) -> Fraction:
    """mu^2 of Laplace noise of these scales, rounded up: what it costs of a budget that counts mu^2.

    A unit moves the whole numbers of a table by at most `parts` together; under "replace", where there is more than one
    cell, by twice as much. The tables have noise of their own, so their mu^2 add up.
    """
    total = Fraction(0)
    for table, scale in scales.items():
        several = neighbours == "replace" and math.prod(sizes[column] for column in table) > 1
        one, each = step_prices(Fraction(scale), parts)  # no cell moves further
        squared, moved = (2 * parts**2, 2 * parts) if several else (parts**2, parts)
        total += min(squared * one, moved * each)
    return total


def scaled_to(
    limit: Fraction,
    scales: Mapping[Table, float],
    sizes: Mapping[str, int],
    *,
    mechanism: Mechanism,
    **unit_limits: Any,
) -> dict[Table, float]:
    """Scales in these proportions, as small as keeps what a unit costs within the limit: proved.

    limit: the epsilon, or the mu^2, of all tables together. scales, sizes, mechanism, unit_limits: as for `plain_cost`.
    """
    made, step = dict(scales), 0.0
    while True:
        cost = plain_cost(made, sizes, mechanism=mechanism, **unit_limits)
        if step and Fraction(cost) <= limit:
            return made
        factor = _ratio_up(cost, limit, root=mechanism == "gaussian") * (1 + step)
        made = {table: scale * factor for table, scale in made.items()}
        step = 2 * step or 2.0**-52


def _ratio_up(cost: float, limit: Fraction, *, root: bool) -> float:
    with proof.precision(128):
        ratio = arb(cost) / arb(fmpq(limit.numerator, limit.denominator))
        return float(proof.upward(ratio.sqrt() if root else ratio))
