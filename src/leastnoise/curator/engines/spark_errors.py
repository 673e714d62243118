"""Why Spark cannot open a table, in our words. Only names, schemas and headers are looked at then, so it may be said.

Spark's own message may still quote a line of a file (a CSV without a header), so none is repeated: its code is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from leastnoise._support import library_warnings
from leastnoise.curator.engines.spark_settings import silent
from leastnoise.errors import EngineUnavailable, LeastnoiseError, UnknownSource

T = TypeVar("T")
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
    code: Any = ""
    with suppress(Exception):
        code = error.getCondition()  # type: ignore[attr-defined]
    with suppress(Exception):
        return f"{code} {error}"
    return str(code)
