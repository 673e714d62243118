"""A release, or a set of tables, as an Excel workbook: a first sheet with the promise, then the numbers.

Every text is written as a text: nothing in a workbook of ours is a formula or a link. It needs XlsxWriter.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise._support.multiples import checked_step
from leastnoise._support.number_format import rounded
from leastnoise._support.outputs import WORKBOOK_MARK
from leastnoise._support.validation import Number
from leastnoise.export.sheets import MAX_WHOLE, Sheet, cells, sheet
from leastnoise.releases.table_set import table_name

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.published import Published
    from leastnoise.releases.summary import SummaryRelease

MAX_ROWS = 1_048_576  # of a sheet, by the format
MAX_TABLES = 200
MANY_DIGITS = 10**11  # from which on the usual format writes 1.23457E+11
WIDE = 14  # characters of a column
MAX_CELL = 32_000  # characters; the format takes 32,767
_LONGEST_NAME = 31  # of a sheet, by the format
_FIRST = "About"


def write_workbook(
    published: Published | SummaryRelease,
    path: str | os.PathLike[str],
    *,
    estimate: Estimate | None = None,
    confidence: Number = 0.95,
    round_to: Number | None = None,
) -> Path:
    """Write the file whole or not at all; see `Published.to_excel`."""
    _check_package()
    atomic_files.check_writable(path, "workbook")
    made = sheet(published, estimate=estimate, confidence=confidence, round_to=round_to)
    _check_rows(max(map(len, made.columns.values())))
    return _write(path, made.notes, [], {"Numbers": made})


def write_tables_workbook(
    release: CrosstabsRelease,
    path: str | os.PathLike[str],
    *,
    estimate: CrosstabsEstimate | None = None,
    confidence: Number = 0.95,
    round_to: Number | None = None,
) -> Path:
    """Write the file of a set whole or not at all; see `CrosstabsRelease.to_excel`."""
    if len(release.tables) > MAX_TABLES:
        raise errors.InvalidParameter(
            f"A workbook of {len(release.tables):,} sheets helps nobody: {MAX_TABLES} tables at most. to_csv(folder) "
            "writes a file a table."
        )
    for table in release.tables:
        _check_rows(release.workload.cells_of(table))
    _check_package()
    atomic_files.check_writable(path, "workbook")
    names = _sheet_names(map(table_name, release.tables))
    beside = [] if estimate is None else ["error of a denoised cell"]
    sheets, contents = {}, [["sheet", "table", "cells", "standard deviation of a cell", *beside]]
    for table, name in zip(release.tables, names, strict=True):
        one = sheet(release[table], estimate=None, confidence=confidence, round_to=round_to)
        better = None if estimate is None else estimate[table]
        columns = {} if better is None else release[table]._denoised_columns(better, confidence)
        found = {column: cells(column, values, checked_step(round_to)) for column, values in columns.items()}
        sheets[name] = Sheet(one.notes, {**one.columns, **found})
        count = release.workload.cells_of(table)
        error = [] if better is None else [better.errors_in_words()]
        contents.append([name, table_name(table), f"{count:,}", rounded(release.std[table]), *error])
    denoised = [] if estimate is None else [f"denoised: {estimate.errors_in_words()}"]
    return _write(path, [*release.explain().splitlines(), *denoised], contents, sheets)


def _write(
    path: str | os.PathLike[str], notes: Sequence[str], contents: Sequence[Sequence[str]], sheets: Mapping[str, Sheet]
) -> Path:
    import xlsxwriter

    with atomic_files.replacing(path, "workbook") as unfinished:
        book = xlsxwriter.Workbook(unfinished, {"constant_memory": True, "strings_to_formulas": False})
        book.set_properties({"comments": WORKBOOK_MARK.decode(), "created": datetime.datetime(2000, 1, 1)})
        wrapped, bold = book.add_format({"text_wrap": True, "valign": "top"}), book.add_format({"bold": True})
        about = book.add_worksheet(_FIRST)
        about.set_column(0, 0, 100 if not contents else 40)
        about.set_column(1, 4, 24)
        for row, sentence in enumerate(notes):
            about.write_string(row, 0, sentence[:MAX_CELL], wrapped)
        for row, cells in enumerate(contents, len(notes) + 1):
            for place, text in enumerate(cells):
                about.write_string(row, place, text, bold if cells is contents[0] else None)
        for name, made in sheets.items():
            _fill(book.add_worksheet(name), made, bold, book.add_format({"num_format": "0"}))
        book.close()
    return Path(path)


def _fill(page: Any, made: Sheet, bold: Any, whole: Any) -> None:
    """The names in the first row, which stays in view, and a row a bin; whole numbers are shown whole."""
    page.freeze_panes(1, 0)
    for place, (name, column) in enumerate(made.columns.items()):
        page.set_column(place, place, max([WIDE, *(len(f"{value:.0f}") + 2 for value in column if _is_long(value))]))
        page.write_string(0, place, name, bold)
    for row, values in enumerate(zip(*made.columns.values(), strict=True), 1):
        for place, value in enumerate(values):
            _write_cell(page, row, place, value, whole)


def _is_long(value: Any) -> bool:
    """Whether it is a whole number that the usual format would shorten, and a spreadsheet can show."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and MANY_DIGITS <= abs(value) < MAX_WHOLE and float(value).is_integer()


def _write_cell(page: Any, row: int, place: int, value: Any, whole: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        page.write_boolean(row, place, value)
    elif isinstance(value, int | float) and abs(value) < MAX_WHOLE:
        page.write_number(row, place, value, whole if _is_long(value) else None)
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
