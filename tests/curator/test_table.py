"""Opening tables: one answer whatever the source, and mistakes told before any row is read."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from datetime import date, datetime
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from leastnoise.curator.engines.duckdb import _leave, _own_folder
from leastnoise.curator.table import Table, table
from leastnoise.domain import Edges, Hours
from leastnoise.errors import (
    BadDomain,
    ContributionUnbounded,
    EngineUnavailable,
    InvalidParameter,
    MissingParameter,
    ReadingFailed,
    UnknownColumn,
    UnknownSource,
    WrongType,
)
from leastnoise.testing import aggregate


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "taxi": random.integers(0, 30, 300),
            "place": random.integers(0, 9, 300),
            "fare": random.normal(9, 3, 300),
        }
    )


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, object]:
    """The same rows in every form that is accepted."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, folder / "all.parquet")
    pacsv.write_csv(arrow, folder / "all.csv")
    for part in range(3):
        (folder / f"hive/third={part}").mkdir(parents=True)
        pq.write_table(arrow.slice(part * 100, 100), folder / f"hive/third={part}/rows.parquet")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE trips AS SELECT * FROM '{folder}/all.parquet'")
    return {
        "path": folder / "all.parquet",
        "text path": str(folder / "all.parquet"),
        "CSV": folder / "all.csv",
        "glob": str(folder / "hive/*/*.parquet"),
        "list": sorted((folder / "hive").rglob("*.parquet")),
        "folder": folder / "hive",
        "pandas": frame,
        "Polars": pl.from_pandas(frame),
        "lazy Polars": pl.from_pandas(frame).lazy(),
        "Arrow": arrow,
        "batch": arrow.combine_chunks().to_batches()[0],
        "relation": connection.table("trips"),
        "connection": (connection, "trips"),
        "Ibis": ibis.duckdb.from_connection(connection).table("trips"),
    }


def test_every_source_gives_the_same_integers(frame, tmp_path):
    answers = {}
    for name, source in sources(frame, tmp_path).items():
        declared = {"taxi": "int", "place": "int", "fare": "float"} if name == "CSV" else None
        rows = table(source, unit="taxi", types=declared)
        counts = aggregate(rows.histogram("place", keys=range(9), max_rows=4, max_per_bin=2)).values
        sums = aggregate(rows.sum("fare", clip=(0, 20), max_rows=3)).values
        answers[name] = (*counts.tolist(), *sums.tolist())
    assert len(set(answers.values())) == 1, answers
    assert sum(answers["path"][:9]) == sum(min(4, n) for n in two_a_bin(frame))


def two_a_bin(frame: pd.DataFrame) -> list[int]:
    return frame.groupby(["taxi", "place"]).size().clip(upper=2).groupby("taxi").sum().tolist()


def test_hive_folders_are_columns(frame, tmp_path):
    sources(frame, tmp_path)
    rows = table(tmp_path / "hive", unit="taxi", types={"third": "int"})
    assert aggregate(rows.histogram("third", keys=range(4), max_rows=1000)).values.tolist() == [
        100,
        100,
        100,
        0,
    ]


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
        assert query.size is None or found.values.shape == (query.size,)
        assert found.values.dtype == np.int64


def test_a_column_with_no_value_at_all_is_no_mistake():
    rows = table(pa.table({"unit": pa.nulls(2), "s": pa.nulls(2)}), unit="unit")
    assert aggregate(rows.histogram("s", keys=["a"], max_rows=1)).values.tolist() == [0]


def test_an_engine_that_fails_says_nothing_of_the_rows(frame, monkeypatch):
    query = table(frame, unit="taxi").count(max_rows=1)
    backend = query._data.engine.backend
    monkeypatch.setattr(backend, "to_pyarrow", lambda *_: int("secret424242"))
    with pytest.raises(ReadingFailed) as caught:
        aggregate(query)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "424242" not in str(caught.value)


def test_null_units_are_dropped_and_not_one_shared_person():
    rows = table(DIRTY["null units"], unit="unit")
    assert aggregate(rows.count(max_rows=9)).values.tolist() == [0]
    assert aggregate(rows.count_units()).values.tolist() == [0]


def test_sums_beyond_64_bits_are_exact():
    values = [2**39] * 5
    rows = table(pd.DataFrame({"unit": range(5), "x": values}), unit="unit")
    assert aggregate(rows.sum("x", clip=(0, 2**39), max_rows=1)).values.tolist() == [5 * 2**39]
    from leastnoise.curator.aggregate.exact_totals import narrow

    assert narrow(np.array([2**70, -1], object)).tolist() == [2**70, -1]


def test_opening_reads_no_row(frame, tmp_path):
    """Every data page is overwritten; the footer is left. The schema is read and the questions are asked."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path)
    spoil(path)
    rows = table(path, unit="taxi")
    query = rows.histogram("place", keys=range(9), max_rows=4)
    assert query.sensitivity.l2 == 4.0
    assert "place" in query.sql()
    assert "at most 4 rows" in query.describe()


def spoil(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    footer = int.from_bytes(raw[-8:-4], "little") + 8
    raw[4:-footer] = os.urandom(len(raw) - footer - 4)
    path.write_bytes(bytes(raw))


def broken(folder: Path, frame: pd.DataFrame) -> dict[str, Path]:
    """Files that cannot be read, each holding the secret 424242."""
    frame = frame.assign(place=424242)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    files = {name: folder / f"{name}.parquet" for name in ("truncated", "spoilt", "checksum")}
    pq.write_table(arrow, files["truncated"])
    files["truncated"].write_bytes(files["truncated"].read_bytes()[:-20])
    pq.write_table(arrow, files["spoilt"])
    spoil(files["spoilt"])
    pq.write_table(arrow, files["checksum"], write_page_checksum=True, compression="none", use_dictionary=False)
    raw = bytearray(files["checksum"].read_bytes())
    raw[2000] ^= 1  # one bit of a value: both engines would read on
    files["checksum"].write_bytes(bytes(raw))
    files["csv"] = folder / "bad.csv"
    lines = ["taxi,place,fare"] + ["1,2,3.5"] * 30_000 + ["secret424242,2,3.5,one too many"]
    files["csv"].write_text("\n".join(lines))
    return files


@pytest.mark.parametrize("kind", ["truncated", "spoilt", "checksum", "csv"])
def test_unreadable_rows_give_one_sentence_without_a_value(kind, frame, tmp_path):
    path = broken(tmp_path, frame)[kind]
    types = {"fare": "float"} if kind == "csv" else None
    with pytest.raises(ReadingFailed) as caught:
        aggregate(table(path, unit="taxi", types=types).sum("fare", clip=(0, 9), max_rows=2))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "424242" not in str(caught.value)
    assert str(caught.value).startswith(f'the rows of "{path.name}" could not be read.')


MALFORMED = {
    "a field missing": b"taxi,place,fare\n1,2,3.5\nsecret424242,2\n",
    "a field too many": b"taxi,place,fare\n1,2,3.5\nsecret424242,2,3.5,4\n",
    "an open quote": b'taxi,place,fare\n1,2,3.5\n1,"secret424242,3.5\n1,2,3.5\n',
    "another encoding": "taxi,place,fare\n1,2,3.5\nsecret424242,\xe9,3.5\n".encode("latin-1"),
}


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize(
    "ask", [lambda t: t.private_check(), lambda t: aggregate(t.histogram("place", keys=["2"], max_rows=1))]
)
def test_a_malformed_csv_is_an_error_that_names_the_file_and_every_likely_cause(kind, ask, tmp_path):
    """The same words whatever the mistake is, so that they tell nothing of a row."""
    path = tmp_path / "bad.csv"
    path.write_bytes(MALFORMED[kind])
    with pytest.raises(ReadingFailed) as caught:
        ask(table(path, unit="taxi"))
    told = str(caught.value)
    assert told.startswith('the rows of "bad.csv" could not be read. Nothing was released.')
    for words in ("more or fewer fields than the header", "quote that is not closed", "encoding"):
        assert words in told
    assert "424242" not in told
    assert "check()" not in told
    assert len(told) < 500
    assert caught.value.__context__ is None


def test_whole_files_with_checksums_are_read(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, write_page_checksum=True)
    assert aggregate(table(path, unit="taxi").count(max_rows=1000)).values.tolist() == [300]


def test_files_of_one_table_agree(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"fare": "float32"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(UnknownSource, match="fare"):
        table(str(tmp_path / "*.parquet"), unit="taxi")
    frame.to_csv(tmp_path / "c.csv")
    with pytest.raises(UnknownSource, match="different kinds"):
        table(str(tmp_path / "*"), unit="taxi")


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.count(), ContributionUnbounded, "max_rows=5"),
        (
            lambda t: t.histogram("place", keys=range(9)),
            ContributionUnbounded,
            'one "taxi" may add .* to "place"',
        ),
        (lambda t: t.histogram("place", keys=range(9), max_per_bin=1), ContributionUnbounded, "max_bins"),
        (lambda t: t.histogram(keys=range(9), max_rows=1), MissingParameter, "column"),
        (lambda t: t.histogram("plaec", keys=range(9), max_rows=1), UnknownColumn, 'Did you mean "place"'),
        (lambda t: t.histogram("place", keys=["a"], max_rows=1), WrongType, r"place.*keys=range"),
        (lambda t: t.histogram("place", keys=[date(2013, 1, 1)], max_rows=1), WrongType, r"place.*keys=range"),
        (lambda t: t.histogram("time", keys=["2013-01-01"], max_rows=1), WrongType, r"time.*ln\.domain\.Days"),
        (lambda t: t.histogram("time", keys=range(3), max_rows=1), WrongType, r"time.*ln\.domain\.Days"),
        (lambda t: t.histogram("place", ["a", "b"], max_rows=1), WrongType, r"Got list.*keys=\["),
        (lambda t: t.histogram("place", range(3), max_rows=1), WrongType, r"Got range.*keys=\["),
        (lambda t: t.histogram(["place"], keys=[1], max_rows=1), WrongType, "named one by one"),
        (lambda t: t.sum("fare", clip=(0, 1), by=["place", [1]], max_rows=1), WrongType, r"Got list.*keys=\["),
        (lambda t: t.mean("fare", clip=(0, 1), by=7, max_rows=1), WrongType, r"Got int.*keys=\["),
        (lambda t: t.sum(["fare"], clip=(0, 1), max_rows=1), WrongType, "named by text"),
        (lambda t: t.histogram("fare", keys=range(5), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("fare", keys=[1, 2], max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("fare", keys=iter([1, 2]), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("fare", keys=np.arange(5), max_rows=1), WrongType, r"Edges.*floor"),
        (lambda t: t.histogram("fare", keys=pa.array([1, 2]), max_rows=1), WrongType, r"Edges.*floor"),
        (
            lambda t: t.histogram("place", "fare", keys={"place": [1], "fare": range(5)}, max_rows=1),
            WrongType,
            r"Edges.*floor",
        ),
        (
            lambda t: t.sum("place", clip=(0, 9), by="fare", keys=range(5), max_rows=1),
            WrongType,
            r"Edges.*floor",
        ),
        (lambda t: t.histogram("place", keys=[1, 1], max_rows=1), BadDomain, "twice"),
        (lambda t: t.histogram("place", keys=range(9), max_rows=0), InvalidParameter, "max_rows"),
        (lambda t: t.histogram("place", keys=range(9), max_rows=1, nulls="keep"), InvalidParameter, "nulls"),
        (lambda t: t.histogram("place", "place", keys=[[1], [1]], max_rows=1), BadDomain, "twice"),
        (lambda t: t.histogram("fare", max_rows=1), WrongType, "fare"),
        (lambda t: t.sum("fare", clip=(3, 3), max_rows=1), InvalidParameter, "low < high"),
        (lambda t: t.sum("fare", clip=(0, float("inf")), max_rows=1), InvalidParameter, "finite"),
        (lambda t: t.sum("fare", clip=("a", 3), max_rows=1), WrongType, "clip"),
        (lambda t: t.sum("fare", clip=7, max_rows=1), WrongType, "clip"),
        (lambda t: t.mean("fare", clip=(0, 1), by="place", max_rows=1), MissingParameter, "keys"),
        (lambda t: t.quantile("fare", 1.5, clip=(0, 1), max_rows=1), InvalidParameter, "between 0 and 1"),
        (lambda t: t.quantile("fare", 0.5, clip=(0, 1), bins=0, max_rows=1), BadDomain, "bins"),
        (lambda t: t.vector_sum(["fare", "fare"], clip_norm=1, max_rows=1), InvalidParameter, "different"),
        (lambda t: t.vector_sum(["fare"], clip_norm=0, max_rows=1), InvalidParameter, "clip_norm"),
        (lambda t: t["fera"], UnknownColumn, "fare"),
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


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("nowhere.parquet", {}, UnknownSource),
        ("nowhere/*.parquet", {}, UnknownSource),
        (7, {}, UnknownSource),
        (("not a connection", "t"), {}, UnknownSource),
        (pa.table({"u": [1]}), {"unit": "v"}, UnknownColumn),
        (pa.table({"u": [1.5]}), {}, WrongType),
        (pa.table({"u": [1]}), {"unit": ()}, MissingParameter),
        (pa.table({"u": [1]}), {"neighbours": "both"}, InvalidParameter),
        (pd.DataFrame({"u": [1]}), {"memory_limit": "lots"}, InvalidParameter),
    ],
)
def test_tables_that_cannot_be_opened_say_why(source, options, error):
    with pytest.raises(error):
        table(source, **{"unit": "u", **options})


def test_other_ibis_backends_are_refused():
    class Elsewhere:
        name = "sqlite"

    class Rows:
        __module__ = "ibis.expr"
        columns = ("u",)

        def get_backend(self):
            return Elsewhere()

    with pytest.raises(UnknownSource, match="not proved equal"):
        table(Rows(), unit="u")


def test_a_dead_spark_master_is_noticed_soon(tmp_path, frame):
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(EngineUnavailable, match="no Spark master answers"):
        table(tmp_path / "rows.parquet", unit="taxi", engine="spark://127.0.0.1:1")
    with pytest.raises(UnknownSource, match="engine must be"):
        table(tmp_path / "rows.parquet", unit="taxi", engine="flink")


def test_the_curator_sees_what_is_missing():
    rows = table(DIRTY["extremes"].assign(unit=pd.array([1, None, 2, 3], "Int64")), unit="unit")
    found = rows.private_check()
    assert found["rows"] == 4
    assert found["rows without a unit"] == 1
    assert found["missing in x"] == 1


def test_importing_the_library_imports_no_engine():
    engines = "('ibis', 'duckdb', 'pyspark', 'pyarrow')"
    script = f"import leastnoise, sys; print([name for name in {engines} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_temporary_folders_go_with_their_table(frame):
    rows = table(frame, unit="taxi")
    folder = Path(rows._data.engine.backend.con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    engine = rows._data.engine
    del rows, engine
    import gc

    gc.collect()
    assert not folder.exists()


def test_a_spill_folder_is_not_removed_before_its_lock_is_held(monkeypatch, tmp_path):
    """Another process cleans up just before ours holds its lock."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock, others = fcntl.flock, []

    def late(file, operation):
        if operation == fcntl.LOCK_EX and not others:
            others.append(None)
            others.append(_own_folder())
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    folder, held = _own_folder()
    other, held_by_other = others[1]
    last, held_last = _own_folder()
    assert all(os.path.exists(os.path.join(each, "in-use")) for each in (folder, other, last))
    for each in ((folder, held), (other, held_by_other), (last, held_last)):
        _leave(*each)
    assert list(tmp_path.iterdir()) == []
