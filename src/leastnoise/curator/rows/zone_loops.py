"""A grid over the edges of zones, and the zone of a point by the few edges in its cell.

All numbers are whole. A point counts as moved by an infinitely small step up and a far larger, still infinitely small
one to the right, (dx, dy) with 0 < dy << dx << 1: then it lies on no edge and level with no corner. So a ray from it to
the right meets an edge from (x1, y1) up to (x2, y2) if y1 <= y < y2 and the point is *left* of the edge,

    (x - x1) (y2 - y1) < (x2 - x1) (y - y1),

and it is in a zone if the ray meets an odd number of the zone's edges.

**A cell knows its edges alone.** It is [left, right) x [low, high), and for every zone that has an edge in it, it knows
whether the corner (right, low) is in that zone. From the point (x, y) of the cell a path goes level to (right, y), and
down to (right, low). It changes between inside and outside once for each edge that it meets, and both parts stay in the
cell, so no edge elsewhere matters. With the steps (dx, dy) in mind,

    level:  meets the edge if y1 <= y < y2, and one of (x, y), (right, y) alone is left of it;
    down:   meets it if min(x1, x2) <= right < max(x1, x2), and one of (right, y), (right, low) alone is left of it;
            a level edge, which the first part never meets, if low < y1 <= y.

A zone without an edge in a cell has all of it or nothing. Of several that have all of it the first is kept: no later
one can be the first zone that holds a point there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.runtime import compiled

Array = np.ndarray[Any, Any]


@compiled
def columns_of(
    x1: int, y1: int, x2: int, y2: int, low: int, high: int, west: int, width: int, columns: int
) -> tuple[int, int]:
    """First and last column that an edge may touch between these latitudes: at most one too many on either side."""
    if y1 == y2:
        left, right = min(x1, x2), max(x1, x2)
    else:
        begin = x1 + (x2 - x1) * (max(low, y1) - y1) // (y2 - y1)
        end = x1 + (x2 - x1) * (min(high, y2) - y1) // (y2 - y1)
        left, right = min(begin, end), max(begin, end) + 1  # the division rounds down
    first, last = (left - 1 - west) // width, (right - west) // width
    return max(first, 0), min(last, columns - 1)


@compiled
def count_entries(edges: Array, west: int, south: int, width: int, height: int, counts: Array) -> None:
    """Adds to `counts`, a row of cells for each step up, how many edges may touch each cell."""
    rows, columns = counts.shape
    for edge in range(edges.shape[1]):
        x1, y1, x2, y2 = edges[0, edge], edges[1, edge], edges[2, edge], edges[3, edge]
        for row in range((y1 - south) // height, min((y2 - south) // height, rows - 1) + 1):
            low = south + row * height
            first, last = columns_of(x1, y1, x2, y2, low, low + height, west, width, columns)
            for column in range(first, last + 1):
                counts[row, column] += 1


@compiled
def fill_cells(
    edges: Array, ends: Array, west: int, south: int, width: int, height: int, shape: tuple[int, int],
    starts: Array, entries: Array, odd: Array, whole: Array,
) -> None:  # fmt: skip
    """Writes the edges of each cell into `entries`, those of one zone together and zones in order.

    ends: after the last edge of each zone. starts: where the entries of each cell begin.
    odd: of the first entry of a zone in a cell, whether the cell's lower right corner is in that zone.
    whole: the first zone that has all of a cell, where one has; -1 before.
    """
    rows, columns = shape
    filled = starts[:-1].copy()
    begin = 0
    for zone in range(ends.size):
        if ends[zone] == begin:
            continue
        own = edges[:, begin : ends[zone]]
        bottom, top = (own[1].min() - south) // height, min((own[3].max() - south) // height, rows - 1)
        least = max((min(own[0].min(), own[2].min()) - 1 - west) // width, 0)
        most = min((max(own[0].max(), own[2].max()) - west) // width, columns - 1)
        crossed = np.zeros((top - bottom + 1, most - least + 2), np.bool_)
        for edge in range(begin, ends[zone]):
            x1, y1, x2, y2 = edges[0, edge], edges[1, edge], edges[2, edge], edges[3, edge]
            for row in range((y1 - south) // height, min((y2 - south) // height, rows - 1) + 1):
                low = south + row * height
                first, last = columns_of(x1, y1, x2, y2, low, low + height, west, width, columns)
                for column in range(first, last + 1):
                    cell = row * columns + column
                    entries[filled[cell]] = edge
                    filled[cell] += 1
                if y1 <= low < y2:  # corners (right, low) are left of the edge in the columns before `past`
                    meets = x1 - (x2 - x1) * (low - y1) // -(y2 - y1)  # rounded up
                    past = min((meets - 1 - west) // width - least, crossed.shape[1] - 1)
                    if past > 0:
                        crossed[row - bottom, past] ^= True
        for row in range(crossed.shape[0]):
            inside = False
            for column in range(crossed.shape[1] - 1, 0, -1):
                inside ^= crossed[row, column]
                if not inside:
                    continue
                cell = (row + bottom) * columns + column - 1 + least
                entry = filled[cell]
                while entry > starts[cell] and entries[entry - 1] >= begin:
                    entry -= 1
                if entry < filled[cell]:
                    odd[entry] = True
                elif whole[cell] < 0:
                    whole[cell] = zone
        begin = ends[zone]


@compiled
def find_zones(
    x: Array, y: Array, known: Array, edges: Array, west: int, south: int, width: int, height: int, columns: int,
    starts: Array, entries: Array, odd: Array, whole: Array, found: Array,
) -> None:  # fmt: skip
    """The first zone that holds each point, written to `found`; what is there stays where none does."""
    cells = whole.size
    for point in range(x.size):
        column, row = (x[point] - west) // width, (y[point] - south) // height
        if not known[point] or column < 0 or column >= columns or row < 0 or row >= cells // columns:
            continue
        cell = row * columns + column
        right, low = west + (column + 1) * width, south + row * height
        all_of_it = whole[cell]
        zone, inside = np.int64(-1), False
        for at in range(starts[cell], starts[cell + 1]):
            edge = entries[at]
            if edges[4, edge] != zone:
                if inside or (0 <= all_of_it < edges[4, edge]):
                    break
                zone, inside = edges[4, edge], odd[at]
            x1, y1, x2, y2 = edges[0, edge], edges[1, edge], edges[2, edge], edges[3, edge]
            if y1 == y2:
                inside ^= low < y1 <= y[point] and min(x1, x2) <= right < max(x1, x2)
                continue
            turned = (right - x1) * (y2 - y1) < (x2 - x1) * (y[point] - y1)
            if y1 <= y[point] < y2:
                inside ^= ((x[point] - x1) * (y2 - y1) < (x2 - x1) * (y[point] - y1)) != turned
            if min(x1, x2) <= right < max(x1, x2):
                inside ^= turned != ((right - x1) * (y2 - y1) < (x2 - x1) * (low - y1))
        if inside:
            found[point] = zone
        elif all_of_it >= 0:
            found[point] = all_of_it
