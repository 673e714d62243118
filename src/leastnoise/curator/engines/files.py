"""Files of rows, before an engine reads them: how a CSV is written and which columns it names, whether a quote is left
open, which times are read differently, and what folders say.

*CSV.* What separates their cells is declared, never guessed: a guess would be made from people's rows, and one row
could make another sign the likelier one. The first line names the columns, and is public; an engine that may guess
whether there is such a line compares it with people's rows.

A CSV that ends inside a quoted cell is refused before DuckDB reads it. Read from its beginning by one reader, which
takes no line of a cell for a row, such a file ends for DuckDB where the quote opens: all rows after it would be missing
in silence. A cell is quoted if its first byte that is no blank is a quote. It ends at the next quote, but for two in a
row, which are one quote in the cell. Elsewhere a quote is a byte like any other. So say DuckDB and this file alike.

*Folders* named column=value, as Hive and Spark write them, are columns of text, whichever folders there are: an engine
that guesses a type looks at all of them, and one person's folder would change it for everybody.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leastnoise._support.runtime import compiled
from leastnoise.curator.engines.quote_loops import BEGUN, QUOTED, state_after
from leastnoise.errors import InvalidParameter, UnknownSource

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DECIMALS = (".", ",")
MAX_HEADER_BYTES = 2**20
CHUNK_BYTES = 2**22
FEW_BYTES = 2**17  # up to here a loop of Python's takes less time than to load a compiler
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """delimiter: None is a tab in .tsv and a comma in .csv. decimal: the sign before the digits of a fraction."""

    delimiter: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise InvalidParameter(
                'delimiter must be one of ",", ";", "|" and a tab, the sign between two cells of a row. Got '
                f"{self.delimiter!r} instead.",
                parameter="delimiter",
                value=self.delimiter,
                example={"delimiter": ";"},
            )
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise InvalidParameter(
                f'decimal must be "." or ",", as in 3.5 or 3,5. Got {self.decimal!r} instead.',
                parameter="decimal",
                value=self.decimal,
                example={"decimal": ","},
            )

    def separator(self, file: str) -> str:
        """What stands between the cells of a file."""
        return self.delimiter or ("\t" if ".tsv" in file.lower()[-7:] else ",")

    def check_is_csv(self, csv: bool) -> None:
        """Raise where something was declared that only a CSV has, and the table is none."""
        given = {"delimiter": self.delimiter, "decimal": self.decimal}
        for name, value in given.items():
            if value is not None and not csv:
                raise InvalidParameter(
                    f"{name} says how a CSV is written, and this table is none. Leave it out.",
                    parameter=name,
                    value=value,
                )


PLAIN = CsvLayout()


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


def _last_state(file: str, layout: CsvLayout = PLAIN) -> int:
    state, delimiter = BEGUN, ord(layout.separator(file))
    with opened(file) as raw:
        content: Any = gzip.GzipFile(fileobj=raw) if file.lower().endswith(".gz") else raw
        chunk = content.read(CHUNK_BYTES).removeprefix(BYTE_ORDER_MARK)
        walk = state_after if len(chunk) <= FEW_BYTES else _compiled()
        while chunk:
            state = int(walk(np.frombuffer(chunk, np.uint8), delimiter, state))
            chunk = content.read(CHUNK_BYTES)
    return state


@cache
def _compiled() -> Any:
    return compiled(state_after)


def verify(files: Sequence[str], layout: CsvLayout = PLAIN) -> None:
    """Raise where a CSV ends inside a quoted cell."""
    for file in files:
        if not is_parquet(file) and _last_state(file, layout) == QUOTED:
            raise ValueError("a quote is not closed")


def is_parquet(file: str) -> bool:
    """Whether a file is Parquet, by its name."""
    return file.lower().endswith(".parquet")


def time_units(file: str) -> dict[str, str]:
    """The columns of times that are not in microseconds: "milliseconds" or "nanoseconds"."""
    schema = pq.read_metadata(file).schema
    found = {}
    for place in range(len(schema)):
        column = schema.column(place)
        logical = json.loads(column.logical_type.to_json())
        if logical["Type"] == "Timestamp" and logical["timeUnit"] != "microseconds":
            found[column.path] = logical["timeUnit"]
    return found


def has_odd_times(file: str) -> bool:
    """Whether a Parquet file has times that DuckDB's own reader fails at or does not know."""
    kinds = [kind for kind in pq.read_schema(file).types if pa.types.is_timestamp(kind)]
    return "milliseconds" in time_units(file).values() or any(kind.unit == "ns" and kind.tz for kind in kinds)


NULL = "__HIVE_DEFAULT_PARTITION__"


def partition_columns(files: Sequence[str]) -> tuple[str, ...]:
    """The columns that the folders of these files name: the same in every path."""
    found = {tuple(name for name, _ in _folders(file)): file for file in files}
    if len(found) > 1:
        one, other = [Path(file).name for file in list(found.values())[:2]]
        raise UnknownSource(
            f'the folders of "{one}" and "{other}" name different columns. A row would mean different things in '
            "different files. Put every file below the same kinds of folders, such as day=1/zone=2/."
        )
    names = next(iter(found))
    if len({name.casefold() for name in names}) < len(names):
        raise UnknownSource("the folders name a column twice. Name each once: day=1/zone=2/.")
    return names


def partition_base(file: str) -> str:
    """The folder above those that name columns."""
    parts = file.split("/")
    return "/".join(parts[: next(place for place, part in enumerate(parts) if "=" in part)])


def misread_partitions(files: Sequence[str], column: str) -> dict[str, str]:
    """Values that Spark, which takes each %XX for a character, reads otherwise than as bytes of UTF-8; and what they
    are."""
    made = {}
    for raw in {dict(_folders(file))[column] for file in files}:
        read = re.sub(r"%([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), raw)
        if read != unquote(raw):
            made[read] = unquote(raw)
    return made


def _folders(file: str) -> list[tuple[str, str]]:
    """What the folders above a file say: `a=b` is column and value, and engines differ about anything else with an
    equals sign."""
    named = [part for part in os.path.dirname(file).split("/") if "=" in part]
    for part in named:
        if re.fullmatch(r"[^=%?\\]+=[^=?\\\n]+", part) is None or "\ufffd" in unquote(part):
            raise UnknownSource(
                f'the folder "{part}" is not named like day=5, and engines differ about what it means. Write '
                f"other signs as the %XX of their UTF-8 (= is %3D), and a missing value as {NULL}."
            )
    return [(name, value) for name, _, value in (part.partition("=") for part in named)]
