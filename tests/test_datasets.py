"""The synthetic city: one piece, the same every time, and taxis that behave like taxis."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.datasets import city, draw_trips, write_trips


def test_the_city_hangs_together() -> None:
    c = city()
    graph = nx.Graph(c.edges.tolist())
    assert graph.number_of_nodes() == c.junctions == len(c.coordinates)
    assert nx.is_connected(graph)
    assert 1.6 < len(c.edges) / c.junctions < 2.0  # a street grid
    assert (c.edges[:, 0] < c.edges[:, 1]).all()
    assert max(dict(graph.degree).values()) <= 7


def test_the_same_seed_is_the_same_city_and_another_is_not() -> None:
    assert (city(3).coordinates == city(3).coordinates).all()
    assert city(3).coordinates.shape != city(4).coordinates.shape or (city(3).coordinates != city(4).coordinates).any()
    assert draw_trips(1000, seed=3).equals(draw_trips(1000, seed=3))
    assert not draw_trips(1000, seed=3).equals(draw_trips(1000, seed=4))


def test_hot_spots_move_with_the_hour() -> None:
    c = city()
    night, day = c.busyness(1), c.busyness(14)
    assert night.sum() == pytest.approx(1)
    assert np.abs(night - day).sum() > 0.5


def test_most_taxis_make_few_trips_an_hour_and_some_make_many() -> None:
    frame = draw_trips(200_000).to_pandas()
    an_hour = frame[frame["hour"] == 8].groupby("taxi").size()
    assert 0.75 < (an_hour <= 5).mean() < 0.97
    assert an_hour.max() > 12
    assert frame["pickup"].max() < city().junctions
    assert frame["fare"].min() > 2


def test_files_of_any_size_feed_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastnoise.datasets._ROWS_A_FILE", 4000)
    files = write_trips(tmp_path / "trips", trips=10_000)
    assert [pq.read_metadata(f).num_rows for f in files] == [4000, 4000, 2000]
    table = ln.table(str(tmp_path / "trips" / "*.parquet"), unit="taxi")
    made = table.histogram("pickup", keys=range(city().junctions), max_rows=5).release(epsilon=1, delta=1e-6)
    assert made.bins == city().junctions


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ln.errors.FileProblem, match="Cannot make"):
        write_trips(tmp_path / "file" / "x", trips=10)
