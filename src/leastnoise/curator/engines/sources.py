"""Opening a table: a path, a frame, a connection - anything becomes an engine and a lazy Ibis expression.

Only schemas are read. What is wrong here is about files and columns, public facts, so the errors may say it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.parquet as pq

from leastnoise.curator.engines import duckdb, given_table, spark
from leastnoise.curator.engines.engine import Engine, Source, check_names, lock_of, redact_errors, status
from leastnoise.curator.engines.files import PLAIN, CsvLayout, header, is_parquet, partition_columns
from leastnoise.curator.engines.frames import Frame, Relation, frame_of, refuse_odd
from leastnoise.curator.engines.given_table import GivenTable
from leastnoise.curator.engines.spark_sources import is_address, is_table_name, local_path, versioned
from leastnoise.errors import InvalidParameter, UnknownSource, WrongType

ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
SOURCES = (
    "a path, a glob or a list of Parquet or CSV files, a pandas, Polars or Arrow table, a DuckDB relation, "
    "(connection, table name), an Ibis table or a Spark DataFrame"
)


def open_source(
    source: Any,
    *,
    name: str | None = None,
    engine: str | None = None,
    memory_limit: str | None = None,
    config: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    layout: CsvLayout = PLAIN,
) -> Source:
    """Any source as an opened table. Of `types`, those of columns of Python objects are applied here."""
    config, types = config or {}, types or {}
    if not isinstance(config, Mapping):
        raise WrongType(
            f"config has settings of Spark by name. Got {config!r} instead.",
            parameter="config",
            value=config,
            example={"config": {"spark.executor.memory": "4g"}},
        )
    module = type(source).__module__.split(".")[0]
    if isinstance(source, str | os.PathLike) or _is_paths(source):
        return _open_files(source, name, engine, memory_limit, config, layout)
    layout.check_is_csv(False)
    if module == "ibis":
        return _open_ibis(source, name or "ibis table", memory_limit)
    if module == "pyspark":
        return spark.open_frame(source, name=name or "spark table")
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        connection, table = source
        if type(connection).__name__ != "DuckDBPyConnection":
            raise UnknownSource(f"a pair must be (DuckDB connection, table name). Got {type(connection).__name__}.")
        return _open_given(connection, lambda: given_table.find(connection, table), name or table, memory_limit)
    frame = frame_of(source, types)
    if frame is None:
        raise UnknownSource(f"a table cannot be read from {type(source).__name__}. Give {SOURCES}.")
    opened = duckdb.connect(memory_limit=memory_limit)
    return Source(
        engine=opened,
        rows=_rows_of(opened, frame),
        name=name or "table in memory",
        declared=frame.declared,
        undeclared=frame.undeclared,
        index=frame.index,
        fixed=isinstance(frame.rows, pa.Table | Relation),  # a lazy Polars frame is evaluated by each query
    )


def _rows_of(engine: Any, frame: Frame) -> Any:
    """A frame as a table of our own engine. DuckDB knows less than Arrow does: what it would fail at is refused by
    name."""
    check_names(frame.names)
    schema, connection = frame.arrow_schema(), engine.backend.con

    def take(names: Sequence[str]) -> None:
        connection.register("leastnoise_rows", pa.schema([schema.field(name) for name in names]).empty_table())
        connection.execute("SELECT * FROM leastnoise_rows").fetchall()

    def register() -> Any:
        connection.register("leastnoise_rows", frame.rows)
        rows = engine.backend.table("leastnoise_rows")
        return engine.binary(rows) if frame.lazy else rows

    refuse_odd({field.name: (field.type, field.name) for field in schema}, take)
    rows = redact_errors(register)
    if tuple(rows.columns) != frame.names:  # (an engine that renames one of them asks about another)
        raise UnknownSource("the engine does not take the names of the columns as they are. Give them plainer names.")
    return rows


def _is_paths(source: Any) -> bool:
    return isinstance(source, list) and bool(source) and all(isinstance(item, str | os.PathLike) for item in source)


def _open_files(
    source: Any,
    name: str | None,
    engine: str | None,
    memory_limit: str | None,
    config: Mapping[str, str],
    layout: CsvLayout,
) -> Source:
    given = [os.fspath(item) for item in (source if isinstance(source, list) else [source])]
    given = [local_path(item) or item for item in given]
    label = name or ", ".join(Path(item).name for item in given)
    master, address = None if engine == "duckdb" else engine, any(map(is_address, given))
    if master is None and address:
        raise UnknownSource(
            f'"{given[0]}" is an address that a Spark session reads; DuckDB is given paths of this machine. Name a '
            "Spark master, or copy the files.",
            parameter="engine",
            example={"engine": "spark://host:7077"},
        )
    if address and len(given) > 1:
        raise UnknownSource("give one address, a folder or a glob, or the DataFrame that spark.read makes of several.")
    if master is not None and len(given) == 1 and (address or is_table_name(given[0])):
        return spark.open_named(given[0], engine=master, config=config, name=label, layout=layout)
    if config and master is None:
        raise InvalidParameter(
            "config is for a Spark session that is started here, and this table is read by DuckDB. Leave it out.",
            parameter="config",
            value=dict(config),
            example={"memory_limit": "4GB"},
        )
    files = tuple(file for item in given for file in find_files(item))
    layout.check_is_csv(not is_parquet(files[0]))
    opened_status = tuple(map(status, files))
    opened: Engine = duckdb.connect(memory_limit=memory_limit) if master is None else spark.connect(master, config)
    check_schemas(files, layout)
    rows = opened.read_files(list(files), layout)
    folders = partition_columns(files)
    return Source(
        engine=opened, rows=rows, name=label, files=files, folders=folders, layout=layout, opened_status=opened_status
    )


def find_files(path: str) -> list[str]:
    """The files that a path, glob or folder names, in order."""
    if os.path.isdir(os.path.join(path, "_delta_log")):
        raise UnknownSource(versioned(path))
    if os.path.isdir(path):
        found = _files_below(path)
    elif glob.has_magic(path):
        found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    else:
        found = [path] if os.path.isfile(path) else []
    if not found:
        raise UnknownSource(
            f'no file is found at "{path}". Check the path; the working folder is used for relative ones.'
        )
    if len({ending(file) for file in found}) > 1:
        raise UnknownSource(f'"{path}" holds files of different kinds. Give those of one kind, e.g. "*.parquet".')
    return found


def _files_below(folder: str) -> list[str]:
    try:
        return sorted(str(file) for file in Path(folder).rglob("*") if _is_data(file))
    except OSError:  # one that may not be read would be missing from the table
        raise UnknownSource(
            f'not everything in the folder "{folder}" may be read by you, and the table would lack it. Name the files '
            'themselves, or a glob such as "*.parquet".'
        ) from None


def ending(file: str) -> str:
    """The kind of a file, by its name."""
    for choice in ENDINGS:
        if file.lower().endswith(choice):
            return choice.removesuffix(".gz")
    raise UnknownSource(f'"{file}" is neither Parquet nor CSV by its name. Files end in {", ".join(ENDINGS)}.')


def check_schemas(files: Sequence[str], layout: CsvLayout = PLAIN) -> None:
    """Every file of a table has the same columns of the same types; read from the footers. No column is named by a
    folder and in the files: which of the two counts differs between engines."""
    if is_parquet(files[0]):
        names = _names_in_parquet(files)
    else:
        names = header(files[0], layout)
        for file in files:
            if header(file, layout) != names:
                raise UnknownSource(
                    f'"{Path(file).name}" and "{Path(files[0]).name}" have different headers, or the same columns in '
                    "another order."
                )
    inside = {name.casefold() for name in names}
    both = [name for name in partition_columns(files) if name.casefold() in inside]
    if both:
        raise UnknownSource(
            f'a folder names the column "{both[0]}", and the files have one of that name. Rename the folders, or leave '
            "the column out of the files."
        )


def _names_in_parquet(files: Sequence[str]) -> list[str]:
    schemas = redact_errors(lambda: [pq.read_schema(file).remove_metadata() for file in files], files)
    first: Any = schemas[0]
    check_names(first.names)
    for file, other in zip(files, schemas, strict=True):
        if other != first:
            moved = [name for name, twin in zip(first.names, other.names, strict=False) if name != twin]
            differing = sorted({field.name for field in set(first) ^ set(other)})
            differing = differing or [f"{name} (in another place)" for name in moved]
            raise UnknownSource(
                f'"{Path(file).name}" and "{Path(files[0]).name}" disagree about the columns {", ".join(differing)}. '
                "A row would mean different things in different files. Convert them to one schema."
            )
    return list(first.names)


def _is_data(file: Path) -> bool:
    hidden = any(part.startswith(("_", ".")) for part in file.parts[-2:])
    return file.is_file() and not hidden and file.name.lower().endswith(ENDINGS)


def _open_ibis(table: Any, name: str, memory_limit: str | None) -> Source:
    """A table of DuckDB or Spark, as it is: what an expression did before us nobody has checked."""
    backend = table.get_backend()
    if backend.name not in ("duckdb", "pyspark"):
        raise UnknownSource(
            f"Ibis tables of {backend.name} are not accepted: their integers are not proved equal to those of DuckDB "
            "and Spark, on which the noise relies. Write the table to Parquet and open that."
        )
    if isinstance(table.op(), ops.InMemoryTable):
        raise UnknownSource(
            "an Ibis memtable is a frame whose columns Ibis has named and typed by itself. Give the frame to table()."
        )
    if not isinstance(table.op(), ops.DatabaseTable):
        raise UnknownSource(
            "an Ibis expression is more than a table: what it does (a limit, a join, a cast) may let one person change "
            "the rows of others, or fail at somebody's row. Open the table itself and use where() and derive(), or "
            "write the result to a table or to Parquet first."
        )
    if backend.name == "pyspark":
        return spark.open_frame(redact_errors(lambda: backend._session.sql(backend.compile(table))), name=name)
    place = table.op().namespace
    path = [part for part in (place.catalog, place.database, table.op().name) if part]
    return _open_given(backend.con, lambda: GivenTable(backend.con, path), name, memory_limit)


def _open_given(connection: Any, find: Callable[[], GivenTable], name: str, memory_limit: str | None) -> Source:
    """A table of somebody else's connection, in an engine of our own with the memory and threads of that one."""
    lock = lock_of(connection)
    with lock:  # another thread may be reading another table of it
        given = find()
        limits = given_table.settings(connection, "memory_limit", "threads")
    engine = duckdb.connect(memory_limit=memory_limit or limits.get("memory_limit"), threads=limits.get("threads"))
    engine.given = given
    return Source(engine=engine, rows=_rows_of(engine, Frame(given, lazy=True)), name=name, lock=lock)
