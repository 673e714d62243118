"""What may be done to rows before a question: keep some of them, add columns, each a fixed function of its row, and
make one row of all that a unit has.

*One row a unit.* Its columns are statistics of the multiset of the unit's rows, whatever the order in which an engine
reads them. Counts are counts; sums are of integers, each value rounded to a step of a public grid first (six doubles
have up to 22 sums, one an order of adding); least and largest values, and the least of several equally frequent ones,
are by an order that is total and the same on every engine: numbers by size, with one zero, texts by their bytes.
Nothing fails on a value: what is added up saturates at public ends, and missing values are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.types as ir

from leastnoise._support.text import type_name
from leastnoise.curator import expressions
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.description import cut, escaped, one_line
from leastnoise.curator.engines.engine import Engine, check_names
from leastnoise.curator.rows.clipping import checked_ends
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.rows.placing import as_double, as_integer, clipped, double_literal, is_whole, lattice_cell
from leastnoise.domain import Lattice
from leastnoise.errors import BadExpression, Code, InvalidParameter, MissingParameter, WrongType
from leastnoise.releases.left_out import LeftOut
from leastnoise.stats import OF_UNIT, Statistic

LARGEST = 2**53  # a sum over the grid's denominator, and every step below it, is exact as a double
MAX_NUMERATOR, MAX_DENOMINATOR = 10**6, 10**12
FINEST_DECIMAL = 6  # digits after the point, where nobody says how fine sums of decimals are
KEEP_VALUES = ("min", "max", "mode")  # statistics that are one of the values


def filter_rows(data: Dataset, condition: Any) -> Dataset:
    """Only the rows for which a condition holds."""
    checked = data.expression(condition, what="where")
    if checked.type is not expressions.Type.BOOLEAN:
        got = f"Got {checked.type.value} instead"
        raise WrongType(f'where must be true or false for a row. {got}: compare them, as "flag = 1" does.')
    words = expressions.text(checked)
    left_out = LeftOut("condition of units" if data.row_is_unit else "condition", text=cut(escaped(words)))
    return data.with_rows(expressions.filtered(data.rows, checked), f"where {escaped(words)}", conditions=(left_out,))


def add_columns(data: Dataset, columns: Mapping[str, Any]) -> Dataset:
    """New columns, one after the other: a later one may use an earlier one."""
    rows, steps, lattices = data.rows, [], dict(data.lattices)
    for name, given in columns.items():
        _check_replaceable(data, name)
        check_new_name(name, rows.columns)
        if isinstance(given, Lattice):
            for column in (given.x, given.y):
                data.check_usable(column)
            rows = rows.mutate({name: lattice_cell(rows, given)})
            over = f"{one_line(given.x)} and {one_line(given.y)}"
            steps.append(f"with {one_line(name)} = cells of {given.step!r} over {over}")
            lattices[name] = given
        else:
            checked = data.expression(given, what=f"derive({name}=...)", rows=rows)
            rows = expressions.with_column(rows, checked, name)
            steps.append(f"with {one_line(name)} = {escaped(expressions.text(checked))}")
            lattices.pop(name, None)
    return data.with_rows(rows, *steps, lattices=lattices)


def points_of(data: Dataset, lon: str, lat: str, name: str) -> list[ir.FloatingValue]:
    """Longitude and latitude of each row, NaN where one is missing; `name` may be that of a new column."""
    for column in (lon, lat):
        data.check_usable(column)
    check_names([name])
    if name in data.columns:
        raise InvalidParameter(f'there is a column "{name}" already.', parameter="name", example={"name": "another"})
    check_new_name(name, data.columns)
    return [as_double(data.rows[column], column).fill_null(double_literal(math.nan)) for column in (lon, lat)]


def _check_replaceable(data: Dataset, name: str) -> None:
    if name in data.unit:
        raise BadExpression(f'derive would replace the unit "{name}", and nobody would be protected. Use another name.')
    if name in data.kernels:
        raise BadExpression(
            f'derive would replace "{name}", the weights of nearby nodes, and what replaced them might weigh '
            "more than one row may. Use another name."
        )


def per_unit(data: Dataset, columns: Mapping[str, Any]) -> Dataset:
    """The units of a dataset as its rows, with a column for each statistic.

    Rows of a null unit are gone: they would become one shared person.
    """
    _check(data, columns)
    rows, unit = data.rows, [f"unit{place}" for place in range(len(data.unit))]
    names = {name: f"made{place}" for place, name in enumerate(columns)}
    grids = {name: Grid.of(each.grid, rows[each.column].type()) for name, each in columns.items() if each.name == "sum"}
    chosen: dict[str, ir.Value] = {new: rows[old] for new, old in zip(unit, data.unit, strict=True)}
    for name, each in columns.items():
        if each.column is not None:
            value, grid = rows[each.column], grids.get(name)
            compared = comparable(value, each.column) if grid is None else grid.steps(value, each.column, each.clip)
            chosen[names[name]] = compared
    rows = rows.select(**chosen)
    rows = rows.filter([rows[name].notnull() for name in unit])
    made = {names[name]: each.name for name, each in columns.items()}
    totals = _totals(rows, made, data.engine)
    units = rows.group_by(unit).aggregate(leastnoise_rows=rows.count(), **totals)
    sums = {names[name]: grid.total(units[names[name]]) for name, grid in grids.items()}
    units = units.mutate(**sums) if sums else units
    for name in [name for name in made if name not in totals]:
        units = _with_mode(units, rows, name, unit)
    named = dict(zip(data.unit, unit, strict=True)) | names
    words = ", ".join(f"{name} = {_in_words(each, grids.get(name))}" for name, each in columns.items())
    lattices = {name: data.lattices.get(each.column) for name, each in columns.items() if each.name in KEEP_VALUES}
    return replace(
        data,
        source=replace(data.source, undeclared=()),
        clean=CleanRows(units.select({new: units[old] for new, old in named.items()}), already_clean=True),
        steps=(*data.steps, f"a row for each {one_line(data.unit_name)} with {words}"),
        kernels={},
        lattices={name: lattice for name, lattice in lattices.items() if lattice is not None},
        row_is_unit=True,
    )


def _totals(rows: ir.Table, made: Mapping[str, str], engine: Engine) -> dict[str, ir.Value]:
    """The statistics over the rows of a group, but for modes."""
    totals: dict[str, ir.Value] = {}
    for name, kind in made.items():
        if kind == "count":
            totals[name] = rows.count()
        elif kind == "sum":
            totals[name] = engine.exact_sum(rows[name])
        elif kind == "distinct":
            totals[name] = rows[name].nunique().cast("int64")
        elif kind != "mode":
            totals[name] = rows[name].min() if kind == "min" else rows[name].max()
    return totals


def _check(data: Dataset, columns: Mapping[str, Any]) -> None:
    if not columns:
        raise MissingParameter(
            "per_unit needs a column for the new table. How many units there are, count_units() says.",
            parameter="columns",
            example={"trips": Code("ln.stats.count()", "count")},
        )
    for name, each in columns.items():
        if name in data.unit:
            raise InvalidParameter(f'"{name}" names the unit, which the new table keeps. Use another name.')
        check_new_name(name, [*data.unit, *(other for other in columns if other != name)])
        if not isinstance(each, Statistic) or each.name not in OF_UNIT:
            raise WrongType(
                f'"{name}" must be one of ln.stats.count, sum, min, max, mode and distinct. Got '
                f"{_shown(each)} instead. What is computed from several of them is derived afterwards: "
                'derive(average="spent / trips").',
                parameter=name,
                example={name: Code("ln.stats.count()", "count")},
            )
        if each.name != "count":
            data.check_usable(each.column)
    check_names(columns)


def _shown(given: object) -> str:
    if isinstance(given, Statistic):
        return given.name
    return given.__name__ if isinstance(given, type) else type(given).__name__


def _in_words(statistic: Statistic, grid: Grid | None) -> str:
    """The statistic for the record, with everything that its value depends on."""
    if statistic.column is None:
        return "count"
    words = f"{statistic.name} of {one_line(statistic.column)}"
    if grid is None:
        return words
    ends = "" if statistic.clip is None else f" clipped to [{statistic.clip[0]!r}, {statistic.clip[1]!r}]"
    step = f"{grid.numerator}" + (f"/{grid.denominator}" if grid.denominator > 1 else "")
    return f"{words}{ends} in steps of {step}"


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
