"""DuckDB and a Spark cluster give the same integers, bit for bit, whatever the rows hold and whichever
worker dies."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dirty_rows import QUERIES, write
from few_rows import quick_for_few_rows
from leastnoise import stats
from leastnoise.curator.engines.spark import Spark
from leastnoise.curator.rows.totals import Aggregate
from leastnoise.curator.table import Table, table
from leastnoise.curator.transform import LARGEST
from leastnoise.errors import ReadingFailed
from leastnoise.testing import aggregate, seeded

pytestmark = pytest.mark.spark

MANY = ["rows", "rows, every limit", "unknown keys", "mean by bin", "vector sum"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("rows"), rows=20_000, files=3)


@pytest.fixture(scope="module")
def both(files: str, session, cluster) -> tuple[Table, Table]:
    return table(files, unit="unit"), table(files, unit="unit", engine=cluster.master)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, session, cluster) -> tuple[Table, Table]:
    files = write(tmp_path_factory.mktemp("many"), rows=500_000, files=8)
    return table(files, unit="unit"), table(files, unit="unit", engine=cluster.master)


def same(a: Aggregate, b: Aggregate) -> bool:
    return (
        a.values.tolist() == b.values.tolist()
        and a.keys == b.keys
        and (a.indices is None) == (b.indices is None)
        and (a.indices is None or a.indices.tolist() == b.indices.tolist())
    )


@pytest.mark.parametrize("kind", QUERIES)
def test_every_query_gives_the_same_integers(kind: str, both: tuple[Table, Table]) -> None:
    """And is recorded in the same words."""
    queries = [QUERIES[kind](rows) for rows in both]
    embedded, distributed = map(aggregate, queries)
    assert np.any(embedded.values)  # zeros would agree for no good reason
    assert same(embedded, distributed)
    assert queries[0].describe() == queries[1].describe()


@pytest.mark.parametrize("kind", ["product", "mean by bin", "unknown keys", "crosstabs"])
def test_the_curators_own_look_is_the_same(kind: str, both: tuple[Table, Table], session) -> None:
    with quick_for_few_rows(session):  # many small queries
        embedded, distributed = (QUERIES[kind](rows).private_check().lines() for rows in both)
    assert embedded == distributed


@pytest.mark.parametrize(("by", "decimal"), [(",", "."), (";", ","), ("|", ",")])
def test_cells_of_a_csv_are_read_alike(by: str, decimal: str, tmp_path: Path, session, cluster) -> None:
    cells = [
        "3", "3.0", "-3.00", "3.5", "3.", " 3", "", "1e2", "true", "True", "1", "0", "0.0", "2013-01-31", "2013-02-30",
        "2013-01-31T07:00", "2013-01-31T07:00:00.25Z", "2013-01-31 07:00+00:00", "2013-01-31 07:00+00",
        "2013-01-31 07:00+01:00", "2013-01-31 07:00z", "0001-01-01 00:00Z", "3,0", "3,5", ",5e1", "1.234,5", "1,234.5",
        "3;5", "3|5",
    ]  # fmt: skip
    (tmp_path / "rows.csv").write_text(
        f"unit{by}x\n" + "".join(f'{number}{by}"{cell}"\n' for number, cell in enumerate(cells))
    )
    layout = {"delimiter": by, "decimal": decimal}
    for kind in ("int", "float", "bool", "date", "timestamp", "text"):
        found = []
        for engine in ("duckdb", cluster.master):
            types = {"unit": "int", "x": kind}
            rows = table(tmp_path / "rows.csv", unit="unit", types=types, engine=engine, **layout)
            fetched = rows._data.engine.fetch(rows.rows.select("unit", "x").order_by("unit"))
            cells_read = fetched["x"].to_pylist()  # Spark's times name their zone, UTC
            found.append([cell.replace(tzinfo=None) if kind == "timestamp" and cell else cell for cell in cells_read])
        assert found[0] == found[1]
        assert any(cell is not None for cell in found[0])


@pytest.mark.parametrize("by", [",", ";"])
@pytest.mark.parametrize("row", ["secret424242,2", "secret424242,2,3,4", 'secret424242,"2,3'])
def test_a_malformed_csv_is_the_same_error(row: str, by: str, tmp_path: Path, session, cluster) -> None:
    """Also where the query reads none of the columns that are missing."""
    (tmp_path / "rows.csv").write_text(f"unit,place,fare\n1,2,3\n{row}\n4,5,6\n".replace(",", by))
    told = []
    for engine in ("duckdb", cluster.master):
        with pytest.raises(ReadingFailed) as caught:
            aggregate(table(tmp_path / "rows.csv", unit="unit", engine=engine, delimiter=by).count(max_rows=1))
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "424242" not in told[0]


@pytest.mark.parametrize("kind", MANY)
def test_half_a_million_rows_give_the_same_integers(kind: str, many: tuple[Table, Table]) -> None:
    embedded, distributed = (aggregate(QUERIES[kind](rows)) for rows in many)
    assert same(embedded, distributed)


@pytest.mark.parametrize("unit", ["name", ("name", "flag"), "day", "whole"])
def test_units_of_every_type_give_the_same_integers(unit, files: str, session, cluster) -> None:
    question = QUERIES["rows, every limit"]
    embedded = aggregate(question(table(files, unit=unit)))
    assert same(embedded, aggregate(question(table(files, unit=unit, engine=cluster.master))))


def test_a_spark_frame_is_used_in_its_own_session(files: str, session, both: tuple[Table, Table]) -> None:
    frame = session.read.parquet(*sorted(str(file) for file in Path(files).parent.glob("*.parquet")))
    question = QUERIES["rows"]
    assert same(aggregate(question(both[0])), aggregate(question(table(frame, unit="unit"))))


def test_a_killed_worker_changes_no_integer(many: tuple[Table, Table], cluster, session) -> None:
    embedded, distributed = (QUERIES["rows, every limit"](rows) for rows in many)
    expected = aggregate(embedded)
    found: list[Aggregate] = []
    running = threading.Thread(target=lambda: found.append(aggregate(distributed)))
    running.start()
    tracker = session.sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while not any(tracker.getStageInfo(stage).numActiveTasks for stage in tracker.getActiveStageIds()):
        assert running.is_alive(), "the query ended before a task was seen"
        assert time.monotonic() < deadline
    executors = cluster.kill(cluster.workers[0])
    assert executors, "the worker had no executor"
    assert running.is_alive(), "the query ended before the worker died"
    running.join()
    assert same(expected, found[0])


def test_threads_of_one_session_take_no_names_from_one_another(
    both: tuple[Table, Table], session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While rows are read, nothing of ours is in the catalogue, from where another thread that ends would drop it."""
    read, seen = Spark._read, []

    def watched(engine: Spark, expression, answer):
        def look(frame):
            seen.extend(session.sql("SHOW USER FUNCTIONS").collect())
            seen.extend(view for view in session.catalog.listTables() if view.isTemporary)
            seen.append("read")
            return answer(frame)

        return read(engine, expression, look)

    monkeypatch.setattr(Spark, "_read", watched)
    embedded, distributed = (aggregate(QUERIES["rows, every limit"](rows)) for rows in both)
    assert same(embedded, distributed)
    assert set(seen) == {"read"}


def test_the_same_limits_are_proposed(both: tuple[Table, Table]) -> None:
    made = []
    for rows in both:
        with seeded(5):
            made.append(rows.suggest_limits("flag", keys=[False, True], epsilon=1, delta=1e-6))
    assert made[0].limits == made[1].limits
    assert made[0].components.values.tolist() == made[1].components.values.tolist()


def test_a_sum_beyond_64_bits_is_clamped_and_does_not_fail(session) -> None:
    frame = session.sql("SELECT 'a' AS who, 9223372036854775807 AS x FROM range(2000)")  # each at most 2^53
    clamped = table(frame, unit="who").per_unit(s=stats.sum("x"))
    assert aggregate(clamped.where(f"s = {LARGEST}").count(max_rows=1)).values.tolist() == [1]
