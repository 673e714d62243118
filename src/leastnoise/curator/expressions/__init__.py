"""Which expressions may shape the rows: fixed, total functions of one row's own columns, the same on every engine.

tree.py           the expression as a value (columns, typed literals, calls), and its text for the record
functions.py      the functions there are: one entry a function
from_sql.py       text -> tree
from_ibis.py      Ibis -> tree
total.py          tree -> a total Ibis expression: no value makes it fail
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import ibis
import ibis.expr.types as ir

from leastnoise.curator.expressions import from_ibis, from_sql, total
from leastnoise.curator.expressions.total import filtered, with_column
from leastnoise.curator.expressions.tree import Column, Node, text
from leastnoise.curator.rows.columns import Type
from leastnoise.errors import BadExpression, UnknownColumn, WrongType

__all__ = ["Node", "Type", "filtered", "read", "text", "with_column"]


def read(rows: ir.Table, given: Any, *, unit: Iterable[str], what: str) -> Node:
    """`given` (text, an Ibis value, a deferred one (ibis._), or a function of rows) as a checked tree."""
    hidden, schema = tuple(unit), rows.schema()

    def column(name: str) -> Column:
        if name not in schema:
            raise UnknownColumn.among_columns(name, schema)
        if name in hidden:
            raise BadExpression(
                f'{what} reads the unit "{name}": a rule that knows the person can single one out, and the answer '
                "would depend on it. Use other columns."
            )
        return Column(name, Type.of(schema[name]))

    if isinstance(given, str):
        made = from_sql.parse(given, column, schema)
    else:
        made = from_ibis.convert(_bound(rows, given, what), rows.op(), column, what)
    total.check_size(made)
    return made


def _bound(rows: ir.Table, given: Any, what: str) -> Any:
    """The one Ibis operation that was given."""
    if _is_long(given):
        raise _not_an_expression(given, what, "", rows)
    bound: tuple[Any, ...] = ()
    try:
        if isinstance(given, FunctionType):
            given = given(rows)
        bound = () if _is_long(given) else rows.bind(given)
    except Exception as error:
        missing = str(error)
    else:
        missing = ""
    if missing or len(bound) != 1 or isinstance(given, bool) or not isinstance(bound[0], ibis.expr.types.Value):
        raise _not_an_expression(given, what, missing, rows)
    return bound[0].op()


def _is_long(given: Any) -> bool:
    """Whether it is a Series or a list, which Ibis would copy cell by cell."""
    return hasattr(given, "__len__") and not isinstance(given, ibis.Value)


def _not_an_expression(given: Any, what: str, missing: str, rows: ir.Table) -> Exception:
    if "rowid" in missing:
        return BadExpression(from_ibis.refusal("a row's place", what))
    named = re.search(r"has no attribute '(\w+)'|Column '?(\w+)'?", missing)
    if named:
        return UnknownColumn.among_columns(named.group(1) or named.group(2), rows.columns)
    series = type(given).__name__ == "Series"
    why = " (a Series belongs to one frame in memory; a condition must be a rule that any rows can follow)"
    return WrongType(
        f"{what} must be one expression over the table's columns, such as ibis._.hour < 3 or 'hour < 3'. "
        f"Got {type(given).__name__}{why if series else ''}."
    )
