"""Square cells over two columns of coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leastnoise.domain.axes import _within
from leastnoise.errors import BadDomain


@dataclass(frozen=True, slots=True)
class Lattice:
    """The square cells of side `step` over two columns; a cell is named by one integer.

    The cell of (x, y) is (floor(x / step), floor(y / step)), each between -2^30 and 2^30, packed as
    (row + 2^30) * 2^31 + (column + 2^30).

    x, y: the two columns. step: the side of a cell, in their units.
    """

    x: str
    y: str
    step: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.step) and self.step > 0):
            raise BadDomain(f"the step of a lattice must be above zero and finite. Got {self.step!r} instead.")

    def cell(self, x: float, y: float) -> int:
        """The name of the cell that holds a point."""
        return pack_cell(math.floor(x / self.step), math.floor(y / self.step))

    def centre(self, cell: int) -> tuple[float, float]:
        """The middle of a cell."""
        column, row = unpack_cell(cell)
        return (column + 0.5) * self.step, (row + 0.5) * self.step

    def box(self, *, x: tuple[float, float], y: tuple[float, float]) -> Cells:
        """The cells that meet the rectangle x by y, each (low, high), as an axis."""
        if not (x[0] < x[1] and y[0] < y[1]):
            raise BadDomain(f"the rectangle {x} by {y} is empty. Say (low, high) with low < high.")
        columns = math.floor(x[0] / self.step), math.ceil(x[1] / self.step)
        rows = math.floor(y[0] / self.step), math.ceil(y[1] / self.step)
        return Cells(
            lattice=self,
            column=columns[0],
            row=rows[0],
            width=columns[1] - columns[0],
            height=rows[1] - rows[0],
        )


@dataclass(frozen=True, slots=True)
class Cells:
    """A rectangle of lattice cells, row by row.

    lattice: whose cells. column, row: of the first cell. width, height: how many columns and rows.
    """

    lattice: Lattice
    column: int
    row: int
    width: int
    height: int

    @property
    def size(self) -> int:
        return self.width * self.height

    def key(self, position: int) -> int:
        row, column = divmod(_within(position, self.size), self.width)
        return pack_cell(self.column + column, self.row + row)

    def index(self, key: int) -> int | None:
        column, row = unpack_cell(key)
        inside = 0 <= column - self.column < self.width and 0 <= row - self.row < self.height
        return (row - self.row) * self.width + column - self.column if inside else None


def pack_cell(column: int, row: int) -> int:
    """One integer for a lattice cell."""
    return ((row + 2**30) << 31) + column + 2**30


def unpack_cell(cell: int) -> tuple[int, int]:
    """(column, row) of a lattice cell."""
    row, column = divmod(cell, 2**31)
    return column - 2**30, row - 2**30
