"""The record of a tree, for the page, the file and the ledger: SQL, one way of writing for one meaning."""

from __future__ import annotations

import functools
import re
from datetime import date, datetime

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from leastnoise.curator.expressions.tree import Call, Column, Literal, Node, Type, arguments, parts

MAX_VALUES_WRITTEN = 8  # of a list
MAX_PARTS_WRITTEN = 2000  # of an expression
OR, AND, NOT, COMPARE, ADD, MULTIPLY, ATOM = range(7)
INFIX = {
    "or": OR, "and": AND, "=": COMPARE, "<>": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE,
    ">=": COMPARE, "is not distinct from": COMPARE, "like": COMPARE, "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY,
    "//": MULTIPLY, "%": MULTIPLY,
}  # fmt: skip
CASTS = {
    Type.BOOLEAN: "BOOLEAN", Type.INTEGER: "BIGINT", Type.REAL: "DOUBLE", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip
PARTS = ("year", "quarter", "month", "week", "day", "doy", "isodow", "hour", "minute", "second")


def text(root: Node) -> str:
    """The expression in SQL; of a very long one only how long it is."""
    sizes: dict[int, int] = {}
    for node in parts(root):
        shown = (
            arguments(node)[:MAX_VALUES_WRITTEN]
            if isinstance(node, Call) and node.function == "in"
            else arguments(node)
        )
        sizes[id(node)] = min(MAX_PARTS_WRITTEN + 1, 1 + sum(sizes[id(part)] for part in shown))
    if sizes[id(root)] > MAX_PARTS_WRITTEN:
        return f"an expression of more than {MAX_PARTS_WRITTEN} parts"
    return _write(root)[0]


def _write(node: Node) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    if isinstance(node, Column):
        return (node.name if is_plain(node.name) else '"' + node.name.replace('"', '""') + '"'), ATOM
    return (_constant(node), ATOM) if isinstance(node, Literal) else _call(node)


@functools.cache
def is_plain(name: str) -> bool:
    """Whether the name is read as a column without quotes: `end`, `true` and `select` are not."""
    if re.fullmatch(r"[^\W\d]\w*", name) is None:
        return False
    try:
        tree = sqlglot.parse_one(f"{name} = 1", dialect="duckdb", into=sql.Condition)
    except SqlglotError:
        return False
    return isinstance(tree.this, sql.Column) and tree.this.name == name


def _constant(node: Literal) -> str:
    value = node.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value).replace("inf", "1e999")  # which is read as infinity


def _call(node: Call) -> tuple[str, int]:
    name, given = node.function, node.arguments
    if name in INFIX:
        tight = INFIX[name]
        return f" {name.upper()} ".join(
            _inside(part, tight + (place > 0 or tight == COMPARE)) for place, part in enumerate(given)
        ), tight
    if name == "not":
        return _negated(given[0])
    if name == "is null":
        return f"{_inside(given[0], ADD)} IS NULL", COMPARE
    if name == "in":
        return f"{_inside(given[0], ADD)} IN ({_listed(given[1:])})", COMPARE
    if name == "widen":
        return _write(given[0])
    if name == "negate":
        inner = _inside(given[0], ATOM)
        return (f"-({inner})" if inner.startswith("-") else f"-{inner}"), MULTIPLY  # -- begins a comment
    return _function(node), ATOM


def _negated(node: Node) -> tuple[str, int]:
    if isinstance(node, Call) and node.function == "is null":
        return f"{_inside(node.arguments[0], ADD)} IS NOT NULL", COMPARE
    if isinstance(node, Call) and node.function == "is not distinct from":
        return " IS DISTINCT FROM ".join(_inside(part, ADD) for part in node.arguments), COMPARE
    return f"NOT {_inside(node, NOT + 1)}", NOT


def _listed(values: tuple[Node, ...]) -> str:
    return (
        ", ".join(_write(part)[0] for part in values) if len(values) <= MAX_VALUES_WRITTEN else f"{len(values)} values"
    )


def _function(node: Call) -> str:
    name, given = node.function, [_write(part)[0] for part in node.arguments]
    if name == "case":
        pairs = [f"WHEN {when} THEN {then}" for when, then in zip(given[:-1:2], given[1::2], strict=True)]
        return f"CASE {' '.join(pairs)} ELSE {given[-1]} END"
    if name in PARTS:
        return f"EXTRACT({name} FROM {given[0]})"
    if name == "cast":
        return f"CAST({given[0]} AS {CASTS[node.type]})"
    if name == "substring":
        given[1] = str(int(given[1]) + 1)  # SQL counts from 1
    if name == "truncate":
        return f"DATE_TRUNC({given[1]}, {given[0]})"
    return f"{name.upper()}({', '.join(given)})"


def _inside(node: Node, tight: int) -> str:
    """In parentheses where it binds less tightly than what stands around it."""
    made, own = _write(node)
    return made if own >= tight else f"({made})"
