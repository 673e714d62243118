"""One row a unit: a table whose rows are the units themselves, each made from all rows that the unit has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leastnoise.curator import description
from leastnoise.curator.aggregate.clean_rows import CleanRows
from leastnoise.curator.aggregate.unit_statistics import UnitColumn, one_row_a_unit
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.engines.column_names import check_names
from leastnoise.domain import Lattice
from leastnoise.errors import Code, InvalidParameter, MissingParameter, WrongType
from leastnoise.stats import Count, Distinct, Largest, Least, Mode, OfUnit, Sum

WORDS = {Sum: "sum", Least: "min", Largest: "max", Mode: "mode", Distinct: "distinct"}


def per_unit(data: Dataset, columns: Mapping[str, Any]) -> Dataset:
    """The units of a dataset as its rows, with a column for each statistic."""
    _check(data, columns)
    rows, unit = data.rows, [f"unit{place}" for place in range(len(data.unit))]
    read = dict.fromkeys(column for each in columns.values() if (column := _column_of(each)) is not None)
    ours = {column: f"column{place}" for place, column in enumerate(read)}
    names = {name: f"made{place}" for place, name in enumerate(columns)}
    chosen = dict(zip(unit, data.unit, strict=True)) | {new: old for old, new in ours.items()}
    rows = rows.select(**{new: rows[old] for new, old in chosen.items()})
    made = {}
    for name, each in columns.items():
        column = _column_of(each)
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
    kept = {name: each.column for name, each in columns.items() if isinstance(each, Least | Largest | Mode)}
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
        if not isinstance(each, OfUnit):
            raise WrongType(
                f'"{name}" must be one of ln.stats.count, sum, min, max, mode and distinct. Got '
                f"{_shown(each)} instead. What is computed from several of them is derived afterwards: "
                'derive(average="spent / trips").',
                parameter=name,
                example={name: Code("ln.stats.count()", "count")},
            )
        column = _column_of(each)
        if column is not None:
            data.check_usable(column)
    check_names(columns)


def _column_of(statistic: OfUnit) -> str | None:
    return None if isinstance(statistic, Count) else statistic.column


def _shown(given: object) -> str:
    return type(given).__name__ if not isinstance(given, type) else given.__name__


def _in_words(statistic: OfUnit, made: UnitColumn) -> str:
    """The statistic for the record, with everything that its value depends on."""
    if isinstance(statistic, Count):
        return "count"
    words = f"{WORDS[type(statistic)]} of {description.one_line(statistic.column)}"
    if not isinstance(statistic, Sum) or made.grid is None:
        return words
    ends = "" if statistic.clip is None else f" clipped to [{statistic.clip[0]!r}, {statistic.clip[1]!r}]"
    step = made.grid
    return f"{words}{ends} in steps of {step.numerator}" + (f"/{step.denominator}" if step.denominator > 1 else "")
