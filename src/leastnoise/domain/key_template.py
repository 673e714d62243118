"""Keys written as a file: such that `read` brings back, or one that is to be filled in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from leastnoise import errors
from leastnoise._support import atomic_files, toml_text
from leastnoise.domain.axes import Axis, Edges, IntegerRange, Keys
from leastnoise.domain.product import axis
from leastnoise.domain.times import Days, Hours
from leastnoise.domain.wrapped import OTHER, Labelled, OrOther

ColumnKind = Literal["text", "integer", "number", "boolean", "date", "timestamp"]

_HEAD = """\
# The public keys of each column. This was made from names and types alone: no row was read.
# Fill in the [] of every column that you ask for, from what is public and never from the rows.
# In {braces}, other = true adds one more bin for every other value, and labels = ["...", "..."] names the bins.

"""
_ENTRIES: dict[ColumnKind, tuple[str, str]] = {
    "text": ("[]", '["a", "b"], or { file = "places.csv", column = "name" }'),
    "integer": ("{ range = [] }", "{ range = [18, 100] } is 18 to 99; or a list, [1, 2, 3]; or edges"),
    "number": ("{ edges = [] }", "{ edges = [0, 10, 50] }, or { bins = 20, between = [0, 100] }"),
    "boolean": ("[false, true]", ""),
    "date": ("{ days = [] }", "{ days = [2026-01-01, 2026-02-01] }: the second is the day after the last"),
    "timestamp": ("{ days = [] }", "days as of a date, or { hours = [2026-01-01T00:00:00, 2026-01-02T00:00:00] }"),
}


def template(columns: Mapping[str, ColumnKind | None], known: Mapping[str, Any] | None = None) -> str:
    """A file of keys to be filled in, from the names and the types of columns; None is a type that has no keys.

    known: the keys of some columns, by name, as they are given to questions: these are written already.
    """
    lines, given = [], known or {}
    for column, kind in columns.items():
        if column in given:
            lines.append(f"{toml_text.name(column)} = {_entry(column, axis(given[column]))}")
            continue
        if kind is None:
            lines.append(f"# {toml_text.name(column)}: no keys are known for its type")
            continue
        entry, hint = _ENTRIES[kind]
        lines.append(f"{toml_text.name(column)} = {entry}" + (f"  # {kind}: {hint}" if hint else ""))
    return _HEAD + "\n".join(lines) + "\n"


def write(path: str | os.PathLike[str], keys: Mapping[str, Any]) -> Path:
    """A file of keys that `read` brings back; a file that is there already is never replaced.

    path: where it goes, such as "keys.toml".
    keys: by column, what `keys=` of the questions takes: lists, ranges, edges, days, hours; with labels or "other".
    """
    lines = [f"{toml_text.name(column)} = {_entry(column, axis(given))}" for column, given in keys.items()]
    return atomic_files.create(path, "\n".join(lines) + "\n")


def _entry(column: str, given: Axis) -> str:
    named = given.axis if isinstance(given, OrOther) else given
    inner = named.axis if isinstance(named, Labelled) else named
    labels = f", labels = {toml_text.value(named.labels)}" if isinstance(named, Labelled) else ""
    more = labels + _other(given)
    if isinstance(inner, Keys):
        return f"{{ keys = {toml_text.value(inner.values)}{more} }}" if more else toml_text.value(inner.values)
    bins = _bins(inner)
    if bins is None:
        raise errors.WrongType(
            f'the keys of "{column}" are {type(given).__name__}, which a file of keys has no word for. Give them in '
            "Python.",
            parameter="keys",
            value=column,
        )
    return f"{{ {bins}{more} }}"


def _other(given: Axis) -> str:
    if not isinstance(given, OrOther):
        return ""
    return f", other = {'true' if given.label == OTHER else toml_text.value(given.label)}"


def _bins(inner: Axis) -> str | None:
    if isinstance(inner, IntegerRange):
        ends = (inner.start, inner.stop) if inner.step == 1 else (inner.start, inner.stop, inner.step)
        return f"range = {toml_text.value(ends)}"
    if isinstance(inner, Edges):
        return f"edges = {toml_text.value(inner.edges)}"
    if isinstance(inner, Days):
        return f"days = {toml_text.value((inner.start, inner.stop))}"
    return f"hours = {toml_text.value((inner.start, inner.stop))}" if isinstance(inner, Hours) else None
