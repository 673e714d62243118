"""A unit with most of the rows: what is sent between workers for it does not grow with it, and its integers are right.

And keys that nobody listed come to the driver in parts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.curator.queries import unknown_keys
from leastnoise.curator.rows import keeping
from leastnoise.curator.table import Table, table
from leastnoise.errors import ReadingFailed
from leastnoise.testing import aggregate, seeded

pytestmark = pytest.mark.spark

ROWS, BINS = 60_000, 50
QUESTIONS: dict[str, Any] = {
    "max_rows": lambda t: t.histogram("bin", keys=range(BINS), max_rows=5),
    "one a bin": lambda t: t.histogram("bin", keys=range(BINS), max_rows=5, max_per_bin=1),
    "one a bin, few bins": lambda t: t.histogram("bin", keys=range(BINS), max_rows=5, max_per_bin=1, max_bins=3),
    "one a bin of very many": lambda t: t.histogram("wide", keys=range(2**20), max_rows=5, max_per_bin=1),
    "unknown keys": lambda t: t.histogram("bin", max_rows=5),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, session: Any, cluster: Any) -> tuple[Table, Table]:
    """The rows of one unit but for a thousand, in four files."""
    folder: Path = tmp_path_factory.mktemp("heavy")
    bins = np.random.default_rng(24).integers(0, BINS, ROWS)
    rows = pa.table({"who": np.maximum(np.arange(ROWS) - ROWS + 1000, 0), "bin": bins, "wide": bins * 20_000})
    for part in range(4):
        pq.write_table(rows.slice(part * ROWS // 4, ROWS // 4), folder / f"{part}.parquet")
    return table(folder, unit="who"), table(folder, unit="who", engine=cluster.master)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_what_is_sent_does_not_grow_with_the_heaviest_unit(kind: str, both: tuple[Table, Table], session: Any) -> None:
    """Of a unit every task sends as many rows as are kept, or as there are bins: two tasks, two exchanges, and those of
    the thousand other units."""
    embedded = aggregate(QUESTIONS[kind](both[0]))
    last = max(jobs(session), default=-1)
    distributed = aggregate(QUESTIONS[kind](both[1]))
    assert embedded.values.tolist() == distributed.values.tolist()
    assert 0 < sent(session, last) < ROWS // 10


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that PySpark leaves
@pytest.mark.parametrize("in_a_bin", [5, 2, 1])
def test_for_the_loop_every_row_is_sent_once(
    in_a_bin: int, both: tuple[Table, Table], session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tables of millions of rows are asked: the rows go to the task of their unit, and of every task its bins."""
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    monkeypatch.setattr(keeping, "in_sql", lambda *_: pytest.fail("the loop was to be used"))
    last = max(jobs(session), default=-1)
    asked = [each.histogram("bin", keys=range(BINS), max_rows=5, max_per_bin=in_a_bin) for each in both]
    embedded, distributed = (aggregate(query).values.tolist() for query in asked)
    assert embedded == distributed
    assert ROWS <= sent(session, last) < ROWS + 20 * BINS


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_where_python_fails_the_next_attempt_goes_by_sql(
    both: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a worker without memory for Python costs time, and no budget."""

    driver, keep = os.getpid(), keeping.Loop.__call__

    class Failing(keeping.Loop):
        def __call__(self, batches: Any) -> Any:
            if os.getpid() != driver:
                raise MemoryError
            return keep(self, batches)

    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    monkeypatch.setattr(both[1]._data.engine, "_runs_python", None)  # as it was, for the tests after this one
    embedded, distributed = (each.histogram("bin", keys=range(BINS), max_rows=5) for each in both)
    whole = aggregate(embedded).values.tolist()
    with monkeypatch.context() as failing:
        failing.setattr(keeping, "Loop", Failing)
        with pytest.raises(ReadingFailed):
            aggregate(distributed)
        assert aggregate(distributed).values.tolist() == whole


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_rows_are_sorted_after_they_were_sent(both: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop is right only where a unit is one run of one partition: so says Spark's plan."""
    query = both[1].histogram("bin", keys=range(BINS), max_rows=5)
    engine: Any = both[1]._data.engine
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    with keeping.kept(*query._content(), engine) as kept:  # type: ignore[attr-defined]
        plan = engine._frames[kept.get_name()]._jdf.queryExecution().executedPlan().toString()
    steps = re.findall(r"Exchange hashpartitioning|Sort|MapInArrow|Exchange", plan)
    assert steps[:3] == ["MapInArrow", "Sort", "Exchange hashpartitioning"], plan


def test_sql_names_no_function_of_ours(both: tuple[Table, Table]) -> None:
    for kind in QUESTIONS:
        text = QUESTIONS[kind](both[1]).sql()
        assert not re.search(r"leastnoise_\w*\(", text)
    assert "ROW_NUMBER()" in QUESTIONS["max_rows"](both[1]).sql().upper()


def jobs(session: Any) -> dict[int, Any]:
    """The jobs that Spark has kept a record of, by number: of a long session, the latest."""
    context = session.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    kept = context.statusStore().jobsList(None)
    return {kept.apply(place).jobId(): kept.apply(place) for place in range(kept.size())}


def sent(session: Any, after: int) -> int:
    """The records that the stages of jobs `after` this one wrote for others."""
    store = session.sparkContext._jsc.sc().statusStore()
    new = [job.stageIds() for number, job in jobs(session).items() if number > after]
    stages = {numbers.apply(place) for numbers in new for place in range(numbers.size())}
    written = [_written(store, stage) for stage in stages]
    assert any(records is not None for records in written)
    return sum(records or 0 for records in written)


def _written(store: Any, stage: int) -> int | None:
    """The records of a stage; None of one that was skipped, whose record Spark drops first in a long session."""
    try:
        return int(store.lastStageAttempt(stage).shuffleWriteRecords())
    except Exception as missing:
        if "No stage with id" not in str(missing):
            raise
        return None


def test_keys_come_in_parts_and_show_by_the_same_noise(
    both: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With batches of seven keys, of fifty: each of them once, in the order of keys on both engines."""
    monkeypatch.setattr(unknown_keys, "BATCH_KEYS", 7)
    parts: list[int] = []
    original = unknown_keys.UnknownKeys._shown

    def shown(self: Any, plan: Any, batch: pa.Table) -> Any:
        parts.append(batch.num_rows)
        return original(self, plan, batch)

    monkeypatch.setattr(unknown_keys.UnknownKeys, "_shown", shown)
    made = []
    for rows in both:
        with seeded(24):
            made.append(rows.histogram("bin", max_rows=1).release(epsilon=1, delta=1e-7))
    assert parts == [7] * 7 + [1] + [7] * 7 + [1]
    assert made[0].domain.keys() == made[1].domain.keys()
    assert 0 < made[0].bins < BINS
    assert made[0].values.tolist() == made[1].values.tolist()
