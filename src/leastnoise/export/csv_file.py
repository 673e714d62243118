"""One release or estimate as a CSV file: comment lines (#) with the promise, the names, and a line a bin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise._support import atomic_files, csv_text
from leastnoise._support.validation import Number
from leastnoise.export.sheets import MAX_WHOLE, Sheet, sheet

if TYPE_CHECKING:
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.published import Published
    from leastnoise.releases.summary import SummaryRelease


def write_csv(
    published: Published | SummaryRelease,
    path: str | os.PathLike[str],
    *,
    estimate: Estimate | None = None,
    confidence: Number = 0.95,
    round_to: Number | None = None,
) -> Path:
    """Write the file whole or not at all; see `Published.to_csv`."""
    atomic_files.check_writable(path, "csv")
    made = sheet(published, estimate=estimate, confidence=confidence, round_to=round_to)
    with (
        atomic_files.replacing(path, "csv") as unfinished,
        open(unfinished, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        file.writelines(f"{line}\n" for line in _lines(made))
    return Path(path)


def _lines(made: Sheet) -> Iterator[str]:
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
