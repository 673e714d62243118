"""Spark Connect: a client without a JVM gives the same integers, and ends like any other session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from dirty_rows import QUERIES, write
from leastnoise.curator.table import table
from leastnoise.errors import EngineUnavailable
from leastnoise.testing import aggregate

pytestmark = pytest.mark.spark
pytest.importorskip("grpc_status", reason="pyspark[connect] is not installed")

KINDS = ["text keys", "nearest", "vector sum", "crosstabs", "unknown days"]


@pytest.fixture(scope="module")
def server(session: Any, server_port: int) -> str:
    return f"sc://127.0.0.1:{server_port}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("rows"), rows=2_000, files=2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_gives_the_same_integers(kind: str, files: str, server: str) -> None:
    embedded, remote = (aggregate(QUERIES[kind](table(files, unit="unit", engine=each))) for each in (None, server))
    assert embedded.values.tolist() == remote.values.tolist()
    assert embedded.keys == remote.keys


def test_frames_and_names_of_a_server_are_opened(files: str, server: str, tmp_path: Path) -> None:
    from pyspark.sql.connect.session import SparkSession

    made = SparkSession.builder.remote(server).create()
    frame = made.read.parquet(*sorted(str(file) for file in Path(files).parent.glob("*.parquet")))
    frame.write.saveAsTable("over_connect", mode="overwrite")
    made.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    given = made.conf.getAll
    expected = aggregate(table(files, unit="unit").count_units()).values.tolist()
    for source in (frame, "over_connect"):
        engine = server if isinstance(source, str) else None
        opened = table(source, unit="unit", engine=engine, name="rows")
        assert aggregate(opened.count_units()).values.tolist() == expected
    assert made.conf.getAll == given
    assert [view.name for view in made.catalog.listTables() if view.isTemporary] == []

    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    query = table(frame, unit="unit", name="rows").count_units()
    query.release(budget=budget, share=0.25)
    made.stop()
    with pytest.raises(EngineUnavailable, match="Connect session of this table has ended"):
        query.release(budget=budget, share=0.25)
    assert budget.remaining.share == 0.75
