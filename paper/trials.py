"""Repetitions, their means and standard errors, and the CSV files that keep them."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Row = dict[str, Any]
T = TypeVar("T")


def summary(samples: Any) -> Row:
    """Mean, its standard error, and how many samples there were."""
    array = np.asarray(samples, dtype=float)
    error = array.std(ddof=1) / np.sqrt(array.size) if array.size > 1 else 0.0
    return {"mean": float(array.mean()), "error": float(error), "repetitions": array.size}


def over(ours: Any, theirs: Any, named: str = "over their best") -> Row:
    """The mean of one over that of another on the same draws, by this name, and the standard error of that ratio."""
    one, other = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    ratio = one.mean() / other.mean()
    apart = (one - ratio * other).std(ddof=1) / np.sqrt(one.size) / other.mean() if one.size > 1 else 0.0
    return {named: float(ratio), "its error": float(apart)}


def best(samples: dict[Any, Any], among: Iterable[Any]) -> Any:
    """Which of some has the least mean."""
    return min(among, key=lambda name: float(np.mean(samples[name])))


def rmse(estimate: Any, truth: Any) -> float:
    """Root mean squared error a bin."""
    return float(np.sqrt(np.mean((np.asarray(estimate, dtype=float) - truth) ** 2)))


def steps(items: Iterable[T], what: str) -> Iterator[T]:
    """The items, saying which one is under way and how long it took."""
    for item in items:
        began = time.perf_counter()
        print(f"   {what} {_label(item)} ...", end="", flush=True)
        yield item
        print(f" {time.perf_counter() - began:.1f} s", flush=True)


def where(rows: list[Row], **facts: Any) -> list[Row]:
    """The rows with these facts, in order."""
    return [row for row in rows if all(row[name] == value for name, value in facts.items())]


def the(rows: list[Row], **facts: Any) -> Row:
    """The one row with these facts."""
    (row,) = where(rows, **facts)
    return row


def column(rows: list[Row], name: str) -> np.ndarray:
    """One column of some rows."""
    return np.array([row[name] for row in rows])


def shown(row: Row, digits: int = 4) -> str:
    """A mean with its standard error, as people write it; a single draw has none."""
    return f"{row['mean']:.{digits}g}" + (f" ± {row['error']:.2g}" if row["repetitions"] > 1 else "")


def write(path: Path, rows: list[Row]) -> None:
    """Rows as CSV, and nothing that changes without them."""
    beside = path.with_suffix(".part")
    with beside.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    beside.replace(path)


def read(path: Path) -> list[Row]:
    """The rows of a file that `write` wrote; numbers as numbers."""
    with path.open(newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _text(value: Any) -> str:
    return f"{float(value):.7g}" if isinstance(value, (float, np.floating)) else str(value)


def _value(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 and "e" not in text else number


def _label(item: Any) -> str:
    item = item[0] if isinstance(item, tuple) else item
    return f"{item:g}" if isinstance(item, (int, float)) and not isinstance(item, bool) else str(item)
