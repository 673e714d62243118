"""Tables and columns that everybody may see, from wherever they come: a file, a frame, or columns by name.

Here types may be guessed and values quoted: nothing in them is about the people who are protected. Files are unpacked
within limits all the same (`_support.parquet`): who wrote a public file may be anybody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv

FILES = (".parquet", ".csv")
SOURCES = "a CSV or Parquet file, a pandas, Polars or Arrow table, or a mapping of names to lists"
Column = list[Any]


def read_public_column(path: str, name: str) -> list[Any]:
    """The column of a file that everybody may see."""
    if not os.path.isfile(path):
        raise errors.NoSuchFile(f"There is no file {path!r} for the keys. Check the path.")
    try:
        table = _parquet(path, [name]) if path.lower().endswith(".parquet") else _csv(path)
        keys: list[Any] = _chosen(table, [name])[name].to_pylist()
        return keys
    except errors.LeastnoiseError:
        raise
    except Exception:
        pass
    raise errors.FileProblem(f"The keys in {path!r} could not be read. Check that it is a whole file of its kind.")


def read_public_table(
    source: Any, columns: Sequence[str] | None = None, *, as_text: Sequence[str] = ()
) -> dict[str, Column]:
    """Its columns as lists of None, bool, int, float, str, date or datetime (in UTC, without a zone), each of one type.

    columns, as_text: as `read_arrow` takes them.
    """
    table = read_arrow(source, columns, as_text=as_text)
    return {name: _cells(name, table[name]) for name in table.column_names}


def read_arrow(source: Any, columns: Sequence[str] | None = None, *, as_text: Sequence[str] = ()) -> pa.Table:
    """The table as Arrow holds it; in a CSV numbers are numbers, unless they are codes such as 01001.

    columns: those that are needed, each there once; left out, all.
    as_text: columns of a CSV that stay as they are written: 01 is not 1 before somebody says so.
    """
    import pyarrow as pa

    module = type(source).__module__.split(".")[0]
    try:
        if isinstance(source, str | os.PathLike):
            table = _file(os.fspath(source), columns, as_text)
        elif isinstance(source, Mapping):
            table = pa.table({str(name): _array(str(name), column) for name, column in source.items()})
        elif module == "pandas" and hasattr(source, "columns"):
            table = pa.Table.from_pandas(source, preserve_index=False)
        elif module == "polars" and hasattr(source, "to_arrow") and hasattr(source, "columns"):
            table = source.to_arrow()
        elif isinstance(source, pa.Table):
            table = source
        else:
            raise errors.WrongType(f"a public table is {SOURCES}. Got {type(source).__name__} instead.")
    except errors.LeastnoiseError:
        raise
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError) as error:
        reason = str(error)
        raise errors.WrongType(f"the public table cannot be read: {reason}. Give {SOURCES}.") from None
    return _chosen(table, columns)


def _chosen(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    chosen = table.column_names if columns is None else list(dict.fromkeys(columns))
    _check_names(table.column_names, chosen)
    return table.select(chosen)


def _check_names(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Each column that is wanted is there, once."""
    for name in wanted:
        if present.count(name) > 1:
            raise errors.BadDomain(f'two columns of the public table are called "{name}". Rename one.')
        if name not in present:
            raise errors.UnknownColumn.among_columns(name, present)


def _parquet(path: str, columns: Sequence[str] | None) -> pa.Table:
    """Its columns, within limits: their names are looked at before anything else is read."""
    import pyarrow.parquet as pq

    present = pq.read_schema(path).names
    _check_names(present, present if columns is None else columns)
    return parquet.read(path, columns)


def _csv(path: str, convert: csv.ConvertOptions | None = None) -> pa.Table:
    """A CSV, which may be packed (.gz, .bz2, .zst), within the limits of Parquet."""
    import pyarrow as pa
    from pyarrow import csv

    limit = parquet.most_bytes(os.path.getsize(path))
    with pa.input_stream(path) as stream:
        content = stream.read_buffer(limit + 1)
    if content.size > limit:
        raise parquet.too_large(limit)
    return csv.read_csv(pa.BufferReader(content), convert_options=convert)


def _array(name: str, column: Any) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(_sequence(column))
    except OverflowError:
        why = "holds a whole number that does not fit into 64 bits. Make the column text, or leave it out."
    except UnicodeEncodeError:
        why = "holds half of a surrogate pair, which is no text. Repair it."
    raise errors.BadDomain(f'the column "{name}" of the public table {why}', value=name)


def _cells(name: str, column: Any) -> Column:
    """The values, each as Python has it; its times are of the years 1 to 9999."""
    try:
        return [_plain(cell) for cell in column.to_pylist()]
    except (OverflowError, ValueError) as problem:
        if isinstance(problem, errors.LeastnoiseError):
            raise
    raise errors.BadDomain(
        f'the column "{name}" of the public table holds a day or a time outside the years 1 to 9999 of UTC. Correct '
        "it, or leave the column out.",
        value=name,
    )


def _sequence(column: Any) -> Any:
    """A NumPy array as it is, which Arrow reads at once; anything else as a list."""
    plain = type(column).__module__ == "numpy" and getattr(column, "ndim", 0) == 1 and column.dtype.kind in "iufbU"
    return column if plain else list(column)


def _file(path: str, columns: Sequence[str] | None, as_text: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    if not os.path.isfile(path):
        raise errors.NoSuchFile(f"There is no file {path!r}. Check the path.")
    try:
        if path.lower().endswith(".parquet"):
            return _parquet(path, columns)
        table = _csv(path, _texts(as_text))
        whole = [name for name in table.column_names if pa.types.is_integer(table.schema.field(name).type)]
        codes = [name for name in whole if table.column_names.count(name) == 1 and _has_codes(path, name)]
        return _csv(path, _texts([*as_text, *codes])) if codes else table
    except errors.LeastnoiseError:
        raise
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error)
    raise errors.FileProblem(f"{path!r} could not be read as a public table: {reason}")


def _texts(names: Sequence[str], only: Sequence[str] = ()) -> csv.ConvertOptions:
    import pyarrow as pa
    from pyarrow import csv

    types = dict.fromkeys(names, pa.string())
    return csv.ConvertOptions(column_types=types, strings_can_be_null=True, include_columns=list(only))


def _has_codes(path: str, name: str) -> bool:
    """Whether some of a CSV's whole numbers begin with a zero, as codes do: 01001 would become 1001."""
    import pyarrow.compute as pc

    written = _csv(path, _texts([name], only=[name]))[name]
    return bool(pc.any(pc.match_substring_regex(written, r"^[+-]?0[0-9]")).as_py())


def _plain(cell: Any) -> Any:
    """One value: NaN is missing, and there is one zero."""
    if isinstance(cell, Decimal):
        cell = float(cell)
    if isinstance(cell, float):
        return None if cell != cell else cell or 0.0
    if isinstance(cell, datetime):
        cell = cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell  # of nanoseconds
        return cell.astimezone(UTC).replace(tzinfo=None) if cell.tzinfo else cell
    if cell is None or isinstance(cell, bool | int | str | date):
        return cell
    raise errors.WrongType(
        f"a column of the public table holds {type(cell).__name__}, which cannot be joined in. Name the columns that "
        "are needed, of numbers, text, truth values, dates or times."
    )
