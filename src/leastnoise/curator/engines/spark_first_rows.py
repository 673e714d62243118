"""The first rows of each unit on Spark: an aggregate that holds no more than so many, rather than a sort of all rows.

A window sorts rows by unit and order, in every part of the table and again after they are sent. The aggregate sorts
them by unit alone, where Spark sorts digits and compares nothing: half of the processor time. It is Spark's own
`collect_top_k`, which its SQL has no name for, so it gets one for the length of a query. Where that cannot be done
(Spark Connect, another version) the window does the same. The limit itself is a `slice` in SQL, whatever that function
does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from leastnoise.curator.engines.spark_server import is_remote

if TYPE_CHECKING:
    import ibis.expr.types as ir

NAME = "leastnoise_smallest"
MAX_VALUES = 2**13  # of one unit that are in memory at once, as objects of Java; Spark has those of 128 units there
_written_out: ContextVar[bool] = ContextVar("written_out", default=False)


@contextmanager
def written_out() -> Iterator[None]:
    """Meanwhile expressions are made without the function, which nobody else's session knows by our name for it."""
    before = _written_out.set(True)
    try:
        yield
    finally:
        _written_out.reset(before)


def is_written_out() -> bool:
    return _written_out.get()


def builder_in(session: Any) -> Any:
    """Spark's constructor of the aggregate; None where it cannot be had."""
    if is_remote(session):
        return None
    with suppress(Exception):
        catalyst = session._jvm.org.apache.spark.sql.catalyst
        functions = getattr(getattr(catalyst.analysis, "FunctionRegistry$"), "MODULE$").internal()
        found = functions.lookupFunctionBuilder(catalyst.FunctionIdentifier("collect_top_k"))
        return found.get() if found.isDefined() else None
    return None


def register(session: Any, builder: Any) -> None:
    session._jsparkSession.sessionState().functionRegistry().createOrReplaceTempFunction(NAME, builder, "built-in")


def drop(session: Any) -> None:
    with suppress(Exception):  # with the session, its functions are gone as well
        session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {NAME}")


def is_used(expression: ir.Table) -> bool:
    import ibis.expr.operations as ops

    return any(function.__func_name__ == NAME for function in expression.op().find(ops.udf.AggUDF))


def fits(rows: ir.Table, columns: list[str], count: int) -> bool:
    """Whether so many rows of a unit are few in memory. A text may be of any length, so with one they are sorted."""
    texts = any(rows[name].type().is_string() or rows[name].type().is_binary() for name in columns)
    return not texts and count * len(set(columns)) <= MAX_VALUES


def least_value(rows: ir.Table, unit: list[str], column: str) -> ir.Table:
    return rows.group_by(unit).aggregate(**{column: rows[column].min()}).select(column)


def least_row(rows: ir.Table, unit: list[str], order: list[str], keep: list[str]) -> ir.Table:
    value = _ordered(rows, order, keep)
    kind = value.type()
    least = rows.group_by(unit).aggregate(_first=_builtin("min", (kind,), kind)(value))
    return least.select(**{name: least["_first"][name] for name in keep})


def least_values(rows: ir.Table, unit: list[str], column: str, count: int) -> ir.Table:
    found = _lists(rows, unit, rows[column], count)
    return found.rename({column: "_first"})


def least_rows(rows: ir.Table, unit: list[str], order: list[str], count: int, keep: list[str]) -> ir.Table:
    found = _lists(rows, unit, _ordered(rows, order, keep), count)
    return found.select(**{name: found["_first"][name] for name in keep})


def _ordered(rows: ir.Table, order: list[str], keep: list[str]) -> ir.StructValue:
    """What is kept of a row, behind what it is ordered by: structures are compared from their first field on."""
    import ibis

    fields = dict.fromkeys([*order, *keep])
    return ibis.struct({name: rows[name] for name in fields})


def _lists(rows: ir.Table, unit: list[str], value: ir.Value, count: int) -> ir.Table:
    import ibis
    import ibis.expr.datatypes as dt

    kind = value.type()
    smallest = _builtin(NAME, (kind, dt.int32, dt.boolean), dt.Array(kind))
    lists = rows.group_by(unit).aggregate(_first=smallest(value, ibis.literal(count, "int32"), True))
    return lists.select(_first=sorted_list(lists["_first"])[:count].unnest())


def sorted_list(values: ir.ArrayValue) -> ir.ArrayValue:
    import ibis

    kind = values.type()
    return ibis.udf.scalar.builtin(_own, name="sort_array", signature=((kind,), kind))(values)


def _builtin(name: str, arguments: tuple[Any, ...], result: Any) -> Any:
    import ibis

    function = (_own, _own_of_three)[len(arguments) == 3]
    return ibis.udf.agg.builtin(function, name=name, signature=(arguments, result))


def _own(values: Any) -> Any:
    """Spark's own."""


def _own_of_three(values: Any, count: Any, reverse: Any) -> Any:
    """Spark's own."""
