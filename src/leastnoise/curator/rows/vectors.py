"""Sums of many vectors, each clipped to a norm: column by column of a batch rather than in SQL.

Every element is rounded to the grid first, then the squared norm is taken exactly, and only then is a
vector that is too long scaled down, element by element and toward zero. So one vector's integers depend
on that vector alone. (BLAS row norms would depend on a row's place in its block, which breaks both
sensitivity and engine equality.)

Integers are held in doubles. A vector of d elements, each at most 2 R steps, has a squared norm of at
most 4 R^2 d < 2^53, so every partial sum of squares is exact in any order. After scaling by s = R / |v|
(two roundings) and cutting toward zero the squared norm is an integer below R^2 (1 + 2^-50) < R^2 + 1:
the ball holds exactly. 2 R < 2^31, so an element is also a 32-bit integer.

A column is read twice, once for the norms and once for the sum, because rounding again costs less than
keeping what was rounded.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import Engine
from leastnoise.curator.rows import keeping
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import as_double, clipped, double_literal
from leastnoise.curator.rows.priorities import content_of, with_unit_word
from leastnoise.errors import WrongType
from leastnoise.privacy.sensitivity import Limits

Integers = np.ndarray[Any, Any]
MAX_BLOCK_ELEMENTS = 2**20  # of lists that are turned into columns at once: a few megabytes
HASHED_ELEMENTS = 16  # elements that the order of a unit's rows is hashed from


@dataclass(frozen=True, slots=True)
class NormClip:
    """Vectors of `length` integers with an L2 norm of at most `radius`, in steps of `grid`."""

    length: int
    radius: int
    grid: float

    @classmethod
    def of(cls, norm: float, length: int) -> NormClip:
        """The finest grid on which squared norms are exact; radius * grid is at most `norm`."""
        bits = (53 - math.ceil(math.log2(length))) // 2 - 1
        grid = math.ldexp(1.0, math.frexp(norm)[1] - bits)
        return cls(length=length, radius=math.floor(norm / grid), grid=grid)

    @property
    def norm(self) -> float:
        """The largest norm, in the unit of the columns."""
        return self.radius * self.grid

    def total(self, columns: list[Integers]) -> Integers:
        """The sum of all clipped vectors and, at the end, their number. Vectors with a NaN are dropped."""
        with np.errstate(all="ignore"):  # a warning would tell of a value
            squares = np.zeros(len(columns[0]))  # of norms; NaN where an element is
            for column in columns:
                squares += self._steps(column) ** 2
            complete = ~np.isnan(squares)
            scales = np.minimum(1.0, self.radius / np.sqrt(np.maximum(squares, 1.0)))  # of 1, it changes nothing
            kept = (np.where(complete, self._steps(column) * scales, 0.0) for column in columns)
            sums = [column.astype(np.int64).sum() for column in kept]  # cut toward zero
        return np.array([*sums, np.count_nonzero(complete)], np.int64)

    def _steps(self, column: Integers) -> Integers:
        """The elements in whole steps of the grid, halves to even, at most twice the radius; NaN stays NaN."""
        steps, reach = np.multiply(column, 1 / self.grid, dtype=np.float64), 2.0 * self.radius
        return np.rint(np.clip(steps, -reach, reach, out=steps), out=steps)


@dataclass(frozen=True, slots=True)
class Reducer:
    """What runs where the rows are: record batches in, one vector of integers out."""

    clip: NormClip
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Integers:
        total: Integers = np.zeros(self.clip.length + 1, np.int64)
        for batch in batches:
            for columns in self.blocks(batch):
                total += self.clip.total(columns)
        return total

    def blocks(self, batch: pa.RecordBatch) -> Iterator[list[Integers]]:
        """The elements as columns of floats; nulls are NaN."""
        if len(self.columns) == self.clip.length:
            yield [_floats(batch.column(name).to_numpy(zero_copy_only=False)) for name in self.columns]
        else:
            yield from _lists(batch.column(self.columns[0]), self.clip.length)


def sums(
    rows: Callable[[bool], ir.Table],
    *,
    units: ir.Table,
    clip: NormClip,
    max_rows: int,
    ranked: Callable[[], tuple[ir.Table, Rule]],
    engine: Engine,
) -> Integers:
    """Sum and number of the kept vectors. Where no unit has too many rows all are kept, and none compete; where no row
    is without a unit, `rows(True)` leaves none out, and `rows(False)` does not look. Only time depends on either,
    provided that every query here sees the same rows."""
    named = units.drop_null()
    counts = named.group_by(named.columns).aggregate(_rows=named.count())

    def any_of(found: ir.Table) -> bool:
        return bool(engine.fetch(found.limit(1)).num_rows)

    if any_of(counts.filter(counts["_rows"] > max_rows)):
        return added(*ranked(), clip=clip, engine=engine)
    nameless = functools.reduce(operator.or_, [units[column].isnull() for column in units.columns])
    return _added(rows(any_of(units.filter(nameless))), clip=clip, engine=engine)


def added(rows: ir.Table, rule: Rule, *, clip: NormClip, engine: Engine) -> Integers:
    """Sum and number of the vectors that the rule keeps."""
    with keeping.kept(rows, rule, engine) as kept:
        return _added(kept, clip=clip, engine=engine)


def _added(rows: ir.Table, *, clip: NormClip, engine: Engine) -> Integers:
    """Sum and number of all vectors, in one query."""
    return engine.summed(rows, Reducer(clip, tuple(rows.columns)), clip.length + 1).astype(object)


def competing(
    rows: ir.Table,
    *,
    unit: tuple[str, ...],
    columns: tuple[str, ...],
    clip: NormClip,
    max_rows: int,
    key: int,
    engine: Engine,
) -> tuple[ir.Table, Rule]:
    """The complete vectors, and which of them are kept.

    The hash has the first elements, rounded: a thousand are too much SQL, and the rest decide ties. Vectors of one
    hash are numbered in the order of their content, so that those that are alike are drawn one by one (`keeping`).
    """
    rows = with_unit_word(rows.select(*unit, *columns), unit, engine)
    names = tuple(f"_x{place}" for place in range(clip.length))
    rows = rows.mutate(**dict(zip(names, _elements(rows, columns, clip), strict=True)))
    rows = rows.filter([rows[name].notnull() for name in names])
    first = names[:HASHED_ELEMENTS]
    rows = rows.mutate(**{f"{name}_steps": _rounded(rows[name], clip) for name in first})
    rows = rows.mutate(_content=content_of(*(f"{name}_steps" for name in first))(rows))
    limits = Limits(max_rows=max_rows, max_per_bin=max_rows, max_bins=max_rows)
    return rows, Rule(unit=unit, bin=("_content",), rest=names, keep=columns, limits=limits, key=key)


def check_columns(rows: ir.Table, columns: tuple[str, ...], length: int) -> None:
    """Numbers, or one array of numbers."""
    for column in columns:
        kind = rows[column].type()
        if length != len(columns) and kind.is_array():
            kind = kind.value_type
        if kind.is_boolean() or not (kind.is_floating() or kind.is_integer()):
            raise WrongType(f'"{column}" holds {type_name(rows[column].type())}, and a vector is made of numbers.')


def _elements(rows: ir.Table, columns: tuple[str, ...], clip: NormClip) -> list[ir.FloatingValue]:
    """Each element as a double, null where it is missing or NaN."""
    if len(columns) == clip.length:
        return [as_double(rows[column], column) for column in columns]
    array = rows[columns[0]]
    right = ibis.ifelse(array.length() == clip.length, array, ibis.null(array.type()))
    return [as_double(right[place], columns[0]) for place in range(clip.length)]


def _rounded(value: ir.FloatingValue, clip: NormClip) -> ir.IntegerValue:
    """An element on the grid after a clip at twice the radius."""
    reach = 2.0 * clip.radius * clip.grid
    return (clipped(value, -reach, reach) * double_literal(1 / clip.grid) + double_literal(0.5)).floor().cast("int64")


def _lists(column: pa.Array, length: int) -> Iterator[list[Integers]]:
    right = column.filter(pc.equal(pc.list_value_length(column), length).fill_null(False))
    vectors = _floats(right.flatten().to_numpy(zero_copy_only=False)).reshape(-1, length)
    rows = max(1, MAX_BLOCK_ELEMENTS // length)
    for begin in range(0, len(vectors), rows):
        yield list(np.ascontiguousarray(vectors[begin : begin + rows].T))


def _floats(values: Integers) -> Integers:
    """Single precision as it is (each is a double), anything else as doubles."""
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
