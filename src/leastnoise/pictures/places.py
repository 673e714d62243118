"""Where the values of a release lie on a map: in the cells of a lattice, all of a rectangle or those alone that were
published; and by zone, with zones as shapes that can be filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.domain import Cells, Domain, Lattice, Listed, OrOther, Zones, unpack_cell

MAX_SIDE = 2_000  # cells; published cells that lie further apart make no picture


class LatticeCells(NamedTuple):
    """The cell of each value, counted from the lower left one."""

    lattice: Lattice
    column: NDArray[np.int64]
    row: NDArray[np.int64]
    first: tuple[int, int]  # column and row of the lower left cell
    width: int
    height: int

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top."""
        step, (column, row) = self.lattice.step, self.first
        return column * step, (column + self.width) * step, row * step, (row + self.height) * step

    @property
    def in_degrees(self) -> bool:
        """Whether they are of longitudes and latitudes: within their ranges, and named so, or not of whole numbers."""
        left, right, bottom, top = self.extent
        within = max(abs(left), abs(right)) <= 180 and max(abs(bottom), abs(top)) <= 89
        lattice = self.lattice
        named = any(word in lattice.x.lower() for word in ("lon", "lng")) and "lat" in lattice.y.lower()
        return within and (named or any(end != round(end) for end in (*self.extent, lattice.step)))

    def image(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The values in their places, NaN where there is none."""
        made = np.full((self.height, self.width), np.nan)
        made[self.row, self.column] = values
        return made


def lattice_cells(published: Any) -> LatticeCells | None:
    """The cells of a release's or an estimate's values; None where its bins are not those of one lattice."""
    domain: Domain | None = published.domain
    if domain is None or len(domain.axes) != 1:
        return None
    axis = domain.axes[0]
    if isinstance(axis, Cells):
        indices = getattr(published, "indices", None)
        if indices is None:
            row, column = np.divmod(np.arange(axis.size), axis.width)
            return LatticeCells(axis.lattice, column, row, (axis.column, axis.row), axis.width, axis.height)
        row, column = np.divmod(np.array([int(i) for i in indices], np.int64), axis.width)
        return _around(axis.lattice, column + axis.column, row + axis.row)
    if isinstance(axis, Listed) and axis.lattices and axis.lattices[0] is not None and len(axis.columns) == 1:
        if not all(isinstance(cell, int) for cell in axis.values):
            return None
        cells = np.array([unpack_cell(cell) for cell in axis.values], np.int64).reshape(-1, 2)
        return _around(axis.lattices[0], cells[:, 0], cells[:, 1])
    return None


def _around(lattice: Lattice, column: Any, row: Any) -> LatticeCells | None:
    if not len(column):
        return None
    left, low = int(column.min()), int(row.min())
    wide, high = int(column.max()) - left + 1, int(row.max()) - low + 1
    if max(wide, high) > MAX_SIDE:
        return None
    return LatticeCells(lattice, column - left, row - low, (left, low), wide, high)


def bins_of_zones(domain: Domain | None, zones: Zones) -> NDArray[np.int64]:
    """The bin of each zone, -1 where it has none. A bin that is no zone, but for missing and other keys, is an error:
    it would be missing from the map."""
    if domain is None or len(domain.axes) != 1:
        raise errors.InvalidParameter(
            "A map of zones needs bins by the one column that names the zones, as Table.within makes it.",
            parameter="zones",
        )
    places = {key: place for place, key in enumerate(zones.keys)}
    found = np.full(zones.size, -1, np.int64)
    for index in range(domain.size):
        key = domain.key(index)
        if key in places:
            found[places[key]] = index
        elif key is not None and not (isinstance(domain.axes[0], OrOther) and index == domain.size - 1):
            raise errors.InvalidParameter(f"There is no zone {key!r} on the map.", parameter="zones", value=key)
    return found


def values_of_zones(domain: Domain | None, values: Floats, zones: Zones) -> Floats:
    """A value for each zone, NaN where none was published."""
    bins = bins_of_zones(domain, zones)
    return np.where(bins >= 0, np.append(values, np.nan)[bins], np.nan)


def oriented_rings(rings: Sequence[Any]) -> list[Any]:
    """The rings, outer ones one way round and holes the other, so that whoever fills them leaves the holes empty."""
    made = []
    for place, ring in enumerate(rings):
        others = (other for number, other in enumerate(rings) if number != place)
        hole = sum(_holds(other, ring[:-1].mean(axis=0) if len(ring) == 4 else ring[0]) for other in others) % 2 == 1
        x, y = ring[:, 0], ring[:, 1]
        counterclockwise = float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) > 0
        made.append(ring[::-1] if counterclockwise == hole else ring)
    return made


def _holds(ring: Any, point: Any) -> bool:
    """Whether a point is inside a ring, by the edges that a ray to the right meets; for drawing alone."""
    (x1, y1), (x2, y2) = ring[:-1].T, ring[1:].T
    crossing = (y1 > point[1]) != (y2 > point[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = crossing & (point[0] < x1 + (x2 - x1) * (point[1] - y1) / (y2 - y1))
    return bool(meets.sum() % 2)
