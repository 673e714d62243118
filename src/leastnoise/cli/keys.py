"""--keys: a column of a public file (nodes.parquet:id), a range (0:24), or a list (port,park,mall)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import parquet

if TYPE_CHECKING:
    from leastnoise.curator.table import Table

_FILES = (".parquet", ".csv")


def parse_keys(table: Table, by: Sequence[str], texts: Sequence[str] | None) -> Any:
    """The keys of every column of `by`, as the queries take them."""
    if texts is None:
        return None
    if len(texts) != len(by):
        raise errors.BadDomain(f"Give one --keys for each --by: {len(by)} of them. Got {len(texts)} instead.")
    keys = [_parse(table, column, text) for column, text in zip(by, texts, strict=True)]
    return keys[0] if len(keys) == 1 else keys


def _parse(table: Table, column: str, text: str) -> Any:
    if re.fullmatch(r"-?\d{1,30}:-?\d{1,30}", text):
        start, stop = (int(part) for part in text.split(":"))
        return range(start, stop)
    path, colon, name = text.rpartition(":")
    if colon and path.endswith(_FILES):
        return read_public_column(path, name)
    if text.endswith(_FILES):
        raise errors.BadDomain(f"Which column of {text!r} holds the keys? Say --keys {text}:COLUMN.")
    items = text.split(",")
    if not table[column].type().is_string() and all(re.fullmatch(r"-?\d{1,30}", item) for item in items):
        return [int(item) for item in items]
    return items


def read_public_column(path: str, name: str) -> list[Any]:
    """The column of a file that everybody may see."""
    if not os.path.isfile(path):
        raise errors.NoSuchFile(f"There is no file {path!r} for the keys. Check the path.")
    try:
        names, keys = _read(path, name)
    except errors.LeastnoiseError:
        raise
    except Exception:
        names, keys = None, None
    if names is None:
        raise errors.FileProblem(f"The keys in {path!r} could not be read. Check that it is a whole file of its kind.")
    if keys is None:
        raise errors.UnknownColumn.among_columns(name, names)
    return keys


def _read(path: str, name: str) -> tuple[list[str] | None, list[Any] | None]:
    """The names of the columns, and the values of this one; None where it is not among them."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    rows = None if path.endswith(".parquet") else csv.read_csv(path)
    names = pq.read_schema(path).names if rows is None else rows.column_names
    if name not in names:
        return names, None
    return names, (parquet.read(path, [name]) if rows is None else rows)[name].to_pylist()
