"""--keys: a file of keys (keys.toml), a column of a public file (nodes.parquet:id), a range (0:24), a list (a,b), or
the cells of a rectangle (box:west,east,south,north)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leastnoise import domain as domains
from leastnoise import errors
from leastnoise.jobs.file import select_keys

if TYPE_CHECKING:
    from leastnoise.curator.table import Table

_FILES = (".parquet", ".csv")
_KEY_FILE = ".toml"
_BOX = "box:"


def parse_keys(table: Table, by: Sequence[str], texts: Sequence[str] | None) -> Any:
    """The keys of every column of `by`, as the queries take them."""
    if texts is None:
        return None
    if len(texts) == 1 and texts[0].endswith(_KEY_FILE) and by:
        return select_keys(domains.read(texts[0]), by, texts[0])
    if len(texts) != len(by):
        raise errors.BadDomain(
            f"Give one --keys for each --by, {len(by)} of them, or one keys.toml for all. Got {len(texts)} instead."
        )
    keys = [_parse(table, column, text) for column, text in zip(by, texts, strict=True)]
    return keys[0] if len(keys) == 1 else keys


def _parse(table: Table, column: str, text: str) -> Any:
    if re.fullmatch(r"-?\d{1,30}:-?\d{1,30}", text):
        start, stop = (int(part) for part in text.split(":"))
        return range(start, stop)
    if text.endswith(_KEY_FILE):
        return select_keys(domains.read(text), [column], text)
    if text.startswith(_BOX):
        return _cells(table, column, text)
    path, colon, name = text.rpartition(":")
    if colon and path.endswith(_FILES):
        return domains.read_public_column(path, name)
    if text.endswith(_FILES):
        raise errors.BadDomain(f"Which column of {text!r} holds the keys? Say --keys {text}:COLUMN.")
    items = text.split(",")
    if not table[column].type().is_string() and all(re.fullmatch(r"-?\d{1,30}", item) for item in items):
        return [int(item) for item in items]
    return items


def _cells(table: Table, column: str, text: str) -> domains.Cells:
    """box:west,east,south,north of a column of cells."""
    try:
        west, east, south, north = (float(part) for part in text.removeprefix(_BOX).split(","))
    except ValueError:
        west, east, south, north = 0.0, 0.0, 0.0, 0.0
    lattice = table.lattices.get(column)
    if lattice is None or not (west < east and south < north):
        raise errors.BadDomain(
            "The cells of a rectangle are given by its west, east, south and north ends, of a column that --lattice "
            f"makes: --keys {_BOX}-74.1,-73.7,40.6,40.9. Got {text!r} for {column!r} instead.",
            parameter="keys",
            value=text,
        )
    return lattice.box(x=(west, east), y=(south, north))
