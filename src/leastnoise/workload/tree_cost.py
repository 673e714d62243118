"""What one unit costs where blocks are published at levels of a tree: mu^2, rounded up.

All blocks at all levels are one long integer vector. A row adds Phi to it; with each part over its sigma, two rows
whose leaves have their last common ancestor at level j, and which differ in the other columns D, have the product

    g(j, D) = sum over levels l <= j of sum over blocks A of a_lA prod over A and D of -1/(n_i - 1),
    a_lA = K_A^2 prod over A of n_i (n_i - 1)/sigma_lA^2,

because on level l > j they lie in different nodes, which share no number. So all rows have the same norm, and as in
`sensitivity`: with W the most that the rows of a unit weigh together, add-remove costs W^2 a, a = g with itself; and
replace W^2 max(a, 2 (a - min g)), the least over all pairs of rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.workload.row_products import _by_type, _total, key_products

if TYPE_CHECKING:
    from leastnoise.workload.tree_tables import TreeWorkload

Table = tuple[str, ...]
MOST_COLUMNS = 16  # of which every set is tried; beyond, each level is at its own least


def squared_cost(
    workload: TreeWorkload,
    scales: Mapping[Table, float],
    *,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    row_weight: int = 1,
    parts: int | None = None,
    distinct: bool = False,
    always_counted: bool = False,
) -> float:
    """mu^2 of publishing these blocks with this noise, rounded up: proved for the numbers as they are.

    workload: the tables. scales: the standard deviation of the Gaussian noise on the integers of each block measured.
    neighbours: "add-remove" or "replace". max_rows, row_weight, parts: what a unit weighs at most, in whole steps.
    distinct: refused, no smaller bound is known. always_counted: whether every unit certainly weighs the whole amount.
    """
    check_neighbours(neighbours)
    if distinct:
        raise errors.InvalidParameter("Rows in distinct cells cost no less along a tree.", parameter="distinct")
    together = validation.integer("max_rows", max_rows) * validation.integer("row_weight", row_weight)
    together = together if parts is None else validation.integer("parts", parts)
    quotients = {}
    for block, sigma in scales.items():
        if not (math.isfinite(sigma) and sigma > 0):
            raise errors.InvalidParameter(f"The noise of block {block!r} must be positive.", parameter="scales")
        own = [workload.sizes[name] for name in workload.others(block)]
        quotients[block] = (workload.fineness(block) ** 2 * math.prod(n * (n - 1) for n in own), sigma)
    same = _total(Counter(quotients.values()))
    with proof.precision(256):
        cost = arb(same)
        if neighbours == "replace":
            exchanged = (2 * (cost - arb(_least(workload, quotients, same)))).max(arb(0))
            cost = exchanged if always_counted else exchanged.max(cost)
        return float(proof.upward(cost * arb(together) ** 2))


def _least(workload: TreeWorkload, quotients: Mapping[Table, tuple[int, float]], same: float) -> float:
    """The least product of two rows that differ, rounded down."""
    columns = [name for name in workload.columns if name not in workload.levels and workload.sizes[name] > 1]
    by_level: dict[int, dict[Table, float]] = {}
    for block, (numerator, sigma) in quotients.items():
        costs = by_level.setdefault(workload.level_of(block), {})
        costs[workload.others(block)] = float(Fraction(numerator) / Fraction(sigma) ** 2)
    last = max(by_level)
    total = np.zeros((2,) * len(columns) if len(columns) <= MOST_COLUMNS else ())
    least = math.inf
    for level in range(last + 1):
        if level in by_level:
            total = total + _products(by_level[level], workload, columns)
        if level == last:  # the same node: the rows differ in another column
            least = min(least, *total.ravel()[1:].tolist()) if total.ndim else least
        elif (workload.shape.children[level] > 1).any():
            least = min(least, float(total.min()))
    if not columns and least == math.inf:  # a tree of one leaf
        return same
    if len(columns) > MOST_COLUMNS:
        least = min(least, float(total))
    return least - same * 2.0**-50 * 4 * (len(columns) + last + 2)


def _products(
    costs: Mapping[Table, float], workload: TreeWorkload, columns: list[str]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Of one level, for every set D of columns in which two rows differ; of many columns one number below them all:
    a product of factors -1/(n - 1) is at least -1/(n_min - 1)."""
    if len(columns) <= MOST_COLUMNS:
        made = _by_type(costs, key_products(workload.sizes), [[name] for name in columns])
        assert made is not None  # every set of columns is a type of its own
        return made
    low = math.fsum(
        cost if not block else -cost / (min(workload.sizes[name] for name in block) - 1)
        for block, cost in costs.items()
    )
    return np.asarray(low)
