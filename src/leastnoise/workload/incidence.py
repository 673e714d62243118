"""Which block is in which table, as integer arrays: what makes a hundred thousand tables a matter of milliseconds.

A table is a sorted row of column numbers; tables are kept by how many columns they have. A block of k columns is found
by a number of its own: that of its first k - 1 columns, and its last column. So blocks are numbered order by order,
each order in the lexicographic order of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.workload.columns import PlanFactors

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_PAIRS = 2**25  # of a table and a block in it: a gigabyte of indices and factors
_DENSE = 2**26


@dataclass(frozen=True, eq=False)
class Incidence:
    """The blocks of a set of tables, and the sums over blocks in a table and over tables with a block.

    tables: for each number of columns k an array with k columns, one table a row. blocks: the same of the blocks.
    `shrink` has a row a table and a column a block: where A is in B, the product over A of `within` and over the other
    columns of `without` of their `PlanFactors` (for plain counts prod over j in B without A of n_j^-2), else zero.
    """

    sizes: Integers
    tables: tuple[Integers, ...]
    blocks: tuple[Integers, ...]
    shrink: Any  # a SciPy CSR array
    maximal: NDArray[np.bool_]
    cells: Floats  # of each table
    probability: Floats  # p_A of each block, the product of what its columns cost: of plain counts prod (1 - 1/n_i)

    def variances(self, y: Floats) -> Floats:
        """Of each table the mean over the sums asked for, such as its cells: sum over A in B of y_A p_A shrink_BA."""
        return np.asarray(self.shrink @ (y * self.probability))

    def weights(self, c: Floats) -> Floats:
        """s_A = sum over the tables B that contain A of c_B shrink_BA."""
        return np.asarray(self.shrink.T @ c)


def incidence(sizes: Integers, tables: Sequence[Integers], columns: Sequence[PlanFactors]) -> Incidence:
    """Of tables by number of columns, none of them twice; blocks that hold a column with one key are left out.

    columns: what each column multiplies.
    """
    from scipy.sparse import csr_array

    numbers, blocks = _numbered(len(sizes), tables)
    cost, within, without = np.array([(each.cost, each.within, each.without) for each in columns]).reshape(-1, 3).T
    p = np.concatenate([np.prod(cost[made], axis=1) for made in blocks])
    offset = np.cumsum([0, *map(len, blocks)])
    indices = [
        (found + offset[_count_bits(len(found))][:, None]).T.ravel() for found in numbers
    ]  # row by row: all subsets of the first table, then those of the second
    factors = [_factors(within[rows], without[rows]).T.ravel() for rows in tables]
    own = [found[-1] + offset[rows.shape[1]] for found, rows in zip(numbers, tables, strict=True)]
    lengths = np.concatenate([np.full(len(rows), 2 ** rows.shape[1]) for rows in tables])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    everything = np.concatenate(indices)
    matrix = csr_array((np.concatenate(factors), everything, starts), shape=(len(lengths), int(offset[-1])))
    within = np.bincount(everything, minlength=int(offset[-1]))  # how many tables contain each block
    maximal = within[np.concatenate(own)] == 1
    cells = np.concatenate([np.prod(sizes[rows].astype(np.float64), axis=1) for rows in tables])
    if (p == 0).any():
        kept = p > 0
        matrix = matrix[:, np.flatnonzero(kept)]
        blocks = [made[kept[a:b]] for made, a, b in zip(blocks, offset, offset[1:], strict=False)]
        p = p[kept]
    return Incidence(sizes, tuple(tables), tuple(blocks), matrix, maximal, cells, p)


def _numbered(columns: int, tables: Sequence[Integers]) -> tuple[list[Integers], list[Integers]]:
    """For each array of tables the numbers of their subsets: a row a set of places, as bits, a column a table. And the
    blocks of each order."""
    found = [np.zeros((2 ** rows.shape[1], len(rows)), dtype=np.int64) for rows in tables]
    blocks = [np.zeros((1, 0), dtype=np.int64)]
    for order in range(1, 1 + max(rows.shape[1] for rows in tables)):
        places = [np.flatnonzero(_count_bits(len(numbers)) == order) for numbers in found]
        asked = []
        for numbers, rows, chosen in zip(found, tables, places, strict=True):
            last = np.frexp(chosen.astype(np.float64))[1] - 1  # the highest bit
            asked.append(numbers[chosen ^ (1 << last)] * columns + rows.T[last])
        codes, ranks = _ranked([code.ravel() for code in asked], len(blocks[-1]) * columns)
        for numbers, chosen, code, rank in zip(found, places, asked, ranks, strict=True):
            numbers[chosen] = rank.reshape(code.shape)
        blocks.append(np.column_stack([blocks[-1][codes // columns], codes % columns]))
    return found, blocks


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
