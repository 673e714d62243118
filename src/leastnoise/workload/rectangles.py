"""The errors of sums over rectangles of cells, in closed form.

A rectangle of table B takes s_i keys on each axis i. Its indicator splits on axis i into 1_S - s_i/n_i, which the block
with i sees, and the even part s_i/n_i, which the block without i sees. So with independent blocks

    Cov(S in B, T in B') = sum over A in B and B' of  y_A  prod over A of (|S_i and T_i| - s_i t_i/n_i)
                                                          prod over B without A of s_j/n_j
                                                          prod over B' without A of t_j/n_j.

A column that is summed whole has s_i = n_i: the first factor is zero and the others are one, so it drops out. A column
with a strategy of its own has 1_S'G G'1_T step^2 in place of |S and T| - s t/n, and v'1_S in place of s/n (`columns`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from leastnoise import errors
from leastnoise.workload.incidence import Floats
from leastnoise.workload.tables import Table, Workload

Positions: TypeAlias = int | Iterable[int]  # of keys on an axis
Sum: TypeAlias = tuple[str | Iterable[str], Mapping[str, Positions]]  # a table, and the keys summed by column
Rectangle = dict[str, frozenset[int]]  # only columns that are not summed whole


def positions(given: Positions) -> frozenset[int]:
    """The positions of keys on an axis, as a set."""
    return frozenset([int(given)] if isinstance(given, int | np.integer) else map(int, given))


def covariances(workload: Workload, y: Floats, sums: Sequence[Sum]) -> Floats:
    """`TableErrors.covariances`."""
    chosen = [rectangle(workload, table, keys) for table, keys in sums]
    made = np.empty((len(chosen), len(chosen)))
    for i, j in itertools.combinations_with_replacement(range(len(chosen)), 2):
        made[i, j] = made[j, i] = _covariance(workload, y, chosen[i], chosen[j])
    return made


def variance(workload: Workload, y: Floats, table: str | Iterable[str], keys: Mapping[str, int]) -> float:
    """`TableErrors.rectangle_variance`."""
    first = {column: range(count) for column, count in counts(workload, table, keys).items()}
    return float(covariances(workload, y, [(workload.table(table), first)])[0, 0])


def rounding_reach(workload: Workload, table: str | Iterable[str], keys: Mapping[str, int]) -> float:
    """`TableErrors.rounding_reach`.

    The noise on the integers of a block is off by at most 1/2 a cell. In a sum over a rectangle a cell of block A
    counts 1/N_A times prod over A of (1[t in S] - s/n) times prod over the others of s_j/n_j. The absolute values of
    1[t in S] - s/n sum to 2 s (1 - s/n), so with f = s/n the whole sum over all blocks is at most
    1/2 prod over B of (2 f (1 - f) + f) = 1/2 prod f (3 - 2 f): 1/2 for a total, far less for a cell.
    """
    reach = 0.5
    for column, count in counts(workload, table, keys).items():
        part = count / workload.sizes[column]
        reach *= part * (3 - 2 * part)
    return reach


def reach_of(workload: Workload, table: str | Iterable[str], keys: Mapping[str, Positions]) -> float:
    """How far the rounding of the noise can move a sum over this very rectangle.

    workload: the tables. table: the columns. keys: the positions of the keys summed, by column.
    """
    reach = 0.5
    for column, chosen in rectangle(workload, table, keys).items():
        part = len(chosen) / workload.sizes[column]
        strategy = workload.strategies.get(column)
        reach *= part * (3 - 2 * part) if strategy is None else strategy.rounding(_indicator(workload, column, chosen))
    return reach


def _covariance(workload: Workload, y: Floats, one: Rectangle, other: Rectangle) -> float:
    shared = [column for column in workload.columns if column in one and column in other]
    apart = 1.0
    for these, those in ((one, other), (other, one)):
        for column in these.keys() - those.keys():
            apart *= _products(workload, column, these[column], these[column])[1]
    within, without = {}, {}
    for column in shared:
        within[column], s, t = _products(workload, column, one[column], other[column])
        without[column] = s * t
    total = 0.0
    for k in range(len(shared) + 1):
        for block in itertools.combinations(shared, k):
            factor = apart
            for column in shared:
                factor *= within[column] if column in block else without[column]
            if factor:  # zero for a column with one key, which is in no block
                total += factor * float(y[workload.block_place(block)])
    return total


def _products(
    workload: Workload, column: str, one: frozenset[int], other: frozenset[int]
) -> tuple[float, float, float]:
    """What two sums along a column have in common in blocks with it, and what each is in blocks without."""
    strategy, n = workload.strategies.get(column), workload.sizes[column]
    if strategy is None:
        s, t = len(one), len(other)
        return len(one & other) - s * t / n, s / n, t / n
    return strategy.products(_indicator(workload, column, one), _indicator(workload, column, other))


def _indicator(workload: Workload, column: str, chosen: frozenset[int]) -> Floats:
    made = np.zeros(workload.sizes[column])
    made[list(chosen)] = 1.0
    return made


def counts(workload: Workload, table: str | Iterable[str], keys: Mapping[str, int]) -> dict[str, int]:
    """How many keys are summed of each column of the table, checked."""
    names = _asked(workload, table, keys)
    found = {column: keys.get(column, workload.sizes[column]) for column in names}
    for column, count in found.items():
        if not 0 <= count <= workload.sizes[column]:
            raise errors.InvalidParameter(
                f'"{column}" has {workload.sizes[column]} keys, of which {count} cannot be summed.',
                parameter="keys",
                value=count,
            )
    return found


def rectangle(workload: Workload, table: str | Iterable[str], keys: Mapping[str, Positions]) -> Rectangle:
    """The positions summed of each column that is not summed whole, checked."""
    names = _asked(workload, table, keys)
    made: Rectangle = {}
    for column in names:
        if column not in keys:
            continue
        given = keys[column]
        chosen = positions(given)
        size = workload.sizes[column]
        if chosen and not (min(chosen) >= 0 and max(chosen) < size):
            raise errors.InvalidParameter(
                f'"{column}" has {size} keys, at the positions 0 to {size - 1}.', parameter="rectangle", value=given
            )
        if len(chosen) < size:
            made[column] = chosen
    return made


def _asked(workload: Workload, table: str | Iterable[str], named: Iterable[str]) -> Table:
    """The table, which must be within one that was asked for, and hold every column named."""
    names = workload.table(table)
    workload.block_place(tuple(column for column in names if workload.sizes[column] > 1))
    for column in named:
        if column not in names:
            raise errors.UnknownColumn.among_columns(column, names)
    return names
