"""Tables of whole numbers that add up, near tables of real numbers that do.

A table with whole margins over two sets of columns is a point of a transportation polytope, whose corners are whole
(Birkhoff; incidence matrices of bipartite graphs are totally unimodular). So: smaller tables first; then the table is
moved to its whole margins (`projection.nearest`), and its fractional cells are edges between the cells of one margin
and those of the other. A cycle of fractional cells can be pushed round, up and down in turns, without changing a
margin, until one of them is whole; it is pushed the shorter way. When no cycle is left the cells are
a forest with whole sums at every node, and so whole themselves. Every cell ends less than one from where it was after
the move. With a third margin that may fail: some such tables have no whole solution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.runtime import compiled
from leastnoise._support.validation import Floats
from leastnoise.denoise.tables.projection import nearest
from leastnoise.workload.residuals import Table

Integers = dict[Table, NDArray[np.int64]]
WHOLE = 1e-7  # a cell this near to a whole number is one


def rounded(tables: Mapping[Table, Floats]) -> Integers:
    """Whole numbers for each of these tables, and equal margins wherever two of them have columns in common.

    tables: non-negative and consistent.
    """
    needed = _with_margins(tables)
    found: Integers = {}
    for table in sorted(needed, key=len):
        below = [a for a in found if set(a) < set(table)]
        margins = [a for a in below if not any(set(a) < set(b) for b in below)]
        if len(margins) > 2:
            raise errors.InvalidParameter(
                f"The table over {table} shares {len(margins)} margins with other tables, and whole numbers with more "
                "than two given margins may not exist. Ask for tables of at most two columns, or take the estimates "
                "as they are.",
                parameter="tables",
            )
        found[table] = _rounded(needed[table], table, {a: found[a] for a in margins})
    return {table: found[table] for table in tables}


def _with_margins(tables: Mapping[Table, Floats]) -> dict[Table, Floats]:
    """The tables, their common margins, and the total."""
    found = dict(tables)
    first = next(iter(tables.values()))
    found.setdefault((), np.asarray(first.sum()))
    grew = True
    while grew:
        names = list(found)
        size = len(found)
        for i, a in enumerate(names):
            for b in names[:i]:
                both = tuple(c for c in a if c in b)
                if both not in found:
                    found[both] = found[a].sum(axis=tuple(k for k, c in enumerate(a) if c not in both))
        grew = len(found) > size
    return found


def _rounded(values: Floats, table: Table, margins: Mapping[Table, NDArray[np.int64]]) -> NDArray[np.int64]:
    if not table:
        return np.asarray(np.rint(values), dtype=np.int64)
    names = [*sorted(margins, key=len, reverse=True), ()]
    rows, left = _groups(values.shape, table, names[0])
    columns, right = _groups(values.shape, table, names[1] if len(margins) == 2 else ())
    wanted = margins[names[0]].ravel()
    other = margins[names[1]].ravel() if len(margins) == 2 else np.array([wanted.sum()])
    moved = _moved(np.maximum(values, 0.0).ravel(), rows, columns, wanted, other)
    _push_cycles(moved, rows, columns, left, right)
    whole = np.asarray(np.rint(moved), dtype=np.int64)
    if (
        (whole < 0).any()
        or (np.bincount(rows, whole, left) != wanted).any()
        or (np.bincount(columns, whole, right) != other).any()
    ):
        raise errors.LeastnoiseError(f"No whole numbers were found for the table over {table}.")
    return whole.reshape(values.shape)


def _groups(shape: Sequence[int], table: Table, margin: Table) -> tuple[NDArray[np.int64], int]:
    """For every cell of the table, the place of its cell of the margin; and how many places there are."""
    places = np.zeros(shape, dtype=np.int64)
    for axis, column in enumerate(table):
        if column in margin:
            index = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
            places = places * shape[axis] + index
    return places.ravel(), math.prod(n for n, c in zip(shape, table, strict=True) if c in margin)


def _moved(
    values: Floats,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    wanted: NDArray[np.int64],
    other: NDArray[np.int64],
) -> Floats:
    """The nearest non-negative values with these sums, part by part of the bipartite graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(values.size), (rows, columns + wanted.size)), shape=(wanted.size + other.size,) * 2)
    parts, label = connected_components(graph, directed=False)
    made = np.empty(values.size)
    order = np.argsort(label[rows], kind="stable")
    for part in np.split(order, np.cumsum(np.bincount(label[rows], minlength=parts))[:-1]):
        i, row = np.unique(rows[part], return_inverse=True)
        j, column = np.unique(columns[part], return_inverse=True)
        # Cells that join the same two nodes are moved together, and share the move in proportion.
        together = np.zeros((i.size, j.size))
        np.add.at(together, (row, column), values[part])
        target = nearest(together, [other[j].astype(float), wanted[i].astype(float)])
        count = np.zeros((i.size, j.size))
        np.add.at(count, (row, column), 1.0)
        scale = np.where(together > 0, target / np.where(together > 0, together, 1.0), 0.0)
        extra = np.where(together > 0, 0.0, target) / np.maximum(count, 1.0)
        made[part] = values[part] * scale[row, column] + extra[row, column]
    return made


@compiled
def _push_cycles(values, rows, columns, left, right) -> None:  # type: ignore[no-untyped-def]
    """Take fractional cells one by one into a forest over the nodes; each cycle is pushed until a cell is whole."""
    nodes = left + right
    head = np.full(nodes, -1)  # edges of the forest, as doubly linked lists at both ends
    link = np.full(2 * values.size, -1)
    back = np.full(2 * values.size, -1)
    came, queue = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    path = np.empty(nodes + 1, dtype=np.int64)
    for e in range(values.size):
        while abs(values[e] - round(values[e])) > WHOLE:
            u, v = rows[e], left + columns[e]
            came[:] = -2
            came[u] = -1
            queue[0], first, last = u, 0, 1
            while first < last and came[v] == -2:
                node = queue[first]
                first += 1
                half = head[node]
                while half != -1:
                    cell = half // 2
                    far = left + columns[cell] if half % 2 == 0 else rows[cell]
                    if came[far] == -2:
                        came[far] = cell
                        queue[last] = far
                        last += 1
                    half = link[half]
            if came[v] == -2:
                for side in range(2):
                    node, half = (u, 2 * e) if side == 0 else (v, 2 * e + 1)
                    link[half], back[half] = head[node], -1
                    if head[node] != -1:
                        back[head[node]] = half
                    head[node] = half
                break
            length, node = 1, v
            path[0] = e
            while node != u:
                cell = came[node]
                path[length] = cell
                length += 1
                node = rows[cell] if node >= left else left + columns[cell]
            # Cells in turns up and down along the cycle; by how much until the first is whole, either way.
            up, down = 1.0, 1.0
            for k in range(length):
                fraction = values[path[k]] - math.floor(values[path[k]])
                if k % 2 == 0:
                    up, down = min(up, 1 - fraction), min(down, fraction)
                else:
                    up, down = min(up, fraction), min(down, 1 - fraction)
            step = up if up <= down else -down
            for k in range(length):
                cell = path[k]
                values[cell] += step if k % 2 == 0 else -step
                near = round(values[cell])
                if abs(values[cell] - near) <= WHOLE:
                    values[cell] = near
                    if cell != e:
                        for side in range(2):
                            half = 2 * cell + side
                            node = rows[cell] if side == 0 else left + columns[cell]
                            if back[half] != -1:
                                link[back[half]] = link[half]
                            else:
                                head[node] = link[half]
                            if link[half] != -1:
                                back[link[half]] = back[half]
