"""A column of a file that everybody may see: the ids of streets, the names of districts."""

from __future__ import annotations

import os
from typing import Any

from leastnoise import errors
from leastnoise._support import parquet

FILES = (".parquet", ".csv")


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

    rows = None if path.lower().endswith(".parquet") else csv.read_csv(path)
    names = pq.read_schema(path).names if rows is None else rows.column_names
    if name not in names:
        return names, None
    return names, (parquet.read(path, [name]) if rows is None else rows)[name].to_pylist()
