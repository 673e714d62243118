"""The rows of a unit that are kept: the loop finds what the SQL says, and both what the rule says in pandas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product, repeat
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import reference
from leastnoise import stats
from leastnoise.curator.engines import duckdb
from leastnoise.curator.engines.duckdb import DuckDB
from leastnoise.curator.rows import keeping, keeping_loops, priorities
from leastnoise.curator.rows.keeping import Loop, Rule
from leastnoise.curator.table import table
from leastnoise.privacy.sensitivity import Limits
from leastnoise.testing import aggregate

WAYS = {"sql": 2**62, "loop": 0}  # from how many rows on the loop is asked
KEY_FACTS = "the public facts of a question"
KEY = reference.key_of(KEY_FACTS)
UNITS = {"integers": ("unit",), "texts": ("name",), "several": ("name", "unit", "day")}
CODES = {"bins": (), "values": ("code0",), "columns": ("code0", "code1")}
# Each limit out of the way of the others, and all together.
LIMITS = dict.fromkeys(
    Limits(max_rows=rows, max_per_bin=min(rows, in_bin), max_bins=min(rows, bins))
    for rows, in_bin, bins in product((1, 2, 5, 40), (1, 3, 99), (1, 3, 99))
)


def in_words(limits: Limits) -> str:
    return f"{limits.max_rows}-{limits.max_per_bin}-{limits.max_bins}"


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return duckdb.connect()


def frame(rows: int, *, units: int, bins: int, values: int, seed: int = 5) -> pd.DataFrame:
    """Units of very different weights, many of whose rows are alike."""
    random = np.random.default_rng(seed)
    unit = (units * random.random(rows) ** 3).astype(np.int64)
    return pd.DataFrame(
        {
            "unit": unit * 2**33 - 2**40,  # both halves of the integer differ, and some are negative
            "name": pd.Series([f"person {each % 7}" for each in unit]),
            "day": unit % 5 == 0,
            "bin": random.integers(0, bins, rows) * random.integers(0, 2, rows),
            "code0": random.integers(0, values, rows) * 2**33,
            "code1": random.integers(0, values, rows),
        }
    ).sample(frac=1, random_state=seed)


def rule_of(limits: Limits, units: str = "integers", codes: str = "bins", **other: Any) -> Rule:
    keep = ("bin", *CODES[codes])
    return Rule(unit=UNITS[units], bin=("bin",), codes=CODES[codes], keep=keep, limits=limits, key=KEY, **other)


def rows_of(rows: pd.DataFrame | pa.Table, rule: Rule, engine: DuckDB) -> Any:
    made = rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)
    return priorities.with_unit_word(ibis.memtable(made), rule.unit, engine)


def by_sql(rows: Any, rule: Rule, engine: DuckDB) -> Counter[Any]:
    return contents(engine.fetch(keeping.in_sql(rows, rule)))


def sorted_rows(rows: Any, rule: Rule, engine: DuckDB) -> pa.Table:
    return engine.fetch(keeping.with_bin_hash(rows, rule).order_by([*rule.unit, *rule.order]))


def in_batches(rows: pa.Table, sizes: Iterator[int] | int) -> Iterator[pa.RecordBatch]:
    begin, sizes = 0, repeat(sizes) if isinstance(sizes, int) else sizes
    while begin < rows.num_rows:
        batch = rows.slice(begin, next(sizes))
        begin += batch.num_rows
        yield pa.record_batch({name: batch[name].combine_chunks() for name in batch.column_names})


def by_loop(rows: pa.Table, rule: Rule, sizes: Iterator[int] | int) -> Counter[Any]:
    found = list(Loop(rule)(in_batches(rows, sizes)))
    return contents(pa.Table.from_batches(found)) if found else Counter()


def contents(kept: pa.Table) -> Counter[Any]:
    return Counter(zip(*(column.to_pylist() for column in kept.columns), strict=True))


def by_rule(rows: pd.DataFrame, rule: Rule) -> Counter[Any]:
    limits = rule.limits.max_rows, rule.limits.max_per_bin, rule.limits.max_bins
    # A truth value is hashed as the integer that it is.
    kept = reference.keep(
        rows.astype({"day": "int64"}), limits=limits, description=KEY_FACTS, codes=rule.codes, units=rule.unit
    )
    return Counter(kept[[*rule.keep]].itertuples(index=False, name=None))


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("limits", LIMITS, ids=in_words)
def test_loop_sql_and_rule_keep_the_same(limits: Limits, units: str, codes: str, engine: DuckDB) -> None:
    rule = rule_of(limits, units, codes)
    made = frame(700, units=40, bins=9, values=3)
    rows = rows_of(made, rule, engine)
    expected, ordered = by_rule(made, rule), sorted_rows(rows, rule, engine)
    assert 0 < expected.total() < 700
    assert by_sql(rows, rule, engine) == expected
    random = np.random.default_rng(3)
    for sizes in (700, 64, iter(lambda: int(random.integers(1, 30)), None)):
        assert by_loop(ordered, rule, sizes) == expected


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("limits", list(LIMITS)[::4], ids=in_words)
def test_batches_of_one_row_keep_the_same(limits: Limits, codes: str, engine: DuckDB) -> None:
    """Every unit is in many batches."""
    rule = rule_of(limits, "integers", codes)
    made = frame(300, units=9, bins=5, values=3)
    assert by_loop(sorted_rows(rows_of(made, rule, engine), rule, engine), rule, 1) == by_rule(made, rule)


@pytest.mark.parametrize("alike", [False, True])
def test_a_heavy_unit_holds_no_more_rows_than_its_limits_allow(
    alike: bool, engine: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are of one unit, in many batches."""
    limits = Limits(max_rows=7, max_per_bin=3, max_bins=2)
    rule = rule_of(limits, "integers", "bins" if alike else "columns")
    rows = sorted_rows(rows_of(frame(9_000, units=1, bins=40, values=30), rule, engine), rule, engine)
    held, hold = list[int](), keeping_loops.hold

    def recorded(*given: Any) -> pa.Table:
        found = hold(*given)
        held.append(found.num_rows)
        return found

    monkeypatch.setattr(keeping_loops, "hold", recorded)
    assert by_loop(rows, rule, 500).total() == 6
    assert 0 < max(held) <= max(limits.max_rows, limits.max_per_bin)


@pytest.mark.parametrize("way", WAYS)
def test_of_rows_that_tie_the_smaller_content_is_kept(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes first. Of 2^31 pairs of bins about one has one hash."""
    monkeypatch.setattr(keeping, "MANY_ROWS", WAYS[way])

    def asked(unit: int, bins: tuple[int, ...]) -> Any:
        rows = pa.table({"unit": [unit] * len(bins), "bin": bins})
        return table(rows, unit="unit").histogram("bin", keys=range(2**16), max_rows=1)

    key, bins = asked(0, (0,))._salt, np.arange(2**16)
    pairs = []
    for unit in range(8):
        word = np.full(bins.size, reference.unit_word(pd.Series([unit]))[0])
        hashed = reference.row_hash(word, key, [bins], np.zeros(bins.size, np.int64))
        order = np.argsort(hashed, kind="stable")
        ties = [(one, other) for one, other in pairwise(order.tolist()) if hashed[one] == hashed[other]]
        pairs += [(unit, pair) for pair in ties]
    assert len(pairs) > 3
    for unit, pair in pairs:
        for both in (pair, pair[::-1]):
            assert np.flatnonzero(aggregate(asked(unit, both)).values).tolist() == [min(pair)]


@pytest.mark.parametrize("way", WAYS)
def test_every_row_of_a_unit_is_as_likely_to_be_kept_as_any_other(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 people with 80 rows of one kind and 20 of another: a fifth of what is kept is of the other. The share of
    20,000 rows is off by five standard deviations, 0.014, once in 1.7 million keys."""
    monkeypatch.setattr(keeping, "MANY_ROWS", WAYS[way])
    unit = np.repeat(np.arange(2_000), 100)
    rows = table(
        pd.DataFrame({"unit": unit, "late": np.tile(np.arange(100) < 20, 2_000).astype(np.int64)}), unit="unit"
    )
    for most in (1, 10, 50):
        spread = 5 * (0.16 / (2_000 * most)) ** 0.5
        counts = aggregate(rows.histogram("late", keys=range(2), max_rows=most)).values
        assert counts.sum() == 2_000 * most
        assert abs(counts[1] / counts.sum() - 0.2) < spread
        [late] = aggregate(rows.summarize(late=stats.sum("late", clip=(0, 1)), max_rows=most)).values
        assert abs(late / (2_000 * most) - 0.2) < spread


def test_very_many_rows_that_are_alike_are_taken_for_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the loop and by SQL, which would make a list of all of them anew."""
    most = keeping.MOST_COPIES
    rows = table(pd.DataFrame({"unit": np.zeros(most + 5, np.int64), "bin": np.arange(most + 5) < 4}), unit="unit")
    counts = []
    for many in WAYS.values():
        monkeypatch.setattr(keeping, "MANY_ROWS", many)
        counts.append(aggregate(rows.histogram("bin", keys=[False, True], max_rows=900)).values.tolist())
    assert counts[0] == counts[1]
    monkeypatch.setattr(keeping, "MOST_COPIES", 10)
    few = table(pd.DataFrame({"unit": 1, "bin": [0] * 5_000 + [1] * 10}), unit="unit")
    for many in WAYS.values():
        monkeypatch.setattr(keeping, "MANY_ROWS", many)
        found = aggregate(few.histogram("bin", keys=range(2), max_rows=15)).values
        assert found.sum() == 15
        assert found[1] > 3  # of twenty rows ten are of the other kind, and of five thousand and ten they would be few


def test_vectors_of_one_hash_are_numbered_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not alike, and no list of them is made: the loop gives each a priority, as SQL does. Else the number of
    rows of the table, by which one of the two is chosen, would decide what is kept of a unit."""
    monkeypatch.setattr(keeping, "MOST_COPIES", 10)
    same = {f"x{place}": np.ones(60) for place in range(16)}  # as many elements as are hashed
    rows = table(pd.DataFrame({"unit": 1, **same, "last": np.arange(60) / 60}), unit="unit")
    sums = []
    for many in WAYS.values():
        monkeypatch.setattr(keeping, "MANY_ROWS", many)
        sums.append(aggregate(rows.vector_sum([*same, "last"], clip_norm=8, max_rows=5)).values.tolist())
    assert sums[0] == sums[1]


def test_limits_that_hold_many_rows_go_by_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loop holds of one unit is little, whatever the limits are."""
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    monkeypatch.setattr(keeping, "MOST_HELD", 100)
    monkeypatch.setattr(DuckDB, "sorted_through", lambda *_, **__: pytest.fail("SQL was to be asked"))
    rows = table(frame(300, units=9, bins=9, values=3), unit="unit")
    for limits in ({"max_rows": 101}, {"max_rows": 60, "max_per_bin": 41, "max_bins": 3}):
        assert aggregate(rows.histogram("bin", keys=range(9), **limits)).values.sum() > 0


def test_without_a_compiler_sql_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    query = table(frame(300, units=9, bins=9, values=3), unit="unit").histogram("bin", keys=range(9), max_rows=5)
    whole = aggregate(query).values.tolist()
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    monkeypatch.setattr(keeping, "prepare", lambda: 1 / 0)
    assert aggregate(query).values.tolist() == whole


@pytest.mark.parametrize("kind", ["int8", "uint32", "uint64", "bool", "date"])
def test_units_of_other_types_are_those_of_sql(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = np.random.default_rng(3).integers(0, 100, 5_000)
    made = {"bool": number % 2 == 0, "date": pa.array(number - 50, pa.int32()).cast(pa.date32())}
    unit = made[kind] if kind in made else number.astype(kind)
    query = table(pa.table({"unit": unit, "bin": number % 7}), unit="unit").histogram("bin", keys=range(7), max_rows=3)
    whole = aggregate(query).values.tolist()
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    assert aggregate(query).values.tolist() == whole
