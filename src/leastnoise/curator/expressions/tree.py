"""A condition or derived column as a value: columns of the row, typed literals, and calls of functions we know.

Text and Ibis expressions are both read into this tree, and only from it is anything built that an engine runs. So what
is not in the tree cannot run, and a literal, which is written in one way only, is never read again by an engine that
might understand it differently.

The page, the file and the ledger record it as SQL, with one way of writing for one meaning.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from leastnoise.curator.rows.columns import Type
from leastnoise.domain import is_text
from leastnoise.errors import BadExpression

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?")


# Compared by identity: parts of an Ibis expression are shared, and comparing them whole could take for ever.
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of the row."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A public constant; REAL is never NaN, a TIMESTAMP has no zone (it is UTC), and years are 1 to 9999."""

    value: bool | int | float | str | date | datetime | None
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function of `functions.py` with arguments of fitting types; "cast" is to `type`."""

    function: str
    arguments: tuple[Node, ...]
    type: Type


Node = Column | Literal | Call


def parts(root: Node) -> Iterator[Node]:
    """Every part once, arguments before their calls."""
    seen: set[int] = set()
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            pending.extend((part, False) for part in reversed(arguments(node)))


def arguments(node: Node) -> tuple[Node, ...]:
    """The arguments of a call; a column and a literal have none."""
    return node.arguments if isinstance(node, Call) else ()


# Constants


def literal(value: Any) -> Literal | None:
    """A Python value as a literal; None where it is nothing we know."""
    if value is None:
        return Literal(None, Type.NULL)
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return Literal(bool(value), Type.BOOLEAN)
    if isinstance(value, Integral):
        return integer(int(value))
    if isinstance(value, Real | Decimal):
        number = float(value)
        return Literal(None, Type.REAL) if math.isnan(number) else Literal(number, Type.REAL)
    if isinstance(value, str):
        return Literal(value, Type.TEXT) if is_text(value) and "\0" not in value else None
    if isinstance(value, datetime):
        return Literal(utc(value), Type.TIMESTAMP)
    return Literal(value, Type.DATE) if isinstance(value, date) else None


def integer(value: int) -> Literal:
    """A whole number; one that 64 bits do not hold is a real number."""
    if -(2**63) <= value < 2**63:
        return Literal(value, Type.INTEGER)
    return Literal(number(str(value)), Type.REAL)


def number(text: str) -> float:
    """The nearest double, past the largest infinity."""
    return float(text)


def utc(value: datetime) -> datetime:
    """Without a zone, in UTC; pandas' nanoseconds are cut."""
    plain = datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo
    )
    if plain.tzinfo is None:
        return plain
    try:
        return plain.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise BadExpression("a time before the year 1 or after 9999 (in UTC) is in no row. Leave it out.") from None


def recast(node: Literal, wanted: Type) -> Literal | None:
    """The constant as another type, read here and now; None where it has to be cast as any value."""
    if isinstance(node.value, str):
        return parse_literal(node.value, wanted)
    if wanted is Type.REAL and isinstance(node.value, int):
        return Literal(float(node.value), Type.REAL)
    if wanted is Type.TIMESTAMP and type(node.value) is date:
        return Literal(datetime(node.value.year, node.value.month, node.value.day), Type.TIMESTAMP)
    return None


DESCRIPTIONS = {
    Type.DATE: ("a date", "'2013-01-31'"),
    Type.TIMESTAMP: ("a time", "'2013-01-31 07:00' or '2013-01-31'"),
    Type.INTEGER: ("a whole number", "42"),
    Type.REAL: ("a number", "4.2"),
    Type.BOOLEAN: ("true or false", "TRUE"),
}


def parse_literal(text: str, wanted: Type) -> Literal:
    """A text that stands where a date, a time, a number or a truth is wanted, in the one way it may be written."""
    made = _read(text, wanted)
    if made is None:
        description, example = DESCRIPTIONS[wanted]
        raise BadExpression(
            f"'{text}' stands where {description} is needed and is not written like one. Write {example}."
        )
    return Literal(made, wanted)


def _read(text: str, wanted: Type) -> Any:
    try:
        if wanted is Type.DATE and DAY.fullmatch(text):
            return date.fromisoformat(text)
        if wanted is Type.TIMESTAMP and (DAY.fullmatch(text) or MOMENT.fullmatch(text)):
            return datetime.fromisoformat(text)
    except ValueError:  # February 30
        return None
    if wanted is Type.INTEGER and re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    if wanted is Type.REAL and re.fullmatch(r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,3})?", text):
        return number(text)
    return {"true": True, "false": False}.get(text.lower()) if wanted is Type.BOOLEAN else None


MAX_VALUES_WRITTEN = 8  # of a list
MAX_PARTS_WRITTEN = 2000  # of an expression
OR, AND, NOT, COMPARE, ADD, MULTIPLY, ATOM = range(7)
INFIX = {
    "or": OR, "and": AND, "=": COMPARE, "<>": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE,
    ">=": COMPARE, "is not distinct from": COMPARE, "like": COMPARE, "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY,
    "//": MULTIPLY, "%": MULTIPLY,
}  # fmt: skip
PARTS = ("year", "quarter", "month", "week", "day", "doy", "isodow", "hour", "minute", "second")


def text(root: Node) -> str:
    """The expression in SQL; of a very long one only how long it is."""
    sizes: dict[int, int] = {}
    for node in parts(root):
        most = MAX_VALUES_WRITTEN if isinstance(node, Call) and node.function == "in" else None
        sizes[id(node)] = min(MAX_PARTS_WRITTEN + 1, 1 + sum(sizes[id(part)] for part in arguments(node)[:most]))
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
        return f"CAST({given[0]} AS {node.type.sql})"
    if name == "substring":
        given[1] = str(int(given[1]) + 1)  # SQL counts from 1
    if name == "truncate":
        return f"DATE_TRUNC({given[1]}, {given[0]})"
    return f"{name.upper()}({', '.join(given)})"


def _inside(node: Node, tight: int) -> str:
    """In parentheses where it binds less tightly than what stands around it."""
    made, own = _write(node)
    return made if own >= tight else f"({made})"
