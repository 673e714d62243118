"""What may be done to rows before a question: keep some of them, add columns, each a fixed function of its row, and
make one row of all that a unit has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis.expr.types as ir

from leastnoise.curator import description, expressions
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.engines.engine import check_names, unique
from leastnoise.curator.public_join import attached
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.rows.placing import as_double, double_literal, lattice_cell
from leastnoise.curator.rows.points import (
    MAX_DISTANCE,
    MIN_KERNEL_WIDTH,
    HasCoordinates,
    KernelWeights,
    Nearest,
    ZoneLookup,
    check_nodes,
    prepare_zones,
)
from leastnoise.curator.rows.unit_statistics import UnitColumn, one_row_a_unit
from leastnoise.domain import Lattice, Zones
from leastnoise.errors import BadExpression, Code, InvalidParameter, MissingParameter, WrongType
from leastnoise.releases.left_out import LeftOut
from leastnoise.stats import OF_UNIT, Statistic

MAX_KERNEL_NODES = 64


def filter_rows(data: Dataset, condition: Any) -> Dataset:
    """Only the rows for which a condition holds."""
    checked = data.expression(condition, what="where")
    if checked.type is not expressions.Type.BOOLEAN:
        got = f"Got {checked.type.value} instead"
        raise WrongType(f'where must be true or false for a row. {got}: compare them, as "flag = 1" does.')
    words = expressions.text(checked)
    kept, recorded = expressions.filtered(data.rows, checked), description.cut(description.escaped(words))
    left_out = LeftOut("condition of units" if data.row_is_unit else "condition", text=recorded)
    return data.with_rows(kept, description.condition(words), conditions=(left_out,))


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
            steps.append(description.cells(name, given.x, given.y, given.step))
            lattices[name] = given
        else:
            checked = data.expression(given, what=f"derive({name}=...)", rows=rows)
            rows = expressions.with_column(rows, checked, name)
            steps.append(description.column(name, expressions.text(checked)))
            lattices.pop(name, None)
    return data.with_rows(rows, *steps, lattices=lattices)


def add_nearest(
    data: Dataset,
    graph: HasCoordinates,
    *,
    lon: str,
    lat: str,
    within: float,
    name: str,
    kernel_width: float | None,
    spread: int,
) -> Dataset:
    """A column with the nearest node, or with the weights of several."""
    nodes = check_nodes(graph, within)
    points = _points(data, lon, lat, name)
    if kernel_width is None:
        node = data.engine.map_points(Nearest(nodes=nodes, within=float(within)), *points, result="int64")
        step = description.nearest(name, lon, lat, len(nodes), float(within), None)
        return data.with_rows(data.rows.mutate({name: node}), step)
    _check_kernel(kernel_width, spread)
    count = min(spread, len(nodes))
    kernel = KernelWeights(nodes=nodes, within=float(within), width=float(kernel_width), count=count)
    weights = data.engine.map_points(kernel, *points, result="array<int64>")
    step = description.nearest(name, lon, lat, len(nodes), float(within), (float(kernel_width), count))
    return data.with_rows(data.rows.mutate({name: weights}), step, kernels={name: count})


def _points(data: Dataset, lon: str, lat: str, name: str) -> list[ir.FloatingValue]:
    """Longitude and latitude of each row, NaN where one is missing; `name` may be that of a new column."""
    for column in (lon, lat):
        data.check_usable(column)
    check_names([name])
    if name in data.columns:
        raise InvalidParameter(f'there is a column "{name}" already.', parameter="name", example={"name": "another"})
    check_new_name(name, data.columns)
    return [as_double(data.rows[column], column).fill_null(double_literal(math.nan)) for column in (lon, lat)]


def _check_kernel(width: float, spread: int) -> None:
    if isinstance(spread, bool) or not isinstance(spread, int) or not 1 <= spread <= MAX_KERNEL_NODES:
        raise InvalidParameter(
            f"spread is a whole number of nodes from 1 to {MAX_KERNEL_NODES}. Got {spread!r} instead."
        )
    if not MIN_KERNEL_WIDTH <= width <= MAX_DISTANCE:
        raise InvalidParameter(
            f"kernel_width is metres from {MIN_KERNEL_WIDTH:g} to {MAX_DISTANCE:g}. Got {width!r} instead."
        )


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
        steps=(*data.steps, description.per_unit(data.unit_name, words)),
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
    words = f"{statistic.name} of {description.one_line(statistic.column)}"
    if made.grid is None:
        return words
    ends = "" if statistic.clip is None else f" clipped to [{statistic.clip[0]!r}, {statistic.clip[1]!r}]"
    step = made.grid
    return f"{words}{ends} in steps of {step.numerator}" + (f"/{step.denominator}" if step.denominator > 1 else "")


def add_zones(data: Dataset, zones: Any, *, lon: str, lat: str, name: str, key: str | None) -> Dataset:
    """The rows with a column of zones, null where none holds the point."""
    places = Zones.read(zones, key=key)
    points = _points(data, lon, lat, name)
    prepare_zones()
    number = unique("zone")
    rows = data.rows.mutate(**{number: data.engine.map_points(ZoneLookup.of(places), *points, result="int64")})
    numbers = [(place,) for place in range(places.size)]
    rows = attached(rows, [rows[number]], numbers, {name: places.keys}).drop(number)
    return data.with_rows(rows, description.zones(name, lon, lat, places.size, places.digest))
