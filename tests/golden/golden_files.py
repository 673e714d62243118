"""The golden files: read, written and compared.

They are JSON, with sorted keys and as much on one line as fits, so that a change of one fact is a diff of one line.
Everything is compared exactly, but floats, to a relative 1e-12; and those of guarantees and costs, which are exact too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
TOLERANCE = 1e-12  # of floats, relative
EXACT = {"guarantee", "ledger", "remaining", "sensitivity"}  # whose floats are compared exactly
DIGITS = 14  # of the other floats, as they are written
WIDTH = 150


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def write(name: str, facts: dict[str, Any]) -> None:
    (FOLDER / f"{name}.json").write_text(text(shortened(facts)) + "\n")


def shortened(value: Any) -> Any:
    """With no more digits of floats than are compared."""
    if isinstance(value, dict):
        return {key: each if key in EXACT else shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shortened(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def text(value: Any, indent: str = "", used: int = 0) -> str:
    """JSON, one line where it fits. used: how much of the first line is taken."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if used + len(indent) + len(flat) <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + " "
    if isinstance(value, list):
        return f"[\n{_filled(value, inner)}\n{indent}]"
    lines = []
    for key in sorted(value):
        start = f"{json.dumps(key, ensure_ascii=False)}: "
        lines.append(f"{inner}{start}{text(value[key], inner, len(start) + 1)}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _filled(values: list[Any], indent: str) -> str:
    """Numbers side by side, anything else on a line of its own."""
    parts = [text(each, indent) for each in values]
    if any(isinstance(each, dict | list) for each in values):
        return ",\n".join(indent + part for part in parts)
    lines = [indent]
    for number, part in enumerate(parts):
        part += "," * (number + 1 < len(parts))
        if len(lines[-1]) + len(part) > WIDTH and lines[-1] != indent:
            lines.append(indent)
        lines[-1] += part + " "
    return "\n".join(line.rstrip() for line in lines)


def as_stored(facts: Any) -> Any:
    """The facts as they are read back."""
    return json.loads(json.dumps(facts, allow_nan=False))


def differences(stored: Any, found: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """A line for each fact that is not as it was."""
    place = " / ".join(path)
    if isinstance(stored, dict) and isinstance(found, dict):
        for key in sorted(stored.keys() | found.keys()):
            if key not in found:
                yield f"{place} / {key}: is gone, was {_short(stored[key])}"
            elif key not in stored:
                yield f"{place} / {key}: is new, {_short(found[key])}"
            else:
                yield from differences(stored[key], found[key], (*path, key))
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for number, (one, other) in enumerate(zip(stored, found, strict=True)):
            yield from differences(one, other, (*path, str(number)))
    elif not _same(stored, found, exact=bool(EXACT & set(path))):
        yield f"{place}: was {_short(stored)}, is {_short(found)}"


def _same(stored: Any, found: Any, *, exact: bool) -> bool:
    if isinstance(stored, float) and isinstance(found, float) and not exact:
        return math.isclose(stored, found, rel_tol=TOLERANCE, abs_tol=0)
    return type(stored) is type(found) and bool(stored == found)


def _short(value: Any) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    return flat if len(flat) <= 200 else f"{flat[:200]} ..."
