"""Which block is in which table, as integer arrays: what makes a hundred thousand tables a matter of milliseconds.

A table is a sorted row of column numbers; tables are kept by how many columns they have. A block of k columns is found
by a number of its own: that of its first k - 1 columns, and its last column. So blocks are numbered order by order,
each order in the lexicographic order of its columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_PAIRS = 2**26  # of a table and a block in it: a gigabyte of indices and factors
_DENSE = 2**26


@dataclass(frozen=True, eq=False)
class Incidence:
    """The blocks of a set of tables, and the sums over blocks in a table and over tables with a block.

    tables: for each number of columns k an array with k columns, one table a row. blocks: the same of the blocks.
    `shrink` has a row a table and a column a block: prod over j in B without A of n_j^-2 where A is in B, else zero.
    """

    sizes: Integers
    tables: tuple[Integers, ...]
    blocks: tuple[Integers, ...]
    shrink: Any  # a SciPy CSR array
    maximal: NDArray[np.bool_]
    cells: Floats  # of each table
    probability: Floats  # p_A = prod (1 - 1/n_i) of each block

    def variances(self, y: Floats) -> Floats:
        """Of one cell of each table: sum over A in B of y_A p_A prod n_j^-2."""
        return np.asarray(self.shrink @ (y * self.probability))

    def weights(self, c: Floats) -> Floats:
        """s_A = sum over the tables B that contain A of c_B prod n_j^-2."""
        return np.asarray(self.shrink.T @ c)


def incidence(sizes: Integers, tables: Sequence[Integers]) -> Incidence:
    """Of tables by number of columns, none of them twice; blocks that hold a column with one key are left out."""
    from scipy.sparse import csr_array

    numbers, blocks = _numbered(len(sizes), tables)
    p = np.concatenate([np.prod(1 - 1 / sizes[made], axis=1) for made in blocks])
    offset = np.cumsum([0, *map(len, blocks)])
    indices, factors, own = [], [], []
    for found, rows in zip(numbers, tables, strict=True):
        order = rows.shape[1]
        subsets = [s for k in range(order + 1) for s in itertools.combinations(range(order), k)]
        squares = 1.0 / sizes[rows].astype(np.float64) ** 2
        rest = [[i for i in range(order) if i not in s] for s in subsets]
        indices.append(np.stack([found[s] + offset[len(s)] for s in subsets], axis=1).ravel())
        factors.append(np.stack([np.prod(squares[:, r], axis=1) for r in rest], axis=1).ravel())
        own.append(found[tuple(range(order))] + offset[order])
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


def _numbered(columns: int, tables: Sequence[Integers]) -> tuple[list[dict[tuple[int, ...], Integers]], list[Integers]]:
    """For each array of tables: the number of each of their subsets, by its places. And the blocks of each order."""
    found: list[dict[tuple[int, ...], Integers]] = [{(): np.zeros(len(rows), dtype=np.int64)} for rows in tables]
    blocks = [np.zeros((1, 0), dtype=np.int64)]
    for order in range(1, 1 + max(rows.shape[1] for rows in tables)):
        asked = [
            (numbers, places, numbers[places[:-1]] * columns + rows[:, places[-1]])
            for numbers, rows in zip(found, tables, strict=True)
            for places in itertools.combinations(range(rows.shape[1]), order)
        ]
        codes, ranks = _ranked([code for _, _, code in asked], len(blocks[-1]) * columns)
        for (numbers, places, _), rank in zip(asked, ranks, strict=True):
            numbers[places] = rank
        blocks.append(np.column_stack([blocks[-1][codes // columns], codes % columns]))
    return found, blocks


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
