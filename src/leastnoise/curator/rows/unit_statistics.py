"""One row a unit: statistics of the multiset of its rows, whatever the order in which an engine reads them.

The order matters to none of them. Counts are counts; sums are of integers, each value rounded to a step of a public
grid first (six doubles have up to 22 sums, one an order of adding); least and largest values, and the least of several
equally frequent ones, are by an order that is total and the same on every engine: numbers by size, with one zero, texts
by their bytes. Nothing fails on a value: what is added up saturates at public ends, and missing values are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.types as ir

from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import Engine
from leastnoise.curator.rows.clipping import checked_ends
from leastnoise.curator.rows.placing import as_double, as_integer, clipped, double_literal, is_whole
from leastnoise.errors import InvalidParameter, WrongType
from leastnoise.stats import Statistic

LARGEST = 2**53  # a sum over the grid's denominator, and every step below it, is exact as a double
MAX_NUMERATOR, MAX_DENOMINATOR = 10**6, 10**12
FINEST_DECIMAL = 6  # digits after the point, where nobody says how fine sums of decimals are


@dataclass(frozen=True, slots=True)
class Grid:
    """The step numerator / denominator to which values are rounded before they are added up."""

    numerator: int
    denominator: int

    @classmethod
    def of(cls, given: object, kind: Any) -> Grid:
        """The grid that was given, or that of the column's type."""
        if given is None:
            digits = min(kind.scale or 0, FINEST_DECIMAL) if kind.is_decimal() else FINEST_DECIMAL * kind.is_floating()
            return cls(1, 10**digits)
        try:
            step = Fraction(str(given))
        except (ValueError, ZeroDivisionError):
            step = Fraction(0)
        if step <= 0 or step.numerator > MAX_NUMERATOR or step.denominator > MAX_DENOMINATOR:
            raise InvalidParameter(
                f"grid must be a number above zero with few digits, such as 0.01 for cents. Got {given!r} instead.",
                parameter="grid",
                value=given,
            )
        return cls(step.numerator, step.denominator)

    @property
    def most(self) -> int:
        """Where values and sums end, in steps: what lies beyond counts as this."""
        return LARGEST // self.numerator

    def _inside(self, end: float) -> int:
        return max(-self.most, min(int(end), self.most))

    def steps(self, value: ir.Value, column: str, clip: object) -> ir.IntegerValue:
        """The nearest step of each value; null where it is missing."""
        kind, ends = value.type(), None if clip is None else checked_ends(clip)
        if is_whole(kind) and self == Grid(1, 1) and (ends is None or all(end == int(end) for end in ends)):
            low, high = (-self.most, self.most) if ends is None else (self._inside(end) for end in ends)
            return clipped(as_integer(value, column), low, high)
        number = as_double(value, column)
        number = number if ends is None else clipped(number, *ends)
        number = number if self.denominator == 1 else number * double_literal(self.denominator)
        number = number if self.numerator == 1 else number / double_literal(self.numerator)
        inside = clipped(number, -float(self.most), float(self.most))
        return (inside + double_literal(0.5)).floor().cast("int64")

    def total(self, steps: ir.Value) -> ir.NumericValue:
        """Exact sums of steps in the column's own unit: whole numbers where the grid is whole, else the nearest
        double of steps * numerator / denominator, whose numerator is exact."""
        inside = clipped(steps, -self.most, self.most).cast("int64")
        inside = inside if self.numerator == 1 else inside * self.numerator
        return inside if self.denominator == 1 else inside.cast("float64") / double_literal(self.denominator)


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """One column of the new table: which statistic, and of which column of the rows (None: of the rows themselves)."""

    statistic: Statistic
    column: str | None = None
    grid: Grid | None = None  # of a sum

    @classmethod
    def of(cls, statistic: Statistic, rows: ir.Table, shown: str, column: str | None) -> UnitColumn:
        """Checked: an error about the type says how the column is `shown` to people."""
        if column is None:
            return cls(statistic)
        grid = Grid.of(statistic.grid, rows[column].type()) if statistic.name == "sum" else None
        made = cls(statistic, column, grid)
        made.value(rows, shown)
        return made

    def value(self, rows: ir.Table, shown: str = "") -> ir.Value:
        """What is counted, added up or compared, row by row."""
        assert self.column is not None
        value = rows[self.column]
        if self.grid is not None:
            return self.grid.steps(value, shown, self.statistic.clip)
        return comparable(value, shown)

    def total(self, values: ir.Column, engine: Engine) -> ir.Value:
        """Over the rows of a unit."""
        if self.statistic.name == "sum":
            return engine.exact_sum(values)
        if self.statistic.name == "distinct":
            return values.nunique().cast("int64")
        return values.min() if self.statistic.name == "min" else values.max()


def comparable(value: ir.Value, shown: str) -> ir.Value:
    """The value in a type whose equality and order are the same on every engine: there is one zero, and no NaN."""
    kind = value.type()
    if kind.is_floating():
        number, zero = as_double(value, shown), double_literal(0.0)
        return ibis.ifelse(number == zero, zero, number)
    if kind.is_string() or kind.is_uuid():
        return value.cast("string")
    if kind.is_integer() or kind.is_decimal() or kind.is_boolean() or kind.is_date() or kind.is_timestamp():
        return value
    raise WrongType(
        f'"{shown}" holds {type_name(kind)}, of which no value comes before another. Use numbers, text, dates, times '
        "or truth values.",
        parameter="column",
        value=shown,
    )


def one_row_a_unit(
    rows: ir.Table, columns: Mapping[str, UnitColumn], *, unit: Sequence[str], engine: Engine
) -> ir.Table:
    """A row for each unit: the columns of `unit`, and the new ones.

    Rows of a null unit are gone: they would become one shared person.
    """
    rows = rows.filter([rows[name].notnull() for name in unit])
    rows = rows.select(*unit, **{name: made.value(rows) for name, made in columns.items() if made.column is not None})
    counts = {name: rows.count() for name, made in columns.items() if made.column is None}
    modes = [name for name, made in columns.items() if made.statistic.name == "mode"]
    others = [name for name in columns if name not in (*counts, *modes)]
    totals = {name: columns[name].total(rows[name], engine) for name in others}
    units = rows.group_by(list(unit)).aggregate(leastnoise_rows=rows.count(), **counts, **totals)
    sums = {name: made.grid.total(units[name]) for name, made in columns.items() if made.grid is not None}
    units = units.mutate(**sums) if sums else units
    for name in modes:
        units = _with_mode(units, rows, name, unit)
    return units.select(*unit, *columns)


def _with_mode(units: ir.Table, rows: ir.Table, name: str, unit: Sequence[str]) -> ir.Table:
    """`units` with the most frequent value of the column; of several, the least. It has one row a unit, so the join
    doubles none."""
    known = rows.filter(rows[name].notnull())
    counts = known.group_by([*unit, name]).aggregate(leastnoise_count=known.count())
    order = ibis.window(group_by=list(unit), order_by=[ibis.desc("leastnoise_count"), name])
    ranked = counts.mutate(leastnoise_rank=ibis.row_number().over(order))
    first = ranked.filter(ranked["leastnoise_rank"] == 0)
    first = first.select(**{f"{column}_": first[column] for column in unit}, **{name: first[name]})
    joined = units.left_join(first, [units[column] == first[f"{column}_"] for column in unit])
    return joined.drop(*(f"{column}_" for column in unit))
