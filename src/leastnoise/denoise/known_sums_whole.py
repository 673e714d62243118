"""Whole numbers in a tree: every parent is the sum of its children, each within one of what it was.

From the roots down. A root is rounded to the nearest whole number; the children of a node are rounded down, and those
that lose most get one more until they add up. That is always possible: the children add up to their parent, which is
rounded up or down, so between none and all of those that are not whole get one more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.validation import Floats

_NEARLY = 1e-6  # a number this close to a whole one is that


def whole_numbers(values: Floats, a: Any, totals: Floats) -> NDArray[np.int64]:
    """values: which have the sums of the rows of a. totals: zeros."""
    children = families(a, totals, values.size)
    near = np.rint(values)
    values = np.where(np.abs(values - near) < _NEARLY * (1 + np.abs(values)), near, values)
    made = np.rint(values).astype(np.int64)
    is_child = np.zeros(values.size, dtype=bool)
    for found in children.values():
        is_child[found] = True
    waiting = [parent for parent in children if not is_child[parent]]
    seen = len(waiting)
    while waiting:
        parent = waiting.pop()
        found = children[parent]
        made[found] = _divided(values[found], int(made[parent]))
        below = [child for child in found.tolist() if child in children]
        seen += len(below)
        waiting += below
    if seen < len(children) or (a @ made != 0).any():
        raise _no_tree()
    return made


def _divided(values: Floats, total: int) -> NDArray[np.int64]:
    low = np.floor(values).astype(np.int64)
    more = total - int(low.sum())
    order = np.argsort(low - values, kind="stable")
    low[order[:more]] += 1
    return low


def families(a: Any, totals: Floats, size: int) -> dict[int, NDArray[np.int64]]:
    """The children of every parent, where each row is +1 for a parent and -1 for its children."""
    if np.any(totals != 0) or not np.isin(a.data, (1.0, -1.0)).all():
        raise _no_tree()
    found: dict[int, NDArray[np.int64]] = {}
    seen = np.zeros(size, dtype=np.int64)
    for row in range(a.shape[0]):
        start, end = a.indptr[row : row + 2]
        columns, signs = a.indices[start:end], a.data[start:end]
        parent, below = columns[signs > 0], columns[signs < 0]
        if parent.size != 1 or not below.size:
            raise _no_tree()
        if int(parent[0]) in found:  # a second sum of one parent follows from the others, or is missed at the end
            continue
        found[int(parent[0])] = np.asarray(below, dtype=np.int64)
        seen[below] += 1
    if (seen > 1).any():
        raise _no_tree()
    return found


def _no_tree() -> errors.InvalidParameter:
    return errors.InvalidParameter(
        "Whole numbers are made where the sums are trees: a row is +1 for a parent and -1 for each of its children, "
        "with a total of 0, and no value has two parents.",
        parameter="matrix",
    )
