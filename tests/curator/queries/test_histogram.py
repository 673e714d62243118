"""Histograms: sparse ones, weighted ones, and one of real trips."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.releases.release import Release
from leastnoise.testing import aggregate
from queries_of_every_kind import ASK, query_of


def test_sparse_domains_release_keys(people: Table) -> None:
    made = query_of("sparse", people).release(epsilon=8, delta=1e-6)
    assert isinstance(made, ln.SparseRelease)
    frame = made.to_pandas()
    assert (frame["age"] == frame["index"]).all()
    assert made.domain_size == 2**40


def test_kernel_weights_never_go_the_sparse_way() -> None:
    """They are counted in steps of 2^-20, which the sparse release does not know."""
    from types import SimpleNamespace

    graph = SimpleNamespace(coordinates=np.array([[0.0, 0.0], [0.001, 0.0]]))
    t = ln.table(pd.DataFrame({"u": [1], "lon": [0.0], "lat": [0.0]}), unit="u")
    near = t.nearest(graph, lon="lon", lat="lat", within=500, kernel_width=50)
    with pytest.raises(errors.BadDomain):
        near.histogram("node", keys=range(10**8), max_rows=1)
    assert near.histogram("node", keys=range(2), max_rows=1).release(**ASK).bins == 2


def test_key_columns_with_our_own_names_are_refused_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "_of_one_state", lambda q, work: pytest.fail("rows were read"))
    t = ln.table(pd.DataFrame({"u": [1], "value": [1]}), unit="u")
    with pytest.raises(errors.BadDomain, match="collides"):
        t.histogram("value", keys=[0, 1], max_rows=1)
    with pytest.raises(errors.BadDomain, match="collides"):
        t.crosstabs("value", keys={"value": [0, 1]}, max_rows=1)


def test_the_paper_s_map_on_real_trips(data: Path) -> None:
    """Pick-ups of 2013-01-01 00-01h, at most five a taxi: integers against pandas, and the noise's size."""
    trips = ln.table(str(data / "taxi" / "trips_2013-01-01_00h.parquet"), unit="taxi_id")
    nodes = pd.read_parquet(data / "taxi" / "nodes.parquet")["id"].tolist()
    hour = trips.where("pickup_time < '2013-01-01 01:00'")
    question = hour.histogram("pickup_node", keys=nodes, max_rows=5, max_per_bin=1)
    assert (question.sensitivity.l1, question.sensitivity.linf) == (5.0, 1.0)
    assert question.sensitivity.l2 == pytest.approx(math.sqrt(5))
    frame = pd.read_parquet(data / "taxi" / "trips_2013-01-01_00h.parquet")
    frame = frame[(frame["pickup_time"] < "2013-01-01 01:00") & frame["pickup_node"].isin(nodes)]
    once = frame.drop_duplicates(["taxi_id", "pickup_node"])
    few = once.groupby("taxi_id").filter(lambda g: len(g) <= 5)
    exact = aggregate(question).values
    assert exact.sum() == once.groupby("taxi_id").size().clip(upper=5).sum()
    sure = few.groupby("pickup_node").size().reindex(nodes, fill_value=0).to_numpy()
    assert (exact >= sure).all()  # taxis within the limit keep every row
    assert (exact <= once.groupby("pickup_node").size().reindex(nodes, fill_value=0).to_numpy()).all()
    made = question.release(epsilon=0.5, delta=1e-6)
    assert isinstance(made, Release)
    assert made.mechanism == "laplace"
    rmse = float(np.sqrt(np.mean((made.values - exact) ** 2)))
    assert 12.5 < rmse < 16  # 14.14 with 3,874 draws: four standard errors either way
