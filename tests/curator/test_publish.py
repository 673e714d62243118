"""From a table to a release: every kind of question, what to expect of it, and what never depends on the rows."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.testing import aggregate, seeded
from queries_of_every_kind import ASK, KINDS, WARDS, query_of


@pytest.mark.parametrize("kind", ["count", "units", "histogram", "sum", "sum by"])
def test_values_are_the_integers_plus_noise(kind: str, people: Table) -> None:
    question = query_of(kind, people)
    made = question.release(**ASK)
    exact = aggregate(question).values * question.grid
    reach = made.distribution.half_width(1 - 1e-9, exact.size)
    assert (np.abs(made.values - exact) <= reach).all()
    assert (made.values.dtype == np.int64) == (question.grid == 1)
    assert made.domain is question.domain


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_the_same_frame_in_every_library(kind: str, people: Table) -> None:
    made = query_of(kind, people).release(**ASK)
    ours, arrow, polars = made.to_pandas(), made.to_arrow().to_pandas(), made.to_polars()
    pd.testing.assert_frame_equal(ours, arrow, check_dtype=False)
    assert polars.columns == list(ours.columns)
    assert polars.to_arrow().to_pylist() == made.to_arrow().to_pylist()
    ours.iloc[:, -2] = 0  # it is free to change
    assert made.to_arrow().to_pandas().equals(arrow)


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_a_total_function_of_the_rows(kind: str) -> None:
    """No rows, rows of nobody, rows outside every bin, missing numbers: noise like any other table, never an error."""
    plain = pd.DataFrame({"person": [1], "ward": ["north"], "age": [5], "cost": [1.0]})
    tables = [
        plain.iloc[:0],
        plain.assign(person=pd.array([None], dtype="Int64")),
        plain.assign(ward="elsewhere", age=10**15, cost=math.inf),
        plain.assign(cost=math.nan, age=-(2**62)),
        plain.assign(cost=-math.inf, ward=""),
    ]
    for frame in tables:
        frame = frame.astype({"person": "Int64", "ward": "string", "age": "int64", "cost": "float64"})
        made = query_of(kind, ln.table(frame, unit="person")).release(**ASK)
        parts = made.blocks.values() if hasattr(made, "blocks") else [made]
        finite = all(np.isfinite(part.values.astype(float)).all() for part in parts)
        assert finite or kind == "quantile"  # of too few rows, it is none


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        ({}, errors.MissingParameter),
        ({"epsilon": 1}, errors.MissingParameter),
        ({"epsilon": -1, "delta": 1e-6}, errors.InvalidParameter),
        ({"epsilon": 1, "delta": 1e-6, "mechanism": "laplac"}, errors.InvalidParameter),
        ({"epsilon": 1, "delta": 0, "mechanism": "gaussian"}, errors.InvalidParameter),
    ],
)
def test_public_mistakes_are_found_before_any_row_is_read(
    asked: Any, mistake: type[Exception], people: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Query, "_of_one_state", lambda q, work: pytest.fail("rows were read"))
    for kind in ("histogram", "mean", "quantile"):
        with pytest.raises(mistake):
            query_of(kind, people).release(**asked)
    with pytest.raises(errors.InvalidParameter):
        query_of("sparse", people).release(**ASK, mechanism="laplace")
    with pytest.raises(errors.InvalidParameter):
        query_of("unknown", people).release(epsilon=1, delta=0)


def test_numpy_numbers_are_numbers(people: Table) -> None:
    assert people.count(max_rows=np.int64(5)).limits.max_rows == 5
    q = people.quantile("age", np.array([0.25, 0.5]), clip=np.array([0, 100]), bins=np.int64(50), max_rows=1)  # type: ignore[arg-type]
    assert q.levels == (0.25, 0.5)  # type: ignore[attr-defined]


def test_a_budget_pays_for_queries_before_rows_are_read(tmp_path: Path, people: Table) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6, threshold_delta=1e-7)

    def spent() -> int:
        return len(ln.Budget.open(tmp_path / "b.ledger").history())

    seen = []
    question = people.histogram("ward", keys=WARDS, max_rows=3)
    real = Query._of_one_state

    def watched(q: Any, work: Any) -> Any:
        seen.append(spent())
        return real(q, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Query, "_of_one_state", watched)
        made = question.release(budget=budget, share=0.25)
        mean = people.mean("age", clip=(0, 99), max_rows=3).release(budget=budget, share=Decimal("0.25"))
        unknown = people.histogram("ward", max_rows=3).release(budget=budget, share=0.25)
    assert seen == [1, 2, 3]
    ids = [entry.release for entry in budget.history()]
    assert ids == [made.id, mean.id, unknown.id]
    assert budget.remaining.share == pytest.approx(0.25)
    assert made.mechanism == "gaussian"
    with pytest.raises(ln.BudgetExhausted):
        question.release(budget=budget, share=0.3)
    assert spent() == 3


def test_an_engine_that_is_not_ready_costs_nothing(tmp_path: Path, people: Table, monkeypatch: Any) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6)

    def check(*_: Any, **__: Any) -> None:
        raise errors.EngineUnavailable("the session was stopped")

    monkeypatch.setattr(people._data.engine, "check_ready", check)
    for _ in range(3):
        with pytest.raises(errors.EngineUnavailable):
            people.count_units().release(budget=budget, share=0.1)
    assert budget.remaining.share == 1
    assert not budget.closed


@pytest.mark.parametrize("first", ["rows", "engine"])
def test_an_engine_that_dies_of_the_rows_closes_the_budget(
    first: str, tmp_path: Path, people: Table, monkeypatch: Any
) -> None:
    """What a first attempt read may have ended the engine; before it, nothing was read and the fact is public."""
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6)
    query, attempts = people.count_units(), []

    def read(self: Query, work: Any) -> Any:
        attempts.append(1)
        if first == "rows" and len(attempts) == 1:
            raise RuntimeError("canary424242")
        raise errors.EngineUnavailable("gone")

    monkeypatch.setattr(type(query), "_of_one_state", read)
    with pytest.raises(errors.ReadingFailed if first == "rows" else errors.EngineUnavailable) as caught:
        query.release(budget=budget, share=0.1)
    assert "canary" not in str(caught.value)
    assert len(attempts) == (3 if first == "rows" else 1)
    assert budget.closed == (first == "rows")


def test_laplace_and_gaussian_are_chosen_by_the_querys_own_norms(people: Table) -> None:
    assert people.histogram("ward", keys=WARDS, max_rows=3, max_per_bin=1).release(**ASK).mechanism == "laplace"
    wide = people.histogram("age", keys=range(100), max_rows=100, max_per_bin=1)
    made = wide.release(**ASK)
    assert made.mechanism == "gaussian"
    assert isinstance(made.guarantee, GaussianDP)
    assert made.guarantee.profile(1.0) <= 1e-6


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "sparse"])
def test_every_answer_can_be_saved_and_loaded(kind: str, people: Table, tmp_path: Path) -> None:
    made = query_of(kind, people).release(**ASK)
    made.save(tmp_path / "a.parquet")
    back = ln.load(tmp_path / "a.parquet")
    assert type(back) is type(made)
    np.testing.assert_array_equal(back.values, made.values)
    assert (back.interval(0.9).low == made.interval(0.9).low).all()
    assert back.guarantee == made.guarantee
    assert back.to_arrow().equals(made.to_arrow())
    with seeded(1):
        hollow = query_of(kind, people).release(**ASK)
    with pytest.raises(errors.SeededRelease):
        hollow.save(tmp_path / "b.parquet")


def test_methods_that_need_options_say_so(people: Table) -> None:
    made = people.histogram("ward", keys=WARDS, max_rows=3).release(**ASK)
    with pytest.raises(errors.MissingParameter, match="p and radius"):
        made.denoise("lp_ball")
    assert made.denoise("lp_ball", p=1, radius=5.0).bins == 4
    with pytest.raises(errors.MissingParameter, match='unit="person"'):
        ln.table(pd.DataFrame({"a": [1]}), unit=None)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter, match="list the keys"):
        people.histogram("ward", max_rows=3).release(epsilon=1, delta=0)
    assert repr(people).startswith("<Table")
    assert {"table", "denoise", "lattice"} <= set(dir(ln))
