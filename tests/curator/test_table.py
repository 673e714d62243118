"""Tables and their queries: total functions of the rows, and mistakes found before any row is read."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise import stats
from leastnoise.curator.table import Table, table
from leastnoise.domain import Edges, Hours
from leastnoise.errors import (
    BadDomain,
    ContributionUnbounded,
    InvalidParameter,
    MissingParameter,
    UnknownColumn,
    UnknownSource,
    WrongType,
)
from leastnoise.testing import aggregate
from spoilt_files import spoil

EMPTY = pd.DataFrame(
    {
        "unit": pd.array([], "Int64"),
        "bin": pd.array([], "Int64"),
        "x": np.array([], float),
        "s": pd.array([], "str"),
        "t": pd.array([], "datetime64[us]"),
    }
)


DIRTY = {
    "no rows": EMPTY,
    "null units": pd.DataFrame(
        {
            "unit": pd.array([None] * 3, "Int64"),
            "bin": [1, 2, 3],
            "x": 1.0,
            "s": "a",
            "t": pd.Timestamp("2013-01-01"),
        }
    ),
    "nothing in the domain": pd.DataFrame(
        {"unit": [1, 2], "bin": [77, -1], "x": np.nan, "s": "zzz", "t": pd.Timestamp("1950-01-01")}
    ),
    "extremes": pd.DataFrame(
        {
            "unit": [1, 1, 2, 3],
            "bin": [2**63 - 1, -(2**63), 0, 1],
            "x": [np.inf, -np.inf, np.nan, 1e308],
            "s": ["", "\x00", "💥", "a" * 9999],
            "t": pd.to_datetime(["1677-09-22", "2262-04-11", None, "2013-01-01"]),
        }
    ),
}


def questions(rows: Table) -> list:
    hours = Hours(pd.Timestamp("2013-01-01").to_pydatetime(), pd.Timestamp("2013-01-02").to_pydatetime())
    return [
        rows.count(max_rows=2),
        rows.count_units(),
        rows.histogram("bin", keys=range(5), max_rows=2),
        rows.histogram("bin", keys=[3, 1], max_rows=2, max_per_bin=1, nulls="bin"),
        rows.histogram("bin", max_rows=2),
        rows.histogram("s", keys=["a", "b"], max_rows=2),
        rows.histogram("s", max_rows=2, nulls="bin"),
        rows.histogram("x", keys=Edges((0.0, 1.0, 2.0)), max_rows=2),
        rows.histogram("t", keys=hours, max_rows=2),
        rows.sum("x", clip=(-1, 1), max_rows=2),
        rows.sum("bin", clip=(-5, 5), max_rows=2),
        rows.mean("x", clip=(-1, 1), by="bin", keys=range(5), max_rows=2),
        rows.quantile("x", 0.5, clip=(-1, 1), bins=10, max_rows=2),
        rows.vector_mean(["x", "bin"], clip_norm=1, max_rows=1),
    ]


@pytest.mark.parametrize("case", DIRTY)
def test_a_query_is_a_total_function_of_the_rows(case):
    for query in questions(table(DIRTY[case], unit="unit")):
        found = aggregate(query)
        assert query.size is None or found.indices is not None or found.values.shape == (query.size,)
        assert found.values.dtype == np.int64


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_row_without_a_value_is_as_if_it_were_not_there(nothing):
    """100 units with a value and a row without: with room for both rows, and for one."""
    units, cells = [place // 2 for place in range(200)], pa.array([1.0, nothing] * 100, pa.float64())
    both = table(pa.table({"unit": units, "v": cells}), unit="unit")
    alone = table(pa.table({"unit": range(100), "v": pa.array([1.0] * 100)}), unit="unit")
    for room in (1, 2):
        found, expected = (
            aggregate(rows.mean("v", clip=(0, 2), max_rows=room)).values.tolist() for rows in (both, alone)
        )
        assert found == expected


def test_a_column_with_no_value_at_all_is_no_mistake():
    rows = table(pa.table({"unit": pa.nulls(2), "s": pa.nulls(2)}), unit="unit")
    assert aggregate(rows.histogram("s", keys=["a"], max_rows=1)).values.tolist() == [0]


@pytest.mark.parametrize("unit", [None, (), ""])
def test_a_table_without_a_unit_asks_whom_to_protect(unit):
    with pytest.raises(MissingParameter, match=r'Whom should the numbers protect.* Say unit="person"'):
        table(DIRTY["null units"], unit=unit)


def test_null_units_are_dropped_and_not_one_shared_person():
    rows = table(DIRTY["null units"], unit="unit")
    assert aggregate(rows.count(max_rows=9)).values.tolist() == [0]
    assert aggregate(rows.count_units()).values.tolist() == [0]


def test_sums_beyond_64_bits_are_exact():
    values = [2**39] * 5
    rows = table(pd.DataFrame({"unit": range(5), "x": values}), unit="unit")
    assert aggregate(rows.sum("x", clip=(0, 2**39), max_rows=1)).values.tolist() == [5 * 2**39]
    from leastnoise.curator.rows.totals import to_int64

    assert to_int64(np.array([2**70 + 1, -1], object)).tolist() == [2**70 + 1, -1]  # no double


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.histogram("place", keys=range(9)), ContributionUnbounded, 'one "taxi" may add .* to "place"'),
        (lambda t: t.histogram("place", keys=range(9), max_per_bin=1), ContributionUnbounded, "max_bins"),
        (lambda t: t.histogram("plaec", keys=range(9), max_rows=1), UnknownColumn, 'Did you mean "place"'),
        (lambda t: t.histogram("place", keys=[date(2013, 1, 1)], max_rows=1), WrongType, r"place.*keys=range"),
        (lambda t: t.histogram("time", keys=range(3), max_rows=1), WrongType, r"time.*ln\.domain\.Days"),
        (lambda t: t.histogram("place", ["a", "b"], max_rows=1), WrongType, r"Got list.*keys=\["),
        (lambda t: t.histogram(["place"], keys=[1], max_rows=1), WrongType, r'one by one.*Say "age", "sex"\.'),
        (lambda t: t.mean("fare", clip=(0, 1), by=7, max_rows=1), WrongType, r"Got int.*keys=\["),
        (lambda t: t.sum(["fare"], clip=(0, 1), max_rows=1), WrongType, "named by text"),
        (lambda t: t.histogram("fare", keys=iter([1, 2]), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("fare", keys=pa.array([1, 2]), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.sum("place", clip=(0, 9), by="fare", keys=np.arange(5), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("place", "place", keys=[[1], [1]], max_rows=1), BadDomain, "twice"),
        (lambda t: t.histogram("fare", max_rows=1), WrongType, "fare"),
        (lambda t: t.sum("fare", clip=(9, 3), max_rows=1), InvalidParameter, r"Say clip=\(3.0, 9.0\)"),
        (lambda t: t.sum("fare", clip=(0, float("inf")), max_rows=1), InvalidParameter, "finite"),
        (lambda t: t.sum("fare", clip=("a", 3), max_rows=1), WrongType, "clip"),
        (lambda t: t.quantile("fare", 0.5, clip=(0, 1), bins=0, max_rows=1), BadDomain, "bins"),
        (lambda t: t.vector_sum(["fare", "fare"], clip_norm=1, max_rows=1), InvalidParameter, "different"),
    ],
)
def test_mistakes_are_told_before_any_row_is_read(ask, error, words, frame, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame.assign(time=datetime(2013, 1, 1))), path)
    spoil(path)
    with pytest.raises(error, match=words):
        ask(table(path, unit="taxi"))


def test_real_numbers_are_counted_in_keys_that_are_real_or_after_rounding():
    rows = table(pd.DataFrame({"u": [1, 2, 3, 4], "fare": [1.5, 2.0, 3.2, 4.0]}), unit="u")
    assert aggregate(rows.histogram("fare", keys=[2.0, 4.0], max_rows=1)).values.tolist() == [1, 1]
    rounded = rows.derive(whole=lambda t: t["fare"].floor(), pair=lambda t: t["fare"] // 2)
    assert aggregate(rounded.histogram("whole", keys=range(5), max_rows=1)).values.tolist() == [0, 1, 1, 1, 1]
    assert aggregate(rounded.histogram("pair", keys=range(3), max_rows=1)).values.tolist() == [1, 2, 1]


class _Unread(pd.Series):  # type: ignore[type-arg]
    def __iter__(self) -> object:  # type: ignore[override]
        raise AssertionError("its cells were read")


@pytest.mark.parametrize(
    "values", [_Unread([True] * 9), np.ones(9, dtype=bool), [True] * 9], ids=["series", "array", "list"]
)
def test_values_in_memory_are_no_condition_and_are_not_read(values: object) -> None:
    rows = table(pd.DataFrame({"who": range(9), "x": 1.0}), unit="who")
    for ask in (rows.where, lambda made: rows.derive(y=made), lambda made: rows.where(lambda _: made)):
        with pytest.raises(WrongType, match="must be one expression"):
            ask(values)


@pytest.mark.parametrize("name", ["self", "exprs", "mutations", "named_exprs", "by", "having", "metrics", "kwargs"])
def test_a_column_may_be_called_like_an_argument_of_ibis(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text(f"unit,{name},x\n1,a,1.5\n2,b,2.5\n2,b,2.5\n")
    rows = table(tmp_path / "rows.csv", unit="unit", types={"x": "float"})
    keys = ["a", "b"]
    assert aggregate(rows.histogram(name, keys=keys, max_rows=2)).values.tolist() == [1, 2]
    doubled = rows.derive(**{name: "x * 2"})
    assert aggregate(doubled.histogram(name, keys=Edges([0, 4, 8]), max_rows=2)).values.tolist() == [1, 2]
    copied = table(tmp_path / "rows.csv", unit="unit").derive(**{name: "x"})
    assert aggregate(copied.histogram(name, keys=["1.5", "2.5"], max_rows=2)).values.tolist() == [1, 2]
    people = rows.per_unit(**{name: stats.count(), "usual": stats.mode(name)})
    assert aggregate(people.histogram(name, keys=[1, 2])).values.tolist() == [1, 1]
    assert aggregate(people.histogram("usual", keys=keys)).values.tolist() == [1, 1]
    (tmp_path / "plain.csv").write_text("unit,x\n1,a\n2,b\n2,b\n")
    plain = table(tmp_path / "plain.csv", unit="unit")
    joined = plain.join_public({"x": ["a", "b"], name: ["A", "B"]}, on="x")
    assert aggregate(joined.histogram(name, keys=["A", "B"], max_rows=2)).values.tolist() == [1, 2]


@pytest.mark.parametrize("text", ["x is not null", "not (x > 4)", "x is null"])
def test_a_derived_condition_is_asked_about_as_a_whole(text: str) -> None:
    """Put in where it is used, NOT (x > 4) would be read with what follows."""
    rows = pa.table({"p": [1, 2, 3, 4], "x": pa.array([1, None, 3, 5])})
    known = {"x is not null": 4, "not (x > 4)": 3, "x is null": 4}[text]
    derived = table(rows, unit="p").derive(a=text)
    assert aggregate(derived.where("a is not null").count(max_rows=1)).values[0] == known
    assert aggregate(derived.where("a is null").count(max_rows=1)).values[0] == 4 - known
    assert sum(aggregate(derived.histogram("a", max_rows=1)).values) == known


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"unit": 3}, WrongType, 'Got 3 instead. Say unit="person"'),
        ({"unit": [["u"]]}, WrongType, 'Say unit="person"'),
        ({"types": "int"}, WrongType, 'Got \'int\' instead. Say types={"hour": "int"}'),
        ({"types": ["int"]}, WrongType, "by the name of a column"),
        ({"memory_limit": 3}, InvalidParameter, 'Say memory_limit="1GB"'),
        ({"config": "spark"}, WrongType, "Say config={"),
    ],
)
def test_an_argument_of_another_type_is_named_when_a_table_is_opened(options, error, words):
    with pytest.raises(error, match=words):
        table(pd.DataFrame({"u": [1]}), **{"unit": "u", **options})


def test_a_folder_with_something_that_may_not_be_read_is_no_table(tmp_path, monkeypatch):
    def is_file(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "locked.csv").write_text("u,x\n")
    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(UnknownSource, match=r"may be read by you.*\*\.parquet"):
        table(tmp_path, unit="u")
