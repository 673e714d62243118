"""The cells of a set of tables as a page's script reads them: keys once a column, values as little-endian doubles."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain import Axis
from leastnoise.releases import labels
from leastnoise.report.contents import decimals, plain
from leastnoise.report.promise_sentences import comment_lines, intervals
from leastnoise.report.tables_contents import ShownTable, TablesContents
from leastnoise.report.tables_sentences import error_in_words


def data(contents: TablesContents, name: str, file: str) -> dict[str, Any]:
    """All that the script needs. `at` is where a table begins among the values; None: the page does not hold it."""
    place = {column: number for number, column in enumerate(contents.of.axes)}
    used = {column for table in contents.held for column in table.columns}
    starts = np.cumsum([0, *(table.cells for table in contents.held)]).tolist()
    begins = dict(zip((table.columns for table in contents.held), starts, strict=False))
    return {
        "name": name,
        "file": file,
        "notes": comment_lines(contents.of, contents.of.explain(), intervals(contents.of)),
        "columns": [
            {
                "name": column,
                "title": contents.of._words(column),
                "size": axis.size,
                **(_keys(axis) if column in used else {"keys": [], "text": True}),
            }
            for column, axis in contents.of.axes.items()
        ],
        "tables": [
            {
                "columns": [place[column] for column in table.columns],
                "cells": table.cells,
                "half": table.half_width,
                "decimals": decimals(table.half_width),
                "zero": table.maybe_zero,
                "error": _error(table),
                "better": table.better_than_raw,
                "kept": table.kept,
                "at": begins.get(table.columns),
            }
            for table in contents.listed
        ],
        "values": _doubles(table.values for table in contents.held),
        "denoised": None if contents.estimate is None else _doubles(table.denoised for table in contents.held),
    }


def _error(table: ShownTable) -> str | None:
    known = table.rmse is not None and table.rmse_at_most is not None and not table.kept
    return error_in_words(table.rmse, table.rmse_at_most, table.std) if known else None  # type: ignore[arg-type]


def _keys(axis: Axis) -> dict[str, Any]:
    """The keys in words, or as numbers where all are."""
    keys = [axis.key(position) for position in range(axis.size)]
    if all(isinstance(key, int | float) and not isinstance(key, bool) for key in keys):
        numbers = [plain(key) for key in keys]
        if not any(isinstance(key, str) or key is None for key in numbers):
            return {"keys": numbers, "text": False}
    return {"keys": [label(key) for key in keys], "text": all(isinstance(key, str | None) for key in keys)}


def label(key: Any) -> str:
    """A key in words; a range with every digit of its ends.

    >>> label((100_000.0, 1_000_000.0))
    '100,000 to 1,000,000'
    """
    if isinstance(key, tuple) and len(key) == 2 and all(isinstance(end, float) for end in key):
        return f"{key[0]:,.15g} to {key[1]:,.15g}"
    return f"{key:,.15g}" if isinstance(key, float) else labels.text(key)


def _doubles(arrays: Iterable[Floats | None]) -> str:
    held = [np.asarray(values, dtype="<f8").tobytes() for values in arrays if values is not None]
    return b64encode(b"".join(held)).decode()
