"""What to expect of a release: what is released afterwards, found without reading a row."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.testing import aggregate
from queries_of_every_kind import ASK, KINDS, WARDS, query_of


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_expected_is_what_is_released(kind: str, people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    question = query_of(kind, people)
    with monkeypatch.context() as patch:
        patch.setattr(Query, "_of_one_state", lambda q, work: pytest.fail("expect has read rows"))
        expected = question.expect(**ASK)
    made = question.release(**ASK)
    parts = getattr(made, "components", None) or made  # quantiles that are drawn by rank have none
    assert (parts.mechanism, parts.sigma, parts.std) == (expected.mechanism, expected.sigma, expected.std)
    assert parts.at_least == expected.threshold
    assert "off by at most" in str(expected)
    assert made.explain()
    assert dict(parts.limits) == expected.limits
    assert parts.unit == "person"
    assert parts.query == question.describe()


def test_a_lazy_frame_stays_lazy_until_the_release() -> None:
    import polars as pl

    calls: list[int] = []

    def watched(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame

    lazy = pl.LazyFrame({"p": range(100), "k": ["a", "b"] * 50, "n": [None] * 100}).map_batches(watched)
    question = ln.table(lazy, unit="p").histogram("k", keys=["a", "b"], max_rows=1)
    question.expect(**ASK)
    assert calls == []
    assert aggregate(question).values.tolist() == [50, 50]
    assert calls


def test_expect_knows_the_budget(tmp_path: Path, people: Table) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    question = people.histogram("ward", keys=WARDS, max_rows=3)
    expected = question.expect(budget=budget, share=0.5)
    assert budget.history() == []
    assert question.release(budget=budget, share=0.5).sigma == expected.sigma


def test_a_relation_stays_unread_until_the_release() -> None:
    """Were it read when opened, the rows that come after would be missing."""
    import duckdb

    there = duckdb.connect()
    there.execute("CREATE TABLE t AS SELECT range AS p, 'a' AS k FROM range(3)")
    question = ln.table(there.sql("SELECT * FROM t"), unit="p").histogram("k", keys=["a", "b"], max_rows=1)
    question.expect(**ASK)
    there.execute("INSERT INTO t SELECT 10 + range, 'b' FROM range(4)")
    assert aggregate(question).values.tolist() == [3, 4]
