"""The errors of all sums of one kind in a table at once: of every cell, or of the first 1, 2 ... keys of a column.

With factors q_i over the keys of each column i of table B the variance is

    sum over A in B of  y_A  prod over A of (q_i'G_i G_i'q_i step_i^2)  prod over B without A of (v_j'q_j)^2

(`columns`): one number a column and sum in each factor, so that whole tables are outer products. Plain counts have the
same numbers for every key; ordered columns do not, so their cells have different errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np

from leastnoise.workload.columns import AxisSums, ColumnStrategy, Sums
from leastnoise.workload.incidence import Floats
from leastnoise.workload.tables import Table, Workload

_EXTREMES: WeakKeyDictionary[ColumnStrategy, dict[Sums, tuple[AxisSums, float]]] = WeakKeyDictionary()


def variances(workload: Workload, y: Floats, table: Table, along: Mapping[str, Sums]) -> Floats:
    """Of every sum of the table, an axis a column.

    workload: the tables. y: the variance of each block. table: the columns, in order.
    along: the columns whose first 1, 2 ... keys are summed ("prefix"); of the others it is every key.
    """
    return _combined(workload, y, (), table, _axes(workload, table, along))


def rounding_reaches(workload: Workload, table: Table, along: Mapping[str, Sums]) -> Floats:
    """How far the rounding of the integers, by 1/2 each, can move each of these sums at the very most.

    workload, table, along: as for `variances`.
    """
    made = np.asarray(0.5)
    for sums in _axes(workload, table, along).values():
        made = np.multiply.outer(made, sums.reach + np.abs(sums.without))
    return made


def largest(workload: Workload, y: Floats, table: Table, along: Mapping[str, Sums]) -> tuple[float, float]:
    """The largest variance of these sums, and the largest reach of rounding.

    workload, y, table, along: as for `variances`.

    A variance grows with both numbers of every column, so it is largest where no other key of a column has both
    larger: of all keys only these few are tried.
    """
    found = {column: _extremes(workload.column(column), along.get(column, "cells")) for column in table}
    reach = 0.5 * math.prod(most for _, most in found.values())
    tried = {column: sums for column, (sums, _) in found.items()}
    return float(_combined(workload, y, (), table, tried).max()), reach


def _extremes(column: ColumnStrategy, which: Sums) -> tuple[AxisSums, float]:
    """Of the sums along a column those that are tried, and the largest reach; the same for every table with it."""
    known = _EXTREMES.setdefault(column, {})
    if which not in known:
        sums = column.sums(which)
        known[which] = _undominated(sums), float((sums.reach + np.abs(sums.without)).max())
    return known[which]


def _axes(workload: Workload, table: Table, along: Mapping[str, Sums]) -> dict[str, AxisSums]:
    return {column: workload.column(column).sums(along.get(column, "cells")) for column in table}


def _combined(workload: Workload, y: Floats, held: Table, rest: Table, axes: Mapping[str, AxisSums]) -> Floats:
    """Over the columns in `rest`, of the blocks that hold all of `held` and any of `rest`."""
    if not rest:
        return np.asarray(y[workload.block_place(held)])
    column, *others = rest
    sums = axes[column]
    made = np.multiply.outer(sums.without**2, _combined(workload, y, held, tuple(others), axes))
    if workload.sizes[column] > 1:
        made = made + np.multiply.outer(sums.within, _combined(workload, y, (*held, column), tuple(others), axes))
    return np.asarray(made)


def _undominated(sums: AxisSums) -> AxisSums:
    """The sums of which no other has more of both."""
    order = np.lexsort((-(sums.without**2), -sums.within))
    squares = (sums.without**2)[order]
    before = np.concatenate([[-1.0], np.maximum.accumulate(squares)[:-1]])
    kept = order[squares > before]
    return AxisSums(sums.within[kept], sums.without[kept], sums.reach[kept])
