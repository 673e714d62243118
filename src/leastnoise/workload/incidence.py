"""Which residual is in which table, at which level of a tree, as integer arrays: what makes a hundred thousand tables a
matter of milliseconds.

A table has some columns, and at most one level of a tree; without a tree there is one level, the whole. A residual is a
set of columns that are no level (`residuals`), and a table tells about, and is made of, the residuals of its columns at
its own level.

A set of columns is a sorted row of column numbers; sets are kept by how many columns they have. A residual of k columns
is found by a number of its own: that of its first k - 1 columns, and its last column. So residuals are numbered order
by order, each order in the lexicographic order of its columns.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain import Orbits, TreeShape, orbits
from leastnoise.workload.columns import PlanFactors, Table

if TYPE_CHECKING:
    from leastnoise.workload.tables import Workload

Integers = NDArray[np.int64]
MOST_PAIRS = 2**25  # of a table and a residual in it: a gigabyte of indices and factors
_DENSE = 2**26
_orbits = functools.lru_cache(maxsize=8)(orbits)


class TableRows(NamedTuple):
    """Tables as arrays.

    columns: the columns that are no level, by how many there are: one row per set, none twice.
    place: which of these sets each table asked for has; None: all of them, in this order.
    level: of each table asked for; None: there is no tree.
    """

    columns: Sequence[Integers]
    place: Integers | None = None
    level: Integers | None = None


@dataclass(frozen=True, eq=False)
class Incidence:
    """The residuals of a set of tables, and what every table takes of them.

    residuals: for each number of columns k an array with k columns, one residual per row.
    asks: a SciPy CSR array, one row per table asked for and one column per residual and level, the levels of one
    residual side by side: where the table has the level and A is in it, the product over A of `within` and over its
    other columns of `without` of their `PlanFactors` (for plain counts prod over j without A of n_j^-2), else zero.
    cost: p_A of each residual, the product of what its columns cost: of plain counts prod (1 - 1/n_i).
    deepest: the last level that is asked for with each residual. maximal: whether no other table contains a table.
    cells: of each table.
    """

    residuals: tuple[Integers, ...]
    asks: Any
    cost: Floats
    deepest: Integers
    maximal: NDArray[np.bool_]
    cells: Floats
    tree: TreeShape

    @property
    def shape(self) -> tuple[int, int]:
        """How many residuals there are, and levels with the whole."""
        return self.cost.size, self.tree.depth + 1

    @property
    def orbits(self) -> Orbits:
        """Of the nodes of the tree."""
        return _orbits(self.tree)

    def variances(self, means: Floats) -> Floats:
        """Of each table the mean over the sums asked for, such as its cells: sum over A of asks p_A mean_A.

        means: for each residual and level the mean variance of a node, on one cell of C_A m_A.
        """
        return np.asarray(self.asks @ (self.cost[:, None] * means).ravel())

    def weights(self, c: Floats) -> Floats:
        """s_A = sum over the tables B of c_B asks_BA, for each residual and level."""
        return np.asarray(self.asks.T @ c).reshape(self.shape)


def incidence(sizes: Integers, tables: TableRows, columns: Sequence[PlanFactors], tree: TreeShape) -> Incidence:
    """Of these tables; residuals that hold a column with one key are left out.

    sizes: of the columns that are no level. columns: what each of them multiplies.
    """
    from scipy.sparse import csr_array

    numbers, residuals = _numbered(len(sizes), tables.columns)
    cost, within, without = np.array([(each.cost, each.within, each.without) for each in columns]).reshape(-1, 3).T
    p = np.concatenate([np.prod(cost[made], axis=1) for made in residuals])
    offset = np.cumsum([0, *map(len, residuals)])
    indices = [
        (found + offset[_count_bits(len(found))][:, None]).T.ravel() for found in numbers
    ]  # row by row: all subsets of the first table, then those of the second
    factors = [_factors(within[rows], without[rows]).T.ravel() for rows in tables.columns]
    lengths = np.concatenate([np.full(len(rows), 2 ** rows.shape[1]) for rows in tables.columns])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    asks = csr_array((np.concatenate(factors), np.concatenate(indices), starts), shape=(len(lengths), int(offset[-1])))
    cells = np.concatenate([np.prod(sizes[rows].astype(np.float64), axis=1) for rows in tables.columns])
    own = np.concatenate([found[-1] + offset[len(rows.T)] for found, rows in zip(numbers, tables.columns, strict=True)])
    if tables.place is not None:
        asks, own, cells = asks[tables.place], own[tables.place], cells[tables.place]
    level = np.zeros(len(own), dtype=np.int64) if tables.level is None else tables.level
    at = np.repeat(level, np.diff(asks.indptr))  # the level of every entry
    levels = tree.depth + 1
    deepest = np.zeros(len(p), dtype=np.int64)
    if levels > 1:
        np.maximum.at(deepest, asks.indices, at)
    # of a table at this level, or below it, that contains the same columns: how many there are
    within_tables = np.bincount(asks.indices * levels + at, minlength=len(p) * levels).reshape(-1, levels)
    maximal = np.cumsum(within_tables[:, ::-1], axis=1)[:, ::-1][own, level] == 1
    kept = p > 0
    if not kept.all():
        asks = asks[:, np.flatnonzero(kept)]
        at = np.repeat(level, np.diff(asks.indptr))
        residuals = [made[kept[a:b]] for made, a, b in zip(residuals, offset, offset[1:], strict=False)]
        p, deepest = p[kept], deepest[kept]
    asks = csr_array((asks.data, asks.indices * levels + at, asks.indptr), shape=(len(own), len(p) * levels))
    cells = cells * np.array(tree.sizes, dtype=np.float64)[level]
    return Incidence(tuple(residuals), asks, p, deepest, maximal, cells, tree)


def informs(workload: Workload, tables: Sequence[Table]) -> Any:
    """What tables tell about residuals if they get noise of their own: a SciPy CSR array, one row per table and one
    column per residual and level, of the precision there where the cells of the table have precision one. It is
    t_RA = prod over R without A of 1/n_j, at the level of R (`shares`).

    tables: with noise of their own; they need not have been asked for.
    """
    from scipy.sparse import csr_array

    found, levels = workload.incidence, workload.shape.depth + 1
    if levels == 1 and not workload.asked and tuple(tables) == workload.tables:
        matrix = found.asks.copy()
        matrix.data = np.sqrt(matrix.data)
        return matrix
    rows, places, factors = [], [], []
    for row, table in enumerate(tables):
        own, level = workload.others(table), workload.level_of(table)
        cells = workload.cells_of(own)
        for residual in subsets(own) if 2 ** len(own) <= found.cost.size else workload.residuals:
            number = workload.number_of.get(residual)
            if number is not None and set(residual) <= set(own):
                rows.append(row)
                places.append(number * levels + level)
                factors.append(workload.cells_of(residual) / cells)
    return csr_array((factors, (rows, places)), shape=(len(tables), found.cost.size * levels))


def subsets(names: Sequence[str]) -> Iterable[Table]:
    """All sets of these, the smallest first."""
    return itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(len(names) + 1))


def _numbered(columns: int, tables: Sequence[Integers]) -> tuple[list[Integers], list[Integers]]:
    """For each array of tables the numbers of their subsets: a row a set of places, as bits, a column a table. And the
    residuals of each order."""
    found = [np.zeros((2 ** rows.shape[1], len(rows)), dtype=np.int64) for rows in tables]
    residuals = [np.zeros((1, 0), dtype=np.int64)]
    for order in range(1, 1 + max(rows.shape[1] for rows in tables)):
        places = [np.flatnonzero(_count_bits(len(numbers)) == order) for numbers in found]
        asked = []
        for numbers, rows, chosen in zip(found, tables, places, strict=True):
            last = np.frexp(chosen.astype(np.float64))[1] - 1  # the highest bit
            asked.append(numbers[chosen ^ (1 << last)] * columns + rows.T[last])
        codes, ranks = _ranked([code.ravel() for code in asked], len(residuals[-1]) * columns)
        for numbers, chosen, code, rank in zip(found, places, asked, ranks, strict=True):
            numbers[chosen] = rank.reshape(code.shape)
        residuals.append(np.column_stack([residuals[-1][codes // columns], codes % columns]))
    return found, residuals


def _factors(within: Floats, without: Floats) -> Floats:
    """For each subset of the places of a table (a row), as bits, the product of the one over the subset and of the
    other over the other places."""
    made = np.ones((1, len(within)))
    for inside, outside in zip(within.T, without.T, strict=True):
        made = np.concatenate([made * outside, made * inside])
    return made


def _count_bits(count: int) -> Integers:
    """How many bits each number below has, which is a power of two."""
    made = np.zeros(1, dtype=np.int64)
    while len(made) < count:
        made = np.concatenate([made, made + 1])
    return made


def _ranked(codes: list[Integers], bound: int) -> tuple[Integers, list[Integers]]:
    """The distinct codes in order, and the place of each code among them."""
    if bound > _DENSE:
        distinct, places = np.unique(np.concatenate(codes), return_inverse=True)
        return distinct, np.split(places, np.cumsum([len(code) for code in codes])[:-1])
    present = np.zeros(bound, dtype=np.bool_)
    for code in codes:
        present[code] = True
    rank = np.cumsum(present) - 1
    return np.flatnonzero(present), [rank[code] for code in codes]
