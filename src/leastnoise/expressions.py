"""Which expressions may shape the rows: fixed functions of one row's own columns, the same on every
engine.

A sensitivity is about one unit's rows. An expression that looks at other rows (aggregate, window,
sub-query, join) lets one unit change the rows of others; one that is volatile or knows a row's place
breaks the same promise; one that reads the unit could give every person another rule. So there is a list
of what is allowed, and the rest is refused. What is allowed is also made total, because an error must
not depend on a private value: whole-number arithmetic beyond 2^53, a division by zero, the floor of
NaN and an unsigned number that no 64-bit integer holds are null. Decimals are compared and computed with as doubles
(engines fail where two of them have no common type), a literal is cast only where that works, and the places
of a substring are literals. Dates are not put together from numbers: February 30 is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from leastnoise.errors import NotRowWise, UnknownColumn, WrongType
from leastnoise.rules import written

if TYPE_CHECKING:
    import ibis.expr.operations as ops
    import ibis.expr.types as ir

ALLOWED = [
    "Field",
    "Literal",
    "Alias",
    "Cast",
    "IsNull",
    "NotNull",
    "NullIf",
    "Coalesce",
    "SimpleCase",
    "SearchedCase",
    "IfElse",
    "Not",
    "And",
    "Or",
    "Xor",
    "Equals",
    "NotEquals",
    "GreaterEqual",
    "Greater",
    "LessEqual",
    "Less",
    "IdenticalTo",
    "Between",
    "InValues",
    "Add",
    "Subtract",
    "Multiply",
    "Divide",
    "FloorDivide",
    "Modulus",
    "Negate",
    "Abs",
    "Floor",
    "Ceil",
    "IsNan",
    "IsInf",
    "Clip",
    "StringLength",
    "Substring",
    "StartsWith",
    "EndsWith",
    "StringContains",
    "ExtractYear",
    "ExtractQuarter",
    "ExtractMonth",
    "ExtractDay",
    "ExtractHour",
    "ExtractMinute",
    "ExtractSecond",
    "ExtractDayOfYear",
    "ExtractWeekOfYear",
    "DayOfWeekIndex",
    "Date",
    "TimestampTruncate",
    "DateTruncate",
]


def row_wise(rows: ir.Table, given: Any, *, unit: Iterable[str], what: str) -> tuple[ir.Value, str]:
    """`given` as a checked, total expression over `rows`, and in public words; an Ibis value, a deferred one (ibis._),
    a function of rows, or text."""
    import ibis

    from leastnoise.filters import parse

    asked = parse(given, rows) if isinstance(given, str) else given
    try:
        bound = rows.bind(asked)
    except Exception as error:
        missing = str(error)
        bound = ()
    else:
        missing = ""
    if missing or len(bound) != 1 or isinstance(given, bool) or not isinstance(bound[0], ibis.expr.types.Value):
        raise _not_an_expression(given, what, missing, rows)
    check(bound[0].op(), rows, unit=tuple(unit), what=what)
    return total(bound[0]), written(given, bound[0])


def check(operation: ops.Value, rows: ir.Table, *, unit: tuple[str, ...], what: str) -> None:
    """Raise unless every part of the expression is on the list and reads only public columns of these
    rows."""
    import ibis.expr.operations as ops

    allowed = tuple(getattr(ops, name) for name in ALLOWED)
    pending, seen = [operation], set()
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        if type(part) not in allowed:
            raise NotRowWise(_why(type(part).__name__, what))
        if isinstance(part, ops.Field):
            if part.rel != rows.op():
                raise NotRowWise(_why("a column of another table", what))
            _check_field(part, unit, what)
            continue
        _check_cast(part, what)
        _check_substring(part, what)
        pending.extend(child for child in part.__children__ if isinstance(child, ops.Value))
        for child in part.__children__:
            if isinstance(child, ops.Relation):
                raise NotRowWise(_why("a table inside it", what))


def total(value: ir.Value) -> ir.Value:
    """The same expression with every step that could fail replaced by one that gives null."""
    import ibis.expr.operations as ops

    from leastnoise.binning import real

    operation = value.op()

    def replaced(node: Any, _: Any, **arguments: Any) -> Any:
        made = node.__recreate__(arguments) if not isinstance(node, ops.Relation) else node
        name = type(node).__name__
        if name == "Field" and node.dtype.is_decimal() and node is not operation:
            return real(node.to_expr(), node.name).op()
        if name == "Cast" and node.arg.dtype.is_unsigned_integer() and node.to.is_int64():
            return made.arg.to_expr().try_cast("int64").op()
        if name in ("Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Modulus", "Negate", "Abs"):
            return _arithmetic(name, node, made)
        return _floored(node, made) if name in ("Floor", "Ceil") else made

    results = operation.map(lambda node, seen, **arguments: replaced(node, seen, **arguments), filter=ops.Value)
    return results[operation].to_expr().name(value.get_name())


def _arithmetic(name: str, node: Any, made: Any) -> Any:
    """Arithmetic in doubles, which cannot fail; a whole-number result is null beyond 2^53."""
    import ibis

    from leastnoise.binning import EXACT, _floor_within

    if not node.dtype.is_numeric():
        return made
    whole = name == "FloorDivide" or (all(part.dtype.is_integer() for part in node.__args__) and name != "Divide")
    parts = [part.to_expr().cast("float64") for part in made.__args__]
    a, b = parts[0], parts[-1]
    zero = ibis.literal(0.0, "float64")
    divisor = ibis.ifelse(b == zero, ibis.null("float64"), b)
    result = {
        "Add": lambda: a + b,
        "Subtract": lambda: a - b,
        "Multiply": lambda: a * b,
        "Divide": lambda: a / divisor,
        "FloorDivide": lambda: _floor_within(a / divisor, EXACT).cast("float64"),
        "Modulus": lambda: a - b * _floor_within(a / divisor, EXACT).cast("float64"),
        "Negate": lambda: zero - a,
        "Abs": lambda: a.abs(),
    }[name]()
    return (_floor_within(result, EXACT) if whole else result).op()


def _floored(node: Any, made: Any) -> Any:
    from leastnoise.binning import EXACT, _floor_within

    value = made.arg.to_expr().cast("float64")
    if type(node).__name__ == "Floor":
        return _floor_within(value, EXACT).op()
    return (_floor_within(value * -1.0, EXACT) * -1).op()


def _check_field(part: Any, unit: tuple[str, ...], what: str) -> None:
    if part.name in unit:
        raise NotRowWise(
            f'{what} reads the unit "{part.name}": a rule that knows the person can single one out, '
            "and the answer "
            "would depend on it. Use other columns."
        )


def _check_cast(part: Any, what: str) -> None:
    if type(part).__name__ != "Cast":
        return
    source, target = part.arg.dtype, part.to
    widening = (source.is_integer() or source.is_boolean() or source.is_floating()) and target.is_floating()
    whole = (source.is_integer() or source.is_boolean()) and target.is_int64()
    dates = source.is_timestamp() and target.is_date()
    literal = type(part.arg).__name__ == "Literal" and _is_written(part.arg.value, target)
    if not (widening or whole or dates or literal or source == target):
        raise NotRowWise(
            f"{what} casts {source} to {target}, which fails on some values or differs between engines. "
            "Cast to float64 or int64, use .floor() for whole numbers, or convert the column before "
            "opening the table."
        )


def _is_written(value: Any, target: Any) -> bool:
    """Whether every engine can cast this literal. One that cannot would fail only where a row leads to it."""
    reads: Any = {"Float64": float, "Date": date.fromisoformat, "Timestamp": datetime.fromisoformat}
    if value is None:
        return True
    try:
        reads[type(target).__name__](value)
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _check_substring(part: Any, what: str) -> None:
    if type(part).__name__ != "Substring":
        return
    for place in (part.start, part.length):
        number = getattr(place, "value", None)
        if place is not None and not (isinstance(number, int) and 0 <= number < 2**20):
            raise NotRowWise(f"{what} cuts a text at a place that is no number from 0 to 2^20: write .substr(0, 3).")


def _why(name: str, what: str) -> str:
    return (
        f"{what} contains {name}, which is not a fixed function of one row, or not the same on every "
        "engine; one "
        "person could then change the rows of others, and the sensitivity would not hold. Use comparisons, "
        "and/or/not, arithmetic, floor, parts of dates and of text, or prepare the column before "
        "opening the table."
    )


def _not_an_expression(given: Any, what: str, missing: str, rows: ir.Table) -> Exception:
    import re

    if "rowid" in missing:
        return NotRowWise(_why("a row's place", what))
    named = re.search(r"has no attribute '(\w+)'|Column '?(\w+)'?", missing)
    if named:
        return UnknownColumn.among(named.group(1) or named.group(2), rows.columns)
    return WrongType(
        f"{what} must be one expression over the table's columns, such as ibis._.hour < 3 or 'hour < 3'. "
        f"Got {type(given).__name__}."
    )
