"""What files hold, in words: by record, what its fields are called there and what they are."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from leastnoise.releases import records

ARRAYS = {"i": "integers", "f": "floats", "u": "unsigned integers", "O": "integers of any size"}


def described(kind: type) -> dict[str, dict[str, str]]:
    """By record, what its fields are called in files and what they are: the record itself, and all that it holds."""
    found: dict[str, dict[str, str]] = {}
    _describe(kind, found)
    return found


def _describe(hint: Any, found: dict[str, dict[str, str]]) -> str:
    """The words for a type; records that it holds are described in `found`."""
    if hint in records.RECORDS:
        return _describe(records.RECORDS[hint][0], found)
    several = records.alternatives(hint)
    if hint in records.PLAIN or hint in records.TEXTS or hint is Any or hint is type(None):
        return {type(None): "null", Any: "key"}.get(hint) or str(hint.__name__)
    if hint in (records.Overflowing, records.Json):
        return {records.Overflowing: "float or infinite", records.Json: "anything"}[hint]
    if records.is_array(hint):
        return " or ".join(sorted({ARRAYS[kind] for kind in records.array_kinds(hint)}))
    if dataclasses.is_dataclass(hint):
        kind = typing.cast(type, hint)
        if kind.__name__ not in found:
            found[kind.__name__] = {}
            fields = {field.stored: _describe(field.hint, found) for field in records.fields_of(kind)}
            found[kind.__name__] |= fields
        return kind.__name__
    if several != (hint,):
        return " or ".join(_describe(one, found) for one in several)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, inside))
    parts = ["..." if one is Ellipsis else _describe(one, found) for one in inside]
    return f"{'list' if origin is tuple else 'object' if inside[0] is str else 'pairs'}[{', '.join(parts)}]"
