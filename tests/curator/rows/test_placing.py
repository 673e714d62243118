"""The engine puts every row where the public domain says, and numbers of rows into their class."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.curator.rows.placing import with_bin_class, with_octave, with_row_class
from leastnoise.curator.table import table
from leastnoise.domain import (
    OTHER,
    Days,
    Domain,
    Edges,
    Hours,
    IntegerRange,
    Keys,
    Labelled,
    Lattice,
    OrNull,
    OrOther,
    Steps,
    with_other,
)
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS
from leastnoise.errors import WrongType
from leastnoise.testing import aggregate

WHOLE = st.one_of(st.none(), st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))
REAL = st.one_of(
    st.none(),
    st.floats(-3, 3),
    st.floats(),
    st.sampled_from([0.1, 0.3, 0.7, 1.0, -1.0, 2.5, math.nextafter(0.3, 0)]),
)
TEXT = st.one_of(st.none(), st.sampled_from(["a", "A", "a ", "", "é", "e\u0301", "\x00"]), st.text(max_size=3))
DAY = st.one_of(st.none(), st.dates(date(1960, 1, 1), date(1980, 1, 1)), st.dates())
TIME = st.one_of(
    st.none(),
    st.datetimes(datetime(1969, 12, 30), datetime(1970, 1, 4)),
    st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
)

AXES = {
    "range": (WHOLE, pa.int64(), IntegerRange(-7, 11)),
    "range with a step": (WHOLE, pa.int64(), IntegerRange(-7, 11, 3)),
    "wide range": (WHOLE, pa.int64(), IntegerRange(-(2**40), 2**20)),
    "integer keys": (WHOLE, pa.int64(), Keys((5, -3, 2**63 - 1, 0))),
    "keys in a double": (REAL, pa.float64(), Keys((1, -1, 0))),
    "text keys": (TEXT, pa.string(), Keys(("a", "", "é"))),
    "day keys": (DAY, pa.date32(), Keys((date(1969, 12, 31), date(1970, 1, 1)))),
    "edges": (REAL, pa.float64(), Edges((-1.0, 0.1, 0.3, 0.7, 2.5))),
    "steps": (REAL, pa.float64(), Steps(low=-1.0, high=0.7, bins=13)),
    "days": (DAY, pa.date32(), Days(date(1969, 1, 1), date(1971, 1, 1))),
    "days of times": (TIME, pa.timestamp("us"), Days(date(1969, 12, 30), date(1970, 1, 3))),
    "hours": (TIME, pa.timestamp("us"), Hours(datetime(1969, 12, 31, 5), datetime(1970, 1, 2))),
}


def position(axis, value) -> int | None:
    """Where the axis itself puts a value of the column."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return axis.index(None) if isinstance(axis, OrNull | OrOther) else None
    inner = axis.axis if isinstance(axis, OrNull | OrOther) else axis
    if isinstance(value, datetime) and isinstance(inner, Days):
        value = value.date()
    known = inner.index(value)
    return inner.size if known is None and isinstance(axis, OrOther) else known


@pytest.mark.parametrize("nulls", ["drop", "bin", "other"])
@pytest.mark.parametrize("name", AXES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_rows_fall_where_the_domain_says(name, nulls, data):
    """Few tables of many rows: a table costs a hundred times what a row does. The first is the simplest value alone."""
    values, kind, axis = AXES[name]
    column = data.draw(st.lists(values, min_size=40, max_size=80))
    rows = table(pa.table({"unit": pa.array(range(len(column)), pa.int64()), "x": pa.array(column, kind)}), unit="unit")
    full: Any = OrNull(axis) if nulls == "bin" else with_other(axis) if nulls == "other" else axis
    if nulls == "other" and name == "keys in a double":  # whole numbers alone, and only exact matches would count
        with pytest.raises(WrongType):
            rows.histogram("x", keys=full, max_rows=1)
        return
    if nulls == "other":
        query = rows.histogram("x", keys=full, max_rows=1)
    else:
        query = rows.histogram("x", keys=axis, max_rows=1, nulls=nulls)
    expected = [0] * (full.size if full.size < 2**26 else 0)
    places = [place for value in column if (place := position(full, value)) is not None]
    found = aggregate(query)
    if found.indices is not None:
        assert dict(zip(found.indices.tolist(), found.values.tolist(), strict=True)) == {
            place: places.count(place) for place in set(places)
        }
        return
    for place in places:
        expected[place] += 1
    assert found.values.tolist() == expected


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(REAL, REAL), min_size=40, max_size=80), st.sampled_from([0.1, 0.25, 1.0]))
def test_points_fall_into_their_cell(points, step):
    lattice = Lattice("x", "y", step)
    box = lattice.box(x=(-2, 2), y=(-1, 2.5))
    frame = pa.table(
        {
            "unit": pa.array(range(len(points)), pa.int64()),
            "x": pa.array([p[0] for p in points], pa.float64()),
            "y": pa.array([p[1] for p in points], pa.float64()),
        }
    )
    found = aggregate(table(frame, unit="unit").derive(cell=lattice).histogram("cell", keys=box, max_rows=1))
    expected = [0] * box.size
    for x, y in points:
        if x is not None and y is not None and all(math.isfinite(v) and abs(v / step) < 2**30 for v in (x, y)):
            place = box.index(lattice.cell(x, y))
            if place is not None:
                expected[place] += 1
    assert found.values.tolist() == expected


def test_labels_name_the_bins_and_others_lose_no_row():
    rows = pa.table({"unit": range(6), "sex": [1, 2, 2, 9, None, 1], "zone": ["a", "b", None, "z", "a", ""]})
    keys = {"sex": with_other(Labelled(Keys((2, 1)), ("women", "men"))), "zone": with_other(["a"])}
    query = table(rows, unit="unit").histogram("sex", "zone", keys=keys, max_rows=1)
    assert dict(zip(query.domain.keys(), aggregate(query).values.tolist(), strict=True)) == {
        ("women", "a"): 0,
        ("women", OTHER): 2,
        ("men", "a"): 1,
        ("men", OTHER): 1,
        (OTHER, "a"): 1,
        (OTHER, OTHER): 1,
    }
    assert not any("not a key" in fact.kind for fact in query.left_out)
    assert query.release(epsilon=1, delta=1e-6).to_pandas()["sex"].unique().tolist() == ["women", "men", OTHER]


def test_others_of_a_domain_too_large_for_a_vector():
    """Of so many empty bins 0.07 show by their noise, on average; false alarm below 1e-9 (a Poisson number above 5)."""
    rows = pa.table({"unit": range(2000), "x": [3] * 1000 + [-5] * 1000})
    query = table(rows, unit="unit").histogram("x", keys=with_other(range(2**40)), max_rows=1)
    made = query.release(epsilon=1, delta=1e-6)
    shown = {0 if cell is None else cell for cell in made.to_arrow()["x"].to_pylist()}
    assert {3, 0} <= shown
    assert len(shown) <= 7


def test_many_edges_are_searched():
    edges = tuple(float(edge) for edge in np.sort(np.random.default_rng(3).normal(size=400)))
    values = np.random.default_rng(4).normal(size=20_000)
    rows = table(pa.table({"unit": range(20_000), "x": values}), unit="unit")
    found = aggregate(rows.histogram("x", keys=Edges(edges), max_rows=1)).values
    assert found.tolist() == np.histogram(values, bins=np.array(edges))[0].tolist()


def test_a_product_of_two_axes_is_indexed_like_its_domain():
    pairs = [(a, b) for a in ("x", "y", None) for b in range(4)]
    rows = table(pa.table({"unit": range(12), "a": [p[0] for p in pairs], "b": [p[1] for p in pairs]}), unit="unit")
    query = rows.histogram("a", "b", keys={"a": ["y", "x"], "b": range(1, 3)}, max_rows=1, nulls="bin")
    domain = query.domain
    assert isinstance(domain, Domain)
    found = aggregate(query).values
    assert [domain.key(int(index)) for index in np.flatnonzero(found)] == [
        ("y", 1), ("y", 2), ("x", 1), ("x", 2), (None, 1), (None, 2)
    ]  # fmt: skip


def test_infinite_times_of_duckdb_are_outside():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS unit, 'infinity'::TIMESTAMP AS at, '-infinity'::DATE AS day")
    rows = table((connection, "t"), unit="unit")
    hours = Hours(datetime(1970, 1, 1), datetime(1970, 1, 2))
    assert not aggregate(rows.histogram("at", keys=hours, max_rows=1)).values.any()
    assert not aggregate(rows.histogram("day", keys=Days(date(1970, 1, 1), date(1971, 1, 1)), max_rows=1)).values.any()


def test_days_before_1970_are_no_days_after_it():
    days = [date(1969, 12, 30), date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3), date(1970, 1, 3)]
    late = [datetime(day.year, day.month, day.day, 23, 59, 59, 999_999) for day in days]
    rows = table(pa.table({"unit": range(5), "day": days, "at": pa.array(late, pa.timestamp("us"))}), unit="unit")
    for column in ("day", "at"):
        found = aggregate(rows.histogram(column, keys=Days("1969-12-29", "1970-01-04"), max_rows=1))
        assert found.values.tolist() == [0, 1, 0, 1, 1, 2]


def test_times_with_a_zone_are_told_in_utc():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    at = pa.array([datetime(2013, 1, 1, 0, 30), datetime(2013, 1, 1, 1)], pa.timestamp("us", "UTC"))
    connection.register("t", pa.table({"unit": [1, 2], "at": at}))
    hours = Hours(datetime(2013, 1, 1), datetime(2013, 1, 1) + timedelta(hours=2))
    rows = table((connection, "t"), unit="unit")
    assert aggregate(rows.histogram("at", keys=hours, max_rows=1)).values.tolist() == [1, 1]


def test_numbers_of_rows_are_in_the_class_that_begins_last_before_them() -> None:
    near = {start + step for start in (*ROW_STARTS, *BIN_STARTS) for step in (-1, 0, 1)} - {0}
    counts = np.array(sorted(near | {2 * MOST_ROWS, 10**12, 2**62}))
    rows = with_octave(ibis.memtable(pa.table({"n": counts})), "n", "octave")
    found = with_bin_class(with_row_class(rows, "n", "class"), "n", "in bin").order_by("n").to_pyarrow()
    assert found["class"].to_pylist() == (np.searchsorted(ROW_STARTS, counts, side="right") - 1).tolist()
    assert found["in bin"].to_pylist() == (np.searchsorted(BIN_STARTS, counts, side="right") - 1).tolist()
    assert found["octave"].to_pylist() == (np.searchsorted(OCTAVES, counts, side="right") - 1).tolist()
