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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.workload.columns import ColumnStrategy, PlainColumn

Table = tuple[str, ...]
Floats = NDArray[np.float64]
CLAMP = 2**62


def block_integers(counts: NDArray[Any], columns: Sequence[ColumnStrategy]) -> NDArray[np.int64]:
    """What noise is added to: the strategy of every column applied to the table m_A, exact whole numbers.

    counts: the table m_A, an array of int64 with an axis a column. columns: the strategy of each.

    As of `integer_residual`: the type never depends on the rows, and numbers beyond +-2^62 are set to +-2^62. Sums on
    the way are at most the product of the largest numbers of the strategies times all counts; where doubles hold that
    exactly, they are used, and Python's integers beyond.
    """
    if all(isinstance(column, PlainColumn) for column in columns):
        return integer_residual(counts)
    most = math.prod(2 * column.reach for column in columns)
    exact = float(np.abs(counts.astype(np.float64)).sum()) * most < 0.99 * 2**53
    values: NDArray[Any] = counts.astype(np.float64 if exact else object)
    for axis, column in enumerate(columns):
        values = column.apply(values, axis)
    return np.asarray(values if exact else np.clip(values, -CLAMP, CLAMP)).astype(np.int64)


def restored(noisy: NDArray[Any], columns: Sequence[ColumnStrategy]) -> Floats:
    """The residual r_A from what was published of a block: the generalised inverse of every column's strategy.

    noisy: whole numbers with noise, in units of a row, an axis a column. columns: the strategy of each.
    """
    values = np.asarray(noisy, dtype=np.float64)
    for axis, column in enumerate(columns):
        values = column.restore(values, axis)
    return values


def integer_residual(counts: NDArray[Any]) -> NDArray[Any]:
    """N_A C_A m_A = prod (n_i I - J) m_A, exact whole numbers of the shape of `counts`.

    counts: the table m_A, an array of int64, or of Python integers (dtype object) where numbers may be larger.

    The type that comes out is the one that went in, whatever the numbers are, because a type that depends on people's
    rows would tell about them. Of int64, numbers beyond +-2^62 are set to +-2^62, so that noise can be added without
    wrapping around: that takes more than 2^62/N_A rows, and brings two neighbouring tables only nearer to each other,
    because it moves no two numbers apart. Python integers are never clamped.

    >>> integer_residual(np.array([[5, 1], [0, 2]]))
    array([[ 6, -6],
           [-6,  6]])
    """
    if counts.dtype == object:
        return _residual(counts)
    counts = counts.astype(np.int64, copy=False)
    # Every number on the way is a sum of counts times factors whose product is at most N_A in absolute value.
    reach = np.abs(counts.astype(np.float64)).sum() * counts.size
    if reach < 0.99 * CLAMP:
        return _residual(counts)
    clamped: NDArray[Any] = np.clip(_residual(counts.astype(object)), -CLAMP, CLAMP).astype(np.int64)
    return clamped


def _residual(table: NDArray[Any]) -> NDArray[Any]:
    for axis, size in enumerate(table.shape):
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


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
    parts = {column: strategy.spread for column, strategy in (strategies or {}).items()}
    return np.array(_spread(blocks, (), tuple(table), sizes, parts), dtype=np.float64)


def _spread(
    blocks: Mapping[Table, NDArray[Any]],
    held: Table,
    rest: Table,
    sizes: Mapping[str, int],
    parts: Mapping[str, Floats],
) -> NDArray[Any]:
    """Over the columns `held` and then `rest`: the sum of the blocks that hold all of `held` and any of `rest`."""
    if not rest:
        return np.asarray(blocks[held], dtype=np.float64)
    column, *others = rest
    size = sizes[column]
    even = np.expand_dims(_spread(blocks, held, tuple(others), sizes, parts), len(held))
    even = even * parts[column].reshape(-1, *[1] * len(others)) if column in parts else even / size
    return even if size == 1 else _spread(blocks, (*held, column), tuple(others), sizes, parts) + even
