"""A table as a sum of residual blocks: what is published of each block, and how a table is put together again.

For sizes n_i let C = I - J/n take the mean out of one axis. For a set A of columns, with m_A its integer table,
N_A = prod n_i and C_A the product of the C over its axes,

    r_A = C_A m_A                      the residual block: what the table over A says beyond all smaller tables
    N_A r_A = prod (n_i I - J) m_A     the same as whole numbers: this is what noise is added to

and every table over B is the sum over the subsets A of B of r_A, spread evenly over the other columns:

    m_B = sum over A in B of  r_A / prod over j in B without A of n_j.

Proof: I = C + J/n on each axis; multiply out, and J/n sums an axis and spreads it evenly. Tables put together from the
same blocks agree with each other, whatever noise is in the blocks: summing m_B over an axis j drops the terms with j in
A (C sums to zero) and cancels the n_j of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.workload.columns import ColumnStrategy, PlainColumn
from leastnoise.workload.columns import Table as Table

CLAMP = 2**62


class WholeNumbers(Protocol):
    """A matrix S of whole numbers: of a column's strategy, for example."""

    @property
    def max_entry(self) -> int:
        """Its largest number."""

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis."""


def block_integers(counts: NDArray[Any], columns: Mapping[int, WholeNumbers], *, factor: int = 1) -> NDArray[np.int64]:
    """What noise is added to: the strategy of every column applied to the table m_A, exact integers.

    counts: the table m_A, an array of int64. columns: the strategies by axis; other axes stay as they are.
    factor: what the integers are multiplied by.

    The type never depends on the rows, because a type that does would tell about them. Numbers beyond +-2^62 are set to
    +-2^62, so that noise can be added without wrapping around: that takes more than 2^62 over the step rows, and brings
    two neighbouring tables only nearer to each other, because it moves no two numbers apart. Sums on the way are at
    most the product of the largest numbers of the strategies times all counts; where 64-bit integers, or doubles, hold
    that exactly, they are used, and Python's integers beyond.
    """
    total = float(np.abs(counts.astype(np.float64)).sum()) * factor
    if all(isinstance(column, PlainColumn) for column in columns.values()):
        fast: type = np.int64
        exact = total * math.prod(column.max_entry for column in columns.values()) < 0.99 * CLAMP
    else:
        fast = np.float64
        exact = total * math.prod(2 * column.max_entry for column in columns.values()) < 0.99 * 2**53
    values: NDArray[Any] = counts.astype(fast if exact else object)
    for axis, column in columns.items():
        values = column.apply(values, axis)
    values = factor * values
    return np.asarray(values if exact else np.clip(values, -CLAMP, CLAMP)).astype(np.int64)


def integer_residual(counts: NDArray[Any]) -> NDArray[Any]:
    """N_A C_A m_A = prod (n_i I - J) m_A, exact whole numbers of the shape of `counts`.

    counts: the table m_A, an array of int64, or of Python integers (dtype object) where numbers may be larger.

    The type that comes out is the one that went in, whatever the numbers are. Of int64, numbers beyond +-2^62 are set
    to +-2^62, as in `block_integers`. Python integers are never clamped.

    >>> integer_residual(np.array([[5, 1], [0, 2]]))
    array([[ 6, -6],
           [-6,  6]])
    """
    columns = {axis: PlainColumn(size) for axis, size in enumerate(counts.shape)}
    if counts.dtype != object:
        return block_integers(counts, columns)
    for axis, column in columns.items():
        counts = column.apply(counts, axis)
    return counts


def project(noisy: NDArray[Any]) -> Floats:
    """C_A applied: the mean taken out of every axis. The residual r_A is `project(noisy / noisy.size)`, where `noisy`
    is what was published of the block: whole numbers, N_A r_A plus noise.

    noisy: an array of numbers, one axis a column.
    """
    values = np.asarray(noisy, dtype=np.float64)
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def table_of_blocks(
    blocks: Mapping[Table, NDArray[Any]],
    table: Table,
    sizes: Mapping[str, int],
    strategies: Mapping[str, ColumnStrategy] | None = None,
) -> Floats:
    """The table over these columns: the sum of the residuals of all its subsets, spread evenly. Never a matrix.

    blocks: the residual r_A of each block, an array with an axis a column. Columns with one key are in no block.
    table: the columns, in the order of the columns of the blocks.
    sizes: how many keys each column has.
    strategies: of columns that are published otherwise than by plain counts, which are spread by their own v.

    One axis at a time, so that arrays as large as the table are added once: what holds the first column, plus what
    does not hold it, spread over its axis.
    """
    parts = {column: strategy.null_vector for column, strategy in (strategies or {}).items()}
    return spread_blocks(blocks.__getitem__, tuple(table), sizes, parts)


def spread_blocks(
    block: Callable[[Table], NDArray[Any]], columns: Table, sizes: Mapping[str, int], parts: Mapping[str, Floats]
) -> Floats:
    """Over these columns, and then what axes every block has beside its own: the sum of all blocks within them.

    block: the array of each. sizes: how many keys each column has. parts: v of the columns that are not spread evenly.
    """

    def spread(held: Table, rest: Table) -> NDArray[Any]:
        """Over the columns `held` and then `rest`: the sum of the blocks that hold all of `held` and any of `rest`."""
        if not rest:
            return np.asarray(block(held), dtype=np.float64)
        column, *others = rest
        without = spread(held, tuple(others))
        even = np.expand_dims(without, len(held))
        if column in parts:
            even = even * parts[column].reshape(-1, *[1] * (without.ndim - len(held)))
        else:
            even = even / sizes[column]
        return even if sizes[column] == 1 else spread((*held, column), tuple(others)) + even

    return np.array(spread((), columns), dtype=np.float64)
