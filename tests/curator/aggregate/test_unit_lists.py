"""Lists of a unit's rows: what DuckDB's SQL keeps, on tables that make slots and room grow, and of any type of unit."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from leastnoise import stats
from leastnoise.curator.aggregate import unit_lists
from leastnoise.curator.aggregate.unit_lists import RowKeeper, bytes_needed
from leastnoise.curator.engines.duckdb import DuckDB
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import table
from leastnoise.testing import aggregate


def both(query: Query) -> tuple[list[int], list[int]]:
    """What SQL adds up, and what the lists do; that the lists are asked is part of it."""
    sql = aggregate(query).values.tolist()
    with (
        patch.object(unit_lists, "MANY_ROWS", 0),
        patch.object(BinnedQuery, "_by_sql", side_effect=AssertionError("lists were to be used")),
    ):
        return sql, aggregate(query).values.tolist()


def rows_of(units: int, rows: int, *, sort: bool) -> pd.DataFrame:
    random = np.random.default_rng(7)
    unit = random.integers(0, units, rows) * 2**33 - 2**40  # both halves of the integer differ, and some are negative
    unit = np.sort(unit) if sort else unit
    return pd.DataFrame(
        {
            "unit": unit,
            "bin": random.integers(-1, 50, rows),
            "value": random.normal(0, 3, rows),
            "whole": random.integers(-99, 99, rows),
        }
    )


@pytest.mark.parametrize(("units", "sort"), [(60_000, False), (3_000, True), (40, False)])
def test_histograms_are_those_of_sql(units: int, sort: bool) -> None:
    """From a row or two of each unit to 1,500."""
    frame = rows_of(units, 60_000, sort=sort)
    for most in ({"max_rows": 5}, {"max_rows": 5, "max_per_bin": 1}, {"max_rows": 700, "max_per_bin": 3}):
        sql, lists = both(table(frame, unit="unit").histogram("bin", keys=range(50), **most))
        assert lists == sql, most
        assert sum(sql) > units / 3


@pytest.mark.parametrize("max_per_bin", [None, 2])
def test_sums_and_medians_are_those_of_sql(max_per_bin: int | None) -> None:
    rows = table(rows_of(900, 30_000, sort=False), unit="unit")
    limits = {"by": "bin", "keys": range(50), "max_rows": 9, "max_per_bin": max_per_bin}
    for query in (rows.sum("whole", clip=(-20, 90), **limits), rows.quantile("value", [0.5], clip=(0, 8), **limits)):
        sql, lists = both(query)
        assert lists == sql


@pytest.mark.parametrize("kind", ["int8", "uint32", "bool", "date"])
def test_units_of_other_types_are_those_of_sql(kind: str) -> None:
    number = np.random.default_rng(3).integers(0, 100, 5_000)
    made = {"bool": number % 2 == 0, "date": pa.array(number - 50, pa.int32()).cast(pa.date32())}
    unit = made[kind] if kind in made else number.astype(kind)
    sql, lists = both(
        table(pa.table({"unit": unit, "bin": number % 7}), unit="unit").histogram("bin", keys=range(7), max_rows=3)
    )
    assert lists == sql


def test_other_units_limits_and_questions_go_by_sql() -> None:
    frame = pd.DataFrame({"text": ["a", "b"], "one": [1, 2], "two": [1, 1], "bin": [0, 1], "value": [1.0, 2.0]})
    questions = [
        table(frame, unit="text").histogram("bin", keys=range(2), max_rows=3),
        table(frame, unit=("one", "two")).histogram("bin", keys=range(2), max_rows=3),
        table(frame, unit="one").histogram("bin", keys=range(9), max_rows=3, max_bins=2),
        table(frame, unit="one").histogram("bin", keys=range(2), max_rows=2000),
        table(frame, unit="one").summarize("bin", keys=range(2), n=stats.count(), max_rows=3),
    ]
    for query in questions:
        whole = aggregate(query).values.tolist()
        with (
            patch.object(unit_lists, "MANY_ROWS", 0),
            patch.object(BinnedQuery, "_by_lists", side_effect=AssertionError),
        ):
            assert aggregate(query).values.tolist() == whole


def test_without_a_compiler_sql_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    query = table(rows_of(40, 1_000, sort=False), unit="unit").histogram("bin", keys=range(50), max_rows=5)
    whole = aggregate(query).values.tolist()
    monkeypatch.setattr(unit_lists, "MANY_ROWS", 0)
    monkeypatch.setattr(unit_lists, "prepare", lambda: 1 / 0)
    assert aggregate(query).values.tolist() == whole


@pytest.mark.parametrize(("units", "rows", "kept"), [(10**6, 10**6, 5), (40_000, 10**6, 40), (10**6 // 3, 10**6, 3)])
def test_the_lists_take_no_more_memory_than_is_reckoned_with(units: int, rows: int, kept: int) -> None:
    frame = rows_of(units, rows, sort=False)
    held = bytes_held(frame["unit"].to_numpy(), (frame["bin"] + 1).to_numpy(np.uint32), kept)
    assert held <= bytes_needed(frame["unit"].nunique(), rows, max_rows=kept)


def test_nobody_can_choose_units_that_share_a_part() -> None:
    """Units that would, were the factors of the mixing known: 1, 1, and those of a common hash. A part would hold all
    20,000 and the others as many slots, 0.4 GB; with random factors this needs more than 8 times what is reckoned with
    once in far more than a million runs."""
    for first, second in ((1, 1), (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)):
        unit = np.array([unit_at(place, first, second) for place in range(20_000)], np.uint64).view(np.int64)
        held = bytes_held(unit, np.zeros(len(unit), np.uint32), 5)
        assert held <= 8 * bytes_needed(len(unit), len(unit), max_rows=5)


def unit_at(place: int, first: int, second: int) -> int:
    """The unit whose place begins with zeros as this number does, under these factors."""
    product = (place ^ place >> 32) * pow(second, -1, 2**64) % 2**64
    product ^= product >> 29 ^ product >> 58
    mixed = product * pow(first, -1, 2**64) % 2**64
    return mixed ^ mixed >> 32


def bytes_held(unit: NDArray[np.int64], code: NDArray[np.uint32], kept: int) -> int:
    """What the lists of these rows take, half as many slots again while they grow."""
    whole, held = unit_lists.Lists.codes, list[int]()

    def codes(lists: unit_lists.Lists) -> object:
        held.append(lists._slots.nbytes * 3 // 2 + lists._room.nbytes)
        return whole(lists)

    with patch.object(unit_lists.Lists, "codes", codes):
        batch = pa.record_batch({"unit": unit, "code": code})
        RowKeeper(max_rows=kept, max_per_bin=kept, value_bits=0, key=1, threads=2)(iter([batch]))
    return sum(held)


def test_little_memory_means_passes_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(pd.DataFrame({"unit": range(300_000), "bin": 0}), unit="unit", memory_limit="32MB")
    whole, parts = DuckDB.passes, []

    def passes(engine: DuckDB, *args: Any, **named: Any) -> int:
        parts.append(whole(engine, *args, **named))
        return parts[-1]

    monkeypatch.setattr(DuckDB, "passes", passes)
    monkeypatch.setattr(unit_lists, "MANY_ROWS", 0)
    query = rows.histogram("bin", keys=range(2), max_rows=10)
    assert aggregate(query).values.tolist() == [300_000, 0]
    assert parts == [2]
