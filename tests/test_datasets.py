"""The synthetic city: one piece, the same every time, taxis that behave like taxis, and people like people."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.datasets import city, draw_trips, people, people_keys, write_trips
from leastnoise.domain import axis
from leastnoise.testing import aggregate


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
    monkeypatch.setattr("leastnoise.datasets.taxi_city._ROWS_A_FILE", 4000)
    files = write_trips(tmp_path / "trips", trips=10_000)
    assert [pq.read_metadata(f).num_rows for f in files] == [4000, 4000, 2000]
    table = ln.table(str(tmp_path / "trips" / "*.parquet"), unit="taxi")
    made = table.histogram("pickup", keys=range(city().junctions), max_rows=5).release(epsilon=1, delta=1e-6)
    assert made.bins == city().junctions


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ln.errors.FileProblem, match="Cannot make"):
        write_trips(tmp_path / "file" / "x", trips=10)


@pytest.fixture(scope="module")
def register() -> pd.DataFrame:
    return people(50_000).to_pandas()


def test_the_same_seed_is_the_same_register_and_another_is_not() -> None:
    assert people(3000, seed=5).equals(people(3000, seed=5))
    assert not people(3000, seed=5).equals(people(3000, seed=6))
    with pytest.raises(ln.errors.InvalidParameter):
        people(0)


def test_every_person_is_in_every_table(register: pd.DataFrame) -> None:
    """Nobody has a cell outside the public keys, so the margins of all tables agree."""
    assert register["person"].is_unique
    for column, keys in people_keys().items():
        bins = axis(keys)
        assert all(bins.index(cell) is not None for cell in register[column].unique().tolist()), column
    table = ln.table(people(2000), unit="person")
    for column in people_keys():
        query = table.histogram(column, keys=people_keys(), max_rows=1)
        assert aggregate(query).values.sum() == 2000


def test_the_register_has_the_structure_of_one(register: pd.DataFrame) -> None:
    """Each of these is far from what independent columns would give: the seed is fixed, so nothing here is chance."""
    age, job, income = register["age"], register["job"], register["income"]
    assert (job[age < 16] == "in school").all()
    assert not (job[age >= 16] == "in school").any()
    assert (job[age > 75] == "retired").mean() > 0.95
    assert (income[job == "in school"] == 0).all()
    working = register[~job.isin(["in school", "student", "retired", "not working"])]
    share = working.groupby("district")["job"].value_counts(normalize=True)
    assert share["Harbour", "transport"] > 3 * share["Foxglove Park", "transport"]
    assert share["Copper Yard", "technology"] > 4 * share["Quarry End", "technology"]
    medians = working.groupby("district")["income"].median()
    assert medians["Kestrel Hill"] > 1.7 * medians["Quarry End"]
    assert (working[working["job"] == "care"]["sex"] == "female").mean() > 0.7
    assert (
        working[working["job"] == "hospitality"]["age"].mean() + 8 < working[working["job"] == "teaching"]["age"].mean()
    )
    assert working["income"].mean() > 1.1 * working["income"].median()  # skewed
    sizes = register["district"].value_counts()
    assert sizes.max() > 8 * sizes.min() > 0
