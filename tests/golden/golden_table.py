"""One small made-up table, written out by whole-number arithmetic: no stream of random numbers can change it.

Some 500 rows of 90 people. Every limit binds: the first people have dozens of rows, and several in one bin. Every
column has nulls, keys that nobody lists, values beyond the clips; a person is missing here and there.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 500
PEOPLE = 90
DISTRICTS = ["north", "east", "south", "west", "harbour"]  # as they are listed; rows also have "abroad"
STREETS = {"north": "inner", "east": "inner", "south": "outer", "west": "outer", "harbour": "outer"}


def mixed(row: int, salt: int, below: int) -> int:
    """A number below `below`: two rounds of multiplying and shifting, in 32 bits."""
    found = (row * 2654435761 + salt * 40503 + 12345) % 2**32
    found = ((found ^ (found >> 15)) * 2246822519) % 2**32
    return (found ^ (found >> 13)) % below


def person(row: int) -> str | None:
    """Heavy people first: of the rows that are left over, each next person has one of three."""
    if mixed(row, 1, 40) == 0:
        return None
    heavy = mixed(row, 2, 3) == 0
    return f"p{mixed(row, 3, 8 if heavy else PEOPLE):02d}"


def unless(row: int, salt: int, value: Any, often: int = 17) -> Any:
    """The value, or nothing in one row of `often`."""
    return None if mixed(row, salt, often) == 0 else value


def fare(row: int) -> float:
    """Dollars and cents, 0 to 60; now and then a value far outside, one without end and one that is no number."""
    odd = {0: 1e9, 1: -40.0, 2: float("inf"), 3: float("nan"), 4: 0.1 + 0.2}
    return odd.get(mixed(row, 20, 120), mixed(row, 21, 6000) / 100)


def columns(rows: int = ROWS) -> dict[str, list[Any]]:
    """The columns, as lists."""
    every = range(rows)
    names = [*DISTRICTS, "north", "north", "east", "abroad"]
    return {
        "person": [person(row) for row in every],
        "home": [unless(row, 5, mixed(row, 6, 3), 50) for row in every],
        "district": [unless(row, 7, names[mixed(row, 8, len(names))]) for row in every],
        "age": [unless(row, 9, mixed(row, 10, 100) - 3) for row in every],
        "member": [unless(row, 11, mixed(row, 12, 3) == 0) for row in every],
        "day": [unless(row, 13, date(2024, 2, 25) + timedelta(days=mixed(row, 14, 12))) for row in every],
        "moment": [
            unless(row, 15, datetime(2024, 2, 28, 20) + timedelta(minutes=mixed(row, 16, 900))) for row in every
        ],
        "fare": [unless(row, 19, fare(row)) for row in every],
        "miles": [unless(row, 22, mixed(row, 23, 200) / 10) for row in every],
        "weight": [unless(row, 24, mixed(row, 25, 40) / 8) for row in every],
        "lon": [unless(row, 26, (mixed(row, 27, 240) - 120) / 10_000, 40) for row in every],
        "lat": [unless(row, 28, (mixed(row, 29, 240) - 120) / 10_000, 40) for row in every],
        "x": [unless(row, 30, (mixed(row, 31, 400) - 200) / 100, 30) for row in every],
        "y": [unless(row, 32, (mixed(row, 33, 400) - 200) / 100, 30) for row in every],
        "arrow": [[(mixed(row, salt, 200) - 100) / 64 for salt in range(34, 37 - (row % 29 == 0))] for row in every],
    }


def arrow() -> pa.Table:
    """The table in memory."""
    return pa.table(columns())


def write(folder: Path) -> Path:
    """The table as a Parquet file, trips.parquet."""
    path = folder / "trips.parquet"
    pq.write_table(arrow(), path)
    return path
