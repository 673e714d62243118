"""Opening a table: a path, a frame, a connection - anything becomes an engine and a lazy Ibis expression.

Only schemas are read. What is wrong here is about files and columns, public facts, so the errors may say it.
"""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leastnoise.engines import Engine, Source, reading
from leastnoise.engines.headers import header
from leastnoise.engines.stamps import stamps
from leastnoise.errors import MixedSchemas, UnknownSource

ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
KINDS = (
    "a path, a glob or a list of Parquet or CSV files, a pandas, Polars or Arrow table, a DuckDB relation, "
    "(connection, table name), an Ibis table or a Spark DataFrame"
)


def open_source(source: Any, *, name: str | None, engine: str | None, memory_limit: str | None) -> Source:
    """Any source as an opened table."""
    import pyarrow as pa

    from leastnoise.engines import duckdb, spark

    module = type(source).__module__.split(".")[0]
    if isinstance(source, str | os.PathLike) or _is_paths(source):
        return _open_files(source, name, engine, memory_limit)
    if module == "ibis":
        return Source(engine=_engine_of(source), rows=source, name=name or "ibis table")
    if module == "pyspark":
        return spark.open_frame(source, name=name or "spark table")
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        return _open_connection(*source, name=name)
    arrow = _in_memory(source, module)
    if arrow is None:
        raise UnknownSource(f"a table cannot be read from {type(source).__name__}. Give {KINDS}.")
    opened = duckdb.connect(memory_limit=memory_limit)
    rows = reading(lambda: _register(opened, arrow))
    # A lazy Polars frame is evaluated by each query.
    fixed = isinstance(arrow, pa.Table | Relation)
    return Source(engine=opened, rows=rows, name=name or "table in memory", fixed=fixed)


def _is_paths(source: Any) -> bool:
    return isinstance(source, list) and bool(source) and all(isinstance(item, str | os.PathLike) for item in source)


def _open_files(source: Any, name: str | None, engine: str | None, memory_limit: str | None) -> Source:
    from leastnoise.engines import duckdb, spark

    given = [os.fspath(item) for item in (source if isinstance(source, list) else [source])]
    label = name or ", ".join(Path(item).name for item in given)
    if engine not in (None, "duckdb") and len(given) == 1 and spark.is_catalogue_name(given[0]):
        return spark.open_catalogue(given[0], master=str(engine), name=label)
    files = tuple(file for item in given for file in find_files(item))
    opened_as = stamps(files)
    if engine in (None, "duckdb"):
        opened: Engine = duckdb.connect(memory_limit=memory_limit)
    else:
        opened = spark.connect(str(engine))
    check_schemas(files)
    return Source(engine=opened, rows=opened.read_files(list(files)), name=label, files=files, stamps=opened_as)


def find_files(path: str) -> list[str]:
    """The files that a path, glob or folder names, in order."""
    if os.path.isdir(path):
        found = sorted(str(file) for file in Path(path).rglob("*") if _is_data(file))
    elif glob.has_magic(path):
        found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    else:
        found = [path] if os.path.isfile(path) else []
    if not found:
        raise UnknownSource(
            f'no file is found at "{path}". Check the path; the working folder is used for relative ones.'
        )
    if len({ending(file) for file in found}) > 1:
        raise MixedSchemas(f'"{path}" holds files of different kinds. Give those of one kind, e.g. "*.parquet".')
    return found


def ending(file: str) -> str:
    """The kind of a file, by its name."""
    for choice in ENDINGS:
        if file.lower().endswith(choice):
            return choice.removesuffix(".gz")
    raise UnknownSource(f'"{file}" is neither Parquet nor CSV by its name. Files end in {", ".join(ENDINGS)}.')


def check_schemas(files: Sequence[str]) -> None:
    """Every file of a table has the same columns of the same types; read from the footers."""
    if ending(files[0]) != ".parquet":
        for file in files:
            if header(file) != header(files[0]):
                raise MixedSchemas(f'"{Path(file).name}" and "{Path(files[0]).name}" have different headers.')
        return
    import pyarrow.parquet as pq

    schemas = reading(lambda: [pq.read_schema(file).remove_metadata() for file in files], files)
    first = schemas[0]
    for file, other in zip(files, schemas, strict=True):
        if other != first:
            differing = sorted({field.name for field in set(first) ^ set(other)})
            raise MixedSchemas(
                f'"{Path(file).name}" and "{Path(files[0]).name}" disagree about the columns '
                f"{', '.join(differing)}. "
                "A row would mean different things in different files. Convert them to one schema."
            )


def _is_data(file: Path) -> bool:
    hidden = any(part.startswith(("_", ".")) for part in file.parts[-2:])
    return file.is_file() and not hidden and file.name.lower().endswith(ENDINGS)


def _engine_of(table: Any) -> Engine:
    from leastnoise.engines import duckdb, spark

    backend = table.get_backend()
    if backend.name == "duckdb":
        return duckdb.DuckDB(backend)
    if backend.name == "pyspark":
        return spark.Spark(backend)
    raise UnknownSource(
        f"Ibis tables of {backend.name} are not accepted: their integers are not proved equal to "
        "those of DuckDB "
        "and Spark, on which the noise relies. Write the table to Parquet and open that."
    )


def _open_connection(connection: Any, table: str, *, name: str | None) -> Source:
    import ibis

    from leastnoise.engines import duckdb

    if type(connection).__name__ != "DuckDBPyConnection":
        raise UnknownSource(f"a pair must be (DuckDB connection, table name). Got {type(connection).__name__}.")
    backend = ibis.duckdb.from_connection(connection)  # and its time zone is UTC from now on
    listing = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    tables = sorted(row[0] for row in reading(lambda: connection.sql(listing).fetchall()))
    if table not in tables:
        raise UnknownSource(f'the connection has no table "{table}". It has {", ".join(tables)}.')
    rows = reading(lambda: backend.table(table))
    return Source(engine=duckdb.DuckDB(backend), rows=rows, name=name or table)


def _in_memory(source: Any, module: str) -> Any:
    """pandas, Polars and Arrow as one Arrow table; a lazy Polars frame and a DuckDB relation are not read yet."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if module == "pandas":
        return reading(lambda: pa.Table.from_pandas(source, preserve_index=False))
    if module == "polars":
        return reading(lambda: _typed(source) if hasattr(source, "collect") else source.to_arrow())
    if type(source).__name__ == "DuckDBPyRelation":
        return Relation(source)
    return None


class Relation:
    """A DuckDB relation as Arrow rows: all of its columns, read once and whole when the first query needs them.

    They stay in memory, outside memory_limit: (connection, table name) is the way for what is too large for that.
    A relation belongs to a connection that can do one thing at a time, and a query may ask for its rows twice at once.
    """

    def __init__(self, relation: Any) -> None:
        self.schema = reading(lambda: relation.limit(0).to_arrow_table().schema)
        self._relation, self._lock = relation, threading.Lock()
        self._rows: Any = None

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        with self._lock:
            if self._rows is None:
                self._rows = self._relation.to_arrow_table()
        return self._rows.__arrow_c_stream__(requested_schema)


def _typed(frame: Any) -> Any:
    """A lazy frame with text for columns that have no type; only its schema is looked at."""
    import polars as pl

    empty = [name for name, kind in frame.collect_schema().items() if kind == pl.Null]
    return frame.with_columns(pl.col(name).cast(pl.String) for name in empty) if empty else frame


def _register(engine: Any, arrow: Any) -> Any:
    """A column without any value has no type in Arrow; it is text here, so that being empty is no mistake.

    Seconds and milliseconds with a zone lose it, and are instants in UTC as before: DuckDB would make microseconds of
    them while it scans, and fail at those that are out of range. Without a zone they enter as they are.
    """
    import pyarrow as pa

    for place, field in enumerate(arrow.schema if isinstance(arrow, pa.Table) else ()):
        if pa.types.is_null(field.type):
            arrow = arrow.set_column(place, field.name, arrow.column(place).cast(pa.string()))
        if pa.types.is_timestamp(field.type) and field.type.tz and field.type.unit in ("s", "ms"):
            arrow = arrow.set_column(place, field.name, arrow.column(place).cast(pa.timestamp(field.type.unit)))
    engine.backend.con.register("leastnoise_rows", arrow)
    return engine.backend.table("leastnoise_rows")
