"""CSV files: of one release or estimate, or a folder of them for a set of tables.

A file begins with comment lines (#) that say what it is and what was promised, so that no table is without them; then
come the names, and a line a bin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from leastnoise._support import csv_text, files
from leastnoise.export.sheets import MAX_WHOLE, Sheet, sheet, table_sheets
from leastnoise.releases.table_set import Table

MAX_STEM_BYTES = 150  # of a file's name; common file systems take 255
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}  # of Windows


def write_csv(published: Any, path: str | os.PathLike[str], **asked: Any) -> Path:
    """Write the file, or every file of a folder, whole or not at all; `asked` as `Spreadsheets.to_csv` has it."""
    if published.is_set:
        named = file_names(published.tables)
        made = table_sheets(published, **asked)
        return files.replace_files(path, ((named[table], "\n".join(lines(one)) + "\n") for table, one in made))
    files.check_writable(path, "csv")
    one = sheet(published, **asked)
    with (
        files.replacing(path, "csv") as unfinished,
        open(unfinished, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        file.writelines(f"{line}\n" for line in lines(one))
    return Path(path)


def lines(made: Sheet) -> Iterator[str]:
    """The lines of a file: comments, names, and a line a bin."""
    yield from map(csv_text.comment, [*made.notes, *_long_numbers(made)])
    yield ",".join(map(csv_text.text, made.columns))
    for row in zip(*made.columns.values(), strict=True):
        yield ",".join(map(_cell, row))


def _long_numbers(made: Sheet) -> list[str]:
    """Which columns a spreadsheet would round: in a CSV file nothing but a formula would keep it from that."""
    long = [name for name, column in made.columns.items() if any(_is_long(value) for value in column)]
    rounded = "numbers of more than 15 digits, which spreadsheets round. A workbook (to_excel) has them as texts."
    return [f"{' and '.join(long)}: {rounded}"] if long else []


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= MAX_WHOLE


def _cell(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else csv_text.key(value)


def file_names(tables: Iterable[Table]) -> dict[Table, str]:
    """The file of each table, named after its columns: letters, digits and _ alone, no two alike in any case.

    >>> file_names([(), ("age",), ("age", "sex"), ("a/b", "c")])
    {(): 'total.csv', ('age',): 'age.csv', ('age', 'sex'): 'age-sex.csv', ('a/b', 'c'): 'a_b-c.csv'}
    """
    names: dict[Table, str] = {}
    taken: set[str] = set()
    for table in tables:
        stem = "-".join(re.sub(r"\W+", "_", column).strip("_") or "column" for column in table) or "total"
        stem = stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
        stem = f"{stem}_" if stem.casefold() in _DEVICES else stem
        name, count = stem, 1
        while name.casefold() in taken:
            count += 1
            name = f"{stem}-{count}"
        taken.add(name.casefold())
        names[table] = f"{name}.csv"
    return names
