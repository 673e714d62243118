"""How rows enter: no row decides about a type, a message or another row, and no value makes an engine fail."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

from extreme_times import TIMES
from leastnoise import errors
from leastnoise.curator.engines.frames import convert
from leastnoise.curator.table import table
from leastnoise.domain import Days
from leastnoise.testing import aggregate

SECRET = "secret424242"


class Hostile:
    """A cell of which every look fails."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(SECRET)


ODD: list[Any] = [
    None, float("nan"), 7, 2**70, 2.5, True, "a", "\ud800", b"\xff", Decimal("1e999999999"), Decimal("sNaN"),
    Decimal(3),
    np.int8(5), np.float32(0.5), np.bool_(False), pd.NaT, pd.NA, date(1, 1, 1), datetime(9999, 12, 31, tzinfo=UTC),
    pd.Timestamp("2013-01-01 10:00", tz="Europe/Paris"), np.datetime64("NaT"), np.datetime64(2**62, "s"),
    {SECRET: 1}, [1, "a"], Hostile,
]  # fmt: skip
KINDS = ["text", "int", "float", "bool", "date", "timestamp"]


def objects(cells: list[Any]) -> pd.DataFrame:
    frame = pd.DataFrame({"who": np.arange(len(cells)), "x": 1.0})
    frame["cell"] = pd.Series(cells, dtype=object)
    return frame


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_of_which_every_look_fails_is_null(kind: str) -> None:
    assert convert([Hostile()], kind).to_pylist() == [None]


@pytest.mark.parametrize("cell", ODD)
def test_no_cell_decides_what_an_object_column_is(cell: Any) -> None:
    """One person's cell would make of decimals doubles, of numbers text, or a table that cannot be opened."""
    frame = objects(["a", cell])
    for name, first in (("decimals", Decimal("1.5")), ("numbers", 1)):
        frame[name] = pd.Series([first, cell], dtype=object)
    rows = table(frame, unit="who")
    assert rows.columns == ("who", "x", "cell", "decimals", "numbers")
    assert aggregate(rows.count(max_rows=1)).values.tolist() == [2]
    for name in ("cell", "decimals", "numbers"):
        with pytest.raises(errors.WrongType, match=rf"types=\{{\"{name}\": \"text\"\}}") as caught:
            rows.histogram(name, max_rows=1)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_declared_object_column_is_converted_cell_by_cell(kind: str) -> None:
    rows = table(objects(ODD), unit="who", types={"cell": kind})
    together = rows._data.engine.fetch(rows.rows.order_by("who").select("cell"))["cell"].to_pylist()
    alone = [convert([cell], kind).to_pylist()[0] for cell in ODD]
    assert repr(convert(ODD, kind).to_pylist()) == repr(alone)  # NaN is NaN
    expected: dict[str, list[Any]] = {
        "text": ["a"],
        "int": [7, 3, 5],
        "float": [7.0, float(2**70), 2.5, float("inf"), 3.0, 5.0, 0.5],
        "bool": [True, False],
        "date": [date(1, 1, 1), date(9999, 12, 31), date(2013, 1, 1)],
        "timestamp": [datetime(1, 1, 1), datetime(9999, 12, 31), datetime(2013, 1, 1, 9)],
    }
    assert [cell for cell in together if cell is not None] == expected[kind]


USES: dict[str, Any] = {
    "unit": lambda f: table(f, unit="cell"),
    "by": lambda f: table(f, unit="who").histogram("cell", keys=["a"], max_rows=1),
    "value": lambda f: table(f, unit="who").sum("cell", clip=(0, 1), max_rows=1),
    "vector": lambda f: table(f, unit="who").vector_sum(["cell", "x"], clip_norm=1, max_rows=1),
    "column": lambda f: table(f, unit="who")["cell"],
    "text condition": lambda f: table(f, unit="who").where("cell = 'a'"),
    "Ibis condition": lambda f: table(f, unit="who").where(_.cell == "a"),
    "function": lambda f: table(f, unit="who").derive(y=lambda rows: rows["cell"]),
}


@pytest.mark.parametrize("kind", ["object", "category", "sparse", "Polars", "lazy Polars"])
def test_every_use_of_an_undeclared_column_says_what_to_type(kind: str) -> None:
    frame: Any = objects(["a", {SECRET: 1} if kind == "object" else 7])
    if kind == "category":
        frame["cell"] = frame["cell"].astype("category")
    if kind == "sparse":
        frame["cell"] = frame["cell"].astype(pd.SparseDtype(object))
    if "Polars" in kind:
        frame = pl.DataFrame({"who": [1, 2], "x": [1.0, 2.0], "cell": pl.Series(["a", 7], dtype=pl.Object)})
        frame = frame.lazy() if "lazy" in kind else frame
    for use in USES.values():
        with pytest.raises(errors.WrongType, match=r"\"cell\".*convert_dtypes.*types=\{\"cell\": \"text\"\}") as caught:
            use(frame)
        assert SECRET not in str(caught.value)
    rows = table(frame, unit="who", types={"cell": "text"})
    assert aggregate(rows.histogram("cell", max_rows=1)).keys == ("a",)


def test_text_that_is_no_unicode_is_null_and_opens() -> None:
    column = pd.array(["a", "\ud800"], dtype=pd.StringDtype("python"))
    rows = table(pd.DataFrame({"who": [1, 2], "s": column}), unit="who")
    assert aggregate(rows.histogram("s", max_rows=1, nulls="bin")).keys == ("a", None)


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # of Ibis, under pandas 3
def test_a_memtable_of_objects_is_refused() -> None:
    with pytest.raises(errors.UnknownSource, match="memtable"):
        table(ibis.memtable(objects(["a", "b"])), unit="who")


NESTED = pa.table({"who": [1], "s": [{SECRET: 1}], "l": [[{SECRET: 1}]]})


@pytest.mark.parametrize("column", ["s", "l"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda t, c: t.histogram(c, max_rows=1),
        lambda t, c: t.histogram(c, keys=["a"], max_rows=1),
        lambda t, c: t.histogram(c, keys=[1], max_rows=1),
        lambda t, c: t.histogram(c, keys=[date(2013, 1, 1)], max_rows=1),
        lambda t, c: t.sum(c, clip=(0, 1), max_rows=1),
        lambda t, c: t.vector_sum(c, clip_norm=1, length=2, max_rows=1),
        lambda t, c: t.where(_[c]),
    ],
)
def test_a_message_names_the_outermost_type_alone(column: str, ask: Any) -> None:
    with pytest.raises(errors.InvalidParameter) as caught:
        ask(table(NESTED, unit="who"), column)
    assert SECRET not in str(caught.value)


def test_a_unit_that_is_a_dictionary_is_refused_without_its_keys() -> None:
    with pytest.raises(errors.WrongType, match="struct") as caught:
        table(NESTED, unit="s")
    assert SECRET not in str(caught.value)


def folders(root: Path, names: list[str]) -> Path:
    for number, name in enumerate(names):
        (root / name).mkdir(parents=True)
        pq.write_table(pa.table({"who": [number]}), root / name / "rows.parquet")
    return root


def test_no_folder_decides_what_a_column_is(tmp_path: Path) -> None:
    schemas = set()
    for number, names in enumerate(
        [["day=5"], ["day=5", "day=x"], ["day=__HIVE_DEFAULT_PARTITION__"], ["day=2013-01-01"]]
    ):
        rows = table(folders(tmp_path / str(number), names), unit="who")
        schemas.add(tuple(rows.rows.schema().items()))
    assert len(schemas) == 1


def test_folders_that_name_different_columns_are_refused(tmp_path: Path) -> None:
    for number, names in enumerate(
        [["a=1", "b=1"], ["a=1/b=2", "a=1/c"], ["a=b=c"], ["a=1/a=2"], ["a=%ff"], ["who=1"]]
    ):
        with pytest.raises(errors.UnknownSource):
            table(folders(tmp_path / str(number), names), unit="who")


def collated(default: str = "") -> Any:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people (who VARCHAR COLLATE NOCASE, zone VARCHAR COLLATE NOCASE, plain VARCHAR)")
    connection.execute("INSERT INTO people VALUES ('a', 'Mine', 'Mine'), ('A', 'mine', 'mine'), ('b', 'mine', 'mine')")
    connection.execute("CREATE VIEW seen AS SELECT * FROM people")
    if default:
        connection.execute(f"SET default_collation = '{default}'")
    return connection


@pytest.mark.parametrize("default", ["", "NOCASE"])
@pytest.mark.parametrize("column", ["zone", "plain"])
@pytest.mark.parametrize("source", ["people", "seen", "relation", "Ibis"])
def test_texts_are_equal_where_their_bytes_are(default: str, column: str, source: str) -> None:
    """A collated key is published in one person's own spelling, and collated units are one person."""
    connection = collated(default)
    given: Any = (connection, source)
    if source == "relation":
        given = connection.table("people")
    if source == "Ibis":
        given = ibis.duckdb.from_connection(connection).table("people")
    rows = table(given, unit="who")
    if default:
        connection.execute(f"SET default_collation = '{default}'")
    found = aggregate(rows.histogram(column, max_rows=1))
    assert dict(zip(found.keys or (), found.values.tolist(), strict=True)) == {"Mine": 1, "mine": 2}
    assert aggregate(rows.count_units()).values.tolist() == [3]
    with pytest.warns(errors.Wasteful, match="differ by case"):
        listed = rows.histogram(column, keys=["MINE", "mine"], max_rows=1)
    assert aggregate(listed).values.tolist() == [0, 2]
    assert aggregate(rows.where(_[column] == "MINE").count(max_rows=1)).values.tolist() == [0]


def extremes(folder: Path, *, apart: bool) -> Path:
    """One row group, or one for each row: DuckDB believes the statistics of a group."""
    path = folder / f"{apart}.parquet"
    pq.write_table(pa.table({"who": range(9), **TIMES}), path, row_group_size=1 if apart else 9)
    return path


@pytest.mark.parametrize("source", ["memory", "file", "apart"])
def test_days_and_times_outside_the_years_1_to_9999_are_null(source: str, tmp_path: Path) -> None:
    given = pa.table({"who": range(9), **TIMES}) if source == "memory" else extremes(tmp_path, apart=source == "apart")
    rows = table(given, unit="who")
    for column in ("day", "us", "zoned", "ms"):
        made = {f"y{unit}": _[column].truncate(unit) for unit in ("Y", "Q", "M", "W", "D")}
        for part in ("year", "quarter", "month", "day", "day_of_year", "week_of_year"):
            made[f"in_{part}"] = getattr(_[column], part)()
        seen = rows.derive(**made)
        found = seen._data.engine.fetch(seen.rows.select(*made))
        assert {name: len(found) - found[name].null_count for name in made} == dict.fromkeys(made, 3), column
        assert aggregate(seen.histogram("in_week_of_year", max_rows=1)).values.sum() == 3, column
        weeks = seen.where((_.yW.year() == 1) & (_.yW.month() == 1) & (_.yW.day() == 1))
        assert aggregate(weeks.count(max_rows=1)).values.tolist() == [1], column  # the first day is a Monday


@pytest.mark.parametrize("source", ["memory", "file", "apart"])
def test_nanoseconds_are_cut_and_not_rounded(source: str, tmp_path: Path) -> None:
    given = pa.table({"who": range(9), **TIMES}) if source == "memory" else extremes(tmp_path, apart=source == "apart")
    rows = table(given, unit="who")
    found = rows._data.engine.fetch(rows.rows.order_by("who").select("ns"))["ns"].cast(pa.int64())
    assert found.to_pylist() == [None, None, -2, -1, -1, -1, 0, 1, None]


def test_infinite_days_and_times_of_duckdb_are_null() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'infinity'::DATE, '-infinity'::TIMESTAMPTZ), "
                       "(2, DATE '2013-01-01', TIMESTAMPTZ '2013-01-01 00:00:00+01')) v(who, day, moment)")  # fmt: skip
    rows = table((connection, "t"), unit="who")
    assert aggregate(rows.histogram("day", max_rows=1, nulls="bin")).keys == (date(2013, 1, 1), None)
    assert aggregate(rows.where(_.moment.hour() == 23).count(max_rows=1)).values.tolist() == [1]


@pytest.mark.parametrize(
    "shape",
    [
        lambda t: t.limit(1),
        lambda t: t.filter(t.x > 1),
        lambda t: t.mutate(y=t.x.cast("int8")),
        lambda t: t.join(t.view(), "who"),
        lambda t: t.group_by("who").aggregate(x=t.x.max()),
        lambda t: t.get_backend().sql("SELECT * FROM t LIMIT 1", schema=t.schema()),
    ],
)
def test_an_ibis_expression_is_no_table(shape: Any) -> None:
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE t AS SELECT * FROM (VALUES (1, 1), (2, 1000)) v(who, x)")
    assert aggregate(table(backend.table("t"), unit="who").count(max_rows=1)).values.tolist() == [2]
    with pytest.raises(errors.UnknownSource, match=r"where\(\) and derive\(\)"):
        table(shape(backend.table("t")), unit="who")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    script = (
        "from leastnoise.curator.table import table\n"
        "from leastnoise.curator.engines.files import header\n"
        "from leastnoise.errors import UnknownSource\n"
        "for open in (header, lambda path: table(path, unit='who'), lambda path: table([path], unit='who')):\n"
        f"    try: open({str(tmp_path / 'rows.csv')!r})\n    except UnknownSource: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["refused"] * 3


@pytest.mark.parametrize("form", ["Arrow", "Parquet", "lazy Polars"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Rome"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit_and_zone_do_not_fail(unit: str, zone: str | None, form: str, tmp_path: Path) -> None:
    """Readers make microseconds of them, and would fail where that overflows."""
    largest = 2**53 if unit == "s" else 2**62  # Parquet holds no seconds, and pyarrow makes milliseconds of them
    unit = "ms" if unit == "s" and form == "lazy Polars" else unit
    rows = pa.table({"who": range(4), "t": pa.array([0, largest, -largest, None], pa.timestamp(unit, zone))})
    source: Any = pl.from_arrow(rows).lazy() if form == "lazy Polars" else rows
    if form == "Parquet":
        source = tmp_path / "rows.parquet"
        pq.write_table(rows, source)
    opened = table(source, unit="who")
    found = aggregate(opened.histogram("t", keys=Days("1970-01-01", "1970-01-03"), max_rows=1)).values
    assert found.tolist() == [1, 0]
    within = 2 if unit == "ns" else 0  # 2^62 ns are in the year 2116, and -2^62 in 1823
    assert aggregate(opened.where("t IS NOT NULL").count(max_rows=1)).values.tolist() == [1 + within]


TWINS = [("x", "X", "X_1"), ("u", "U"), ("u", "u"), ("u", "u_1", "u"), ("a\0b", "a"), ("", "a")]
FRAMES = ["Arrow", "Parquet", "pandas"]  # the others cannot be made with equal or empty names
OTHERS = ["Polars", "lazy Polars", "memtable"]


@pytest.mark.parametrize(
    ("form", "names"),
    [*((f, n) for f in FRAMES for n in TWINS), *((f, n) for f in OTHERS for n in TWINS[:2])],
    ids=repr,
)
def test_no_other_column_is_taken_for_the_unit(names: tuple[str, ...], form: str, tmp_path: Path) -> None:
    """To engines x and X are one: they rename the second, and X_1 was another column than the one of that name."""
    columns = [pa.array([0] * 50) if place else pa.array(range(50)) for place in range(len(names))]
    rows = pa.table(columns, names=list(names))
    source: Any = {"Arrow": lambda: rows, "memtable": lambda: ibis.memtable(rows)}.get(form, lambda: None)()
    if form == "Parquet":
        source = tmp_path / "rows.parquet"
        pq.write_table(rows, source)
    elif form == "pandas":
        source = pd.DataFrame({place: range(50) for place in range(len(names))}).set_axis(names, axis=1)
    elif "Polars" in form:
        source = pl.from_arrow(rows).lazy() if form == "lazy Polars" else pl.from_arrow(rows)
    with pytest.raises(errors.UnknownSource):
        table(source, unit=names[-1])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_whole_numbers_of_their_unit(unit: str) -> None:
    rows = pa.table({"who": [1, 2, 3], "x": pa.array([1, 2**62, None], pa.int64()).view(pa.duration(unit))})
    opened = table(rows, unit="who")
    assert aggregate(opened.where("x IS NULL").count(max_rows=1)).values.tolist() == [1]
    assert aggregate(opened.where("x = 1").count(max_rows=1)).values.tolist() == [1]


def test_whole_numbers_of_39_digits_are_null() -> None:
    """DuckDB's HUGEINT has them, and Ibis takes it for a decimal of 38: a copy of the rows failed at such a person."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who HUGEINT NOT NULL, x DOUBLE)")
    for who in (1, 10**38 - 1, 10**38, -(2**127)):
        connection.execute(f"INSERT INTO t VALUES ({who}, 0.5)")
    opened = table((connection, "t"), unit="who")
    assert aggregate(opened.count(max_rows=1)).values.tolist() == [2]
    two = table(pd.DataFrame({"who": [1, 2], "x": [0.5, 0.5]}), unit="who")
    means = [aggregate(rows.vector_mean(["x"], clip_norm=1, max_rows=1)).values.tolist() for rows in (opened, two)]
    assert means[0] == means[1]


def test_a_category_that_is_no_unicode_opens() -> None:
    kinds = pd.Series(pd.array(["a", "\ud800"], dtype="string[python]")).astype("category")
    opened = table(pd.DataFrame({"who": [1, 2], "x": kinds}), unit="who")
    assert aggregate(opened.where("x = 'a'").count(max_rows=1)).values.tolist() == [1]


@pytest.mark.parametrize(
    "wrong", [{"kernel_width": 1e200}, {"kernel_width": 1e-200}, {"within": 1e300}, {"spread": True}, {"spread": 2.0}]
)
def test_a_kernel_that_fails_at_a_row_is_refused_before_any(wrong: dict[str, Any]) -> None:
    class Two:
        coordinates = np.array([[0.0, 0.0], [1.0, 1.0]])

    rows = table(pa.table({"who": [1], "lon": [0.0], "lat": [0.0]}), unit="who")
    with pytest.raises(errors.InvalidParameter):
        rows.nearest(Two, lon="lon", lat="lat", **{"within": 1e7, "kernel_width": 100.0, **wrong})
