"""Sources: one answer whatever the form of the rows, opened without reading any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from leastnoise.curator.table import table
from leastnoise.errors import (
    EngineUnavailable,
    InvalidParameter,
    UnknownSource,
)
from leastnoise.testing import aggregate
from spoilt_files import spoil


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


def test_files_of_one_table_agree(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"fare": "float32"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(UnknownSource, match="fare"):
        table(str(tmp_path / "*.parquet"), unit="taxi")
    frame.to_csv(tmp_path / "c.csv")
    with pytest.raises(UnknownSource, match="different kinds"):
        table(str(tmp_path / "*"), unit="taxi")


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("nowhere/*.parquet", {}, UnknownSource),
        (("not a connection", "t"), {}, UnknownSource),
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


def test_a_dead_spark_master_is_noticed_soon(tmp_path, frame, monkeypatch):
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)  # earlier tests may have left one
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(EngineUnavailable, match="no Spark master answers"):
        table(tmp_path / "rows.parquet", unit="taxi", engine="spark://127.0.0.1:1")
    with pytest.raises(UnknownSource, match="engine must be"):
        table(tmp_path / "rows.parquet", unit="taxi", engine="flink")


def test_importing_the_library_imports_no_engine():
    engines = "('ibis', 'duckdb', 'pyspark', 'pyarrow')"
    script = f"import leastnoise, sys; print([name for name in {engines} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_connection_of_somebody_has_no_table_of_ours_after_a_query():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE trips AS SELECT i % 5 AS taxi, 'z' || i % 3 AS zone FROM range(30) AS t(i)")
    trips = table((connection, "trips"), unit="taxi")
    joined = trips.join_public({"zone": ["z0", "z1"], "town": ["a", "b"]}, on="zone")
    zones = ["z0", "z1"]
    questions = [
        (trips.histogram("zone", keys=zones, max_rows=6), [10, 10]),
        (joined.histogram("town", keys=["a", "b"], max_rows=6), [10, 10]),
        (trips.crosstabs("zone", keys={"zone": zones}, max_rows=6), None),
    ]
    for question, counts in questions * 2:  # a second query finds its keys again
        found = aggregate(question).values.tolist()
        assert counts in (found, None)
        listed = connection.sql("SELECT table_name FROM information_schema.tables").fetchall()
        assert listed == [("trips",)]
    with pytest.raises(UnknownSource, match=r'no table "trip"\. It has trips\.$'):
        table((connection, "trip"), unit="taxi")
