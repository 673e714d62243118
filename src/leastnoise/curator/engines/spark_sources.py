"""What Spark opens, as a Spark frame: files, addresses, and tables of its catalogue. Only schemas and headers are read.

rows.parquet, day=*/*.csv                  files that the driver sees: they are checked here first
s3a://bucket/trips                         an address: whatever the session's file systems know, and its own business
warehouse.trips, `my-catalogue`.city.trips a table of the catalogue, of up to four parts
delta.`s3a://bucket/trips`                 a format that the session has, and where
warehouse.trips VERSION AS OF 12           a snapshot, where the table keeps them; or TIMESTAMP AS OF '2013-01-31'

Why one cannot be opened is said in our words. Only names, schemas and headers are looked at then, so it may be said.
Spark's own message may still quote a line of a file (a CSV without a header), so none is repeated: its code is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from leastnoise._support import library_warnings
from leastnoise.curator.engines.engine import attempt, unique
from leastnoise.curator.engines.files import (
    PLAIN,
    CsvLayout,
    header,
    is_parquet,
    misread_partitions,
    partition_base,
    partition_columns,
    time_units,
)
from leastnoise.curator.engines.spark_session import is_remote, silent
from leastnoise.errors import EngineUnavailable, LeastnoiseError, UnknownSource

T = TypeVar("T")
_PART = r"(?:[\w-]+|`(?:[^`]|``)+`)"
_NAME = re.compile(
    rf"(?P<name>{_PART}(?:\.{_PART}){{0,3}})"
    r"(?:\s+(?P<kind>VERSION|TIMESTAMP)\s+AS\s+OF\s+(?P<when>\d+|'[^'\\]+'))?",
    re.IGNORECASE,
)
MALFORMED = "a row of the CSV has more or fewer fields than its header"  # in the logs of Spark, so without a cell
CHECKSUMS = ("parquet.page.verify-checksum.enabled", "true")
TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_NOT_THERE = ("PATH_NOT_FOUND", "FileNotFoundException", "InvalidInputException", "Input path does not exist")
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_CATALOG", "CATALOG_NOT_FOUND", "NoSuchTable")
_NO_CATALOGUE = ("REQUIRES_SINGLE_PART_NAMESPACE",)  # what is no catalogue is taken for a part of the name
_NO_FORMAT = ("DATA_SOURCE_NOT_FOUND", "ClassNotFoundException", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY")
_NO_SCHEME = ("No FileSystem for scheme", "UnsupportedFileSystemException")
_NO_VERSIONS = ("TIME_TRAVEL", "timestamp-ntz")
_FORBIDDEN = ("AccessControlException", "AccessDenied", "Permission denied", "PERMISSION_DENIED")
# The status 403 as AWS, Google and Azure write it; a path may have the digits as well.
_STATUS_403 = re.compile(r'code"?\s*[:=]?\s*403\b|\b403 Forbidden|", 403, [A-Z]+,|HTTP/[\d.]+ 403\b', re.IGNORECASE)
_NO_HOST = ("UnknownHostException", "ConnectException", "SocketTimeoutException", "NoRouteToHost", "ConnectTimeout")
_NO_FILES = ("UNABLE_TO_INFER_SCHEMA", "CANNOT_READ_FILE_FOOTER", "is not a Parquet file")


def is_address(text: str) -> bool:
    """Whether this is a URI with a scheme."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None or text.startswith("file:/")


def local_path(address: str) -> str | None:
    """The path that a file:// address names on this machine; None for other addresses."""
    if not address.startswith("file:/"):
        return None
    path = urlsplit(address).path
    return path if os.path.exists(path) else unquote(path)


def is_table_name(text: str) -> bool:
    """Whether this can name a table, and no file is called so."""
    return _NAME.fullmatch(text) is not None and not os.path.exists(text)


def statement(text: str) -> str:
    """The SQL that selects the rows of a named table, every part of its name by its letters."""
    found = _NAME.fullmatch(text)
    assert found is not None
    parts = [_letters(part) for part in re.findall(_PART, found["name"])]
    version = f" {found['kind'].upper()} AS OF {found['when']}" if found["kind"] else ""
    return f"SELECT * FROM {'.'.join(map(quoted, parts))}{version}"


def _letters(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def opening(work: Callable[[], T], what: str) -> T:
    """`work()`, which opens what the user named; what is wrong with it becomes one of our sentences."""
    try:
        with silent(), library_warnings.withheld():
            return work()
    except LeastnoiseError:
        raise
    except Exception as error:
        problem = _problem(error, what)
    raise problem


def _problem(error: Exception, what: str) -> LeastnoiseError:
    text = _text(error)

    def has(marks: tuple[str, ...]) -> bool:
        return any(mark in text for mark in marks)

    scheme, _, path = what.partition("://")
    if has(_NO_SCHEME) or (path and has(_NO_FORMAT) and "`" not in what):
        return EngineUnavailable(
            f"this Spark session has nothing that reads {scheme}://. Start it with the package for it in "
            "spark.jars.packages, such as org.apache.hadoop:hadoop-aws for s3a."
        )
    if has(_NO_FORMAT) or (has(_NO_TABLE) and re.match(r"\w+\.`[^`]*/", what)):  # a format, and where
        return EngineUnavailable(
            f'this Spark session has no package that reads "{what}". Start it with one in spark.jars.packages, such '
            "as io.delta:delta-spark_2.13 or org.apache.iceberg:iceberg-spark-runtime-4.0_2.13."
        )
    if has(_NO_VERSIONS):
        return UnknownSource(f'"{what}" names a version, and this table keeps none. Leave the version out.')
    if has(_NO_CATALOGUE):
        return UnknownSource(
            f'"{what}" begins with the name of a catalogue, and this Spark session has none of that name. Start it '
            "with spark.sql.catalog.NAME, or check the name."
        )
    if has(_NO_HOST):
        return EngineUnavailable(
            f'Spark reached no host for "{what}". Check the address, and that the session is allowed to connect there.'
        )
    if has(_NO_TABLE):
        return UnknownSource(f'there is neither a file nor a table "{what}" in the catalogue of this Spark session.')
    if has(_NOT_THERE):
        return UnknownSource(f'Spark finds nothing at "{what}". Check the address, and that the session sees it.')
    if has(_FORBIDDEN) or _STATUS_403.search(text):
        return EngineUnavailable(f'this Spark session is not allowed to read "{what}". Check its credentials.')
    if has(_NO_FILES):
        return UnknownSource(f'there is no Parquet at "{what}". CSV files are known by their endings.')
    return UnknownSource(
        f'Spark could not open "{what}". Its own message is withheld because it may quote a row; '
        "spark.read shows it to you."
    )


def _text(error: Exception) -> str:
    """Its code and its message, to look for words in; never shown."""
    return f"{attempt(lambda: error.getCondition())} {attempt(str, error)}"  # type: ignore[attr-defined]


def functions_of(session: Any) -> Any:
    """The module of functions of columns that goes with the session."""
    if is_remote(session):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions

    return functions


def frame_of_files(session: Any, files: list[str], layout: CsvLayout = PLAIN) -> Any:
    """The rows of Parquet or CSV files that lie here and on the workers under the same paths."""
    folders = partition_columns(files)
    # The driver looks at the files itself: beyond 32 of them Spark would start one task a file to ask whether it is
    # there, which takes a hundred times as long for files that are known already.
    session.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", str(2**31 - 1))
    if is_parquet(files[0]):
        return _decoded(session, _parquet(session, files, folders), files, folders)
    reader, paths = _paths(session, files, folders)
    sep = layout.separator(files[0])
    frame = _cells(session, reader, paths, header(files[0], layout), folders, sep, checked=False)
    return _decoded(session, frame, files, folders)


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
    known = attempt(lambda: columns() == schema)
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
    if attempt(lambda: session.read.text(uri.rstrip("/") + "/_delta_log").columns):
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
        reader = reader.option("basePath", "file:" + os.path.abspath(partition_base(files[0]) or "/"))
    else:
        reader = reader.option("recursiveFileLookup", "true")
    return reader, ["file:" + os.path.abspath(file) for file in files]


def _parquet(session: Any, files: list[str], folders: tuple[str, ...]) -> Any:
    """With the schema of the first file, the folders as text, and times that are not in microseconds as integers:
    Spark fails where milliseconds overflow, and does not know nanoseconds."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    sql = functions_of(session)
    reader, paths = _paths(session, files[:1], ())
    odd = time_units(files[0])
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
        wrong = misread_partitions(files, name)
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
