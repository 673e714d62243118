"""Rows of a mixture: systematic sampling, forbidden combinations, and tables that are held exactly.

**Systematic sampling.** N points u + 0, u + 1, ... of one uniform u, laid over the cumulated expected numbers, give
each group its expected number of rows, rounded up or down, and within a group each key as well. What rounding adds up
to over the groups is taken out again: rows of a group get another key where that has too few in all, first in the group
that has rounded it down most. So every table of one column is what is expected, to one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.synthetic.mixture import Mixture, Rows
from leastnoise.synthetic.swapping import swap

ROUNDS = 200  # of drawing anew what is forbidden


def draw(mixture: Mixture, count: int, rng: np.random.Generator) -> Rows:
    """This many rows, in the order of their groups: of each the index of its key in every column."""
    sizes = systematic(mixture.weights, count, rng)
    ends = np.r_[0, np.cumsum(sizes)]
    rows = np.empty((count, len(mixture.columns)), dtype=np.int64)
    for axis, column in enumerate(mixture.columns):
        numbers = np.stack([systematic(part, size, rng) for part, size in zip(column, sizes.tolist(), strict=True)])
        numbers = balanced(numbers, column * sizes[:, None], systematic(mixture.weights @ column, count, rng))
        keys = np.arange(column.shape[1])
        for group, (begin, end) in enumerate(pairwise(ends.tolist())):
            rows[begin:end, axis] = rng.permutation(np.repeat(keys, numbers[group]))
    return swap(rows, ends[1:], mixture, rng)


def balanced(numbers: NDArray[np.int64], expected: Floats, totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of rows by group and key that add up to these totals of the keys; no group gets more or fewer rows.

    numbers: rounded, by group and key. expected: what they were rounded from.
    """
    surplus = numbers.sum(axis=0) - totals
    while surplus.any():
        many, few = int(surplus.argmax()), int(surplus.argmin())
        gain = (numbers[:, many] - expected[:, many]) - (numbers[:, few] - expected[:, few])
        group = int(np.where(numbers[:, many] > 0, gain, -np.inf).argmax())
        numbers[group, many] -= 1
        numbers[group, few] += 1
        surplus[many] -= 1
        surplus[few] += 1
    return numbers


def systematic(probabilities: Floats, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many of `count` there are of each: count times its probability, rounded up or down."""
    ends = np.cumsum(probabilities) * (count / probabilities.sum())
    below = np.ceil(ends - rng.random()).astype(np.int64).clip(0, count)  # how many points u + j are below each end
    below[-1] = count
    return np.asarray(np.diff(below, prepend=0))


def without(
    rows: Rows, forbidden: Callable[[Rows], NDArray[np.bool_]], mixture: Mixture, rng: np.random.Generator
) -> Rows:
    """Rows of which none is forbidden: those that are, are drawn anew, from p given that a row is allowed."""
    for _ in range(ROUNDS):
        bad = np.flatnonzero(forbidden(rows))
        if not bad.size:
            return rows
        anew = draw(mixture, len(rows), rng)
        anew = anew[~forbidden(anew)]
        rows[bad[: len(anew)]] = rng.permutation(anew)[: len(bad)]
    raise errors.InvalidParameter(
        "Hardly any row that the released tables lead to is allowed. Check the forbidden combinations: each is a "
        "mapping of columns to keys, and a row that has all of them is refused.",
        parameter="forbidden",
    )


def hold(rows: Rows, known: Mapping[tuple[int, ...], NDArray[np.int64]], rng: np.random.Generator) -> Rows:
    """Rows whose tables over these columns are exactly these; as few rows as can be are changed, in these columns.

    known: by columns, in order. Columns that an earlier table holds are not changed by a later one, so tables that
    overlap are held together where they agree about what they share.
    """
    held: set[int] = set()
    for axes, table in known.items():
        moved = [axis for axis in axes if axis not in held] or list(axes)
        shape = table.shape
        cells = np.ravel_multi_index([rows[:, axis] for axis in axes], shape)
        surplus = np.bincount(cells, minlength=table.size) - table.ravel()
        leaving = _some_rows(cells, np.maximum(surplus, 0), rng)
        places = np.repeat(np.arange(table.size), np.maximum(-surplus, 0))
        fixed = [axes.index(axis) for axis in axes if axis not in moved]
        _move(rows, axes, leaving, places, shape, fixed)
        held.update(axes)
    return rows


def _some_rows(cells: NDArray[np.int64], surplus: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Of each cell as many rows as it has too many."""
    order = rng.permutation(len(cells))
    order = order[np.argsort(cells[order], kind="stable")]
    counts = np.bincount(cells, minlength=surplus.size)
    rank = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[rank < np.repeat(surplus, counts)]


def _move(
    rows: Rows,
    axes: Sequence[int],
    leaving: NDArray[np.int64],
    places: NDArray[np.int64],
    shape: tuple[int, ...],
    fixed: Sequence[int],
) -> None:
    """Each row that leaves its cell takes one of the free places, one that agrees with it in the fixed columns."""
    if len(leaving) != len(places):
        raise _disagreement()
    keys = np.stack(np.unravel_index(places, shape), axis=1)
    here = [rows[leaving, axes[i]] for i in fixed]
    there = [keys[:, i] for i in fixed]
    if fixed:
        leaving, keys = leaving[np.lexsort(here)], keys[np.lexsort(there)]
        if any((rows[leaving, axes[i]] != keys[:, i]).any() for i in fixed):
            raise _disagreement()
    for i, axis in enumerate(axes):
        rows[leaving, axis] = keys[:, i]


def _disagreement() -> errors.InvalidParameter:
    return errors.InvalidParameter(
        "The known tables cannot all be held: they must have the same total, that of the rows, and agree about what "
        "they share. Give one table over the columns that they share, or fewer tables.",
        parameter="known",
    )
