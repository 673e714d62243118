"""A release, or a set of tables, as an Excel workbook: a first sheet with the promise, then the numbers.

Every text is written as a text: nothing in a workbook of ours is a formula or a link. It needs XlsxWriter.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise._support import files
from leastnoise._support.outputs import WORKBOOK_MARK
from leastnoise._support.text import rounded
from leastnoise.export.sheets import MAX_WHOLE, Sheet, crossed, decimals, sheet, table_sheets
from leastnoise.releases.table_set import table_name

MAX_ROWS = 1_048_576  # of a sheet, by the format
MAX_TABLES = 200
MANY_DIGITS = 10**11  # from which on the usual format writes 1.23457E+11
WIDE = 14  # characters of a column
MAX_CELL = 32_000  # characters; the format takes 32,767
_LONGEST_NAME = 31  # of a sheet, by the format
_FIRST = "About"


def write_workbook(published: Any, path: str | os.PathLike[str], **asked: Any) -> Path:
    """Write the file whole or not at all; `asked` as `Spreadsheets.to_excel` has it."""
    _check_package()
    if not published.is_set:
        files.check_writable(path, "workbook")
        made = sheet(published, **asked)
        _check_rows(max(map(len, made.columns.values())))
        return _write(path, made.notes, [], {"Numbers": made})
    if published.is_estimate:
        raise errors.InvalidParameter(
            "A workbook has denoised tables beside the release that they were made from: release.to_excel(path, "
            "estimate=estimate). Or write a folder of CSV files: to_csv."
        )
    if len(published.tables) > MAX_TABLES:
        raise errors.InvalidParameter(
            f"A workbook of {len(published.tables):,} sheets helps nobody: {MAX_TABLES} tables at most. to_csv(folder) "
            "writes a file a table."
        )
    for table in published.tables:
        _check_rows(published.workload.cells_of(table))
    files.check_writable(path, "workbook")
    estimate, notes = asked["estimate"], published.explain().splitlines()
    sheets = dict(zip(_sheet_names(map(table_name, published.tables)), table_sheets(published, **asked), strict=True))
    contents = [["sheet", "table", "cells", "standard deviation of a cell"]]
    for name, (table, _) in sheets.items():
        cells = f"{published.workload.cells_of(table):,}"
        contents.append([name, table_name(table), cells, rounded(published.std[table])])
    if estimate is not None:
        notes.append(f"denoised: {estimate.errors_in_words()}")
        errors_of_cells = [estimate[table].errors_in_words() for table in published.tables]
        for line, text in zip(contents, ["error of a denoised cell", *errors_of_cells], strict=True):
            line.append(text)
    return _write(path, notes, contents, {name: made for name, (_, made) in sheets.items()})


def _write(
    path: str | os.PathLike[str],
    notes: Sequence[str],
    contents: Sequence[Sequence[str]],
    sheets: Mapping[str, Sheet],
) -> Path:
    """Sentences, and behind them the sheets; of a set with a list of them."""
    import xlsxwriter

    with files.replacing(path, "workbook") as unfinished:
        book = xlsxwriter.Workbook(unfinished, {"constant_memory": True, "strings_to_formulas": False})
        book.set_properties({"comments": WORKBOOK_MARK.decode(), "created": datetime.datetime(2000, 1, 1)})
        wrapped, bold = book.add_format({"text_wrap": True, "valign": "top"}), book.add_format({"bold": True})
        about = book.add_worksheet(_FIRST)
        about.set_column(0, 0, 40 if contents else 100)
        about.set_column(1, 4, 24)
        for row, sentence in enumerate(notes):
            about.write_string(row, 0, sentence[:MAX_CELL], wrapped)
        for row, cells in enumerate(contents, len(notes) + 1):
            for place, text in enumerate(cells):
                about.write_string(row, place, text, bold if cells is contents[0] else None)
        for name, made in sheets.items():
            _fill(book.add_worksheet(name), made, crossed(made.columns) if contents else [], _Formats(book))
        book.close()
    return Path(path)


class _Formats:
    """How numbers are shown: each way is made once a book."""

    def __init__(self, book: Any) -> None:
        self._book, self._made, self.bold = book, dict[str, Any](), book.add_format({"bold": True})

    def of(self, value: Any, decimals: int | None) -> Any:
        """Long whole numbers whole, and others to so many decimals; None where the usual way will do."""
        if _is_long(value):
            return self._shown("0")
        if decimals is None or not isinstance(value, float):
            return None
        return self._shown(f"0.{'0' * decimals}" if decimals else "0")

    def _shown(self, pattern: str) -> Any:
        if pattern not in self._made:
            self._made[pattern] = self._book.add_format({"num_format": pattern})
        return self._made[pattern]


def _fill(page: Any, made: Sheet, rectangle: list[list[Any]], formats: _Formats) -> None:
    """The names in the first row, which stays in view, and a row a bin, with as many decimals as the error has; to the
    right of them the values of a table of two columns as a rectangle."""
    page.freeze_panes(1, 0)
    digits = decimals(made.columns)
    for place, (name, column) in enumerate(made.columns.items()):
        page.set_column(place, place, max([WIDE, *(len(f"{value:.0f}") + 2 for value in column if _is_long(value))]))
        page.write_string(0, place, name, formats.bold)
    right = len(made.columns) + 1
    for place, text in enumerate(rectangle[0] if rectangle else []):
        page.write_string(0, right + place, _text(text)[:MAX_CELL], formats.bold)
    rows = zip(*made.columns.values(), strict=True)
    for row, (values, beside) in enumerate(zip_longest(rows, rectangle[1:], fillvalue=()), 1):
        for place, (name, value) in enumerate(zip(made.columns, values, strict=True)):
            _write_cell(page, row, place, value, formats.of(value, digits.get(name)))
        for place, value in enumerate(beside):
            decimal = digits.get("value") if place else None
            _write_cell(page, row, right + place, value, formats.of(value, decimal))


def _is_long(value: Any) -> bool:
    """Whether it is a whole number that the usual format would shorten, and a spreadsheet can show."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and MANY_DIGITS <= abs(value) < MAX_WHOLE and float(value).is_integer()


def _write_cell(page: Any, row: int, place: int, value: Any, shown: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        page.write_boolean(row, place, value)
    elif isinstance(value, int | float) and abs(value) < MAX_WHOLE:
        page.write_number(row, place, value, shown)
    else:
        page.write_string(row, place, _text(value)[:MAX_CELL])


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _sheet_names(names: Iterable[str]) -> list[str]:
    """Names that the format takes: 31 characters, none of []:*?/\\, no two alike in any case."""
    found: list[str] = []
    taken = {_FIRST.casefold(), "history"}
    for name in names:
        stem = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", name).strip("'")[:_LONGEST_NAME] or "table"
        chosen, count = stem, 1
        while chosen.casefold() in taken:
            count += 1
            chosen = f"{stem[: _LONGEST_NAME - len(str(count)) - 1]}-{count}"
        taken.add(chosen.casefold())
        found.append(chosen)
    return found


def _check_rows(rows: int) -> None:
    if rows >= MAX_ROWS:
        raise errors.InvalidParameter(
            f"A sheet holds {MAX_ROWS - 1:,} rows, and here are {rows:,}. Use to_csv or save."
        )


def _check_package() -> None:
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise errors.MissingPackage.named("xlsxwriter", "to_excel()", extra="excel") from None
