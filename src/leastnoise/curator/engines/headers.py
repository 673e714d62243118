"""The first line of a CSV names its columns, and is public. No other line is looked at here.

An engine that may guess whether there is a header compares the first line with people's rows.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import stat
import zlib
from typing import Any, BinaryIO

from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.errors import UnknownSource

MAX_HEADER_BYTES = 2**20


def header(file: str, layout: CsvLayout = PLAIN) -> list[str]:
    """The names of the columns: each present, each once, also to engines that do not tell upper case from lower."""
    try:
        with opened(file) as raw:
            content: Any = gzip.GzipFile(fileobj=raw) if file.lower().endswith(".gz") else raw
            names = next(csv.reader(io.StringIO(_line(content)), delimiter=layout.separator(file), strict=True), [])
    except (OSError, EOFError, ValueError, csv.Error, zlib.error):
        names = []
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise UnknownSource(
            f'the first line of "{file}" is no header. It must name every column, each differently and not by case '
            "alone, in UTF-8: unit,hour,fare. Row numbers that R and pandas write have no name: give them one. Or "
            "convert the file to Parquet."
        )
    return names


def opened(file: str) -> BinaryIO:
    """A regular file, to read. Opening a pipe that nobody writes to would wait for ever, so nothing else is opened."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError
    return os.fdopen(descriptor, "rb")


def _line(content: BinaryIO) -> str:
    """Cut first, then decoded: a decoder works ahead, and would fail at a person's row."""
    line = content.readline(MAX_HEADER_BYTES).split(b"\r")[0].rstrip(b"\n")
    if len(line) == MAX_HEADER_BYTES:
        raise ValueError
    return line.decode("utf-8-sig")
