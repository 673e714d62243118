"""On Spark: neighbouring tables within their claims, and the same value as on DuckDB for any expression in any row."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evaluating import ROWS, parts_of, question
from few_rows import FEW_ROWS, quick_for_few_rows
from fuzzing import MINUTES, add, seeds
from leastnoise.curator.table import Table, table
from neighbouring import Search
from refusing import FARE, TRICKS, both

# Random keys differ by case at times, which is worth a warning to people.
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::leastnoise.errors.Wasteful")]

# Tables of a few rows: one partition, and nothing compiled for them.
QUICK = {
    **FEW_ROWS,
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="module")
def master() -> Iterator[str]:
    """The session that runs in this process already, or a small one for these tests."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        with quick_for_few_rows(running):
            yield running.sparkContext.master
        return
    os.environ["SPARK_LOCAL_IP"], os.environ["PYSPARK_PYTHON"] = "127.0.0.1", sys.executable
    made = SparkSession.builder.master("local[2]").appName("leastnoise tests").config(map=QUICK).getOrCreate()
    yield "local[2]"
    made.stop()


def test_no_unit_changes_more_than_is_claimed(master: str) -> None:
    search = Search(engine=master, forms=("Parquet", "Parquet", "CSV"), count=6 if MINUTES else 1)
    for seed in seeds(14, parts=5):
        for broken in search.broken(seed):
            add(f"neighbouring tables on Spark, {search.kind(seed)}", 1)
            assert not broken, (seed, search.kind(seed), broken)


@pytest.fixture(scope="module")
def twice(master: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, Table]:
    path: Path = tmp_path_factory.mktemp("extreme") / "rows.parquet"
    pq.write_table(parts_of()["all"], path, row_group_size=50)
    return table(path, unit="who"), table(path, unit="who", engine=master)


def test_any_expression_has_the_same_value_in_every_row(twice: tuple[Table, Table]) -> None:
    for seed in seeds(25, parts=2):
        asked = question(seed)
        answers: list[Any] = [asked.answer(rows) for rows in twice]
        refused = [isinstance(answer, str) for answer in answers]  # in words that name the engine's types
        assert refused == [True, True] or answers[0] == answers[1], (seed, str(asked))
        add("expressions on Spark x rows", 0 if refused[0] else ROWS)


@pytest.mark.parametrize("name", ["a day without dashes", "a number with an underscore", "half a double"])
def test_whether_a_query_fails_does_not_depend_on_a_person(name: str, master: str, tmp_path: Path) -> None:
    present, absent = both(tmp_path, engine=master)
    condition = TRICKS[name](FARE - 0.01)
    assert present.outcomes(condition) == absent.outcomes(condition)
