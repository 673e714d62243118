"""Values of the library as plain facts: what JSON holds, under the names that the documentation has."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import leastnoise as ln

WORDS = {"note", "description", "created_at", "id", "version"}  # sentences have snapshots; the others differ every time
STRENGTH = ("band", "found", "failing", "doubtful", "of_budget")


def facts(value: Any) -> Any:
    """The value as JSON holds it. A value of ours is its public attributes; a fraction is written as one."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray):
        return [facts(each) for each in value.tolist()]
    if isinstance(value, np.generic):
        return facts(value.item())
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {named(key): facts(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: facts(getattr(value, name)) for name in value._fields}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [facts(each) for each in value]
    if isinstance(value, Path | Enum):
        return str(value)
    return of_object(value)


def named(key: Any) -> str:
    """A key as text: of several columns, with an x between them."""
    return " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def of_object(value: Any) -> dict[str, Any]:
    """The public attributes of a value of ours; of guarantees, whose classes are public, also which one it is."""
    if not type(value).__module__.startswith("leastnoise"):
        raise TypeError(f"no fact: {value!r}")
    kind = type(value).__name__
    return ({"is": kind} if kind in ln.__all__ else {}) | attributes(value, dir(value))


def attributes(value: Any, names: Any) -> dict[str, Any]:
    """Those of its attributes that are there, public, no words and no methods."""
    found = {}
    for name in names:
        if name.startswith("_") or name in WORDS:
            continue
        try:
            one = getattr(value, name)
        except AttributeError:
            continue
        if not callable(one) or dataclasses.is_dataclass(one):
            found[name] = attributes(one, STRENGTH) if name == "strength" and one is not None else facts(one)
    return found


def apart(cases: dict[str, Any]) -> dict[str, Any]:
    """The same facts, with those that every case has (but refusals, which have none) said once, under "all"."""
    answered = [case for case in cases.values() if "refused" not in case]
    if len(answered) < 2:
        return cases
    common = {key: value for key, value in answered[0].items() if all(case.get(key, ...) == value for case in answered)}
    rest = {
        name: case if "refused" in case else {key: value for key, value in case.items() if key not in common}
        for name, case in cases.items()
    }
    return {"all": common, **rest}


def refusal(problem: Exception) -> dict[str, Any]:
    """Which error, and about which parameter: no wording."""
    return {"refused": type(problem).__name__, "parameter": getattr(problem, "parameter", None)}


def of_call(call: Callable[[], Any]) -> Any:
    """The facts of what a call gives, or of its refusal."""
    try:
        return facts(call())
    except ln.errors.LeastnoiseError as problem:
        return refusal(problem)
