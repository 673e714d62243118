"""Ibis expressions read into the tree: operation by operation, each by what it means, none as it is.

An expression that looks at other rows (aggregate, window, sub-query, join) lets one unit change the rows of others; one
that is volatile or knows a row's place breaks the same promise; one that reads the unit could give every person
another rule. None of them is in the tables below, so none gets through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis.expr.operations as ops

from leastnoise.curator.expressions import functions
from leastnoise.curator.expressions.functions import FUNCTIONS, UNITS, call
from leastnoise.curator.expressions.tree import Literal, Node, integer, literal
from leastnoise.curator.rows.columns import Type
from leastnoise.errors import BadExpression

CALLS = {operation: function.name for function in FUNCTIONS.values() for operation in function.ibis}
UNIT_NAMES = {code: unit for unit, code in UNITS.items()}


def convert(root: Any, relation: Any, column: Callable[[str], Node], what: str) -> Node:
    """The operation as a tree; every column must be of `relation`, and `column` gives its node or refuses it."""
    made: dict[Any, Node] = {}
    pending = [root]
    while pending:
        operation = pending[-1]
        if operation in made:
            pending.pop()
            continue
        if type(operation).__name__ == "Field":
            if operation.rel != relation:
                raise BadExpression(refusal("a column of another table", what))
            made[operation] = column(operation.name)
            continue
        parts = _parts(operation, what)
        missing = [part for part in parts if part not in made]
        if missing:
            pending += missing
        else:
            made[operation] = _node(operation, made, what)
    return made[root]


def _parts(operation: Any, what: str) -> list[Any]:
    """The operations that this one is made of; a table inside it is refused."""
    name = type(operation).__name__
    if name not in CALLS and name not in SPECIAL:
        raise BadExpression(refusal(name, what))
    if any(not isinstance(part, ops.Value) for part in operation.__children__):
        raise BadExpression(refusal("a table inside it", what))
    return list(operation.__children__)


def _node(operation: Any, made: dict[Any, Node], what: str) -> Node:
    name = type(operation).__name__
    if name in SPECIAL:
        return SPECIAL[name](operation, made, what)
    # Two names for one argument are one child: the arguments say how often it stands there.
    return call(CALLS[name], *(made[part] for part in operation.__args__))


def _literal(operation: Any, made: dict[Any, Node], what: str) -> Node:
    kind = operation.dtype
    if operation.value is None:
        known = Type.of(kind)
        return Literal(None, Type.NULL if known is Type.OTHER else known)
    found = None if kind.is_interval() or kind.is_binary() else literal(operation.value)
    if found is None:
        raise BadExpression(refusal("a literal that is no truth, number, text, date or time", what))
    return found


def _cast(operation: Any, made: dict[Any, Node], what: str) -> Node:
    target = operation.to
    exact = target.is_float64() or target.is_int64() or target.is_boolean() or target.is_string() or target.is_date()
    plain = target.is_timestamp() and target.timezone in (None, "UTC") and target.scale in (None, 6)
    if not exact and not plain:
        raise BadExpression(
            f"{what} casts to {target}, which rounds or fails differently on each engine. Cast to float64, int64, "
            "string, boolean, date or timestamp, or convert the column before opening the table."
        )
    return functions.cast(made[operation.arg], Type.of(target))


def _choice(operation: Any, made: dict[Any, Node], what: str) -> Node:
    conditions = [made[case] for case in operation.cases]
    if hasattr(operation, "base"):
        conditions = [call("=", made[operation.base], case) for case in conditions]
    pairs = [node for pair in zip(conditions, (made[r] for r in operation.results), strict=True) for node in pair]
    return call("case", *pairs, made[operation.default])


def _if(operation: Any, made: dict[Any, Node], what: str) -> Node:
    return call("case", made[operation.bool_expr], made[operation.true_expr], made[operation.false_null_expr])


def _clip(operation: Any, made: dict[Any, Node], what: str) -> Node:
    value = made[operation.arg]
    for end, sign in ((operation.lower, "<"), (operation.upper, ">")):
        if end is not None:
            value = call("case", call(sign, value, made[end]), made[end], value)
    return value


def _like(operation: Any, made: dict[Any, Node], what: str) -> Node:
    if operation.escape is not None:
        raise BadExpression(refusal("LIKE with a character of escape", what))
    return call("like", made[operation.arg], made[operation.pattern])


def _substring(operation: Any, made: dict[Any, Node], what: str) -> Node:
    length = () if operation.length is None else (made[operation.length],)
    return call("substring", made[operation.arg], made[operation.start], *length)


def _truncate(operation: Any, made: dict[Any, Node], what: str) -> Node:
    unit = UNIT_NAMES.get(operation.unit.value, operation.unit.value)
    return call("truncate", made[operation.arg], Literal(unit, Type.TEXT))


SPECIAL: dict[str, Callable[[Any, dict[Any, Node], str], Node]] = {
    "Literal": _literal,
    "Alias": lambda o, made, what: made[o.arg],
    "Cast": _cast,
    "TryCast": _cast,
    "NotNull": lambda o, made, what: call("not", call("is null", made[o.arg])),
    "Coalesce": lambda o, made, what: call("coalesce", *(made[part] for part in o.arg)),
    "SearchedCase": _choice,
    "SimpleCase": _choice,
    "IfElse": _if,
    "Between": lambda o, made, what: functions.between(made[o.arg], made[o.lower_bound], made[o.upper_bound]),
    "InValues": lambda o, made, what: call("in", made[o.value], *(made[option] for option in o.options)),
    "Clip": _clip,
    "StringSQLLike": _like,
    "Substring": _substring,
    "DayOfWeekIndex": lambda o, made, what: call("-", call("isodow", made[o.arg]), integer(1)),
    "Date": lambda o, made, what: functions.cast(made[o.arg], Type.DATE),
    "TimestampTruncate": _truncate,
    "DateTruncate": _truncate,
}


def refusal(name: str, what: str) -> str:
    """The sentence of a refusal."""
    return (
        f"{what} contains {name}, which is not a fixed function of one row, or not the same on every engine; one "
        "person could then change the rows of others, and the sensitivity would not hold. Use comparisons, and/or/not, "
        "arithmetic, floor, parts of dates and of text, or prepare the column before opening the table."
    )
