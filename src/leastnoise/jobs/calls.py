"""Calls of Python as values: a run makes them, and the studio prints them, so both ask the same.

Nothing of a job is ever read as Python. Whatever its file says, and it may be somebody else's, is an argument: a text
in quotes, a number, a day. Functions and arguments are called as this project calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from keyword import iskeyword
from typing import Any

import leastnoise as ln


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its dotted name, which begins with `ln` or a variable, and what it is given.

    >>> mean = Call("ln.stats.mean", ["fare"], {"clip": (0, 100)})
    >>> printed(mean)
    "ln.stats.mean('fare', clip=(0, 100))"
    >>> make(mean, {}) == ln.stats.mean("fare", clip=(0, 100))
    True
    """

    function: str
    given: Sequence[Any] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


class Variable(str):
    """The name of a value that was made before."""

    __slots__ = ()


class File(str):
    """A path that begins at the folder of the job."""

    __slots__ = ()


def make(value: Any, known: Mapping[str, Any], place: Callable[[str], str] = str) -> Any:
    """What a call returns, or a value with calls in it; `known` has the variables, and `place` says where files lie."""
    if isinstance(value, Call):
        first, *names = value.function.split(".")
        function: Any = reduce(getattr, names, ln if first == "ln" else known[first])
        named = {name: make(each, known, place) for name, each in value.named.items()}
        return function(*(make(each, known, place) for each in value.given), **named)
    if isinstance(value, Variable):
        return known[value]
    return place(value) if isinstance(value, File) else value


def printed(value: Any) -> str:
    """A value as Python that makes it."""
    if isinstance(value, Call):
        given = [*map(printed, value.given), *filter(None, [arguments(value.named)])]
        return f"{value.function}({', '.join(given)})"
    if isinstance(value, Variable | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return f"datetime({value.year}, {value.month}, {value.day}, {value.hour}, {value.minute}, {value.second})"
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(printed, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{printed(name)}: {printed(each)}" for name, each in value.items()) + "}"
    return repr(value)


def arguments(named: Mapping[str, Any]) -> str:
    """Arguments by name; a name that Python does not take is a key behind **."""
    plain = [f"{name}={printed(value)}" for name, value in named.items() if _is_name(name)]
    others = {name: value for name, value in named.items() if not _is_name(name)}
    return ", ".join([*plain, *([f"**{printed(others)}"] if others else [])])


def _is_name(word: str) -> bool:
    return word.isidentifier() and not iskeyword(word)
