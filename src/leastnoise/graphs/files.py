"""Nodes and edges in Parquet files: a name for each node, and pairs of such names.

Names may be whole numbers or strings; node i is the i-th of the file.
"""

from __future__ import annotations

import os
from reprlib import repr as short
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import parquet

Path = str | os.PathLike[str]
COORDINATE_COLUMNS = ("lon", "lat")


def read_nodes(path: Path, name: str, places: tuple[str, str] | None) -> tuple[pa.Array, NDArray[np.float64] | None]:
    """The names of the nodes, and where they are (None where the file does not have them and none were asked for)."""
    present = _columns(path)
    if places is None and set(COORDINATE_COLUMNS) <= set(present):
        places = COORDINATE_COLUMNS
    table = _read(path, [name, *(places or ())])
    names = _names(table, name, path)
    if len(names) == 0:
        raise errors.BadDomain(f"{_quoted(path)} holds no nodes.")
    if pc.count_distinct(names).as_py() < len(names):
        counted = pc.value_counts(names).to_pylist()
        twice = next(row["values"] for row in counted if row["counts"] > 1)
        raise errors.BadDomain(
            f"{_quoted(path)} names the node {short(twice)} twice. Give every node a name of its own."
        )
    return names, None if places is None else np.stack([_floats(table, place, path) for place in places], axis=1)


def read_edges(
    path: Path, ends: tuple[str, str], weight: str | None, names: pa.Array
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Pairs of node numbers, m x 2, and a weight for each if a column is named."""
    table = _read(path, [*ends, *([weight] if weight else [])])
    pairs = np.empty((table.num_rows, 2), dtype=np.int32)
    for side, end in enumerate(ends):
        column = _names(table, end, path)
        if pa.types.is_integer(column.type) != pa.types.is_integer(names.type):
            raise errors.WrongType(
                f'column "{end}" of {_quoted(path)} holds {column.type}, and the nodes are named by {names.type}. '
                "Write both as whole numbers or both as strings."
            )
        place = pc.index_in(column, value_set=names)
        if place.null_count:
            lost = column.filter(pc.is_null(place))
            raise errors.BadDomain(
                f'column "{end}" of {_quoted(path)} names {short(lost[0].as_py())}, which is not among the '
                f"{len(names):,} nodes ({len(lost):,} such edges). Add these nodes, or leave out these edges."
            )
        pairs[:, side] = place.to_numpy(zero_copy_only=False)
    return pairs, None if weight is None else _floats(table, weight, path)


def _columns(path: Path) -> list[str]:
    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        raise errors.UnknownSource(f"{_quoted(path)} is no Parquet file that can be read.") from None


def _read(path: Path, columns: list[str]) -> pa.Table:
    present = _columns(path)
    for column in columns:
        if column not in present:
            raise errors.UnknownColumn.among_columns(column, present)
    try:
        return parquet.read(path, columns)
    except errors.NotOurs:
        raise
    except (OSError, pa.ArrowException):
        raise errors.FileProblem(f"{_quoted(path)} could not be read: it may be damaged or cut short.") from None


def _names(table: pa.Table, column: str, path: Path) -> Any:
    """The column in one piece: int64, or strings."""
    values = table[column]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    integers = pa.types.is_integer(values.type)
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if not (integers or text):
        raise errors.WrongType(
            f'column "{column}" of {_quoted(path)} holds {values.type}; nodes are named by whole numbers or strings.'
        )
    if values.null_count:
        raise errors.BadDomain(f'column "{column}" of {_quoted(path)} holds nulls, which name no node.')
    try:
        return values.cast(pa.int64() if integers else pa.large_string()).combine_chunks()
    except pa.ArrowInvalid:
        raise errors.WrongType(f'column "{column}" of {_quoted(path)} holds numbers beyond 2^63.') from None


def _floats(table: pa.Table, column: str, path: Path) -> NDArray[np.float64]:
    """NaN for a null: refused with the other numbers that are not finite."""
    try:
        return np.asarray(table[column].cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise errors.WrongType(f'column "{column}" of {_quoted(path)} does not hold numbers.') from None


def _quoted(path: Path) -> str:
    return repr(os.fspath(path))
