"""Square cells over two columns of coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.domain.axes import Axis, Listed, as_double, within
from leastnoise.domain.product import Domain
from leastnoise.errors import BadDomain, Code, WrongType


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
        step = as_double(self.step)
        if step is None or not (isinstance(self.x, str) and isinstance(self.y, str)):
            raise WrongType(
                "a lattice has two columns, named by text, and a step, a number. Got "
                f"{', '.join(type(part).__name__ for part in (self.x, self.y, self.step))} instead.",
                parameter="lattice",
                example=Code('ln.lattice("lon", "lat", 0.01)', "--lattice cell=lon,lat,0.01"),
            )
        object.__setattr__(self, "step", step)
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
        (west, east), (south, north) = _ends("x", x), _ends("y", y)
        if not (west < east and south < north):
            raise BadDomain(f"the rectangle {x} by {y} is empty. Say (low, high) with low < high.")
        columns = math.floor(west / self.step), math.ceil(east / self.step)
        rows = math.floor(south / self.step), math.ceil(north / self.step)
        return Cells(self, columns[0], rows[0], width=columns[1] - columns[0], height=rows[1] - rows[0])


@dataclass(frozen=True, slots=True)
class Cells(Axis):
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
        row, column = divmod(within(position, self.size), self.width)
        return pack_cell(self.column + column, self.row + row)

    def index(self, key: int) -> int | None:
        column, row = unpack_cell(key)
        inside = 0 <= column - self.column < self.width and 0 <= row - self.row < self.height
        return (row - self.row) * self.width + column - self.column if inside else None

    @property
    def is_chain(self) -> bool:
        """Cells are near the next ones in both directions."""
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.height, self.width

    def neighbours(self) -> NDArray[np.int64]:
        """Pairs of cells that share a side."""
        place = np.arange(self.size, dtype=np.int64).reshape(self.shape)
        down, across = (place[:-1], place[1:]), (place[:, :-1], place[:, 1:])
        return np.concatenate([np.stack([one.ravel(), next_.ravel()], axis=1) for one, next_ in (down, across)])


def _ends(name: str, pair: Any) -> tuple[float, float]:
    """(low, high) as finite doubles."""
    found = [as_double(end) for end in pair] if isinstance(pair, tuple | list) and len(pair) == 2 else [None]
    if not all(end is not None and math.isfinite(end) for end in found):
        raise WrongType(
            f"a rectangle has two finite ends along {name}, (low, high). Got {pair!r} instead.",
            parameter="keys",
            value=pair,
            example=Code("lattice.box(x=(7, 9), y=(47, 48))", "--keys box:7,9,47,48"),
        )
    low, high = found
    return low, high  # type: ignore[return-value]


def with_lattices(domain: Domain, lattices: Mapping[str, Lattice]) -> Domain:
    """A domain of keys that were found, which knows whose cells they are."""
    if len(domain.axes) != 1 or not isinstance(domain.axes[0], Listed):
        return domain
    found = tuple(lattices.get(column) for column in domain.axes[0].columns)
    return replace(domain, axes=(replace(domain.axes[0], lattices=found),)) if any(found) else domain


def cell_centres(axis: Any, keys: Iterable[Any]) -> dict[str, list[float | None]]:
    """The middles of lattice cells by the names of their coordinates, None where a key is no cell; empty where the axis
    has none."""
    inner = axis if isinstance(axis, Lattice) or axis is None else axis.inner
    lattice = inner.lattice if isinstance(inner, Cells) else inner if isinstance(inner, Lattice) else None
    if lattice is None:
        return {}
    centres = [lattice.centre(key) if isinstance(key, int) else (None, None) for key in keys]
    # (Twelve digits are far below a cell, and 40.705000000000005 is no longer than it needs to be.)
    short = [[None if end is None else float(f"{end:.12g}") for end in ends] for ends in zip(*centres, strict=True)]
    return dict(zip((lattice.x, lattice.y), short or [[], []], strict=True))


def pack_cell(column: int, row: int) -> int:
    """One integer for a lattice cell."""
    return ((row + 2**30) << 31) + column + 2**30


def unpack_cell(cell: int) -> tuple[int, int]:
    """(column, row) of a lattice cell."""
    row, column = divmod(cell, 2**31)
    return column - 2**30, row - 2**30
