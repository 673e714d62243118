"""Conditions as text: the SQL that people know, parsed by sqlglot and read into the tree.

    hour >= 7 AND NOT (zone IN ('EWR', 'JFK') OR fare < 0)
    EXTRACT(month FROM day) BETWEEN 6 AND 8 AND name LIKE 'A%'

What is not listed here is refused: sub-queries, windows, user functions, now, random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from leastnoise.curator.expressions import functions
from leastnoise.curator.expressions.functions import FUNCTIONS, call
from leastnoise.curator.expressions.tree import PARTS, Literal, Node, integer, is_plain, number
from leastnoise.curator.rows.columns import Type
from leastnoise.domain import is_text
from leastnoise.errors import BadExpression

MAX_CHARACTERS = 20_000
MAX_DEPTH = 50

CALLS = {kind: function.name for function in FUNCTIONS.values() for kind in function.sql}
TARGETS = {
    "BIGINT": Type.INTEGER, "INT": Type.INTEGER, "DOUBLE": Type.REAL, "TEXT": Type.TEXT,
    "VARCHAR": Type.TEXT, "BOOLEAN": Type.BOOLEAN, "DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP,
    "TIMESTAMPNTZ": Type.TIMESTAMP,
}  # fmt: skip
# What sqlglot writes beside a node and changes nothing for us.
ANNOTATIONS = {"safe", "typed", "binary", "type", "coalesce", "ignore_nulls", "_sql_names"}


def parse(given: str, column: Callable[[str], Node], columns: Iterable[str]) -> Node:
    """The text as a tree; `column` gives the node of a name, or refuses it. `columns` are for hints."""
    if len(given) > MAX_CHARACTERS or not is_text(given) or "\0" in given:
        raise BadExpression(
            f"a condition is longer than {MAX_CHARACTERS} characters, or no text (half of a surrogate pair is in it)."
        )
    try:
        tree = sqlglot.parse_one(given, dialect="duckdb", into=sql.Condition)
        complete = _strings(given) == _strings(tree.sql(dialect="duckdb"))  # the parser leaves some arguments out
    except (SqlglotError, RecursionError):
        complete = False
    if not complete:
        raise BadExpression(_not_understood(given, "") + _keyword_hint(given, columns))
    return _Reader(given, column).node(tree, 0)


def _strings(text: str) -> int:
    return sum(token.token_type.name == "STRING" for token in sqlglot.tokenize(text, read="duckdb"))


class _Reader:
    """The text, for messages, and how columns are found. What a class of sqlglot means that is no plain call, a method
    of its name says; the others have no name with an underscore, so that no class can lead to them."""

    def __init__(self, given: str, column: Callable[[str], Node]) -> None:
        self.given, self.column = given, column

    def node(self, tree: Any, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise BadExpression(f"a condition is nested more than {MAX_DEPTH} deep. Write it flatter.")
        special = getattr(self, f"_{type(tree).__name__.lower()}", None)
        if special is not None:
            made: Node = special(tree, depth)
            return made
        name = CALLS.get(type(tree))
        if name is None:
            raise self.refusal(tree)
        operands = [
            part for part in (tree.this, tree.args.get("expression"), *tree.args.get("expressions", ())) if part
        ]
        self.check_arguments(tree, "this", "expression", "expressions")
        return call(name, *(self.node(part, depth + 1) for part in operands))

    def refusal(self, tree: Any) -> BadExpression:
        return BadExpression(_not_understood(self.given, _abbreviated(tree)))

    def check_arguments(self, tree: Any, *known: str) -> None:
        """Refuse what sqlglot understood and we would leave out, such as SYMMETRIC or a second pattern."""
        for name, value in tree.args.items():
            if value and name not in known and (name not in ANNOTATIONS or isinstance(value, sql.Expression | list)):
                raise self.refusal(tree)

    def operands(self, tree: Any, depth: int, *names: str) -> list[Node]:
        self.check_arguments(tree, *names)
        return [self.node(tree.args[name], depth + 1) for name in names if tree.args.get(name)]

    def _paren(self, tree: Any, depth: int) -> Node:
        return self.node(tree.this, depth + 1)

    def _column(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this")
        if not isinstance(tree.this, sql.Identifier):
            raise self.refusal(tree)
        return self.column(tree.this.name)

    def _literal(self, tree: Any, depth: int) -> Node:
        if tree.is_string:
            return Literal(tree.this, Type.TEXT)
        if re.fullmatch(r"[0-9]+", tree.this):
            return integer(int(tree.this))
        if re.fullmatch(r"([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,9})?", tree.this):
            return Literal(number(tree.this), Type.REAL)
        raise self.refusal(tree)

    def _boolean(self, tree: Any, depth: int) -> Node:
        return Literal(bool(tree.this), Type.BOOLEAN)

    def _null(self, tree: Any, depth: int) -> Node:
        return Literal(None, Type.NULL)

    def _neg(self, tree: Any, depth: int) -> Node:
        inner = self.node(tree.this, depth + 1)
        if isinstance(inner, Literal) and inner.type is Type.INTEGER and isinstance(inner.value, int):
            return integer(-inner.value)
        if isinstance(inner, Literal) and isinstance(inner.value, float):
            least = tree.this.this == str(2**63)  # which itself is no 64-bit integer, -2^63 is
            return integer(-(2**63)) if least else Literal(-inner.value, Type.REAL)
        return call("negate", inner)

    def chain(self, tree: Any, depth: int) -> Node:
        """a AND b AND c: written side by side they are parts of one call, however many."""
        operands, pending = [], [tree]
        while pending:
            part = pending.pop()
            if type(part) is type(tree):
                pending += [part.expression, part.this]
            else:
                operands.append(self.node(part, depth + 1))
        return call(type(tree).__name__.lower(), *operands)

    _and = _or = chain

    def _is(self, tree: Any, depth: int) -> Node:
        value, wanted = self.node(tree.this, depth + 1), tree.expression
        if isinstance(wanted, sql.Null):
            return call("is null", value)
        if isinstance(wanted, sql.Boolean):
            return call("is not distinct from", value, Literal(bool(wanted.this), Type.BOOLEAN))
        raise self.refusal(tree)

    def _nullsafeneq(self, tree: Any, depth: int) -> Node:
        return call("not", call("is not distinct from", *self.operands(tree, depth, "this", "expression")))

    def _in(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this", "expressions")
        return call("in", *(self.node(part, depth + 1) for part in (tree.this, *tree.expressions)))

    def _between(self, tree: Any, depth: int) -> Node:
        return functions.between(*self.operands(tree, depth, "this", "low", "high"))

    def _if(self, tree: Any, depth: int) -> Node:
        made = self.operands(tree, depth, "this", "true", "false")
        return call("case", *made) if len(made) == 3 else call("case", *made, Literal(None, Type.NULL))

    def _case(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this", "ifs", "default")
        value = self.node(tree.this, depth + 1) if tree.this else None
        made: list[Node] = []
        for branch in tree.args["ifs"]:
            when, then = self.operands(branch, depth + 1, "this", "true")
            made += [when if value is None else call("=", value, when), then]
        default = tree.args.get("default")
        return call("case", *made, self.node(default, depth + 1) if default else Literal(None, Type.NULL))

    def _extract(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this", "expression")
        name = str(tree.this).lower()
        name = "doy" if name == "dayofyear" else name
        if name not in PARTS:
            raise self.refusal(tree)
        return call(name, self.node(tree.expression, depth + 1))

    def _substring(self, tree: Any, depth: int) -> Node:
        value, start, *length = self.operands(tree, depth, "this", "start", "length")
        first = start.value if isinstance(start, Literal) else None
        return call("substring", value, integer(first - 1 if type(first) is int else -1), *length)

    def _left(self, tree: Any, depth: int) -> Node:
        value, length = self.operands(tree, depth, "this", "expression")
        return call("substring", value, integer(0), length)

    def _timestamptrunc(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this", "unit")
        return call("truncate", self.node(tree.this, depth + 1), Literal(str(tree.unit).strip("'").lower(), Type.TEXT))

    _datetrunc = _timestamptrunc

    def _cast(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this", "to")
        target = TARGETS.get(tree.to.this.name)
        if target is None or tree.to.expressions:
            raise BadExpression(
                f"the condition {_shortened(self.given)} casts to {tree.to.sql().upper()}, which is not the same on "
                "every engine. Cast to DOUBLE (what a declared type calls float), BIGINT (int), TEXT, BOOLEAN, DATE or "
                "TIMESTAMP.",
                value=self.given,
            )
        return functions.cast(self.node(tree.this, depth + 1), target)

    _trycast = _cast

    def _date(self, tree: Any, depth: int) -> Node:
        self.check_arguments(tree, "this")
        return functions.cast(self.node(tree.this, depth + 1), Type.DATE)

    _tsordstodate = _date


def _abbreviated(tree: Any) -> str:
    text = tree.sql(dialect="duckdb") if hasattr(tree, "sql") else str(tree)
    return text if len(text) <= 60 else text[:57] + "..."


def _shortened(given: str) -> str:
    return repr(given if len(given) <= 200 else given[:197] + "...")


def _not_understood(given: str, near: str) -> str:
    where = f" at {near!r}" if near else ""
    return (
        f"the condition {_shortened(given)} is not understood{where}. Write what "
        "may be said of one row: comparisons with AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, arithmetic, EXTRACT, "
        "DATE_TRUNC; texts in 'single quotes', odd names in \"double quotes\"."
    )


def _keyword_hint(given: str, columns: Iterable[str]) -> str:
    """A column may be called like a word of SQL: end, when, order."""
    for name in columns:
        stands = re.search(rf"(?<![\w\"']){re.escape(name)}(?![\w\"'])", given)
        if stands and not is_plain(name):
            return f' The column {name} is called like a word of SQL: write "{name}", in double quotes.'
    return ""
