"""Bring the pair tables of drawn rows to those of their mixture, by swaps within groups.

Rows of a group are independent columns, so two of them may exchange their keys in a column: they stay rows of the same
mixture, and no table of one column changes. A swap is made if it lowers the sum over all pairs of columns of |n - e|^2,
n the cells of the rows and e those that are expected.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.synthetic.mixture import Mixture, Rows

SWAPS = 20  # that are tried for each row and column


def swap(rows: Rows, ends: NDArray[np.int64], mixture: Mixture, rng: np.random.Generator) -> Rows:
    """Rows that are as near as swaps get them, in place. ends: where each group ends."""
    count, columns = rows.shape
    sizes = np.array([column.shape[1] for column in mixture.columns])
    starts = np.cumsum(sizes) - sizes
    beyond = _counted(rows + starts, int(sizes.sum())) - count * _expected(mixture)
    group = np.searchsorted(ends, np.arange(count), side="right")
    begins = np.r_[0, ends[:-1]]
    for _ in range(SWAPS):
        order = rng.permutation(count)
        others = begins[group[order]] + (rng.random(count) * (ends - begins)[group[order]]).astype(np.int64)
        for column in rng.permutation(columns):
            _swap_column(rows, starts, beyond, order, others, column)
    return rows


def _expected(mixture: Mixture) -> Floats:
    columns = np.hstack(mixture.columns)
    return np.asarray((columns * mixture.weights[:, None]).T @ columns)


def _counted(places: Rows, size: int) -> Floats:
    """How many rows have each pair of keys, of all columns beside each other."""
    found = np.zeros((size, size))
    for i in range(places.shape[1]):
        for j in range(places.shape[1]):
            cells = np.bincount(places[:, i] * size + places[:, j], minlength=size * size)
            found += cells.reshape(size, size)
    return found


@njit(cache=True)
def _swap_column(
    rows: Rows,
    starts: NDArray[np.int64],
    beyond: Floats,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    column: int,
) -> None:
    """Try one swap for each two rows. A swap of the keys a and b of rows with x and y in another column takes 1 from
    the cells (a, x) and (b, y) and adds it to (b, x) and (a, y), which changes |n - e|^2 by what is added up here."""
    for each in range(first.size):
        r, s = first[each], second[each]
        a, b = starts[column] + rows[r, column], starts[column] + rows[s, column]
        if a == b:
            continue
        change = 0.0
        for j in range(starts.size):
            x, y = starts[j] + rows[r, j], starts[j] + rows[s, j]
            if j != column and x != y:
                change += 4 + 2 * (beyond[b, x] - beyond[a, x] + beyond[a, y] - beyond[b, y])
        if change >= 0:
            continue
        for j in range(starts.size):
            x, y = starts[j] + rows[r, j], starts[j] + rows[s, j]
            if j != column and x != y:
                for one, two, more in ((a, x, -1.0), (b, x, 1.0), (b, y, -1.0), (a, y, 1.0)):
                    beyond[one, two] += more
                    beyond[two, one] += more
        rows[r, column], rows[s, column] = rows[s, column], rows[r, column]
