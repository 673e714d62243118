"""A condition or derived column as a value: columns of the row, typed literals, and calls of functions we know.

Text and Ibis expressions are both read into this tree, and only from it is anything built that an engine runs. So what
is not in the tree cannot run, and a literal is never read again by an engine that might understand it differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any


class Type(Enum):
    """What a value is. Engines have a dozen kinds of integers; here is one, of 64 bits."""

    BOOLEAN = "true or false"
    INTEGER = "whole numbers"
    REAL = "numbers"
    TEXT = "text"
    DATE = "dates"
    TIMESTAMP = "times"
    NULL = "null"
    OTHER = "something else"

    @classmethod
    def of(cls, kind: Any) -> Type:
        """The type of a column, from its Ibis type."""
        if kind.is_boolean():
            return cls.BOOLEAN
        if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):  # Spark's unsigned numbers are such decimals
            return cls.INTEGER
        if kind.is_floating() or kind.is_decimal():
            return cls.REAL
        if kind.is_string() or kind.is_uuid():
            return cls.TEXT
        if kind.is_date():
            return cls.DATE
        return cls.TIMESTAMP if kind.is_timestamp() else cls.OTHER


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
    """A function of `allowed_functions.py` with arguments of fitting types; "cast" is to `type`."""

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
