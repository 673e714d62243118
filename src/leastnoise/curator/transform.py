"""What may be done to rows before a question: keep some of them, add columns, each a fixed function of its row, and
make one row of all that a unit has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis.expr.types as ir

from leastnoise.curator import expressions
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.description import cut, escaped, one_line
from leastnoise.curator.engines.engine import check_names
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.rows.placing import as_double, double_literal, lattice_cell
from leastnoise.curator.rows.unit_statistics import UnitColumn, one_row_a_unit
from leastnoise.domain import Lattice
from leastnoise.errors import BadExpression, Code, InvalidParameter, MissingParameter, WrongType
from leastnoise.releases.left_out import LeftOut
from leastnoise.stats import OF_UNIT, Statistic


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
    """The units of a dataset as its rows, with a column for each statistic."""
    _check(data, columns)
    rows, unit = data.rows, [f"unit{place}" for place in range(len(data.unit))]
    read = dict.fromkeys(column for each in columns.values() if (column := each.column) is not None)
    ours = {column: f"column{place}" for place, column in enumerate(read)}
    names = {name: f"made{place}" for place, name in enumerate(columns)}
    chosen = dict(zip(unit, data.unit, strict=True)) | {new: old for old, new in ours.items()}
    rows = rows.select(**{new: rows[old] for new, old in chosen.items()})
    made = {}
    for name, each in columns.items():
        column = each.column
        made[names[name]] = UnitColumn.of(each, rows, column or "", None if column is None else ours[column])
    units = one_row_a_unit(rows, made, unit=unit, engine=data.engine)
    named = dict(zip(data.unit, unit, strict=True)) | names
    words = [f"{name} = {_in_words(each, made[names[name]])}" for name, each in columns.items()]
    return replace(
        data,
        source=replace(data.source, undeclared=()),
        clean=CleanRows(units.select({new: units[old] for new, old in named.items()}), already_clean=True),
        steps=(*data.steps, f"a row for each {one_line(data.unit_name)} with {', '.join(words)}"),
        kernels={},
        lattices=_lattices(data, columns),
        row_is_unit=True,
    )


def _lattices(data: Dataset, columns: Mapping[str, Any]) -> dict[str, Lattice]:
    """The new columns that hold cells of a map."""
    kept = {name: each.column for name, each in columns.items() if each.name in ("min", "max", "mode")}
    return {name: data.lattices[column] for name, column in kept.items() if column in data.lattices}


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


def _in_words(statistic: Statistic, made: UnitColumn) -> str:
    """The statistic for the record, with everything that its value depends on."""
    if statistic.column is None:
        return "count"
    words = f"{statistic.name} of {one_line(statistic.column)}"
    if made.grid is None:
        return words
    ends = "" if statistic.clip is None else f" clipped to [{statistic.clip[0]!r}, {statistic.clip[1]!r}]"
    step = made.grid
    return f"{words}{ends} in steps of {step.numerator}" + (f"/{step.denominator}" if step.denominator > 1 else "")
