"""Tables as platforms name them: addresses that only the session can read, names with hyphens, versions, Delta."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.curator.engines import spark_session, spark_sources
from leastnoise.curator.engines.spark_sources import is_address, is_table_name, local_path, statement
from leastnoise.curator.table import table
from leastnoise.errors import EngineUnavailable, InvalidParameter, UnknownSource
from leastnoise.testing import aggregate

ROWS = pa.table({"who": [1, 1, 2, 3], "n": [1, 2, 3, 4]})


def units(opened: Any) -> int:
    return int(aggregate(opened.count_units()).values[0])


@pytest.fixture(scope="module")
def lake(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this machine that Hadoop knows as viewfs://lake/data, and Python does not."""
    folder = tmp_path_factory.mktemp("lake")
    for day in ("day=1", "day=a b+c"):
        (folder / "trips of taxis" / day).mkdir(parents=True)
        pq.write_table(ROWS, folder / "trips of taxis" / day / "part-0.parquet")
    (folder / "rows.csv").write_text("who,n\n1,2\n2,3\n")
    (folder / "bad").mkdir()
    (folder / "bad" / "1.csv").write_text("who,n\n1,2\n")
    (folder / "bad" / "2.csv").write_text("n,who\n1,2\n")
    pq.write_table(pa.table({"who": [1], "t": pa.array([1], pa.timestamp("ns"))}), folder / "nanoseconds.parquet")
    (folder / "delta" / "_delta_log").mkdir(parents=True)
    (folder / "delta" / "_delta_log" / "0.json").write_text("{}")
    pq.write_table(ROWS, folder / "delta" / "part-0.parquet")
    session.conf.set("fs.viewfs.mounttable.lake.link./data", f"file:{folder}")
    return folder


@pytest.mark.spark
def test_an_address_goes_to_the_session_as_it_is(lake: Path, cluster: Any) -> None:
    trips = table("viewfs://lake/data/trips of taxis", unit="who", engine=cluster.master)
    assert units(trips) == 3
    assert aggregate(trips.histogram("day", keys=["1", "a b+c"], max_rows=9)).values.tolist() == [4, 4]
    assert units(table("viewfs://lake/data/trips of taxis/*/*.parquet", unit="who", engine=cluster.master)) == 3
    assert units(table("viewfs://lake/data/rows.csv", unit="who", engine=cluster.master)) == 2


@pytest.mark.spark
def test_what_is_wrong_with_an_address_is_said(lake: Path, cluster: Any) -> None:
    for address, kind, words in (
        ("viewfs://lake/data/nowhere", UnknownSource, "finds nothing"),
        ("viewfs://lake/data/nowhere.csv", UnknownSource, "finds nothing"),
        ("viewfs://lake/data/delta", UnknownSource, "Delta table"),
        ("viewfs://lake/data/nanoseconds.parquet", UnknownSource, "nanoseconds"),
        ("s3a://bucket/trips", EngineUnavailable, "nothing that reads s3a"),
        ("no-such-table", UnknownSource, "neither a file nor a table"),
        ("my-lake.city.trips", UnknownSource, "has none of that name"),
        ("hdfs://nowhere.invalid:8020/trips", EngineUnavailable, "reached no host"),
        ("delta.`viewfs://lake/data/delta`", EngineUnavailable, "no package that reads"),
        ("default.no_such_table VERSION AS OF 3", UnknownSource, "neither a file nor a table"),
    ):
        with pytest.raises(kind, match=words) as caught:
            table(address, unit="who", engine=cluster.master)
        assert not any(word in str(caught.value) for word in ("Exception", "java.", "pyspark")), address


@pytest.mark.spark
def test_tables_of_the_catalogue_are_opened_by_name(lake: Path, session: Any, cluster: Any) -> None:
    frame = session.read.parquet(f"file:{lake}/delta/part-0.parquet")
    frame.write.saveAsTable("trips_2013", mode="overwrite")
    frame.createOrReplaceTempView("`trips-2013`")  # Spark's own catalogue has no tables with a hyphen; others do
    for name in ("trips-2013", "spark_catalog.default.`trips_2013`", "default.trips_2013"):
        assert units(table(name, unit="who", engine=cluster.master)) == 3
    assert units(table(f"parquet.`file:{lake}/delta/part-0.parquet`", unit="who", engine=cluster.master)) == 3
    with pytest.raises(UnknownSource, match="keeps none"):
        table("trips_2013 VERSION AS OF 1", unit="who", engine=cluster.master)
    session.catalog.dropTempView("trips-2013")


@pytest.mark.spark
def test_a_csv_with_other_columns_behind_an_address_is_refused(lake: Path, cluster: Any) -> None:
    from leastnoise.errors import ReadingFailed

    with pytest.raises((UnknownSource, ReadingFailed)):
        units(table("viewfs://lake/data/bad/*.csv", unit="who", engine=cluster.master))


def test_a_file_address_is_a_path_on_every_engine(tmp_path: Path) -> None:
    folder = tmp_path / "a b+c" / "day=5"
    folder.mkdir(parents=True)
    pq.write_table(ROWS, folder / "rows.parquet")
    for address in (f"file://{tmp_path}/a b+c", f"file://{tmp_path}/a%20b+c", f"file:{tmp_path}/a b+c"):
        opened = table(address, unit="who")
        assert units(opened) == 3
        assert aggregate(opened.histogram("day", keys=["5"], max_rows=9)).values.tolist() == [4]


def test_duckdb_is_given_no_address_and_no_settings_of_spark(tmp_path: Path) -> None:
    with pytest.raises(UnknownSource, match="a Spark session reads"):
        table("s3a://bucket/trips", unit="who")
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    with pytest.raises(InvalidParameter, match="DuckDB"):
        table(tmp_path / "rows.parquet", unit="who", config={"spark.executor.memory": "4g"})


def test_the_files_of_a_delta_table_are_not_taken_for_its_rows(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    pq.write_table(ROWS, tmp_path / "part-0.parquet")
    with pytest.raises(UnknownSource, match="deleted or replaced"):
        table(tmp_path, unit="who")


def test_columns_in_another_place_are_named(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "1.parquet")
    pq.write_table(ROWS.select(["n", "who"]), tmp_path / "2.parquet")
    with pytest.raises(UnknownSource, match=r"columns who \(in another place\), n \(in another place\)"):
        table(tmp_path, unit="who")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("trips", "`trips`"),
        ("my-lake.city.trips", "`my-lake`.`city`.`trips`"),
        ("`my lake`.city", "`my lake`.`city`"),
        ("delta.`s3a://b/trips`", "`delta`.`s3a://b/trips`"),
        ("a.b version as of 12", "`a`.`b` VERSION AS OF 12"),
        ("a.b TIMESTAMP AS OF '2013-01-31'", "`a`.`b` TIMESTAMP AS OF '2013-01-31'"),
        ("`a``b`", "`a``b`"),
    ],
)
def test_names_are_quoted_part_by_part(text: str, sql: str) -> None:
    assert is_table_name(text)
    assert statement(text) == f"SELECT * FROM {sql}"


@pytest.mark.parametrize(
    "text", ["a b", "trips; DROP TABLE x", "a.b.c.d.e", "a AS OF 1", "a VERSION AS OF 1 -- x", "`a", "x/y", ""]
)
def test_nothing_else_is_a_name(text: str) -> None:
    assert not is_table_name(text)


@pytest.mark.parametrize(
    ("said", "forbidden"),
    [
        ("Forbidden (Service: Amazon S3; Status Code: 403; Request ID: 1)", True),
        ("(Service: S3, Status Code: 403, Request ID: 1)", True),
        ('Operation failed: "This request is not authorized", 403, HEAD, https://a.dfs.core.windows.net', True),
        ('403 Forbidden {"code" : 403}', True),
        ("cannot open s3a://lake/day=403/part-403.parquet", False),
        ("error 14030 at byte 403", False),
    ],
)
def test_a_refusal_is_told_from_a_path_with_its_digits(said: str, forbidden: bool) -> None:
    def fail() -> None:
        raise OSError(said)

    with pytest.raises(
        EngineUnavailable if forbidden else UnknownSource, match=None if forbidden else "could not open"
    ):
        spark_sources.opening(fail, "s3a://lake/day=403")


def test_addresses_have_a_scheme() -> None:
    assert is_address("abfss://box@account.dfs.core.windows.net/trips")
    assert not is_address("/data/a://b")
    assert not is_address("C:/data")
    assert local_path("hdfs://name/data") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_master_with_either_kind_of_number_is_asked(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        listener.listen()
        port = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        spark_session.check_engine(f"spark://nowhere.invalid:1,{name}:{port}")
        spark_session.check_engine(f"sc://{name}:{port}/;token=secret")
    with pytest.raises(EngineUnavailable, match="no Spark master answers"):
        spark_session.check_engine(f"spark://{name}:{port}")
    with pytest.raises(EngineUnavailable, match="no Spark Connect server") as caught:
        spark_session.check_engine(f"sc://{name}:{port}/;token=secret")
    assert "secret" not in str(caught.value)
