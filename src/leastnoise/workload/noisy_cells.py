"""How much the noise of a cell of a released table counts in a sum over a rectangle of cells of another table."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leastnoise.workload.incidence import Floats
from leastnoise.workload.rectangles import Rectangle

Table = tuple[str, ...]


def kinds_of_cells(
    released: Sequence[str], chosen: Sequence[Rectangle], sizes: Mapping[str, int]
) -> Iterator[tuple[dict[str, frozenset[int]], int]]:
    """For each kind of cell of a released table: in which rectangles it is on every axis, and how many there are.

    released: the columns of the table. chosen: the rectangles. sizes: how many keys each column has.
    """
    axes = []
    for column in released:
        size = sizes[column]
        cutting = [i for i, one in enumerate(chosen) if column in one]
        if not cutting:
            axes.append({frozenset[int](): size})
            continue
        inside = Counter(frozenset(i for i in cutting if key in chosen[i][column]) for key in range(size))
        axes.append(dict(inside))
    for kind in itertools.product(*(axis.items() for axis in axes)):
        where = {column: inside for column, (inside, _) in zip(released, kind, strict=True)}
        yield where, math.prod(count for _, count in kind)


def coefficients(
    weights: Mapping[Table, Any], one: Rectangle, shared: Sequence[str], sizes: Mapping[str, int]
) -> Floats:
    """What a cell of a released table counts in the sum over a rectangle, by whether it is inside (1) or not (0) on
    each of the columns that both have: one axis at a time, as there are 2^k kinds of cells and 2^k blocks.

    weights: of each block of columns, a number, or an array along the last axis of what is returned.
    one: the rectangle. shared: the columns that it and the table have. sizes: how many keys each column has.
    """
    part = {column: len(keys) / sizes[column] for column, keys in one.items()}
    made = np.zeros((*(2 for _ in shared), *np.shape(next(iter(weights.values()), 0.0))))
    for block, weight in weights.items():
        if set(block) <= set(shared):
            made[tuple(int(column in block) for column in shared)] = weight
    for axis, column in enumerate(shared):
        s = part[column]
        step = np.array([[s, -s], [s, 1 - s]])  # a row: outside, inside; a column: blocks without, with the column
        made = np.moveaxis(np.tensordot(step, made, axes=(1, axis)), 0, axis)
    return np.asarray(made * math.prod(fraction for column, fraction in part.items() if column not in shared))
