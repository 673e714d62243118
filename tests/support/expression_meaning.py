"""What an expression of the core grammar means, over Python values with None for null; no code of ours is in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from expressions_at_random import LITERALS, Node

# Small whole numbers, so that nothing passes 2^53; the rest is compared only.
COLUMNS = {"boolean": ["flag"], "integer": ["tiny"], "real": ["f64"], "text": ["text", 'odd "name"']}
WORDS = {"compare", "distinct", "in", "between", "logic", "not", "is null", "arithmetic", "negate", "abs", "choice"}
CORE = {kind: LITERALS[kind] for kind in COLUMNS} | {"integer": [0, 1, -1, 2, 7, 100]}
LARGEST = 2**53


def meaning(node: Node, row: dict[str, Any]) -> Any:
    """The value of the expression in this row."""
    if node.name == "column":
        value = row[node.parts[0]]
        return None if isinstance(value, float) and math.isnan(value) else value
    if node.name == "literal":
        return node.parts[1]
    parts = [meaning(part, row) if isinstance(part, Node) else part for part in node.parts]
    made = MEANINGS[node.name](*parts)
    return None if isinstance(made, float) and math.isnan(made) else made


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Null where an operand is."""
    return lambda *values: None if any(value is None for value in values) else function(*values)


def both(a: Any, b: Any) -> Any:
    return False if a is False or b is False else (None if a is None or b is None else True)


def negated(value: Any) -> Any:
    return None if value is None else not value


def compare(sign: str, a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


def among(no: str, value: Any, *keys: Any) -> Any:
    found = None if value is None else value in keys
    return negated(found) if no else found


def between(no: str, value: Any, low: Any, high: Any) -> Any:
    inside = both(compare(">=", value, low), compare("<=", value, high))
    return negated(inside) if no else inside


@strict
def arithmetic(sign: str, a: Any, b: Any) -> Any:
    """Division by zero is null, and so is a whole number beyond 2^53."""
    if sign in ("/", "//", "%"):
        if b == 0:
            return None
        return a / b if sign == "/" else a // b if sign == "//" else a % b
    made = a + b if sign == "+" else a - b if sign == "-" else a * b
    return made if isinstance(made, float) or abs(made) < LARGEST else None


MEANINGS: dict[str, Callable[..., Any]] = {
    "compare": compare,
    "distinct": lambda no, a, b: (a == b) if no else (a != b),
    "in": among,
    "between": between,
    "logic": lambda word, a, b: both(a, b) if word == "AND" else negated(both(negated(a), negated(b))),
    "not": negated,
    "is null": lambda no, a: (a is not None) if no else (a is None),
    "case": lambda test, a, b: a if test else b,
    "half a case": lambda test, a, b: a if test else None,
    "switch": lambda value, key, a, b: a if value is not None and value == key else b,
    "coalesce": lambda a, b: b if a is None else a,
    "nullif": lambda a, b: None if a is not None and a == b else a,
    "arithmetic": arithmetic,
    "negate": strict(lambda a: -a),
    "abs": strict(abs),
}
