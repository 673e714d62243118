"""Lists of a unit's rows: what DuckDB's SQL keeps, on tables that make slots and room grow, and of any type of unit."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from leastnoise import stats
from leastnoise.curator.aggregate import bounding, draw_loops, unit_list_loops, unit_lists, unit_runs
from leastnoise.curator.aggregate.row_keeper import RowKeeper
from leastnoise.curator.aggregate.unit_lists import CLASSES, Passes, Waiting
from leastnoise.curator.engines.duckdb import DuckDB
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

WORD = 2**32 - 1


def both(query: Query) -> tuple[list[int], list[int]]:
    """What SQL adds up, and what the lists do, at once and where room is for a few rows; that the lists are asked is
    part of it."""
    sql = aggregate(query).values.tolist()
    with (
        patch.object(unit_lists, "MANY_ROWS", 0),
        patch.object(BinnedQuery, "_by_sql", side_effect=AssertionError("lists were to be used")),
    ):
        lists = aggregate(query).values.tolist()
        few = patch.multiple(unit_lists, BLOCK_ROWS=2048, MOST_WAITING=7000)
        with few, patch.object(unit_runs, "FEWEST_ROWS", 2048):
            assert aggregate(query).values.tolist() == lists
        return sql, lists


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
    questions = [
        rows.sum("whole", clip=(-20, 90), **limits),
        rows.quantile("value", [0.5], clip=(0, 8), **limits),
        rows.mean("value", clip=(-5, 5), **limits),  # of 36 bits: rows of three words
        rows.sum("whole", clip=(0, 2**39), **limits),
    ]
    for query in questions:
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


@pytest.mark.parametrize("max_rows", [1, 2, 8, 9, 1000])
def test_extremes_and_ties_are_those_of_sql(max_rows: int) -> None:
    """Units at the ends of 64 bits, codes at those of 32 (a hash may be all ones as well) and beyond, and few values,
    so that rows tie."""
    random = np.random.default_rng(max_rows)
    ends = np.array([-(2**63), -(2**63) + 1, -1, 0, 1, 2**32 - 1, 2**32, 2**63 - 1])
    values = np.array([0, 1, 2**31, 2**32 - 2, 2**32 - 1, 2**38, 2**39 - 2, 2**39 - 1])
    frame = pd.DataFrame({"unit": random.choice(ends, 4000), "value": random.choice(values, 4000), "bin": 0})
    rows = table(frame.assign(bin=random.integers(0, 4, 4000)), unit="unit")
    for clip in ((0, 2**30 - 1), (0, 2**39 - 1)):
        for in_a_bin in {max_rows // 2 + 1, max_rows}:
            limits = {"max_rows": max_rows, "max_per_bin": in_a_bin}
            sql, lists = both(rows.sum("value", clip=clip, by="bin", keys=range(4), **limits))
            assert lists == sql, (clip, limits)


def test_a_part_that_is_larger_than_others_is_kept_whole() -> None:
    """Rows of a hundred thousand units, most of them several times: what is looked through at once has to grow, and
    rows that are alike come in several of its pieces."""
    count = 300_000
    random = np.random.default_rng(2)
    rows = np.stack([random.integers(0, 100_000, count), 2**32 + random.integers(0, 2, count)], axis=1)
    expected = Counter(map(tuple, rows.tolist()))
    ends, stops, factors = np.array([[0, count]]), np.array([[count]]), unit_lists.random_factors()
    unit_list_loops.merge_rows(rows, ends, stops, 0, 1, np.array(factors, np.uint64))
    left = {(place, 2**32 + x % 2**32): x >> 32 for place, x in rows[: stops[0, 0]].tolist()}
    assert len(left) == stops[0, 0] > unit_list_loops.FIRST_SIZE
    assert left == expected


def test_rows_of_a_heavy_unit_are_counted_before_they_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of all rows are of one unit and code: when its part is drawn from, they are one, with its copies."""
    unit, whole, largest = (
        np.where(np.arange(40_000) % 2 > 0, -1, np.arange(40_000)),
        draw_loops.draw_parts,
        list[int](),
    )

    def draw_parts(rows: Any, ends: Any, stops: Any, *others: Any) -> int:
        largest.append(int((stops - ends[:, :-1]).sum(axis=0).max()))
        return whole(rows, ends, stops, *others)

    monkeypatch.setattr(draw_loops, "draw_parts", draw_parts)
    with Waiting(keeper_of(5), unit_lists.random_factors(), room=40_000, most=40_000, threads=1) as waiting:
        waiting.add(unit, np.zeros_like(unit))
        assert len(waiting.codes()) == 20_000 + 5
    assert len(largest) == 1
    assert largest[0] < 1_000


def test_rows_that_differ_in_one_word_are_told_apart() -> None:
    """With factors that bring small numbers into one slot: unit, code and its last bits are compared."""
    one, factors = 2**32, np.array([1, 1], np.uint64)
    rows = np.array([[5, one + 1, 7], [5, one + 2, 7], [6, one + 1, 7], [5, one + 1, 8], [5, one + 1, 7]])
    assert unit_list_loops.merge_some(rows, 5, factors, np.zeros(64, np.int64)) == 4
    assert rows[:4].tolist() == [[5, 2 * one + 1, 7], [5, one + 2, 7], [6, one + 1, 7], [5, one + 1, 8]]


def test_very_many_rows_that_are_alike_are_taken_for_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """By lists and by SQL, which would make a list of all of them anew."""
    most = unit_list_loops.MOST_COPIES
    assert most == draw_loops.MOST_COPIES == bounding.MOST_COPIES
    rows = table(pd.DataFrame({"unit": np.zeros(most + 5, np.int64), "bin": np.arange(most + 5) < 4}), unit="unit")
    sql, lists = both(rows.histogram("bin", keys=[False, True], max_rows=900))
    assert sql == lists
    monkeypatch.setattr(bounding, "MOST_COPIES", 10)
    unit = pd.DataFrame({"unit": 1, "bin": [0] * 5_000 + [1] * 10})
    found = aggregate(table(unit, unit="unit").histogram("bin", keys=range(2), max_rows=15)).values
    assert found.sum() == 15
    assert found[1] > 3  # of twenty-five lots ten are of the other kind, and of five thousand and ten they would be few
    assert unit_list_loops.added((most - 1 << 32) + 7, (1 << 32) + 7) == (most << 32) + 7
    assert unit_list_loops.added((most << 32) + 7, (5 << 32) + 7) == (most << 32) + 7


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


def word_of(integer: int) -> int:
    """`bounding.fold`, in Python's integers."""
    return ((integer >> 32) * bounding.MULTIPLIER_1 & WORD) ^ (integer & WORD)


def mixed(h: int) -> int:
    """`bounding.mixed`, in Python's integers."""
    h = (h ^ h >> 16) * bounding.MULTIPLIER_2 & WORD
    h = (h ^ h >> 15) * bounding.MULTIPLIER_3 & WORD
    return h ^ h >> 16


def content_of(code: int, value_bits: int) -> int:
    """`bounding.Coding.content_of`, in Python's integers."""
    if value_bits == 0:
        return word_of(code)
    value = code % 2**value_bits + 1
    return (word_of(code >> value_bits) * bounding.MULTIPLIER_2 + word_of(value)) & WORD


def lot_of(unit: int, code: int, value_bits: int, copy: int, key: int) -> tuple[int, int]:
    """(lot, code): `bounding.with_hash`, in Python's integers."""
    h = word_of(unit) ^ key
    h = ((h ^ h >> 16) * bounding.MULTIPLIER_1 & WORD) ^ content_of(code, value_bits)
    return mixed(mixed(h) ^ copy) >> 1, code


def drawn_by_hand(unit: int, rows: Counter[int], value_bits: int, count: int, key: int) -> Counter[int]:
    """Up to `count` of these rows of a unit: those with the smallest hashes."""
    lots = sorted(lot_of(unit, code, value_bits, copy, key) for code, copies in rows.items() for copy in range(copies))
    return Counter(code for _, code in lots[:count])


def kept_by_hand(keeper: RowKeeper, unit: NDArray[np.int64], code: NDArray[np.int64]) -> Counter[int]:
    """Of each unit some rows in each bin, if that is a limit of its own, and of these some in all."""
    rows = defaultdict[int, Counter[int]](Counter)
    for owner, each in zip(unit.tolist(), code.tolist(), strict=True):
        rows[owner][each] += 1
    kept: Counter[int] = Counter()
    for owner, codes in rows.items():
        if keeper.max_per_bin < keeper.max_rows:
            bins = defaultdict[int, Counter[int]](Counter)
            for each, copies in codes.items():
                bins[each >> keeper.value_bits][each] = copies
            key = keeper.key ^ bounding.MULTIPLIER_2
            parts = [drawn_by_hand(owner, some, keeper.value_bits, keeper.max_per_bin, key) for some in bins.values()]
            codes = sum(parts, Counter[int]())
        kept += drawn_by_hand(owner, codes, keeper.value_bits, keeper.max_rows, keeper.key)
    return kept


def kept_in_passes(
    keeper: RowKeeper, unit: NDArray[np.int64], code: NDArray[np.int64], *, memory: float, once: bool = False
) -> tuple[Counter[int], int]:
    """What is kept, and in how many passes; in none where the rows of one unit do not fit."""
    kept: Counter[int] = Counter()
    passes = Passes(keeper, unit_lists.random_factors(), rows=len(unit), memory=memory, threads=2, once=once)
    number = 0
    while passes.remain:
        batches = pa.Table.from_arrays([unit, code], ["unit", "code"]).to_batches(unit_lists.BLOCK_ROWS)
        kept.update(passes.kept(iter(batches)).tolist())
        number += 1
        if passes.full:
            return Counter(), 0
    return kept, number


def units_in(order: str, rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """A few rows a unit, or half of all rows of one."""
    unit = random.integers(0, max(1, rows // int(random.integers(1, 30))), rows) * 2**31 - 2**40
    if order == "one heavy":
        return np.where(random.random(rows) < 0.5, -7, unit)
    if order == "clustered":  # runs of a few rows, of units that come again
        return np.repeat(unit, random.integers(1, 9, rows))[:rows]
    if order == "few, sorted":  # each in several blocks
        return np.sort(unit % 7)
    if order == "sorted but for the last":  # which is of a unit that was drawn from before
        return np.append(np.sort(unit[1:]), np.median(unit[:-1]).astype(np.int64))
    if order == "sorted twice":  # the second time from the beginning of a block on
        half = rows // 2 // unit_lists.BLOCK_ROWS * unit_lists.BLOCK_ROWS
        return np.concatenate([np.sort(unit[:half]), np.sort(unit[half:])])
    return np.sort(unit) if order == "sorted" else unit


@pytest.mark.parametrize(
    "order", ["random", "sorted", "few, sorted", "sorted twice", "sorted but for the last", "clustered", "one heavy"]
)
@pytest.mark.parametrize(("memory", "once"), [(0, True), (5e4, False), (1e9, True)])
def test_lists_keep_what_the_rule_says(order: str, memory: float, once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of any table, whatever is left out unseen, and in as many passes as it takes. Lists that are too
    long to be kept while rows are read are among them."""
    random = np.random.default_rng([len(order), int(memory), once])
    monkeypatch.setattr(unit_lists, "BLOCK_ROWS", 256)
    monkeypatch.setattr(unit_lists, "MOST_WAITING", 600)
    monkeypatch.setattr(unit_runs, "FEWEST_ROWS", 100)
    numbers = []
    for most, in_bin, bits in ((5, 5, 0), (5, 1, 0), (1, 1, 0), (6, 2, 2), (80, 3, 0), (5, 5, 9), (4, 3, 30)):
        keeper = keeper_of(most, in_bin=in_bin, value_bits=bits)
        rows = int(random.integers(2_000, 5_000))
        unit = units_in(order, rows, random)
        code = random.integers(0, int(random.choice([3, 4000])) << bits, rows)
        kept, passes = kept_in_passes(keeper, unit, code, memory=memory, once=once)
        assert passes == 0 or kept == kept_by_hand(keeper, unit, code), (most, in_bin, bits)
        numbers.append(passes)
    assert (max(numbers) > 1) is not (once or order == "sorted")
    assert (min(numbers) == 0) is (order == "one heavy" and not once)


@pytest.mark.parametrize("once", [True, False])
def test_every_order_of_three_units_keeps_the_same(once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of one, two and three rows: a unit comes again in every place of a block, and after it."""
    monkeypatch.setattr(unit_lists, "FEWEST_ROWS", 1)
    monkeypatch.setattr(unit_lists, "MOST_WAITING", 4)
    monkeypatch.setattr(unit_runs, "FEWEST_ROWS", 1)
    keeper, random = keeper_of(2, in_bin=1), np.random.default_rng(4)
    for size, units in product((1, 2, 3), product(range(3), repeat=4)):
        monkeypatch.setattr(unit_lists, "BLOCK_ROWS", size)
        unit, code = np.array(units), random.integers(0, 3, 4) + 4 * np.array(units)
        kept, passes = kept_in_passes(keeper, unit, code, memory=1_000, once=once)
        assert passes > 0
        assert kept == kept_by_hand(keeper, unit, code), (size, units)


def test_more_threads_than_parts_keep_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may be told to use thousands."""
    monkeypatch.setattr(unit_lists, "PART_BITS", 1)
    monkeypatch.setattr(unit_lists, "PARTS", 2)
    unit = np.arange(300) % 40
    with Waiting(keeper_of(5), unit_lists.random_factors(), room=300, most=300, threads=7) as waiting:
        waiting.add(unit, unit % 7)
        assert len(waiting.codes()) == 40 * 5


def test_no_number_of_a_row_is_too_large_for_its_word() -> None:
    """2^31 rows of one unit, in no memory: they are not numbered in 32 bits, but counted in 64."""
    rows = np.broadcast_to(np.int64(0), 2**31)
    assert draw_loops.number_rows(rows, np.empty(0, np.int64), np.zeros(draw_loops.SMALL_CODES, np.int32)) is False
    assert {room.dtype for room in draw_loops.room_of(1, 1)[0]} == {np.dtype(np.int64)}


@pytest.mark.parametrize(("memory", "once"), [(40_000, True), (20_000, False)])
def test_rows_in_order_are_read_once_if_there_is_room_for_codes(
    memory: float, once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The codes of 4,000 units, one row of ten each, are 16,000 bytes, and half of the memory may be used for them. The
    rows, forty times as many bytes, wait nowhere."""
    monkeypatch.setattr(unit_lists, "BLOCK_ROWS", 128)
    keeper, code = keeper_of(1), np.random.default_rng(8).integers(0, 4000, 40_000)
    unit = np.repeat(np.arange(4_000), 10) - 200
    kept, passes = kept_in_passes(keeper, unit, code, memory=memory)
    assert kept == kept_by_hand(keeper, unit, code)
    assert (passes == 1) is once


def test_units_ascend_where_none_comes_after_a_larger_one() -> None:
    for units in product(range(3), repeat=4):
        assert draw_loops.ascend(np.array(units)) is (list(units) == sorted(units))


@pytest.mark.parametrize("kinds", [1e3, 1e6, 1e9])
def test_how_many_rows_differ_is_told_by_the_first_of_them(kinds: float) -> None:
    seen, rows = 3e3, 1e6
    differ = [kinds * -np.expm1(-number / kinds) for number in (seen, rows)]
    assert unit_lists.expected_left(seen, differ[0], rows) == pytest.approx(differ[1], rel=1e-3)
    assert unit_lists.expected_left(seen, seen, rows) == rows


def tied_codes(unit: int, key: int) -> list[tuple[int, int]]:
    """Pairs of codes below 2^16 whose first rows have one lot: of 2^31 pairs, about one."""
    lots = sorted(lot_of(unit, code, 0, 0, key) for code in range(2**16))
    return [(one[1], other[1]) for one, other in pairwise(lots) if one[0] == other[0]]


@pytest.mark.parametrize("others", [0, 60])
def test_of_rows_that_tie_the_smaller_code_is_kept(others: int) -> None:
    """Among few rows of a unit and among many, while units ascend and else."""
    random, pairs = np.random.default_rng(others), 0
    for owner in range(8):
        for pair in tied_codes(owner, keeper_of(1).key):
            rows = [*pair, *random.integers(0, 2**16, others).tolist()]
            lots = sorted(lot_of(owner, code, 0, 0, keeper_of(1).key) for code in set(rows))
            keeper = keeper_of(lots.index(lot_of(owner, pair[0], 0, 0, keeper_of(1).key)) + 1)
            unit, code = np.array([-1, *[owner] * len(rows), 99]), np.array([0, *rows, 0])
            for order in (slice(None), slice(None, None, -1)):
                kept, _ = kept_in_passes(keeper, unit[order].copy(), code[order].copy(), memory=0, once=True)
                assert kept == kept_by_hand(keeper, unit, code)
            pairs += 1
    assert pairs > 3


@pytest.mark.parametrize("longest", [bounding.MAX_LIST_LENGTH, 0], ids=["smallest", "sorted"])
def test_of_rows_that_tie_sql_keeps_the_smaller_code(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes first: as the smallest integers of a unit, and by a sort."""
    monkeypatch.setattr(bounding, "MAX_LIST_LENGTH", longest)

    def asked(unit: int, codes: tuple[int, ...]) -> Any:
        rows = pa.table({"unit": [unit] * len(codes), "bin": codes})
        return table(rows, unit="unit").histogram("bin", keys=range(2**16), max_rows=1)

    pairs = [(owner, pair) for owner in range(8) for pair in tied_codes(owner, asked(0, (0,))._salt)]
    assert len(pairs) > 3
    for owner, pair in pairs:
        for codes in (pair, pair[::-1]):
            assert np.flatnonzero(aggregate(asked(owner, codes)).values).tolist() == [min(pair)]


@pytest.mark.parametrize("rereadable", [True, False])
def test_rows_of_one_unit_that_do_not_fit_go_by_sql(
    rereadable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit with forty thousand rows, all different, in room for a few thousand: the same integers as ever, whether
    the rows are read from a file again or were kept aside."""
    random = np.random.default_rng(5)
    unit = np.where(np.arange(60_000) % 3 > 0, -1, random.integers(0, 9_000, 60_000))
    frame = pd.DataFrame({"unit": unit, "bin": random.integers(0, 3, 60_000), "value": random.normal(0, 3, 60_000)})
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = table(tmp_path / "rows.parquet" if rereadable else frame, unit="unit", memory_limit="64MB")
    query = rows.sum("value", by="bin", keys=range(3), clip=(-9, 9), max_rows=7)
    sql = aggregate(query).values.tolist()
    monkeypatch.setattr(unit_lists, "MANY_ROWS", 0)
    monkeypatch.setattr(unit_lists, "MEMORY_SHARE", 0.004)
    monkeypatch.setattr(unit_lists, "WAITING_SHARE", 0.0008)
    monkeypatch.setattr(unit_lists, "FEWEST_ROWS", 256)
    monkeypatch.setattr(DuckDB, "holds", lambda *_: False)
    with patch.object(BinnedQuery, "_by_sql", autospec=True, side_effect=BinnedQuery._by_sql) as by_sql:
        assert aggregate(query).values.tolist() == sql
    assert by_sql.call_count == 1


def test_rows_that_are_alike_take_the_room_of_one() -> None:
    """Forty thousand rows, of forty units and three codes, in room for two thousand: it never has to grow."""
    random = np.random.default_rng(11)
    unit, code = random.integers(0, 40, 40_000), random.integers(0, 3, 40_000)
    with Waiting(keeper_of(5), unit_lists.random_factors(), room=2_000, most=2_000, threads=2) as waiting:
        for begin in range(0, 40_000, 500):
            waiting.add(unit[begin : begin + 500], code[begin : begin + 500])
        rows, ends = waiting.take()
        assert len(waiting._rows) == 2_000
    assert len(rows) == ends[-1] == 40 * 3
    assert int((rows[:, 1] >> 32).sum()) == 40_000


def test_every_row_of_a_unit_is_as_likely_to_be_kept_as_any_other() -> None:
    """2,000 people with 80 rows of one kind and 20 of another: a fifth of what is kept is of the other, by lists and by
    SQL. The share of 20,000 rows is off by five standard deviations, 0.014, once in 1.7 million keys."""
    unit = np.repeat(np.arange(2_000), 100)
    frame = pd.DataFrame({"unit": unit, "late": np.tile(np.arange(100) < 20, 2_000).astype(np.int64)})
    rows = table(frame, unit="unit")
    for most in (1, 10, 50):
        spread = 5 * (0.16 / (2_000 * most)) ** 0.5
        for sums in both(rows.histogram("late", keys=range(2), max_rows=most)):
            assert sum(sums) == 2_000 * most
            assert abs(sums[1] / sum(sums) - 0.2) < spread
        [late] = aggregate(rows.summarize(late=stats.sum("late", clip=(0, 1)), max_rows=most)).values
        assert abs(late / (2_000 * most) - 0.2) < spread


@pytest.mark.parametrize("value_bits", [0, 30])
@pytest.mark.parametrize(("units", "rows", "kept"), [(10**6, 10**6, 5), (40_000, 10**6, 40), (10**6 // 3, 10**6, 3)])
def test_the_rows_take_no_more_memory_than_they_may(
    units: int, rows: int, kept: int, value_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for a tenth of the rows, beside blocks of a hundredth of them: those of a thread and one more."""
    frame = rows_of(units, rows, sort=False)
    keeper = keeper_of(kept, value_bits=value_bits)
    monkeypatch.setattr(unit_lists, "BLOCK_ROWS", rows // 100)
    codes = (frame["bin"] + 1).to_numpy() << value_bits
    memory = keeper.bytes_of(rows) / 10 / unit_lists.MEMORY_SHARE
    held, passes = bytes_held(keeper, frame["unit"].to_numpy(), codes, memory=memory)
    assert held <= unit_lists.MEMORY_SHARE * memory + 3 * keeper.bytes_of(rows // 100)
    assert 8 <= passes <= 32


def test_rows_that_fit_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if there are more than was thought: nobody kept them aside for a second time."""
    monkeypatch.setattr(unit_lists, "BLOCK_ROWS", 500)
    unit = np.arange(20_000)
    passes = Passes(keeper_of(5), (3, 5), rows=1_000, memory=0, threads=2, once=True)
    batches = pa.Table.from_arrays([unit, unit % 7], ["unit", "code"]).to_batches(500)
    assert len(passes.kept(iter(batches))) == 20_000
    assert not passes.remain


def test_nobody_can_choose_units_that_share_a_part() -> None:
    """Units that would, were the factors of the mixing known: 1, 1, and those of a common hash. With random factors a
    part has a tenth of all 20,000 once in far more than a million runs."""
    for first, second in ((1, 1), (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)):
        unit = np.array([unit_at(place, first, second) for place in range(20_000)], np.uint64).view(np.int64)
        assert largest_part(unit, (first, second)) == len(unit)
        assert largest_part(unit, unit_lists.random_factors()) < len(unit) / 10


def largest_part(unit: NDArray[np.int64], factors: tuple[int, int]) -> int:
    with Waiting(keeper_of(5), factors, room=len(unit), most=len(unit), threads=1) as waiting:
        waiting.add(unit, np.zeros_like(unit))
        return int(np.diff(waiting.take()[1]).max())


def unit_at(place: int, first: int, second: int) -> int:
    """The unit whose place begins with zeros as this number does, under these factors."""
    product = (place ^ place >> 32) * pow(second, -1, 2**64) % 2**64
    product ^= product >> 29 ^ product >> 58
    mixed = product * pow(first, -1, 2**64) % 2**64
    return mixed ^ mixed >> 32


def keeper_of(kept: int, *, in_bin: int | None = None, value_bits: int = 0) -> RowKeeper:
    """For codes of bins below 2^12."""
    low_bits = max(0, value_bits - 20)
    return RowKeeper(max_rows=kept, max_per_bin=in_bin or kept, value_bits=value_bits, low_bits=low_bits, key=1)


def bytes_held(keeper: RowKeeper, unit: NDArray[np.int64], code: NDArray[np.int64], memory: float) -> tuple[int, int]:
    """The most that arrays of rows take at once, and the number of passes."""
    made, most, whole = list[Any](), list[int](), Waiting._empty

    def empty(waiting: Waiting, count: int) -> NDArray[np.int64]:
        rows = whole(waiting, count)
        made.append(weakref.ref(rows))
        most.append(sum(each.nbytes for each in (ref() for ref in made) if each is not None))
        return rows

    with patch.object(Waiting, "_empty", empty):
        kept, passes = kept_in_passes(keeper, unit, code, memory=memory)
    assert kept.total() > len(unit) / 3
    return max(most), passes


def test_little_memory_means_passes_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of 600,000 units are 9.6 MB, and 4 MB may be used: how many classes fit is known from the first rows."""
    rows = table(pd.DataFrame({"unit": range(600_000)[::-1], "bin": 0}), unit="unit", memory_limit="8MB")
    whole, done = Passes.kept, list[int]()

    def kept(passes: Passes, batches: Any) -> NDArray[np.integer]:
        codes = whole(passes, batches)
        done.append(passes.done)
        return codes

    monkeypatch.setattr(Passes, "kept", kept)
    monkeypatch.setattr(unit_lists, "MANY_ROWS", 0)
    query = rows.histogram("bin", keys=range(2), max_rows=10)
    assert aggregate(query).values.tolist() == [600_000, 0]
    assert len(done) == 3
    assert CLASSES / 4 < done[0] < done[1] < done[2] == CLASSES
