"""The class of a number of rows, by integer arithmetic: the classes of `domain.size_classes`.

A search through a hundred ends, written as nested choices, is text that an engine copies wherever the class is used:
Spark's compiler ran out of a gigabyte of memory over it. The number of binary digits needs no search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.domain.size_classes import MOST_ROWS

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
