"""From a row's columns to its place in the public domain: an integer, or null where the row is outside.

All of it is total. Every cast is guarded by a range, so that no value in a private row can make an
engine fail, and floor is always explicit (a cast of 2.5 to an integer is 3 in one engine and 2 in the
other). Numbers are written as quoted text and cast, because engines turn a decimal literal into a double
differently.

Positions on many axes are packed into a few integers: what is ordered, moved and counted is as narrow as it may be.
Each column has bits of its own, and none is divided between two words: equal words are equal positions.

The class of a number of rows (`domain.size_classes`) is found by integer arithmetic. A search through a hundred ends,
written as nested choices, is text that an engine copies wherever the class is used: Spark's compiler ran out of a
gigabyte of memory over it. The number of binary digits needs no search.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, singledispatch
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from leastnoise import domain
from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import builtin
from leastnoise.curator.rows.columns import Type, derived_from_text
from leastnoise.domain.size_classes import MOST_ROWS
from leastnoise.errors import BadDomain, Code, Example, WrongType

MAX_EXACT_INTEGER = 2.0**53  # a double holds every integer up to here


def place_rows(rows: ir.Table, bins: domain.Domain, *, name: str) -> ir.Table:
    """`rows` with the bin's index in a new column `name`; rows outside the domain are gone."""
    if bins.size >= 2**62:
        raise BadDomain(f"a query may have 2^62 bins, this domain has {bins.size:.3g}. Use coarser keys.")
    total: ir.Value = ibis.literal(0, "int64")
    for number, (column, axis) in enumerate(zip(bins.names, bins.axes, strict=True)):
        rows = place(axis, rows, column, f"{name}_{number}")
        rows = rows.filter(rows[f"{name}_{number}"].notnull())
        part = rows[f"{name}_{number}"]
        total = part if number == 0 else rows[name] * axis.size + part
        rows = rows.mutate(**{name: total})
    return rows if bins.axes else rows.mutate(**{name: total})


@singledispatch
def place(axis: domain.Axis, rows: ir.Table, column: str, name: str) -> ir.Table:
    """`rows` with the position of `column` on the axis in a new column `name`, null where it is outside."""
    raise TypeError(f"no engine knows the axis {type(axis).__name__}")


@place.register(domain.OrNull)
def _(axis: domain.OrNull, rows: ir.Table, column: str, name: str) -> ir.Table:
    rows = place(axis.axis, rows, column, name)
    null = is_missing(rows[column])
    return rows.mutate(**{name: ibis.ifelse(null, ibis.literal(axis.axis.size, "int64"), rows[name])})


@place.register(domain.OrOther)
def _(axis: domain.OrOther, rows: ir.Table, column: str, name: str) -> ir.Table:
    """Every axis places a value outside it, and a null, at null: those are the others."""
    rows = place(axis.axis, rows, column, name)
    return rows.mutate(**{name: ibis.ifelse(rows[name].isnull(), ibis.literal(axis.axis.size, "int64"), rows[name])})


@place.register(domain.Labelled)
def _(axis: domain.Labelled, rows: ir.Table, column: str, name: str) -> ir.Table:
    return place(axis.axis, rows, column, name)


@place.register(domain.IntegerRange)
def _(axis: domain.IntegerRange, rows: ir.Table, column: str, name: str) -> ir.Table:
    value = as_integer(rows[column], column)
    inside = value.between(axis.start, axis.stop - 1)
    rows = rows.mutate(**{name: ibis.ifelse(inside, value, ibis.null("int64")) - axis.start})
    if axis.step == 1:
        return rows
    remainder = rows[name] % axis.step
    exact = ibis.ifelse(remainder == 0, rows[name], ibis.null("int64"))
    # rows[name] is a multiple of the step and so is its quotient exact; sizes stay below 2^53 or are refused.
    if axis.stop - axis.start > MAX_EXACT_INTEGER:
        raise BadDomain("a range with a step may span 2^53. Use a smaller range.")
    return rows.mutate(**{name: (exact.cast("float64") / float(axis.step)).floor().cast("int64")})


@place.register(domain.Keys)
def _(axis: domain.Keys, rows: ir.Table, column: str, name: str) -> ir.Table:
    return _of_listed(axis, range(axis.size), rows, column, name)


@place.register(domain.TreeLevel)
def _(axis: domain.TreeLevel, rows: ir.Table, column: str, name: str) -> ir.Table:
    return _of_listed(axis.tree.leaves, axis.positions, rows, column, name)


def _of_listed(keys: domain.Keys, positions: Any, rows: ir.Table, column: str, name: str) -> ir.Table:
    """A join with the table of keys and their positions; each key once, so no row is doubled."""
    left, values = _comparable(keys, rows[column], column)
    join = f"{name}_key"
    listed = ibis.memtable(pa.table({join: values, name: pa.array(positions, pa.int64())}))
    rows = rows.mutate(**{f"{name}_left": left})
    joined = rows.left_join(listed, rows[f"{name}_left"] == listed[join])
    return joined.drop(join, f"{name}_left")


def _comparable(axis: domain.Keys, value: ir.Value, column: str) -> tuple[ir.Value, list[Any]]:
    """The column and the keys in one type whose equality is the same on every engine: 64-bit integers or
    text."""
    first, kind, keys = axis.values[0], value.type(), list(axis.values)
    if isinstance(first, date):
        return epoch_days(value, column), [(key - date(1970, 1, 1)).days for key in keys if isinstance(key, date)]
    if isinstance(first, bool) and kind.is_boolean():
        return value.cast("int64"), [int(key is True) for key in keys]
    if isinstance(first, str) and kind.is_string():
        return value, keys
    if not isinstance(first, int) or isinstance(first, bool):
        named = {str: "texts", bool: "truth values"}.get(type(first), f"{type(first).__name__}s")
        raise wrong_type(column, kind, f"the keys are {named} such as {first!r}", declare=Type.BOOLEAN)
    if any(not -(2**63) <= key < 2**63 for key in keys if isinstance(key, int)):
        raise BadDomain("integer keys must fit into 64 bits. Use text keys.")
    return as_integer(value, column), keys


@place.register(domain.Edges)
def _(axis: domain.Edges, rows: ir.Table, column: str, name: str) -> ir.Table:
    value = as_double(rows[column], column)
    rows = rows.mutate(**{name: value})
    number = rows[name]
    inside = (number >= double_literal(axis.edges[0])) & (number <= double_literal(axis.edges[-1]))
    found = _search(number, axis.edges, 0, axis.size)
    return rows.mutate(**{name: ibis.ifelse(inside, found, ibis.null("int64"))})


@place.register(domain.Steps)
def _(axis: domain.Steps, rows: ir.Table, column: str, name: str) -> ir.Table:
    rows = rows.mutate(**{name: clipped(as_double(rows[column], column), axis.low, axis.high)})
    steps = ((rows[name] - double_literal(axis.low)) * double_literal(axis.scale)).floor()
    rows = rows.mutate(**{name: steps.cast("int64")})
    # Not least(): engines leave nulls out of it, and a missing value would count in the last bin.
    return rows.mutate(**{name: ibis.ifelse(rows[name] >= axis.bins, axis.bins - 1, rows[name])})


@place.register(domain.Days)
def _(axis: domain.Days, rows: ir.Table, column: str, name: str) -> ir.Table:
    rows = rows.mutate(**{name: epoch_days(rows[column], column) - axis.first})
    return rows.mutate(**{name: _below(rows[name], axis.size)})


@place.register(domain.Hours)
def _(axis: domain.Hours, rows: ir.Table, column: str, name: str) -> ir.Table:
    kind = rows[column].type()
    if not kind.is_timestamp():
        raise wrong_type(column, kind, "hours are found in timestamps", declare=Type.TIMESTAMP)
    hours = epoch_days(rows[column], column) * 24 + rows[column].hour().cast("int64") - axis.first
    rows = rows.mutate(**{name: hours})
    return rows.mutate(**{name: _below(rows[name], axis.size)})


@place.register(domain.Cells)
def _(axis: domain.Cells, rows: ir.Table, column: str, name: str) -> ir.Table:
    rows = rows.mutate(**{f"{name}_cell": as_integer(rows[column], column)})
    cell = rows[f"{name}_cell"]
    rows = rows.mutate(
        **{
            f"{name}_x": (cell & (2**31 - 1)) - (2**30 + axis.column),
            f"{name}_y": (cell >> 31) - (2**30 + axis.row),
        }
    )
    x, y = _below(rows[f"{name}_x"], axis.width), _below(rows[f"{name}_y"], axis.height)
    inside = ibis.ifelse(cell >= 0, y * axis.width + x, ibis.null("int64"))
    return rows.mutate(**{name: inside}).drop(f"{name}_cell", f"{name}_x", f"{name}_y")


def lattice_cell(rows: ir.Table, lattice: domain.Lattice) -> ir.IntegerValue:
    """The cell of each row; null where a coordinate is missing or beyond 2^30 steps."""
    column = _floor_within(as_double(rows[lattice.x], lattice.x) / double_literal(lattice.step), 2.0**30)
    row = _floor_within(as_double(rows[lattice.y], lattice.y) / double_literal(lattice.step), 2.0**30)
    return (row + 2**30) * 2**31 + (column + 2**30)


def double_literal(number: float) -> ir.FloatingScalar:
    """A double, bit for bit the same in every engine."""
    return ibis.literal(repr(float(number))).cast("float64")


def is_whole(kind: Any) -> bool:
    """Whether values of this type are whole numbers: true is 1."""
    return bool(kind.is_integer() or kind.is_boolean() or (kind.is_decimal() and kind.scale == 0))


def as_integer(value: ir.Value, column: str) -> ir.IntegerValue:
    """An integer of 64 bits, null where the value is none."""
    kind = value.type()
    if (kind.is_unsigned_integer() and kind.nbytes == 8) or (kind.is_decimal() and kind.scale == 0):
        return value.try_cast("int64")
    if kind.is_integer() or kind.is_boolean():  # true is 1
        return value.cast("int64")
    if kind.is_floating():
        floor = _floor_within(as_double(value, column), MAX_EXACT_INTEGER)
        return ibis.ifelse(floor.cast("float64") == value.cast("float64"), floor, ibis.null("int64"))
    raise wrong_type(column, kind, "whole numbers are needed", declare=Type.INTEGER)


def as_double(value: ir.Value, column: str) -> ir.FloatingValue:
    """A double, null where the value is missing or NaN."""
    kind = value.type()
    if kind.is_decimal() and (kind.precision is None or kind.precision > 15):
        # More digits than a double: engines round the quotient differently, but read text alike.
        return value.cast("string").cast("float64")
    if kind.is_floating():
        double = value.cast("float64")
        return ibis.ifelse(double.isnan(), ibis.null("float64"), double)
    if kind.is_numeric():
        return value.cast("float64")
    if kind.is_boolean():  # true is 1
        return value.cast("int64").cast("float64")
    raise wrong_type(column, kind, "numbers are needed", declare=Type.REAL, as_key=False)


def wrong_type(column: str, kind: Any, need: str, *, declare: Type, as_key: bool = True) -> WrongType:
    """The error for a column of another type than is needed: which keys it takes, or what to declare it as."""
    hint, examples = suggested_keys(kind) if as_key else ("", [])
    if kind.is_string():
        hint += " Or declare the type of the column where the table is opened, or derive a column from it."
        examples = [*examples, {"types": {column: declare.declared}}, derived_from_text(column, declare)]
    message = f'"{column}" holds {type_name(kind)}, and {need}. {hint.strip()}'
    return WrongType(message.strip(), parameter="column", value=column, example=examples)


def suggested_keys(kind: Any) -> tuple[str, list[Example]]:
    """Which keys a column of this type takes, and examples of them."""
    days = 'ln.domain.Days("2013-01-01", "2013-02-01")'
    if kind.is_timestamp():
        return f'Give days or hours as keys: {days}, or ln.domain.Hours("2013-01-01 00:00", "2013-01-02 00:00").', []
    if kind.is_date():
        return f"Give days as keys: {days}, or a list of dates.", []
    if kind.is_boolean():
        return "Give truth values as keys.", [{"keys": [True, False]}]
    if kind.is_string():
        return "Give texts as keys.", [{"keys": ["a", "b"]}]
    if kind.is_integer():
        return "Give whole numbers as keys.", [{"keys": [1, 2, 3]}, {"keys": Code("range(24)", "0:24")}]
    if kind.is_numeric():
        return "Give the ends of bins as keys: ln.domain.Edges((0.0, 10.0, 20.0)).", []
    return "No keys are known for that type: derive a column of numbers, text or dates, or prepare one.", []


def clipped(value: ir.NumericValue, low: float, high: float) -> ir.NumericValue:
    """`value` moved into [low, high]; null stays null. NaN must be gone: it would become an end."""
    ends = (double_literal(low), double_literal(high)) if value.type().is_floating() else (low, high)
    return ibis.ifelse(value < ends[0], ends[0], ibis.ifelse(value > ends[1], ends[1], value))


def epoch_days(value: ir.Value, column: str) -> ir.IntegerValue:
    """Days from 1970-01-01 to the day of a date or timestamp."""
    kind = value.type()
    if kind.is_timestamp():
        value = value.date()
    elif not kind.is_date():
        raise wrong_type(column, kind, "dates are needed", declare=Type.DATE)
    return value.delta(ibis.date("1970-01-01"), unit="day").cast("int64")


def is_missing(value: ir.Value) -> ir.BooleanValue:
    """Null, or NaN where the type has one."""
    return value.isnull() | value.cast("float64").isnan() if value.type().is_floating() else value.isnull()


def _below(position: ir.IntegerValue, size: int) -> ir.IntegerValue:
    return ibis.ifelse((position >= 0) & (position < size), position, ibis.null("int64"))


def _floor_within(value: ir.FloatingValue, bound: float) -> ir.IntegerValue:
    """floor(value), null unless -bound <= value < bound."""
    inside = (value >= double_literal(-bound)) & (value < double_literal(bound))
    return ibis.ifelse(inside, value, ibis.null("float64")).floor().cast("int64")


def _search(value: ir.FloatingValue, edges: tuple[float, ...], low: int, high: int) -> ir.IntegerValue:
    """Binary search written as nested choices: `high - low` leaves, but log2 of that comparisons a row."""
    if high - low == 1:
        return ibis.literal(low, "int64")
    middle = (low + high) // 2
    return ibis.ifelse(
        value < double_literal(edges[middle]),
        _search(value, edges, low, middle),
        _search(value, edges, middle, high),
    )


WORD_BITS = 31  # so that a word is an int32 that is not negative
WORD = "word"  # the columns are called word0, word1 ...


@dataclass(frozen=True)
class Packing:
    """sizes: how many positions each axis has, at most 2^31."""

    sizes: tuple[int, ...]

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """That each axis takes; an axis with one position needs none."""
        return tuple((size - 1).bit_length() for size in self.sizes)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The word that each axis is in, and how many of its bits are below."""
        made: list[tuple[int, int]] = []
        word, used = 0, 0
        for bits in self.bits:
            if used + bits > WORD_BITS:
                word, used = word + 1, 0
            made.append((word, used))
            used += bits
        return tuple(made)

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the columns that hold them."""
        return tuple(f"{WORD}{number}" for number in range(self.places[-1][0] + 1))

    def pack(self, rows: ir.Table, positions: Sequence[str]) -> ir.Table:
        """`rows` with the positions of the named columns in words."""
        parts: dict[str, list[ir.IntegerValue]] = {name: [] for name in self.words}
        for name, (word, shift) in zip(positions, self.places, strict=True):
            position = rows[name].cast("int64")
            parts[f"{WORD}{word}"].append(position << shift if shift else position)
        packed = {name: functools.reduce(operator.or_, found) for name, found in parts.items()}
        return rows.mutate(**{name: value.cast("int32") for name, value in packed.items()})


def with_octave(rows: ir.Table, column: str, name: str) -> ir.Table:
    """The octave of a number n of rows, from 1 on: floor(log2(n)), at most that of MOST_ROWS."""
    return rows.mutate(**{name: _octave(_cut(rows[column], MOST_ROWS))})


def with_row_class(rows: ir.Table, column: str, name: str) -> ir.Table:
    """Which class of ROW_STARTS a number n of rows, from 1 on, is in: eight an octave from 32 = 2^5 on."""
    return _with_class(rows, column, name, digits=3, alone=5)


def with_bin_class(rows: ir.Table, column: str, name: str) -> ir.Table:
    """Which class of BIN_STARTS a number n of rows, from 1 on, is in: four an octave from 8 = 2^3 on."""
    return _with_class(rows, column, name, digits=2, alone=3)


def _with_class(rows: ir.Table, column: str, name: str, *, digits: int, alone: int) -> ir.Table:
    """Each number below 2^alone is a class. From there on an octave has 2^digits, by the digits after the first.

    With o the octave of n, f = n >> (o - digits) is its first digits, from 2^digits on; and 2^alone is in class
    2^alone - 1. So the class is (o - alone) 2^digits + f - 2^digits + 2^alone - 1.
    """
    rows = rows.mutate(_n=_cut(rows[column], MOST_ROWS))
    rows = rows.mutate(_octave=_octave(rows["_n"]))
    first = rows["_n"] >> ibis.greatest(rows["_octave"] - digits, 0)
    shift = (1 << alone) - 1 - ((alone + 1) << digits)
    classed = ibis.ifelse(rows["_n"] < 1 << alone, rows["_n"] - 1, rows["_octave"] * (1 << digits) + first + shift)
    return rows.mutate(**{name: classed}).drop("_n", "_octave")


def _cut(number: ir.IntegerValue, most: int) -> ir.IntegerValue:
    """Not least(): engines leave nulls out of it."""
    return ibis.ifelse(number > most, ibis.literal(most, "int64"), number)


def _octave(number: ir.IntegerValue) -> ir.IntegerValue:
    """floor(log2(number)) of a positive integer; 0 for 0."""
    digits = builtin("bin", "int64", "string")  # both engines' own: the binary digits of an integer, as text
    return digits(number).length().cast("int64") - 1
