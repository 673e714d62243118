"""The public set of bins: chosen by the user from public facts, never by looking at the rows.

A Domain is a product of axes, one a column. An axis is a finite ordered set of keys with a bijection
between positions 0, 1, ... and keys; the product counts like an odometer, the last axis turning fastest.
Positions are Python integers, so a domain may have as many as 2^64 bins, far more than memory holds.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

from leastnoise.errors import BadDomain, DomainTooLarge, NotFinite, WrongType

LARGEST = 2**64
DENSE = 2**26  # a vector of this many integers is half a gigabyte; larger domains are kept sparse


@runtime_checkable
class Axis(Protocol):
    """A finite ordered set of keys."""

    @property
    def size(self) -> int:
        """How many keys."""

    def key(self, position: int) -> Any:
        """The key at a position in 0 ... size - 1."""

    def index(self, key: Any) -> int | None:
        """The position of a key; None where it is no member."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Explicit keys, all of one kind: integers, strings, booleans or dates."""

    values: tuple[Hashable, ...]
    _positions: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise BadDomain("keys are empty: there is no bin to release. Give at least one key.")
        kinds = {type(value) for value in self.values}
        if len(kinds) > 1 or not kinds <= {int, str, bool, date}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise WrongType(
                f"keys must be all integers, all strings, all booleans or all dates. Got {names} instead. "
                "Numbers with fractions are binned by edges: ln.domain.Edges((0.0, 0.5, 1.0))."
            )
        if kinds == {int} and not all(-(2**63) <= value < 2**63 for value in self.values):  # type: ignore[operator]
            raise BadDomain("integer keys must fit into 64 bits. Use text keys.")
        if not all(is_text(value) for value in self.values if isinstance(value, str)):
            raise BadDomain("a key is no text: half of a surrogate pair is in it, which no file can hold. Repair it.")
        positions = {value: place for place, value in enumerate(self.values)}
        if len(positions) < len(self.values):
            repeated = next(value for place, value in enumerate(self.values) if positions[value] != place)
            raise BadDomain(
                f"the key {repeated!r} is given twice: its rows would be counted in two bins, which "
                "no limit on a "
                "unit accounts for. Give every key once."
            )
        object.__setattr__(self, "_positions", positions)

    @property
    def size(self) -> int:
        return len(self.values)

    def key(self, position: int) -> Hashable:
        return self.values[position]

    def index(self, key: Hashable) -> int | None:
        return self._positions.get(key)


@dataclass(frozen=True, slots=True)
class Listed:
    """Keys that a release found and published, one or several columns each; not a product, and perhaps none at all."""

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    def key(self, position: int) -> Any:
        return self.values[position]

    def index(self, key: Any) -> int | None:
        return self.values.index(key) if key in self.values else None


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """start, start + step, ... below stop, as `range` counts."""

    start: int
    stop: int
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("start", "stop", "step"):
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        if self.step < 1 or self.stop <= self.start:
            raise BadDomain(
                f"the range from {self.start} to {self.stop} by {self.step} has no member. Say start < stop, step >= 1."
            )
        if not (self.start >= -(2**62) and self.stop <= 2**62):
            raise DomainTooLarge("integer ranges end at 2^62 on both sides. Use a smaller range.")

    @property
    def size(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def key(self, position: int) -> int:
        return self.start + _within(position, self.size) * self.step

    def index(self, key: int) -> int | None:
        members = range(self.start, self.stop, self.step)
        return members.index(key) if key in members else None


@dataclass(frozen=True, slots=True)
class Edges:
    """Bins between successive edges, each with its left end, the last with both ends (as numpy.histogram)."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))
        if any(not math.isfinite(edge) for edge in self.edges):
            raise NotFinite("edges must be finite: a public bin has public ends. Replace NaN and infinities.")
        if len(self.edges) < 2 or any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise BadDomain("edges must be two or more increasing numbers. Sort them and give each once.")

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def key(self, position: int) -> tuple[float, float]:
        return self.edges[_within(position, self.size)], self.edges[position + 1]

    def index(self, key: tuple[float, float] | float) -> int | None:
        """The bin of a number, or of a pair (left, right) as `key` gives it."""
        if isinstance(key, tuple):
            place = self.index(key[0])
            return place if place is not None and self.key(place) == key else None
        if not self.edges[0] <= key <= self.edges[-1]:
            return None
        return min(bisect_right(self.edges, key) - 1, self.size - 1)


@dataclass(frozen=True, slots=True)
class Steps:
    """`bins` equal bins of [low, high]; what lies outside counts in the nearest, so nothing is lost
    (quantiles)."""

    low: float
    high: float
    bins: int

    @property
    def size(self) -> int:
        return self.bins

    @property
    def scale(self) -> float:
        """Bins per unit of the column; the engines multiply by this very double."""
        return self.bins / (self.high - self.low)

    def key(self, position: int) -> tuple[float, float]:
        width = self.high - self.low
        place = _within(position, self.bins)
        return self.low + width * place / self.bins, self.low + width * (place + 1) / self.bins

    def index(self, key: float | tuple[float, float]) -> int | None:
        """The bin of a number, or of a pair (left, right) as `key` gives it."""
        if isinstance(key, tuple):
            place = self.index((key[0] + key[1]) / 2)
            return place if place is not None and self.key(place) == key else None
        if math.isnan(key):
            return None
        clipped = min(max(key, self.low), self.high)
        return min(math.floor((clipped - self.low) * self.scale), self.bins - 1)


@dataclass(frozen=True, slots=True)
class Days:
    """The days start, ..., the day before stop."""

    start: date
    stop: date

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, date.fromisoformat(getattr(self, name)))
        if self.stop <= self.start:
            raise BadDomain(f"no day lies between {self.start} and {self.stop}. Say start < stop.")

    @property
    def size(self) -> int:
        return (self.stop - self.start).days

    @property
    def first(self) -> int:
        """Days from 1970-01-01 to start."""
        return (self.start - date(1970, 1, 1)).days

    def key(self, position: int) -> date:
        return self.start + timedelta(days=_within(position, self.size))

    def index(self, key: date) -> int | None:
        place = (key - self.start).days
        return place if 0 <= place < self.size else None


@dataclass(frozen=True, slots=True)
class Hours:
    """The hours start, ..., the hour before stop, in UTC or in the table's own clock (times without a
    zone)."""

    start: datetime
    stop: datetime

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, datetime.fromisoformat(getattr(self, name)))
        ends = (self.start, self.stop)
        if any((end.minute, end.second, end.microsecond) != (0, 0, 0) for end in ends):
            raise BadDomain("hours begin on the hour. Give ends with no minutes and seconds.")
        if self.stop <= self.start:
            raise BadDomain(f"no hour lies between {self.start} and {self.stop}. Say start < stop.")

    @property
    def size(self) -> int:
        return int((self.stop - self.start) / timedelta(hours=1))

    @property
    def first(self) -> int:
        """Hours from 1970-01-01 00:00 to start."""
        naive = self.start if self.start.tzinfo is None else self.start.astimezone(UTC).replace(tzinfo=None)
        return int((naive - datetime(1970, 1, 1)) / timedelta(hours=1))

    def key(self, position: int) -> datetime:
        return self.start + timedelta(hours=_within(position, self.size))

    def index(self, key: datetime) -> int | None:
        place = (key - self.start) // timedelta(hours=1)
        return place if 0 <= place < self.size else None


@dataclass(frozen=True, slots=True)
class Lattice:
    """The square cells of side `step` over two columns; a cell is named by one integer.

    The cell of (x, y) is (floor(x / step), floor(y / step)), each between -2^30 and 2^30, packed as
    (row + 2^30) * 2^31 + (column + 2^30).
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
        """The cells that meet the rectangle, as a domain."""
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
    """A rectangle of lattice cells, row by row."""

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


@dataclass(frozen=True, slots=True)
class OrNull:
    """An axis with one more bin at its end, for rows whose key is null."""

    axis: Axis

    @property
    def size(self) -> int:
        return self.axis.size + 1

    def key(self, position: int) -> Any:
        return None if position == self.axis.size else self.axis.key(position)

    def index(self, key: Any) -> int | None:
        return self.axis.size if key is None else self.axis.index(key)


@dataclass(frozen=True, slots=True)
class Domain:
    """A product of axes, each named by its column; no axis at all is a domain of one bin."""

    names: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        if self.size > LARGEST:
            raise DomainTooLarge(
                f"the domain has {self.size:.3g} bins, and an index holds 2^64. Use fewer, coarser keys, or keys=None."
            )

    @property
    def size(self) -> int:
        """How many bins."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def sparse(self) -> bool:
        """Whether a dense vector of the bins is too large, so that only bins with rows are ever held."""
        return self.size > DENSE

    def key(self, index: int) -> Any:
        """The key of a bin: a tuple with several axes, () with none."""
        parts: list[Any] = []
        for axis in reversed(self.axes):
            index, position = divmod(index, axis.size)
            parts.append(axis.key(position))
        if index:
            raise IndexError("no bin has that index")
        return parts[0] if len(parts) == 1 else tuple(reversed(parts))

    def index(self, key: Any) -> int | None:
        """The index of the bin with that key; None where it is outside."""
        parts = (key,) if len(self.axes) == 1 else key
        total = 0
        for axis, part in zip(self.axes, parts, strict=True):
            position = axis.index(part)
            if position is None:
                return None
            total = total * axis.size + position
        return total

    def keys(self) -> list[Any]:
        """Every key in order."""
        return [self.key(index) for index in range(self.size)]


def listed(columns: tuple[str, ...], keys: Sequence[Any]) -> Domain:
    """The domain of keys that a release found."""
    return Domain((" + ".join(columns),), (Listed(columns, tuple(keys)),))


def axis(keys: object) -> Axis:
    """Whatever names bins - a range, a list or array of keys, an axis - as an axis."""
    if isinstance(keys, range):
        return IntegerRange(keys.start, keys.stop, keys.step)
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        if isinstance(keys, Axis):
            return keys
        raise WrongType(
            f"keys must be a list of keys, a range, or bins such as ln.domain.Edges(...). Got {type(keys).__name__}."
        )
    return Keys(tuple(_plain(value) for value in keys))


def product(names: Sequence[str], keys: object, *, nulls: str = "drop") -> Domain:
    """The domain of a histogram over the columns `names`: `keys` for one, a mapping or a sequence for
    several."""
    axes = [axis(part) for part in entries(names, keys)]
    return Domain(tuple(names), tuple(OrNull(each) if nulls == "bin" else each for each in axes))


def entries(names: Sequence[str], keys: object) -> list[object]:
    """The keys of each column."""
    parts: list[object]
    if len(names) == 1 and not isinstance(keys, Mapping):
        parts = [keys]
    elif isinstance(keys, Mapping):
        if set(keys) != set(names):
            raise BadDomain(
                f"keys name {sorted(keys)} but the histogram is by {sorted(names)}. Give one entry a column."
            )
        parts = [keys[name] for name in names]
    elif isinstance(keys, Sequence) and len(keys) == len(names) and not isinstance(keys, str):
        parts = list(keys)
    else:
        raise BadDomain(
            f"a histogram by {len(names)} columns needs keys for each: "
            f"keys={{{', '.join(f'{name!r}: ...' for name in names)}}}."
        )
    return [tuple(part) if isinstance(part, Iterator) else part for part in parts]


def counts_up(keys: object) -> bool:
    """Whether keys are whole numbers, and written as such: a range, or integers one by one. (Keys((1, 2)) and
    [1.0, 2.0] are for those who know that a column of real numbers holds exactly these.)"""
    if isinstance(keys, (range, IntegerRange)):
        return True
    if isinstance(keys, (str, Axis)) or not isinstance(keys, Iterable):
        return False
    return all(isinstance(value.as_py() if hasattr(value, "as_py") else value, Integral) for value in keys)


def pack_cell(column: int, row: int) -> int:
    """One integer for a lattice cell."""
    return ((row + 2**30) << 31) + column + 2**30


def unpack_cell(cell: int) -> tuple[int, int]:
    """(column, row) of a lattice cell."""
    row, column = divmod(cell, 2**31)
    return column - 2**30, row - 2**30


def is_text(word: str) -> bool:
    """Whether it can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


def _plain(value: Any) -> Hashable:
    """NumPy, pandas and Arrow scalars as Python values; whole days as dates."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    elif hasattr(value, "item"):
        value = value.item()
    if isinstance(value, datetime) and value == datetime(value.year, value.month, value.day, tzinfo=value.tzinfo):
        value = value.date()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    result: Hashable = value
    return result


def _within(position: int, size: int) -> int:
    if not 0 <= position < size:
        raise IndexError("no bin has that index")
    return position
