"""The kept rows, against an independent implementation, on tables that Hypothesis draws and on the real
taxis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from leastnoise import stats
from leastnoise.curator.rows import keeping
from leastnoise.curator.rows.points import ROW_WEIGHT
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

UNITS = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**32, -(2**32), 2**40]))
ROW = st.tuples(UNITS, st.integers(-1, 6), st.integers(-4, 4))
# Two or three units with many rows each, so that limits bind: a unit drawn from 2^64 seldom has a second row.
HEAVY = st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 6), st.integers(-4, 4)), min_size=24, max_size=60)
TABLES = st.one_of(HEAVY, st.lists(ROW, max_size=60))
# Each limit alone, the others out of its way, or all together.
LIMITS = st.one_of(
    st.fixed_dictionaries({"max_rows": st.integers(1, 6)}),
    st.fixed_dictionaries({"max_rows": st.just(40), "max_per_bin": st.integers(1, 3)}),
    st.fixed_dictionaries({"max_rows": st.just(40), "max_bins": st.integers(1, 4)}),
    st.fixed_dictionaries(
        {"max_rows": st.integers(1, 6), "max_per_bin": st.integers(1, 4), "max_bins": st.integers(1, 4)}
    ),
)
SLOW = settings(max_examples=15, deadline=None)
WAYS = {"sql": 2**62, "loop": 0}  # from how many rows on the loop is asked


@contextmanager
def found(way: str) -> Iterator[None]:
    """The rows that are kept as SQL says, or as the loop finds them."""
    with patch.object(keeping, "MANY_ROWS", WAYS[way]):
        yield


def frame(rows: list[tuple[int, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["unit", "bin", "value"]).astype("int64")


@pytest.mark.slow
@SLOW
@given(rows=TABLES, most=LIMITS)
@example(rows=[(1, place, 0) for place in range(6)] * 4, most={"max_rows": 5})
def test_counts_are_those_of_the_reference(rows, most):
    query = table(frame(rows), unit="unit").histogram("bin", keys=range(6), **most)
    inside = frame(rows).query("0 <= bin < 6")
    kept = reference.keep(inside, limits=limits(query), description=question(query))
    expected = np.bincount(kept["bin"], minlength=6).tolist()
    for way in WAYS:
        with found(way):
            assert aggregate(query).values.tolist() == expected, way


@pytest.mark.slow
@SLOW
@given(rows=TABLES, most=LIMITS)
@example(rows=[(1, place, -1) for place in range(6)] * 4, most={"max_rows": 5})
def test_sums_are_those_of_the_reference(rows, most):
    query = table(frame(rows), unit="unit").sum("value", clip=(-3, 2), by="bin", keys=range(6), **most)
    inside = frame(rows).query("0 <= bin < 6").assign(value=lambda f: f["value"].clip(-3, 2))
    inside["code"] = inside["value"] + 3 + 1
    kept = reference.keep(inside, limits=limits(query), description=question(query), codes=("code",))
    for way in WAYS:
        with found(way):
            assert aggregate(query).values.tolist() == added(kept), way


@pytest.mark.slow
@SLOW
@given(rows=TABLES, most=LIMITS)
@example(rows=[(1, 0, 4), (2, 0, -4), (3, 1, 4)], most={"max_rows": 5})
def test_sums_of_real_numbers_are_those_of_the_reference(rows, most):
    """Quarters, which every grid of a clip this narrow holds."""
    real = frame(rows).assign(value=lambda f: f["value"] / 4)
    query: Any = table(real, unit="unit").sum("value", clip=(-0.75, 0.5), by="bin", keys=range(6), **most)
    inside = real.query("0 <= bin < 6").assign(value=lambda f: (f["value"].clip(-0.75, 0.5) / query.grid).astype(int))
    inside["code"] = inside["value"] + int(0.75 / query.grid) + 1
    kept = reference.keep(inside, limits=limits(query), description=question(query), codes=("code",))
    for way in WAYS:
        with found(way):
            assert aggregate(query).values.tolist() == added(kept), way


def two_keys(rows: list[tuple[int, int, int]]) -> pd.DataFrame:
    """A text and a whole number, and their bin: 32 bits of both, and that none is missing."""
    made = frame(rows).assign(place=lambda f: "place " + (f["bin"] % 3).astype(str), floor=lambda f: f["bin"] * 2**33)
    words = [reference.unit_word(made[column]) for column in ("place", "floor")]
    return made.assign(bin=reference.content([*words, np.zeros(len(made))]).astype("int64"))


@pytest.mark.slow
@SLOW
@given(rows=TABLES, most=LIMITS)
@example(rows=[(1, place, 0) for place in range(6)] * 4, most={"max_rows": 5})
def test_counts_of_unknown_keys_are_those_of_the_reference(rows, most):
    made = two_keys(rows)
    query = table(made, unit="unit").histogram("place", "floor", **most)
    kept = reference.keep(made, limits=limits(query), description=question(query))
    expected = kept.groupby(["place", "floor"]).size().to_dict()
    for way in WAYS:
        with found(way):
            counts = aggregate(query)
        assert dict(zip(map(tuple, counts.keys), counts.values.tolist(), strict=True)) == expected, way


@pytest.mark.slow
@SLOW
@given(rows=HEAVY, most=LIMITS, listed=st.booleans())
@example(rows=[(1, place, place - 4) for place in range(6)] * 4, most={"max_rows": 5}, listed=True)
@example(rows=[(1, place, place - 4) for place in range(6)] * 4, most={"max_rows": 5}, listed=False)
def test_summaries_are_those_of_the_reference(rows, most, listed):
    made = frame(rows).assign(other=lambda f: f["value"] * f["bin"])
    asked = {"v": stats.sum("value", clip=(-3, 2)), "w": stats.sum("other", clip=(0, 9)), "n": stats.count()}
    query = table(made, unit="unit").summarize("bin", keys=range(-1, 7) if listed else None, **asked, **most)
    word = reference.content([reference.unit_word(made["bin"]), np.zeros(len(made))]).astype("int64")
    place = made["bin"] + 1 if listed else word
    inside = made.assign(
        key=made["bin"], bin=place, value=made["value"].clip(-3, 2) + 4, other=made["other"].clip(0, 9) + 1
    )
    kept = reference.keep(inside, limits=limits(query), description=question(query), codes=("value", "other"))
    rows_kept = kept.groupby("key").size()
    for way in WAYS:
        with found(way):
            answer: Any = aggregate(query)
        keys = range(-1, 7) if listed else [int(key) for key in answer.keys]
        counts = answer.values.reshape(-1, len(keys))[2 if listed else 0]  # three statistics, or what they are made of
        assert counts.tolist() == [int(rows_kept.get(key, 0)) for key in keys], way


@pytest.mark.slow
@SLOW
@given(rows=HEAVY, most=st.integers(1, 6))
@example(rows=[(1, place, 0) for place in range(6)] * 4, most=5)
def test_sets_of_tables_are_those_of_the_reference(rows, most):
    """Three columns of 7, 9 and 2 keys: 3, 4 and 1 bits of one word. One table of all has all cells."""
    made = frame(rows).assign(odd=lambda f: f["value"] % 2)
    keys = {"floor": range(-1, 6), "size": range(-4, 5), "odd": [0, 1]}
    people = table(made.rename(columns={"bin": "floor", "value": "size"}), unit="unit")
    query = people.crosstabs(ways=3, keys=keys, max_rows=most, other=False)
    inside = made[made["bin"] < 6].assign(bin=lambda f: f["bin"] + 1 + (f["value"] + 4) * 8 + f["odd"] * 128)
    kept = reference.keep(inside, limits=limits(query), description=question(query))
    expected = np.zeros((7, 9, 2), int)
    np.add.at(expected, (kept["bin"] % 8, kept["bin"] // 8 % 16, kept["bin"] // 128), 1)
    for way in WAYS:
        with found(way):
            assert aggregate(query).values[-7 * 9 * 2 :].tolist() == expected.ravel().tolist(), way


def test_a_missing_key_is_no_key_of_its_word() -> None:
    """Null and 0 have priorities of their own: where they tied, an engine's order of nulls would decide. Were they one,
    each unit would keep the same of the two; the number that keep null is binomial of 200 and 1/2, outside 50 ... 150
    with a probability below 1e-11."""
    rows = pd.DataFrame({"unit": np.repeat(np.arange(200), 2), "key": pd.array([0, None] * 200, "Int64")})
    for way in WAYS:
        with found(way):
            made = aggregate(table(rows, unit="unit").histogram("key", max_rows=1, nulls="bin"))
        counts = dict(zip(made.keys, made.values.tolist(), strict=True))
        assert 50 < counts[0] < 150
        assert counts[0] + counts[None] == 200


def test_equal_points_of_a_unit_are_drawn_one_by_one():
    """Of a unit with 80 rows at one node and 20 at another, ten are kept: about eight of the one. Were rows that are
    alike kept together, 200 units would keep ten of the one or ten of the other. The number of the second node is
    binomial at most, 400 with a standard deviation of 18: outside 290 ... 510 with a probability below 1e-9."""
    graph = SimpleNamespace(coordinates=np.array([[0.0, 0.0], [0.0, 1.0]]))
    rows = pd.DataFrame([(unit, 0.0, float(place < 20)) for unit in range(200) for place in range(100)])
    points = table(rows.set_axis(["unit", "lon", "lat"], axis=1), unit="unit")
    near = points.nearest(graph, lon="lon", lat="lat", within=100, kernel_width=10)
    weight = aggregate(near.histogram("node", keys=range(2), max_rows=10)).values / ROW_WEIGHT
    assert weight.sum() == pytest.approx(2000, rel=1e-4)
    assert 290 < weight[1] < 510


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("keys", [range(6), None], ids=["listed", "unknown"])
@pytest.mark.parametrize(
    ("most", "kept"),
    [
        ({"max_rows": 5}, 5),
        ({"max_rows": 40, "max_per_bin": 2}, 12),
        ({"max_rows": 40, "max_per_bin": 1}, 6),
        ({"max_rows": 3, "max_per_bin": 1}, 3),
        ({"max_rows": 40, "max_per_bin": 1, "max_bins": 2}, 2),
        ({"max_rows": 40, "max_bins": 2}, 8),
        ({"max_rows": 40, "max_per_bin": 3, "max_bins": 2}, 6),
    ],
)
def test_a_unit_with_rows_enough_keeps_as_many_as_the_limits_say(most, kept, keys, way):
    """Four rows in each of six bins: nothing more, and nothing less."""
    rows = [(unit, place, 0) for unit in (1, 2) for place in range(6) for _ in range(4)]
    with found(way):
        counts = aggregate(table(frame(rows), unit="unit").histogram("bin", keys=keys, **most)).values
    assert counts.sum() == 2 * kept
    assert counts.max() <= 2 * most.get("max_per_bin", 4)


def added(kept: pd.DataFrame) -> list[int]:
    expected = np.zeros(6, int)
    np.add.at(expected, kept["bin"], kept["value"])
    return expected.tolist()


def question(query) -> str:
    """The public facts that salt the order of a unit's rows, as canonical JSON."""
    return json.dumps(query._salt_facts(), sort_keys=True, separators=(",", ":"))


def limits(query) -> tuple[int, int, int]:
    return query.limits.max_rows, query.limits.max_per_bin, query.limits.max_bins


# Rows of one unit at the far end of the clip, in two bins: as much as it may move.
OWN = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([-9, -3])), min_size=10, max_size=12)
ANY = st.lists(st.tuples(st.integers(-1, 6), st.integers(-4, 4)), min_size=1, max_size=10)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=6, deadline=None)
@given(rows=st.lists(ROW, max_size=40), own=st.one_of(OWN, ANY))
@example(rows=[], own=[(0, -9), (1, -9)] * 6)
@example(rows=[], own=[(0, 9), (1, 9)] * 6)
def test_one_unit_moves_the_answer_by_at_most_the_sensitivity(way, rows, own):
    rows = [row for row in rows if row[0] != 77]
    answers = []
    for each in (rows, rows + [(77, place, value) for place, value in own]):
        query = table(frame(each), unit="unit").sum(
            "value", clip=(-3, 2), by="bin", keys=range(6), max_rows=4, max_per_bin=3, max_bins=2
        )
        with found(way):
            answers.append(aggregate(query).values)
    moved = np.abs(answers[1] - answers[0])
    assert moved.sum() <= query.sensitivity.l1
    assert np.linalg.norm(moved) <= query.sensitivity.l2 * (1 + 1e-12)
    assert moved.max() <= query.sensitivity.linf


def test_the_hash_spreads_the_kept_bins_evenly():
    """Chi-square of kept bins over 2000 consecutive units of 100 rows: false alarm below 1e-6 beyond 6
    sigma."""
    bins, units, kept = 100, 2000, 10
    rows = frame([(u, b, 0) for u in range(units) for b in range(bins)])
    found = aggregate(table(rows, unit="unit").histogram("bin", keys=range(bins), max_rows=kept)).values
    mean = units * kept / bins
    chi2 = float(((found - mean) ** 2 / (mean * (1 - kept / bins))).sum())
    assert found.sum() == units * kept
    assert abs(chi2 - bins) < 6 * (2 * bins) ** 0.5


@pytest.mark.parametrize(("max_rows", "max_per_bin"), [(5, None), (5, 1), (2, None)])
def test_the_taxi_histogram_is_that_of_pandas(data, max_rows, max_per_bin):
    path = data / "taxi" / "trips_2013-01-01_00h.parquet"
    query = (
        table(path, unit="taxi_id")
        .where("pickup_time < '2013-01-01 01:00'")
        .histogram("pickup_node", keys=range(3874), max_rows=max_rows, max_per_bin=max_per_bin)
    )
    trips = pd.read_parquet(path).query("pickup_time < '2013-01-01 01:00'")
    trips = trips[trips["pickup_node"].between(0, 3873)]
    rows = pd.DataFrame({"unit": trips["taxi_id"], "bin": trips["pickup_node"].astype("int64")})
    kept = reference.keep(rows, limits=limits(query), description=question(query))
    found = aggregate(query).values
    assert found.tolist() == np.bincount(kept["bin"], minlength=3874).tolist()
    assert found.sum() == sum(min(max_rows, n) for n in trips_kept(rows, max_per_bin))


def trips_kept(rows: pd.DataFrame, max_per_bin: int | None) -> list[int]:
    return (rows.drop_duplicates(["unit", "bin"]) if max_per_bin == 1 else rows).groupby("unit").size().tolist()


def test_the_unlimited_taxi_histogram_is_the_published_one(data):
    path = data / "taxi" / "trips_2013-01-01_00h.parquet"
    counts = pd.read_parquet(data / "taxi" / "junction_counts.parquet")
    query = (
        table(path, unit="taxi_id")
        .where("pickup_time < '2013-01-01 01:00'")
        .histogram("pickup_node", keys=range(3874), max_rows=100)
    )
    assert aggregate(query).values.tolist() == counts["pickup_2013_01_01_00h"].tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("unit", ["text", "number"])
def test_all_rows_are_kept_within_little_memory(way, unit, tmp_path):
    """A million rows of a thousand units, nearly all of which count: more than fit at once."""
    path = str(tmp_path / "rows.parquet")
    name = "'u' || hash(i) % 1000" if unit == "text" else "hash(i) % 1000"
    duckdb.sql(
        f"COPY (SELECT {name} AS unit, hash(i * 7 + 1) % 50 AS bin FROM range(1_000_000) t(i)) "
        f"TO '{path}' (FORMAT parquet)"
    )
    query = table(path, unit="unit", memory_limit="48MB").histogram("bin", keys=range(50), max_rows=1000)
    with found(way):
        assert 980_000 < aggregate(query).values.sum() < 1_000_000
