"""What may be done to rows before a question: keep some of them, and add columns, each a fixed function of its row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from leastnoise.curator import description, expressions
from leastnoise.curator.aggregate.binning import as_double, double_literal, lattice_cell
from leastnoise.curator.aggregate.nearest_node import (
    MAX_DISTANCE,
    MIN_KERNEL_WIDTH,
    HasCoordinates,
    KernelWeights,
    Nearest,
    check_nodes,
)
from leastnoise.curator.aggregate.parsing import undeclared_column
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.domain import Lattice
from leastnoise.errors import BadExpression, InvalidParameter, UnknownColumn, WrongType
from leastnoise.releases.left_out import LeftOut

if TYPE_CHECKING:
    import ibis.expr.types as ir

MAX_KERNEL_NODES = 64


def filter_rows(data: Dataset, condition: Any) -> Dataset:
    """Only the rows for which a condition holds."""
    checked = _expression(data, data.rows, condition, what="where")
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
            checked = _expression(data, rows, given, what=f"derive({name}=...)")
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
    for column in (lon, lat):
        data.check_usable(column)
    if name in data.columns:
        raise InvalidParameter(f'there is a column "{name}" already.', parameter="name", example={"name": "another"})
    check_new_name(name, data.columns)
    points = [as_double(data.rows[column], column).fill_null(double_literal(math.nan)) for column in (lon, lat)]
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


def _expression(data: Dataset, rows: ir.Table, given: Any, *, what: str) -> expressions.Node:
    """The checked expression; the error for a column of Python objects says what to declare."""
    try:
        return expressions.read(rows, given, unit=data.unit, what=what)
    except UnknownColumn as error:
        if error.value not in data.source.undeclared:
            raise
        untyped = undeclared_column(str(error.value))
    raise untyped
