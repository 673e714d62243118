"""Small tables of awkward rows about a few units, and their neighbours; one seed makes one of them again.

Every table has a column of each type, so that every query fits every table. What varies is what the columns are called,
which types name the unit, what the cells hold, how many rows each unit has, and the form in which the table is opened.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from leastnoise import Table, table

Row = dict[str, Any]
FORMS = (*["DuckDB"] * 8, "Arrow", "pandas", "Parquet", "CSV")
RELATIONS = ("add-remove", "replace")
NAMES = [
    "_unit", "code", "_hash", "bin", "select", 'a"b', "it's", "x.y", "two words", "${x}", "rows", "unit0", "by0",
    "column0", "_place", "_rank", "_value", "é", "group", "_x0", "table", "a`b", "%s", "{0}", "_key", "null", "?", "-",
]  # fmt: skip
INT64, UINT64 = [0, 1, 2, 3, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)], [0, 1, 2, 2**63, 2**64 - 1]
TEXTS = [
    "a", "A", "é", "e\u0301", "É", "i", "İ", "ı", "ß", "ss", "", " ", "a ", "a\0", "\0", "it's", "東",
    "👩\u200d👧", "null",
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 0.5, 1.0, 2.5, -3.0, 9.99, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 2.0**53, 0.1, 1e-5,
]  # fmt: skip
DECIMALS = ["0", "0.01", "-1.5", "9.99", "3", "123.45", "-999.99"]
WHOLE_DECIMALS = ["0", "1", "2", "-3", "99999"]
DAYS = [0, 1, 2, 15_706, -719_162, 2_932_896, -719_163, 2_932_897, 2**31 - 1, -(2**31), -(2**31) + 1]
MOMENTS = [0, 3_600, 1_356_998_400, 1_357_002_000, -1, 253_402_300_799, -62_135_596_801]  # seconds
FARTHEST = [2**63 - 1, -(2**63), -(2**63) + 1]  # of what the column counts in; seconds that far are not Parquet
DEGREES = [0.0, 0.001, 0.01, -0.01, 0.5, 90.0, -180.0, 1e9, math.nan, math.inf]
UNIT_TYPES = [pa.int64(), pa.int64(), pa.string(), pa.string(), pa.int8(), pa.uint64(), pa.bool_(), pa.date32()]
ZONES = [None, None, "UTC", "Europe/Zurich", "Pacific/Apia"]
RATES = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class Schema:
    """What each column is called and holds, by its part in a query."""

    names: dict[str, str]
    types: dict[str, pa.DataType]
    units: tuple[str, ...]

    def __getitem__(self, part: str) -> str:
        return self.names[part]


@dataclass(frozen=True)
class Rows:
    """A table before it is opened."""

    schema: Schema
    cells: tuple[Row, ...]

    def units(self) -> list[tuple[Any, ...]]:
        """Everybody who is protected: rows of a null unit belong to nobody."""
        found = dict.fromkeys(tuple(row[part] for part in self.schema.units) for row in self.cells)
        return [unit for unit in found if None not in unit]

    def of(self, unit: tuple[Any, ...]) -> list[Row]:
        return [row for row in self.cells if tuple(row[part] for part in self.schema.units) == unit]

    def without(self, unit: tuple[Any, ...]) -> Rows:
        gone = {id(row) for row in self.of(unit)}
        return replace(self, cells=tuple(row for row in self.cells if id(row) not in gone))

    def without_nobody(self) -> Rows:
        named = (row for row in self.cells if all(row[part] is not None for part in self.schema.units))
        return replace(self, cells=tuple(named))

    def arrow(self) -> pa.Table:
        return pa.table(
            {
                name: pa.array([row[part] for row in self.cells], self.schema.types[part])
                for part, name in self.schema.names.items()
            }
        )


def schema(chance: random.Random) -> Schema:
    """Columns of every type under names that are hard to read."""
    stamp = pa.timestamp(chance.choice(list(RATES)), chance.choice(ZONES))
    digits = chance.choice([(5, 2), (15, 2), (18, 6), (38, 18)])
    types = {
        "integer": pa.int64(), "small": chance.choice([pa.int8(), pa.int16(), pa.int32()]), "unsigned": pa.uint64(),
        "real": pa.float64(), "single": pa.float32(), "decimal": pa.decimal128(*digits), "whole": pa.decimal128(38, 0),
        "text": pa.string(), "flag": pa.bool_(), "day": pa.date32(), "time": stamp, "lon": pa.float64(),
        "lat": pa.float64(), "array": pa.list_(chance.choice([pa.float64(), pa.float32()])),
        "nested": pa.struct([("_unit", pa.int64()), ("a", pa.list_(pa.string()))]),
    }  # fmt: skip
    units = tuple(f"unit {place}" for place in range(chance.choice([1, 1, 1, 2])))
    types |= {unit: chance.choice(UNIT_TYPES) for unit in units}
    names = dict(zip(types, chance.sample(NAMES, len(types)), strict=True))
    return Schema(names, types, units)


def cells(kind: pa.DataType, part: str, chance: random.Random) -> list[Any]:
    """Values that a column of this type may hold."""
    if part in ("lon", "lat"):
        return DEGREES
    if pa.types.is_list(kind):
        return [[chance.choice(FLOATS[:8]) for _ in range(length)] for length in (3, 3, 3, 3, 0, 6)]
    if pa.types.is_struct(kind):
        return [{"_unit": 1, "a": ["x"]}, {"_unit": None, "a": None}]
    if pa.types.is_timestamp(kind):
        ticks = [moment * RATES[kind.unit] for moment in MOMENTS]
        return [*(tick for tick in ticks if abs(tick) < 2**63), *(FARTHEST if kind.unit != "s" else [2**53, -(2**53)])]
    if pa.types.is_decimal(kind):
        return [Decimal(text) for text in (DECIMALS if kind.scale else WHOLE_DECIMALS)]
    if pa.types.is_floating(kind):
        return FLOATS if kind == pa.float64() else [*FLOATS[:10], 3e38]
    if pa.types.is_integer(kind) and kind not in (pa.int64(), pa.uint64()):
        return [0, 1, 2, 3, -1, 127, -128]
    ready: dict[pa.DataType, list[Any]] = {
        pa.int64(): INT64, pa.uint64(): UINT64, pa.string(): TEXTS, pa.bool_(): [True, False], pa.date32(): DAYS,
    }  # fmt: skip
    return ready[kind]


def some_rows(made: Schema, count: int, chance: random.Random) -> list[Row]:
    """Rows whose cells come from a few values a column, so that units meet in bins."""
    pools = {part: cells(kind, part, chance) for part, kind in made.types.items()}
    ordinary = chance.random() < 0.5  # the first values are those that are inside most domains
    pools = {
        part: pool[:3] if ordinary else chance.sample(pool, min(len(pool), chance.randint(1, 6)))
        for part, pool in pools.items()
    }
    holes = chance.choice([0.0, 0.05, 0.3])
    return [
        {part: None if chance.random() < holes else chance.choice(pool) for part, pool in pools.items()}
        for _ in range(count)
    ]


def rows(made: Schema, chance: random.Random) -> Rows:
    """A table of two to eight units; some have many rows, and some rows have no unit."""
    pools = {part: cells(made.types[part], part, chance)[: chance.choice([4, 99])] for part in made.units}
    units = [{part: chance.choice(pools[part]) for part in made.units} for _ in range(chance.randint(2, 8))]
    heavy = [chance.choice([1, 1, 2, 4, 12]) for _ in units]
    found = some_rows(made, chance.randint(5, 40), chance)
    for row in found:
        row.update(chance.choices(units, heavy)[0])
        if chance.random() < 0.08:
            row[chance.choice(made.units)] = None
    return Rows(made, tuple(found))


def neighbours(given: Rows, relation: str, count: int, chance: random.Random) -> Iterator[tuple[str, Rows]]:
    """Tables that differ in one unit, their rows in another order; and one without the rows that belong to nobody."""
    chosen = given.units()
    chance.shuffle(chosen)
    chosen.sort(key=lambda unit: len(given.of(unit)), reverse=chance.random() < 0.8)
    for unit in chosen[:count]:
        fresh: list[Row] = []
        if relation == "replace":
            fresh = some_rows(given.schema, chance.choice([0, 1, 3, 12]), chance)
            for row in fresh:
                row.update(zip(given.schema.units, unit, strict=True))
        left = [*given.without(unit).cells, *fresh]
        chance.shuffle(left)
        yield relation, Rows(given.schema, tuple(left))
    yield "nobody", given.without_nobody()


def opened(given: Rows, form: str, folder: Path, *, relation: str, engine: str | None = None) -> Table:
    """The table as the library sees it."""
    arrow, made, types = given.arrow(), given.schema, None
    source: Any = arrow
    if form == "pandas":
        source = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    elif form == "DuckDB":
        connection().register("everybody", zoneless(arrow))
        source = connection(), "everybody"
    elif form == "Parquet":
        source = written(microseconds(arrow) if engine else arrow, folder)
    elif form == "CSV":
        source, types = as_csv(arrow, made, folder)
    units = [made[part] for part in made.units]
    return table(source, unit=units, neighbours=relation, engine=engine, types=types, name="rows")


@functools.cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for all tables: they are opened in no time, and a question that was asked of a table is SQL already."""
    return duckdb.connect(config={"threads": 1})


def zoneless(arrow: pa.Table) -> pa.Table:
    """What is registered is a view of DuckDB's own scan, which fails at extreme milliseconds with a zone."""
    kinds = {field.name: field.type for field in arrow.schema}
    zoned = {name: pa.timestamp(kind.unit) for name, kind in kinds.items() if pa.types.is_timestamp(kind) and kind.tz}
    return arrow.cast(pa.schema((kinds | zoned).items())) if zoned else arrow


def microseconds(arrow: pa.Table) -> pa.Table:
    """Spark reads no nanoseconds."""
    kinds = {field.name: field.type for field in arrow.schema}
    fine = {name: kind for name, kind in kinds.items() if pa.types.is_timestamp(kind) and kind.unit == "ns"}
    kinds |= {name: pa.timestamp("us", kind.tz) for name, kind in fine.items()}
    return arrow.cast(pa.schema(kinds.items()), safe=False)


def written(arrow: pa.Table, folder: Path) -> list[Path]:
    """Two files of small row groups."""
    half = arrow.num_rows // 2
    for place, part in enumerate((arrow.slice(0, half), arrow.slice(half))):
        pq.write_table(part, folder / f"{place}.parquet", row_group_size=5)
    return [folder / "0.parquet", folder / "1.parquet"]


DECLARED = {"integer": "int", "small": "int", "real": "float", "single": "float", "flag": "bool", "day": "date",
            "lon": "float", "lat": "float", "time": "timestamp"}  # fmt: skip


def as_csv(arrow: pa.Table, made: Schema, folder: Path) -> tuple[Path, dict[str, str]]:
    """Without arrays; the unit is text."""
    kept = [part for part, kind in made.types.items() if not pa.types.is_nested(kind)]
    pacsv.write_csv(arrow.select([made[part] for part in kept]), folder / "rows.csv")
    return folder / "rows.csv", {made[part]: word for part, word in DECLARED.items()}
