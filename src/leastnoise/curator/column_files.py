"""One private column from a file: CSV, Parquet or NumPy, from disk or a pipe.

Which numbers they are is *declared* (by the file's type, or by the caller for CSV), never inferred from the values.
Libraries quote cells in their errors, so every failure while reading becomes one sentence of ours that quotes none.
Only the file as a whole can fail: a cell that is missing or no number of the declared type counts as NaN or 0.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from leastnoise import errors
from leastnoise._support import library_warnings, parquet
from leastnoise._support.text import type_name
from leastnoise.curator import coercion

Kind = Literal["int", "float"]
T = TypeVar("T")
DAMAGED = "as what it seems to be: it may be damaged, cut short or too large to hold. Make it anew"


def read_column(path: str, *, column: str | None = None, kind: Kind | None = None) -> NDArray[Any]:
    """The column of the file at `path` ("-" for standard input) as int64 or float64."""
    check_there(path, column)
    content = _content(path)
    if content.startswith(b"\x93NUMPY"):
        array = _silently(path, lambda: np.load(io.BytesIO(content), allow_pickle=False))
    elif content.startswith(b"PAR1"):
        array = _parquet(content, path, _named(column, path))
    else:
        array = _csv(content, path, _named(column, path), kind)
    return _declared(array, kind)


def check_there(path: str, column: str | None = None) -> None:
    """Refuse a path with no file at it, and a table of which no column is named; nothing is opened."""
    if path != "-" and not Path(path).is_file():
        raise errors.NoSuchFile(f"There is no file {path!r}. Check the path, or say - for standard input.")
    if Path(path).suffix.lower() in (".csv", ".parquet"):
        _named(column, path)


def _content(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise errors.FileProblem(f"Cannot read {path!r}: {problem.strerror}. Check that you may read it.") from None


def _named(column: str | None, path: str) -> str:
    if column is None:
        raise errors.MissingParameter(
            f"Which column of {path!r} holds the values?", parameter="column", example={"column": "count"}
        )
    return column


def _parquet(content: bytes, path: str, column: str) -> NDArray[Any]:
    schema = _silently(path, lambda: pq.read_schema(pa.BufferReader(content)))
    if column not in schema.names:
        raise errors.UnknownColumn.among_columns(column, schema.names)
    kind = _silently(path, lambda: schema.field(column).type)
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _no_numbers(kind)
    return _silently(path, lambda: _filled(parquet.read(pa.py_buffer(content), [column], checksums=True)[column]))


def _csv(content: bytes, path: str, column: str, kind: Kind | None) -> NDArray[Any]:
    if kind is None:
        raise errors.MissingParameter(
            "A CSV file does not say what its numbers are, and guessing from private values would leak. Declare int "
            "for counts, or float.",
            parameter="type",
            example=[{"type": "int"}, {"type": "float"}],
        )
    first = content[: content.find(b"\n") + 1 or None]
    damage = (
        "as a CSV. Look for a row with more or fewer fields than the header, a quote that is not closed, and another "
        "encoding than UTF-8"
    )
    alone = csv.ReadOptions(use_threads=False)  # a thread of Arrow's that outlives a failure may abort the process
    names = _silently(path, lambda: csv.read_csv(pa.BufferReader(first), alone).column_names, damage)
    if column not in names:
        raise errors.UnknownColumn.in_header(column, path)
    # As bytes: whether a cell is a number, or text at all, is decided cell by cell.
    options = csv.ConvertOptions(column_types={column: pa.binary()}, include_columns=[column])
    # An empty line is a missing cell where there is one column, and nothing where there are several.
    parse = csv.ParseOptions(ignore_empty_lines=len(names) > 1)
    # Arrow's own buffer: its threads would call a Python file's read() even while the interpreter shuts down.
    source = pa.BufferReader(content)
    texts = _silently(
        path, lambda: csv.read_csv(source, parse_options=parse, convert_options=options)[column].to_pylist(), damage
    )
    return coercion.parse_integers(texts, len(texts)) if kind == "int" else coercion.as_doubles(texts, len(texts))


def _filled(column: Any) -> NDArray[Any]:
    """The column as an array of its own type: a null is NaN, or 0 where there is none."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    array: NDArray[Any] = (plain.fill_null(0) if pa.types.is_integer(plain.type) else plain).to_numpy()
    return array


def _silently(path: str, work: Callable[[], T], damage: str = DAMAGED) -> T:
    """`work()`; whatever a library raises becomes our one sentence, and nothing keeps the original: it quotes cells."""
    try:
        with library_warnings.withheld():
            return work()
    except errors.NotOurs:
        raise
    except Exception:
        failed = errors.ReadingFailed(
            f"{path!r} could not be read {damage}. (Which cell is not said, because cells are private.)"
        )
    raise failed


def _no_numbers(kind: Any) -> errors.WrongType:
    return errors.WrongType(f"The column holds {type_name(kind)}, not numbers. Choose a column of numbers.")


def _declared(array: NDArray[Any], kind: Kind | None) -> NDArray[Any]:
    """The array as the type that was declared; whole numbers may become real ones, never the reverse."""
    if array.dtype.kind not in "iuf":
        raise _no_numbers(array.dtype)
    if kind == "int" and array.dtype.kind == "f":
        raise errors.WrongType(
            "The column is declared as real numbers in the file, not as int.",
            parameter="type",
            example={"type": "float"},
        )
    return array.astype(np.float64) if kind == "float" else array
