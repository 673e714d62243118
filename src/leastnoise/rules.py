"""What shaped the rows before the question, in public words: for the page, the file and the ledger.

A condition that was given as text is recorded as it was written. An Ibis expression is written as SQL, in one dialect
whatever the engine: no table is in it (only columns of the row and literals pass `expressions.check`), no address, and
of a long list of values only their number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

FEW = 8  # values of a list that are written out
MANY = 10_000  # parts of an expression that are not written at all: the compiler would take seconds
LONGEST = 2000  # characters of all rules of a query


def condition(words: str) -> str:
    """The rule of `where`."""
    return f"where {words}"


def column(name: str, words: str) -> str:
    """The rule of `derive`."""
    return f"with {one_line(name)} = {words}"


def cells(name: str, x: str, y: str, step: float) -> str:
    """The rule of a lattice."""
    return f"with {one_line(name)} = cells of {step!r} over {one_line(x)} and {one_line(y)}"


def nearest(name: str, lon: str, lat: str, nodes: int, within: float, spread: tuple[float, int] | None) -> str:
    """The rule of the nearest node, or of a kernel over several."""
    which = "nearest" if spread is None else f"{spread[1]} nearest (kernel width {spread[0]:g} m)"
    place = f"{one_line(lon)}, {one_line(lat)}"
    return f"with {one_line(name)} = {which} of {nodes} nodes within {within:g} m of {place}"


def told(rules: tuple[str, ...]) -> str:
    """All rules in the order in which they were applied. A text that was cut is told from others by its digest."""
    text = "".join(f", {rule}" for rule in rules)
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"{text[:LONGEST]}... (cut: {len(text)} characters, SHA-256 {digest})"


def some(words: Sequence[str]) -> str:
    """The first few of a long list."""
    more = f" and {len(words) - FEW} more" if len(words) > FEW else ""
    return ", ".join(words[:FEW]) + more


def one_line(text: str) -> str:
    """As it was written, but for what would break a line, move a cursor or turn the writing round: that is escaped."""
    kept = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.strip())
    return "".join(kept)


def written(given: Any, bound: Any) -> str:
    """What was `given`, and means the checked expression `bound`."""
    if isinstance(given, str):
        return one_line(given)
    with suppress(Exception):  # too deep for the compiler, or without a form in SQL
        if len(bound.op().find(object)) <= MANY:
            return one_line(_sql(bound))
    return "a condition of Python" if bound.type().is_boolean() else "a value of Python"


def _sql(bound: Any) -> str:
    """The expression over a table of nothing but its columns, so that no engine's own names show."""
    import ibis
    import ibis.expr.operations as ops
    import sqlglot

    relations = {field.rel for field in bound.op().find(ops.Field, filter=ops.Value)}
    names = {name: kind for relation in relations for name, kind in relation.schema.items()}
    plain = ibis.table(names or {"nothing": "int64"}, name="rows")
    own = bound.op().replace(dict.fromkeys(relations, plain.op())).to_expr()
    text = str(ibis.to_sql(plain.select(rule=own), dialect="duckdb", pretty=False))
    query: Any = sqlglot.parse_one(text, dialect="duckdb")
    tree = query.selects[0].unalias()
    return str(tree.transform(_short).sql(dialect="duckdb"))


def _short(node: Any) -> Any:
    import sqlglot.expressions as sql

    if isinstance(node, sql.Column):
        return sql.column(node.name, quoted=re.fullmatch(r"[^\W\d]\w*", node.name) is None)
    if isinstance(node, (sql.In, sql.Array)) and len(node.expressions) > FEW:
        node.set("expressions", [sql.Var(this=f"{len(node.expressions)} values")])
    return node
