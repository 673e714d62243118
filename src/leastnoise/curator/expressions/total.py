"""A tree as an Ibis expression that is total: no value makes it fail, and every engine gives the same result.

Whole-number arithmetic is exact or null: it is done in doubles, which cannot overflow, on numbers below 10^15, which
doubles hold. A quotient by zero is null, and so is what would be NaN. Decimals are computed with as doubles. A text is
cast only where a pattern says that it is written like its target. Literals are written as text in one fixed form and
cast, so that engines agree about every bit of them.

Optimizers write expressions into one another, so a function that mentions an argument twice doubles the plan at every
level. Hence the casts through decimal(15, 0), which say "null unless below 10^15" with one mention, and NaN is looked
for once, where arithmetic ends. A part that stands in several places becomes a column of its own.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import ibis
import ibis.expr.types as ir

from leastnoise.curator.engines.engine import unique
from leastnoise.curator.expressions.functions import FUNCTIONS
from leastnoise.curator.expressions.tree import Call, Column, Literal, Node, arguments, parts
from leastnoise.curator.rows.columns import Type, parse_cell
from leastnoise.curator.rows.placing import MAX_EXACT_INTEGER, as_double, as_integer, double_literal
from leastnoise.errors import BadExpression

MAX_DEPTH = 50  # levels of an expression, each at most one sub-query
MAX_CALLS = 2000
BELOW_1E15 = "decimal(15, 0)"


def with_column(rows: ir.Table, root: Node, name: str) -> ir.Table:
    """`rows` with the value of the tree in the column `name`, new or replaced."""
    if isinstance(root, Column):
        return rows.mutate({name: rows[root.name]})
    staged, value = _staged(rows, root)
    # A bare number in GROUP BY would be a place. And a column NOT (x > 4) is put in where it is used: of it
    # NOT (x > 4) IS NULL would be asked, which SQL reads as NOT ((x > 4) IS NULL). What a function returns is neither.
    if isinstance(root, Literal) or root.type is Type.BOOLEAN:
        value = ibis.coalesce(value, constant(Literal(None, root.type)))
    return staged.mutate({name: value}).select(*dict.fromkeys((*rows.columns, name)))


def filtered(rows: ir.Table, root: Node) -> ir.Table:
    """The rows for which the tree is true."""
    staged, value = _staged(rows, root)
    return staged.filter(value).select(*rows.columns)


def _staged(rows: ir.Table, root: Node) -> tuple[ir.Table, ir.Value]:
    """`rows` with columns for those parts of the tree that need one, and the value over them."""
    root = _expanded(root)
    levels = _levels(root)
    names: dict[int, str] = {}
    for level in range(1, max(levels.values(), default=0) + 1):
        stage = {unique("part"): node for node in parts(root) if levels.get(id(node)) == level}
        rows = rows.mutate(**{own: _value(node, rows, names) for own, node in stage.items()})
        names |= {id(node): own for own, node in stage.items()}
    return rows, _settled(_value(root, rows, names), root)


def check_size(root: Node) -> None:
    """Refuse what would be too much for an engine's own parser."""
    depth: dict[int, int] = {}
    calls = 0
    for node in parts(root):
        depth[id(node)] = 1 + max((depth[id(part)] for part in arguments(node)), default=0)
        calls += isinstance(node, Call)
    if depth[id(root)] > MAX_DEPTH or calls > MAX_CALLS:
        raise BadExpression(
            f"an expression may be {MAX_DEPTH} calls deep and have {MAX_CALLS} of them; this one has {calls} and is "
            f"{depth[id(root)]} deep. Derive a column for a part of it first, or list values with isin."
        )


def _expanded(root: Node) -> Node:
    """The tree with a % b written as a - b * (a // b), each step of which is total."""
    made: dict[int, Node] = {}
    for node in parts(root):
        if not isinstance(node, Call):
            made[id(node)] = node
            continue
        given = tuple(made[id(part)] for part in node.arguments)
        if node.function == "%":
            quotient = Call("//", given, Type.INTEGER)
            made[id(node)] = Call("-", (given[0], Call("*", (given[1], quotient), node.type)), node.type)
        else:
            made[id(node)] = Call(node.function, given, node.type)
    return made[id(root)]


def _levels(root: Node) -> dict[int, int]:
    """Which parts become columns, those that stand in several places, and in which order."""
    uses: dict[int, int] = {}
    for node in parts(root):
        for part in arguments(node):
            uses[id(part)] = uses.get(id(part), 0) + 1
    height: dict[int, int] = {}
    staged: dict[int, int] = {}
    for node in parts(root):
        below = max((height[id(part)] for part in arguments(node)), default=0)
        own = isinstance(node, Call) and node is not root and uses[id(node)] > 1
        height[id(node)] = below + own
        if own:
            staged[id(node)] = below + 1
    return staged


def _value(node: Node, rows: ir.Table, names: dict[int, str]) -> ir.Value:
    if id(node) in names:
        return rows[names[id(node)]]
    if isinstance(node, Column):
        return _column(rows[node.name], node)
    if isinstance(node, Literal):
        return constant(node)
    if _is_arithmetic(node):
        return _arithmetic(node, [_value(part, rows, names) for part in node.arguments])
    if node.function == "is null" and isinstance(node.arguments[0], Column):
        return rows[node.arguments[0].name].isnull()
    given = [_enclosed(_settled(_value(part, rows, names), part), part, node) for part in node.arguments]
    if node.function in ("cast", "widen"):
        return _cast(given[0], node.arguments[0].type, node.type)
    return FUNCTIONS[node.function].build(*given)


def _column(value: ir.Value, node: Column) -> ir.Value:
    """The column in the one type of its kind."""
    if node.type is Type.INTEGER:
        return as_integer(value, node.name)
    if node.type is Type.REAL:
        return as_double(value, node.name)
    return value if node.type in (Type.OTHER, Type.DATE, Type.TIMESTAMP) else value.cast(node.type.ibis)


def constant(node: Literal) -> ir.Scalar:
    """A literal: canonical text, cast."""
    value, kind = node.value, node.type.ibis
    if value is None:
        return ibis.null(kind)
    if isinstance(value, bool | str):
        return ibis.literal(value)
    if isinstance(value, float):
        return double_literal(value)
    if isinstance(value, int) and abs(value) < 2**31:
        return ibis.literal(value, kind)
    assert isinstance(value, int | date)
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return ibis.literal(text).cast(kind)


def _cast(value: Any, source: Type, target: Type) -> Any:
    if source is Type.TEXT:
        return parse_cell(value, target.declared)
    return value.cast(target.ibis)


def _is_arithmetic(node: Node) -> bool:
    return isinstance(node, Call) and node.function in FUNCTIONS and FUNCTIONS[node.function].arithmetic


def _arithmetic(node: Call, given: list[Any]) -> Any:
    """In doubles, which cannot fail; the result may still be NaN, or a whole number beyond 10^15.

    The floor of a rounded quotient of whole numbers below 2^53 is the floor of the quotient: one that is not whole is
    at least 1/b below the next integer k, and a step of doubles below k is at most k 2^-53 < 1/b.
    """
    integers = all(part.type is Type.INTEGER for part in node.arguments)
    numbers = [
        _exact(value) if part.type is Type.INTEGER else value for value, part in zip(given, node.arguments, strict=True)
    ]
    made = FUNCTIONS[node.function].build(*numbers)
    if node.type is Type.REAL:
        return made
    if node.function not in ("floor", "ceil", "//"):
        return made.try_cast(BELOW_1E15).cast("int64")
    floor = (made if integers else _below(made)).floor().cast("int64")
    return floor * -1 if node.function == "ceil" else floor


def _exact(value: Any) -> Any:
    """A whole number as a double; null from 10^15 on."""
    return value.try_cast(BELOW_1E15).cast("float64")


def _below(value: Any) -> Any:
    """The double if its floor is exact; null from 2^53 on, and for NaN, which engines take for larger than all."""
    return ibis.ifelse(
        (value > double_literal(-MAX_EXACT_INTEGER)) & (value < double_literal(MAX_EXACT_INTEGER)),
        value,
        ibis.null("float64"),
    )


def _settled(value: Any, node: Node) -> Any:
    """Where arithmetic ends: null for NaN, which every engine takes for equal to itself."""
    ends = _is_arithmetic(node) and node.type is Type.REAL
    return value.nullif(double_literal(float("nan"))) if ends else value


def _enclosed(value: Any, node: Node, parent: Call) -> Any:
    """Ibis writes NOT (b) = c for (NOT b) = c, which means NOT (b = c), and b IS NULL IN (...), which means nothing: a
    truth inside such a call goes into a function that changes nothing."""
    bare = isinstance(node, Call) and node.type is Type.BOOLEAN and parent.function not in JOINING
    return ibis.coalesce(value, constant(Literal(None, Type.BOOLEAN))) if bare else value


JOINING = ("and", "or", "not", "case")
