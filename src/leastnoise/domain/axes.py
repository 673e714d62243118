"""One axis of a domain: keys, ranges, edges, steps. An axis gives every value one position or none."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import toml
from leastnoise.errors import BadDomain, Code, InvalidParameter, WrongType

MAX_BINS = 2**64


class Axis(ABC):
    """A finite ordered set of keys."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many keys."""

    @abstractmethod
    def key(self, position: int) -> Any:
        """The key at a position in 0 ... size - 1."""

    @abstractmethod
    def index(self, key: Any) -> int | None:
        """The position of a key; None where it is no member."""

    @property
    def inner(self) -> Axis:
        """The axis by which rows are binned, without labels and without bins for nulls or others."""
        return self

    @property
    def has_order(self) -> bool:
        """Whether the keys have an order that everybody knows (ranges, edges, steps, days, hours, and lists of numbers
        or dates that rise) or that was declared (`Ordered`), so that they can be added up from the first. Of an axis
        that wraps another ask its `inner`: a bin for nulls or others, which is the last, is not part of the order."""
        return False

    @property
    def is_chain(self) -> bool:
        """Whether keys that follow each other are near each other, as public facts go."""
        return self.has_order

    @property
    def shape(self) -> tuple[int, ...]:
        """How many keys along each of its own directions."""
        return (self.size,)

    def neighbours(self) -> NDArray[np.int64]:
        """Pairs of positions that are next to each other, n x 2."""
        first = np.arange(self.size - 1, dtype=np.int64)
        return np.stack([first, first + 1], axis=1)

    def toml(self) -> str | None:
        """What it is in a file of keys, without braces; None where such a file has no word for it."""
        return None


class _Ordered(Axis):
    """One whose order everybody knows."""

    __slots__ = ()

    @property
    def has_order(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Keys(Axis):
    """Explicit keys, all of one kind: integers, strings, booleans or dates.

    values: the keys in order, each once.
    """

    values: tuple[Hashable, ...]
    _positions: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise _no_list(self.values)
        object.__setattr__(self, "values", tuple(self.values))
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
                f"the key {repeated!r} is given twice: its rows would be counted in two bins, which no limit on a unit "
                "accounts for. Give every key once."
            )
        object.__setattr__(self, "_positions", positions)

    @property
    def size(self) -> int:
        return len(self.values)

    def key(self, position: int) -> Hashable:
        return self.values[position]

    def index(self, key: Hashable) -> int | None:
        return self._positions.get(key)

    @property
    def has_order(self) -> bool:
        """Whole numbers and dates that rise have one."""
        return self._rises

    @property
    def is_chain(self) -> bool:
        """Dates that rise, in any steps, and whole numbers in equal ones: others are more often codes."""
        if not self._rises or isinstance(self.values[0], date):
            return self._rises
        return len({b - a for a, b in pairwise(self.values)}) == 1  # type: ignore[operator]

    @property
    def _rises(self) -> bool:
        counted = type(self.values[0]) is int or isinstance(self.values[0], date)
        return counted and all(a < b for a, b in pairwise(self.values))  # type: ignore[operator]

    def toml(self) -> str:
        return f"keys = {toml.value(self.values)}"


@dataclass(frozen=True, slots=True)
class Ordered(Keys):
    """Keys in an order that means something: grades, classes of size, months by name. They can be added up from the
    first (`cumulative`, `ranges`), which a list of texts alone cannot.

    values: the keys, from the first to the last, each once.

    >>> Ordered(["low", "middle", "high"]).index("high")
    2
    """

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise _no_list(self.values)
        object.__setattr__(self, "values", tuple(plain_value(value) for value in self.values))
        Keys.__post_init__(self)

    @property
    def has_order(self) -> bool:
        """It was declared."""
        return True


@dataclass(frozen=True, slots=True)
class Listed(Axis):
    """Keys that a release found and published; not a product, and perhaps none at all.

    columns: whose values make a key. values: the keys, tuples where there are several columns. lattices: for columns of
    cells on a map, whose cells; empty where there are none.
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    lattices: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        return len(self.values)

    def key(self, position: int) -> Any:
        return self.values[position]

    def index(self, key: Any) -> int | None:
        return self.values.index(key) if key in self.values else None


@dataclass(frozen=True, slots=True)
class IntegerRange(_Ordered):
    """Whole numbers as `range` counts them.

    start: the first. stop: all are below it. step: from one to the next, at least 1.
    """

    start: int
    stop: int
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("start", "stop", "step"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if self.step < 1 or self.stop <= self.start:
            raise BadDomain(
                f"the range from {self.start} to {self.stop} by {self.step} has no member. Say start < stop, step >= 1."
            )
        if not (self.start >= -(2**62) and self.stop <= 2**62):
            raise BadDomain("integer ranges end at 2^62 on both sides. Use a smaller range.")

    @property
    def size(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def key(self, position: int) -> int:
        return self.start + within(position, self.size) * self.step

    def index(self, key: int) -> int | None:
        members = range(self.start, self.stop, self.step)
        return members.index(key) if key in members else None

    def toml(self) -> str:
        ends = (self.start, self.stop) if self.step == 1 else (self.start, self.stop, self.step)
        return f"range = {toml.value(ends)}"


@dataclass(frozen=True, slots=True)
class Edges(_Ordered):
    """Bins between successive edges, each with its left end, the last with both ends (as numpy.histogram).

    edges: two or more increasing finite numbers.
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _doubles(self.edges))
        if any(not math.isfinite(edge) for edge in self.edges):
            raise InvalidParameter("edges must be finite: a public bin has public ends. Replace NaN and infinities.")
        if len(self.edges) < 2 or any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise BadDomain("edges must be two or more increasing numbers. Sort them and give each once.")

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def key(self, position: int) -> tuple[float, float]:
        return self.edges[within(position, self.size)], self.edges[position + 1]

    def index(self, key: tuple[float, float] | float) -> int | None:
        """The bin of a number, or of a pair (left, right) as `key` gives it."""
        if isinstance(key, tuple):
            place = self.index(key[0])
            return place if place is not None and self.key(place) == key else None
        if not self.edges[0] <= key <= self.edges[-1]:
            return None
        return min(bisect_right(self.edges, key) - 1, self.size - 1)

    def toml(self) -> str:
        return f"edges = {toml.value(self.edges)}"


@dataclass(frozen=True, slots=True)
class Steps(_Ordered):
    """Equal bins of [low, high]; what lies outside counts in the nearest, so nothing is lost (quantiles).

    low, high: the ends. bins: how many.
    """

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
        place = within(position, self.bins)
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


def as_double(value: Any) -> float | None:
    """A number as a double, infinity past the largest; None where it is no number."""
    if isinstance(value, str | bytes | complex) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def _doubles(edges: object) -> tuple[float, ...]:
    listed = tuple(edges) if isinstance(edges, Iterable) and not isinstance(edges, str | bytes) else (edges,)
    doubles = [as_double(edge) for edge in listed]
    if None in doubles or not isinstance(edges, Iterable):
        odd = next((edge for edge, double in zip(listed, doubles, strict=True) if double is None), edges)
        raise WrongType(
            f"edges are two or more increasing numbers. Got {type(odd).__name__} instead. Days are cut by "
            'ln.domain.Days("2013-01-01", "2013-02-01"); texts are keys, one by one.',
            parameter="keys",
            value=odd,
            example=Code("ln.domain.Edges((0, 10, 20))", "{ edges = [0, 10, 20] } in a keys.toml"),
        )
    return tuple(double for double in doubles if double is not None)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise WrongType(
            f"the {name} of a range is a whole number. Got {type(value).__name__} instead. Numbers with fractions are "
            "binned by edges: ln.domain.Edges((0.0, 0.5, 1.0)).",
            parameter="keys",
            value=value,
            example={"keys": Code("range(24)", "0:24")},
        ) from None


def _no_list(values: object) -> WrongType:
    return WrongType(
        f"keys are a list. Got {type(values).__name__} instead.",
        parameter="keys",
        value=values,
        example={"keys": ["low", "high"]},
    )


def is_text(word: str) -> bool:
    """Whether it can be written: half of a surrogate pair cannot."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


def plain_value(value: Any) -> Hashable:
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


def within(position: int, size: int) -> int:
    """The position, if there is a bin."""
    if not 0 <= position < size:
        raise IndexError("no bin has that index")
    return position
