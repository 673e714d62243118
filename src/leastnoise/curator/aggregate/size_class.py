"""The class of a number of rows, or of a value's size, by integer arithmetic: the classes of `domain.size_classes`.

A search through a hundred ends, written as nested choices, is text that an engine copies wherever the class is used:
Spark's compiler ran out of a gigabyte of memory over it. The number of binary digits needs no search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.curator.aggregate.binning import double_literal
from leastnoise.domain.size_classes import MOST_ROWS, VALUE_ENDS, VALUE_LEVELS, signed_classes

if TYPE_CHECKING:
    import ibis.expr.types as ir


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
    import ibis

    rows = rows.mutate(_n=_cut(rows[column], MOST_ROWS))
    rows = rows.mutate(_octave=_octave(rows["_n"]))
    first = rows["_n"] >> ibis.greatest(rows["_octave"] - digits, 0)
    shift = (1 << alone) - 1 - ((alone + 1) << digits)
    classed = ibis.ifelse(rows["_n"] < 1 << alone, rows["_n"] - 1, rows["_octave"] * (1 << digits) + first + shift)
    return rows.mutate(**{name: classed}).drop("_n", "_octave")


def with_value_class(rows: ir.Table, column: str, name: str) -> ir.Table:
    """Which class of (0, *VALUE_ENDS) a double in [0, VALUE_ENDS[-1]] is in; null stays null.

    VALUE_ENDS begin at a power of two, 2 / scale, and an octave has two classes, by the digit after the first. So
    n = floor(value * scale), exact because the scale is a power of two, has the class 2 o - 1 + digit if it is in
    octave o from 1 on, and 0 below. The last end is in the last class.
    """
    import ibis

    steps = (rows[column] * double_literal(2.0 / VALUE_ENDS[0])).floor().cast("int64")
    rows = rows.mutate(_n=_cut(steps, int(2.0 / VALUE_ENDS[0] * VALUE_ENDS[-1]) - 1))
    rows = rows.mutate(_octave=_octave(rows["_n"]))
    digit = (rows["_n"] >> ibis.greatest(rows["_octave"] - 1, 0)) & 1
    classed = ibis.ifelse(rows["_n"] < 2, ibis.literal(0, "int64"), rows["_octave"] * 2 - 1 + digit)
    return rows.mutate(**{name: ibis.ifelse(rows["_n"].isnull(), ibis.null("int64"), classed)}).drop("_n", "_octave")


def wider_class(code: ir.IntegerValue, level: str) -> ir.IntegerValue:
    """The class of a wider level that a class of both signs lies in: the first 2^n on either side of zero are one."""
    import ibis

    wide, middle = VALUE_LEVELS[level], signed_classes("values") // 2
    away = (code - middle).abs()
    wider = (away + ((1 << wide) - 1)) >> wide
    return ibis.ifelse(code < middle, -wider, wider) + signed_classes(level) // 2


def _cut(number: ir.IntegerValue, most: int) -> ir.IntegerValue:
    """Not least(): engines leave nulls out of it."""
    import ibis

    return ibis.ifelse(number > most, ibis.literal(most, "int64"), number)


def _octave(number: ir.IntegerValue) -> ir.IntegerValue:
    """floor(log2(number)) of a positive integer; 0 for 0."""
    import ibis

    digits = ibis.udf.scalar.builtin(_binary, name="bin", signature=(("int64",), "string"))
    return digits(number).length().cast("int64") - 1


def _binary(number: Any) -> Any:
    """Both engines' own: the binary digits of an integer, as text."""
