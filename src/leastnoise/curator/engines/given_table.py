"""A table of somebody else's DuckDB connection: its columns are fetched as they are, and nothing is computed there.

Whoever prepared a connection, or the file that it opened, decides what every function on it means: a macro may be named
like any function or operator of DuckDB, CREATE MACRO "+"(a, b) AS 5 among them, also like those that list functions. So
the only statement that reads rows there is SELECT "a", "b" FROM "t": no function, cast or operator. Its rows stream as
Arrow batches into an engine of our own, which does the rest. What a view or a generated column computes is its
author's.

Catalogues are asked by their full names, system.main.duckdb_tables(): nothing can be created in that schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from leastnoise.curator.engines.engine import redact_errors
from leastnoise.errors import ReadingFailed, TableChanged, UnknownSource

BATCH_ROWS = 2**16  # in memory at once, or a few times as many
WIDE = ("HUGEINT", "UHUGEINT")


class GivenTable(dataset.Dataset):  # type: ignore[misc]
    """What DuckDB scans as it scans a dataset: it names the columns that a query needs, and conditions on them.

    A connection has one result that streams, and rows that are read twice may be of two states. So one query reads them
    once: `begin` allows it one reading.
    """

    def __init__(self, connection: Any, path: Sequence[str]) -> None:
        self.connection = connection
        self._path = tuple(path)
        self._columns = self._found()
        self._may_read = False
        self._rows = self._rows_read = 0

    @property
    def schema(self) -> pa.Schema:
        """Its columns, as they were when it was opened; instants are in UTC, whatever the connection's zone."""
        return self._columns

    def check_unchanged(self) -> None:
        """Raise TableChanged unless the columns are those that were opened. No row is read."""
        same = False
        with suppress(ReadingFailed, UnknownSource):
            same = self._found() == self._columns
        if not same:
            raise TableChanged(
                f'the columns of "{self._path[-1]}" are not those that were opened, or the connection is closed. '
                "Nothing is released. Open the table again, ln.table(...)."
            )

    def begin(self) -> None:
        """Let the next query read the rows, once."""
        self._may_read, self._rows_read = True, 0

    def estimated_rows(self) -> int:
        """Of a table, about how many rows it has; 0 where nobody knows. Only time may depend on it."""
        listed = [row for row in _tables(self.connection) if row[: len(self._path)] == self._path[::-1]]
        self._rows = int(listed[0][-1] or 0) if len(listed) == 1 else 0
        return self._rows

    def percent_read(self) -> float:
        """How much of the rows the query has read; -1 where nobody knows how many there are."""
        return 100 * self._rows_read / self._rows if self._rows else -1.0

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:  # noqa: A002
        """What DuckDB asks a dataset for."""
        wanted = self._columns.names if columns is None else list(columns)
        return SimpleNamespace(to_reader=lambda: self._reader(wanted, filter))

    def _reader(self, columns: list[str], condition: Any) -> pa.RecordBatchReader:
        if not self._may_read:
            raise RuntimeError("one query reads the rows twice")
        self._may_read = False
        fetched = columns if condition is None else [*columns, *self._needed(condition, columns)]
        found = _select(self.connection, fetched, self._path)
        given = pa.schema([self._columns.field(name) for name in fetched])
        batches = found.to_arrow_reader(BATCH_ROWS)
        if exact_schema(batches.schema, found.types) != given:
            raise RuntimeError("the columns have changed")
        kept = pa.schema([self._columns.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(kept, self._batches(batches, given, kept, condition))

    def _batches(
        self, batches: pa.RecordBatchReader, given: pa.Schema, kept: pa.Schema, condition: Any
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._rows_read += batch.num_rows
            rows = exact_batch(batch, given)
            if condition is None:
                yield rows
            else:
                yield from pa.Table.from_batches([rows]).filter(condition).select(kept.names).to_batches()

    def _needed(self, condition: Any, columns: Sequence[str]) -> list[str]:
        """The columns that a condition may name beside these: it cannot without their letters."""
        return [name for name in self._columns.names if name not in columns and name in str(condition)]

    def _found(self) -> pa.Schema:
        """The columns as they are now. A view may be of other tables than before."""
        found = redact_errors(lambda: _select(self.connection, None, self._path).limit(0))
        return redact_errors(lambda: exact_schema(found.to_arrow_table().schema, found.types))


def find(connection: Any, name: str) -> GivenTable:
    """The table or view of this name. Without this look DuckDB would take the name of a Python variable, or of a file,
    for a table as well."""
    views = _plain(connection, ["view_name", "internal"], "duckdb_views")
    names = sorted({row[0] for row in _tables(connection)} | {view for view, internal in views if not internal})
    if name not in names:
        raise UnknownSource(f'the connection has no table "{name}". It has {", ".join(names)}.')
    return GivenTable(connection, [name])


def settings(connection: Any, *names: str) -> dict[str, str]:
    """What the connection is set to."""
    found = dict(_plain(connection, ["name", "value"], "duckdb_settings"))
    return {name: found[name] for name in names if name in found}


def _tables(connection: Any) -> list[tuple[Any, ...]]:
    """Name, schema, database and number of rows of every table."""
    columns = ["table_name", "schema_name", "database_name", "estimated_size"]
    return _plain(connection, columns, "duckdb_tables")


def _plain(connection: Any, columns: Sequence[str], catalogue: str) -> list[tuple[Any, ...]]:
    named = ", ".join(map(_quoted, columns))
    return redact_errors(lambda: list(connection.sql(f"SELECT {named} FROM system.main.{catalogue}()").fetchall()))


def _select(connection: Any, columns: Sequence[str] | None, path: Sequence[str]) -> Any:
    """The rows of a table, or of these columns of it: the one statement that reads somebody else's rows."""
    named = "*" if columns is None else ", ".join(map(_quoted, columns))
    return connection.sql(f"SELECT {named} FROM {'.'.join(map(_quoted, path))}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def exact_schema(schema: pa.Schema, kinds: Sequence[Any]) -> pa.Schema:
    """The schema of what DuckDB exports as Arrow, with types that hold every value of these types of DuckDB. A whole
    number of 128 bits is exported as a decimal of 38 digits, and one of 39 then makes a query fail. An instant is the
    same in every zone, and the zone is that of UTC.
    """
    return pa.schema(
        [field.with_type(_exact(field.type, str(kind))) for field, kind in zip(schema, kinds, strict=True)]
    )


def exact_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """What DuckDB exported, in its exact schema."""
    columns = [_as_type(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _exact(kind: pa.DataType, of_duckdb: str) -> pa.DataType:
    if of_duckdb in WIDE and pa.types.is_decimal(kind):
        return pa.opaque(pa.binary(16), of_duckdb.lower(), "DuckDB")
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz else kind


def _as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values: both conversions only name the bytes otherwise."""
    if column.type == kind:
        return column
    if not pa.types.is_decimal(column.type):
        return column.cast(kind)
    stored = pa.Array.from_buffers(kind.storage_type, len(column), column.buffers(), offset=column.offset)
    return pa.ExtensionArray.from_storage(kind, stored)
