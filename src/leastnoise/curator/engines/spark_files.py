"""Files as a Spark frame: those that the driver sees are checked here first, those behind a URI are the session's.

Only schemas and headers are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leastnoise.curator.engines import partitions
from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.curator.engines.headers import header
from leastnoise.curator.engines.spark_errors import opening
from leastnoise.curator.engines.spark_server import is_remote
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.engines.time_units import units
from leastnoise.errors import UnknownSource

MALFORMED = "a row of the CSV has more or fewer fields than its header"  # in the logs of Spark, so without a cell
CHECKSUMS = ("parquet.page.verify-checksum.enabled", "true")
TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def functions_of(session: Any) -> Any:
    """The module of functions of columns that goes with the session."""
    if is_remote(session):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions

    return functions


def frame_of_files(session: Any, files: list[str], layout: CsvLayout = PLAIN) -> Any:
    """The rows of Parquet or CSV files that lie here and on the workers under the same paths."""
    folders = partitions.columns(files)
    parquet = files[0].lower().endswith(".parquet")
    with _listed_here(session):
        read = _parquet(session, files, folders) if parquet else _csv(session, files, folders, layout)
        return _decoded(session, read, files, folders)


@contextmanager
def _listed_here(session: Any) -> Iterator[None]:
    """The driver looks at the files itself: beyond 32 of them Spark would start one task a file to ask whether it is
    there, which takes a hundred times as long for files that are known already."""
    name = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    before = session.conf.get(name)
    session.conf.set(name, str(2**31 - 1))
    try:
        yield
    finally:
        session.conf.set(name, before)


def is_csv_address(uri: str) -> bool:
    """Whether the files at an address are CSV, by its end."""
    return uri.lower().split("?")[0].endswith(TEXT_ENDINGS)


def frame_of_uri(session: Any, uri: str, layout: CsvLayout = PLAIN) -> Any:
    """What the session finds at s3a://, hdfs://, abfss:// ...: the address is its own business, and is not changed."""
    if is_csv_address(uri):
        sep = layout.separator(uri)
        names = opening(lambda: session.read.option("sep", sep).csv(uri, header=True).columns, uri)
        return _cells(session, session.read, [uri], names, (), sep, checked=True)
    _refuse_versioned(session, uri)
    return _in_known_times(session, uri)


def _in_known_times(session: Any, uri: str) -> Any:
    """Parquet as Spark reads it. Of nanoseconds it would make plain integers, by a setting that our own files need."""
    name = "spark.sql.legacy.parquet.nanosAsLong"
    before = session.conf.get(name)

    def columns() -> Any:
        return session.read.option(*CHECKSUMS).parquet(uri).schema

    schema = opening(columns, uri)
    session.conf.set(name, "false")
    try:
        known = columns() == schema
    except Exception:
        known = False
    finally:
        session.conf.set(name, before)
    if not known:
        raise UnknownSource(
            f'a column at "{uri}" holds times in nanoseconds, which Spark does not know. Write them in microseconds, '
            "or open files that the driver sees by their path."
        )
    return session.read.schema(schema).option(*CHECKSUMS).parquet(uri)


def _refuse_versioned(session: Any, uri: str) -> None:
    """The Parquet files of a Delta table hold rows that were deleted or replaced since."""
    if uri.lower().endswith(".parquet") or re.search(r"[*?\[{]", uri):
        return
    try:
        found = bool(session.read.text(uri.rstrip("/") + "/_delta_log").columns)
    except Exception:
        found = False
    if found:
        raise UnknownSource(versioned(uri))


def versioned(path: str) -> str:
    """The sentence about a folder of a Delta table."""
    return (
        f'"{path}" is a Delta table: its files also hold rows that were deleted or replaced. On a session that has '
        f"Delta, open it as delta.`{path}`, or give the DataFrame that spark.read.format('delta') makes."
    )


def _paths(session: Any, files: list[str], folders: tuple[str, ...]) -> tuple[Any, list[str]]:
    """A reader that takes paths by their letters, and the paths: Spark does not undo the %3D of a URI."""
    reader = session.read.option("__globPaths__", "false")
    if folders:
        reader = reader.option("basePath", "file:" + os.path.abspath(partitions.base(files[0]) or "/"))
    else:
        reader = reader.option("recursiveFileLookup", "true")
    return reader, ["file:" + os.path.abspath(file) for file in files]


def _parquet(session: Any, files: list[str], folders: tuple[str, ...]) -> Any:
    """With the schema of the first file, the folders as text, and times that are not in microseconds as integers:
    Spark fails where milliseconds overflow, and does not know nanoseconds."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    sql = functions_of(session)
    reader, paths = _paths(session, files[:1], ())
    odd = units(files[0])
    kinds = {field.name: field.dataType for field in reader.parquet(*paths).schema}
    replaced = [name for name in kinds if re.search(r"\$\{[^}:$ ]+\}", name)]
    if replaced:  # by Hadoop, through whose settings the names of the columns go
        raise UnknownSource(
            f'Spark would put the value of a setting into the name of the column "{replaced[0]}", and read another '
            "one. Rename the column, or use DuckDB."
        )
    kinds |= dict.fromkeys((name for name in odd if name in kinds), LongType())
    kinds |= dict.fromkeys(folders, StringType())
    reader, paths = _paths(session, files, folders)
    reader = reader.option(*CHECKSUMS)
    frame = reader.schema(StructType([StructField(name, kind) for name, kind in kinds.items()])).parquet(*paths)
    times = {name: sql.expr(_time(quoted(name), odd[name])) for name in odd if name in kinds}
    return frame.withColumns(times) if times else frame


def _csv(session: Any, files: list[str], folders: tuple[str, ...], layout: CsvLayout) -> Any:
    reader, paths = _paths(session, files, folders)
    sep = layout.separator(files[0])
    return _cells(session, reader, paths, header(files[0], layout), folders, sep, checked=False)


def _cells(
    session: Any, reader: Any, paths: list[str], names: list[str], folders: tuple[str, ...], sep: str, *, checked: bool
) -> Any:
    """Every cell reads the mark of a malformed row, which is an error without a word of the row. With `checked`, Spark
    compares the header of every file with the names."""
    sql, mark = functions_of(session), unique("malformed")
    for option, value in {
        "escape": '"',
        "multiLine": "true",
        "sep": sep,
        "maxColumns": str(2**20),  # beyond this Spark fails in words that quote the row
        "columnPruning": "false",  # with it, a row with too few fields is taken where the rest is not asked for
        "columnNameOfCorruptRecord": mark,
    }.items():
        reader = reader.option(option, value)
    schema = ", ".join(f"{quoted(name)} STRING" for name in (*names, mark, *folders))
    frame = reader.csv(paths, header=True, schema=schema, mode="PERMISSIVE", enforceSchema=not checked)
    # Spark does not let a query read the mark and folders alone, so the first cell is read as well.
    intact = sql.col(mark).isNull() & (sql.coalesce(sql.length(sql.col(quoted(names[0]))), sql.lit(0)) >= 0)
    failed = sql.raise_error(sql.lit(MALFORMED)).cast("string")
    cells = [sql.when(intact, sql.col(quoted(name))).otherwise(failed).alias(name) for name in (*names, *folders)]
    return frame.select(*cells)


def _decoded(session: Any, frame: Any, files: list[str], folders: tuple[str, ...]) -> Any:
    """Values of folders as on DuckDB."""
    sql = functions_of(session)
    for name in folders:
        wrong = partitions.misread(files, name)
        if wrong:
            column = sql.col(quoted(name))
            pairs = [sql.lit(text) for pair in wrong.items() for text in pair]
            frame = frame.withColumn(name, sql.coalesce(sql.create_map(*pairs)[column], column))
    return frame


def quoted(name: str) -> str:
    """A name as Spark's SQL takes it by its letters."""
    return "`" + name.replace("`", "``") + "`"


def _time(count: str, unit: str) -> str:
    """A time from its milliseconds or nanoseconds; the least integers, and what DuckDB takes for infinity, are null."""
    if unit == "milliseconds":
        return f"timestamp_millis(IF({count} BETWEEN -62135596800000 AND 253402300799999, {count}, NULL))"
    inside = f"IF({count} BETWEEN -9223372036854774807 AND 9223372036854775806, {count}, NULL)"
    return f"timestamp_micros(({inside} - pmod({inside}, 1000L)) DIV 1000L)"
