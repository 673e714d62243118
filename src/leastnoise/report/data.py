"""The numbers of a page as its script reads them: keys once per column, real numbers as little-endian doubles."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from leastnoise._support.text import key_words
from leastnoise.pictures import svg
from leastnoise.pictures.tables import Numbers, ShownTable
from leastnoise.releases import labels
from leastnoise.releases.selected import LABEL
from leastnoise.report import sentences
from leastnoise.report.shown import Shown

MAX_EXACT_INTEGER = 2**53  # integers beyond are text in a browser


def data(shown: Shown, name: str, file: str) -> dict[str, Any]:
    """All that the script needs. A table refers to its columns by their places."""
    columns: dict[tuple[str, int], dict[str, Any]] = {}
    tables = []
    for table in shown.tables:
        places = []
        for column in table.columns:
            mark = (column.name, len(column.keys))
            columns.setdefault(mark, {"name": column.name, "title": key_words(column.title), **keys(column.keys)})
            places.append(list(columns).index(mark))
        tables.append(_table(table, places))
    found: dict[str, Any] = {
        "name": name,
        "file": file,
        "notes": sentences.comment_lines(shown),
        "columns": list(columns.values()),
        "tables": tables,
    }
    if shown.map is not None and shown.places is not None:
        x, y = svg.places(shown.map, *shown.places)
        found["places"] = {"x": x, "y": y}
    return found


def _table(table: ShownTable, columns: list[int]) -> dict[str, Any]:
    shades = table.shades
    helped = table.estimate is not None and table.better is not False and table.estimate.rmse is not None
    made: dict[str, Any] = {
        "axes": columns,
        "flat": table.flat,
        "cells": table.cells,
        "layout": table.layout,
        "sorted": table.sorted,
        "counts": table.counts,
        "measures": [_numbers(each) for each in table.numbers],
        "denoised": None if table.denoised is None else _encoded(table.denoised),
        "better": table.better,
    }
    if table.std is not None:
        made |= {"half": table.half, "error": sentences.error_in_words(table) if helped else None}
    if shades is not None:
        made["shades"] = {"kind": shades.kind, "low": shades.low, "high": shades.high, "ticks": shades.ticks}
    if table.foot is not None:
        made["foot"] = {"name": LABEL, **{key: plain(value) for key, value in table.foot.items()}}
    return made


def _numbers(numbers: Numbers) -> dict[str, Any]:
    """One half-width, or the ends of every interval."""
    made: dict[str, Any] = {
        "title": numbers.title,
        "values": _encoded(numbers.values),
        "decimals": numbers.decimals,
        "percent": numbers.percent,
        "missing": numbers.missing,
        "drawn": numbers.drawn,
    }
    if numbers.low is not None:
        return made | {"low": _encoded(numbers.low), "high": _encoded(numbers.high)}
    return made | ({} if numbers.half is None else {"half": numbers.half})


def _encoded(values: Any) -> Any:
    """Real numbers as the text of their bytes; whole ones as they are, and as text beyond what a double holds."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return [plain(value) for value in array.tolist()]
    return b64encode(np.asarray(array, dtype="<f8").tobytes()).decode()


def keys(keys: Sequence[Any]) -> dict[str, Any]:
    """The keys in words, or as numbers where all are; what a file has instead, where that differs."""
    plain_keys = [plain(key) for key in keys]
    if all(isinstance(key, int | float) and not isinstance(key, bool) for key in plain_keys):
        return {"keys": plain_keys, "text": False}
    return {"keys": [label(key) for key in keys], "text": all(isinstance(key, str | None) for key in keys)}


def label(key: Any) -> str:
    """A key in words; a range with every digit of its ends.

    >>> label((100_000.0, 1_000_000.0))
    '100,000 to 1,000,000'
    """
    if isinstance(key, tuple) and len(key) == 2 and all(isinstance(end, float) for end in key):
        return f"{key[0]:,.15g} to {key[1]:,.15g}"
    return f"{key:,.15g}" if isinstance(key, float) else labels.text(key)


def plain(value: Any) -> Any:
    """A value as JSON can hold it and a browser can read it, every digit kept."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) <= MAX_EXACT_INTEGER else str(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return None
        real = float(value)
        return int(real) if real.is_integer() and abs(real) <= MAX_EXACT_INTEGER else real
    if isinstance(value, datetime):
        return labels.moment(value)
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)


def json_text(found: Any) -> str:
    """JSON that is safe inside a script element: no key, not even one that reads </script>, ends it."""
    text = json.dumps(found, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
