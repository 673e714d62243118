"""Points and graph nodes: the nearest by brute force, and kernel weights that never exceed one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.curator.rows.points import ROW_WEIGHT, WEIGHT_BITS, KernelWeights, Nearest
from leastnoise.curator.table import Table, lattice, table
from leastnoise.errors import BadDomain, BadExpression, InvalidParameter, MissingParameter, WrongType
from leastnoise.graphs.places import EARTH_RADIUS_METRES
from leastnoise.testing import aggregate

RANDOM = np.random.default_rng(8)
NODES = np.stack([RANDOM.uniform(-74.02, -73.9, 200), RANDOM.uniform(40.7, 40.85, 200)], axis=1)
GRAPH = SimpleNamespace(coordinates=NODES)


def haversine(lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Metres from every point to every node, by the other formula."""
    a, b = np.radians(lat)[:, None], np.radians(NODES[:, 1])[None, :]
    east = np.radians(lon)[:, None] - np.radians(NODES[:, 0])[None, :]
    inner = np.sin((a - b) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(east / 2) ** 2
    return 2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(inner))


def test_the_nearest_node_within_reach_is_found():
    lon, lat = RANDOM.uniform(-74.03, -73.89, 3000), RANDOM.uniform(40.69, 40.86, 3000)
    metres = haversine(lon, lat)
    expected = np.where(metres.min(axis=1) <= 400, metres.argmin(axis=1), -1)
    assert (expected == -1).any()
    assert Nearest(nodes=NODES, within=400.0)(lon, lat).tolist() == expected.tolist()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(), st.floats(-74.1, -73.8)), min_size=1, max_size=20),
    st.floats(0.1, 1e4),
    st.integers(1, 8),
)
def test_the_weights_of_a_row_sum_to_at_most_one(points, width, count):
    lat = np.array([40.7 + (y % 0.2 if np.isfinite(y) else y) for y, _ in points])
    parts = KernelWeights(nodes=NODES, within=2000.0, width=width, count=count)(np.array([x for _, x in points]), lat)
    weights = parts & (2**WEIGHT_BITS - 1)
    assert (weights.sum(axis=1) <= ROW_WEIGHT).all()
    assert ((parts == 0) | (weights > 0)).all()


def test_one_unit_with_a_kernel_weighs_at_most_its_rows():
    points = pd.DataFrame({"unit": 1, "lon": RANDOM.uniform(-74, -73.92, 50), "lat": RANDOM.uniform(40.72, 40.83, 50)})
    rows = table(points, unit="unit").nearest(GRAPH, lon="lon", lat="lat", within=3000, kernel_width=300)
    query = rows.histogram("node", keys=range(200), max_rows=5)
    found = aggregate(query).values * query.grid
    assert 4.99 < found.sum() <= 5
    assert np.linalg.norm(found) <= query.sensitivity.l2 == 5.0


def test_missing_points_have_no_node():
    points = pd.DataFrame({"unit": [1, 2, 3], "lon": [np.nan, None, -73.95], "lat": [40.75, 40.75, np.inf]})
    rows = table(points, unit="unit").nearest(GRAPH, lon="lon", lat="lat", within=1e5)
    assert not aggregate(rows.histogram("node", keys=range(200), max_rows=1)).values.any()


def test_real_pick_ups_fall_on_the_published_junctions(data):
    """The published table was made with another projection: a few points in a thousand lie on a border."""
    trips = pd.read_parquet(data / "taxi" / "trips_2013-01-01_00h.parquet").head(20_000)
    nodes = pd.read_parquet(data / "taxi" / "nodes.parquet")[["lon", "lat"]].to_numpy()
    found = Nearest(nodes=nodes, within=200.0)(trips["pickup_lon"].to_numpy(), trips["pickup_lat"].to_numpy())
    assigned = trips["pickup_node"].to_numpy() >= 0
    assert np.mean(found[assigned] == trips["pickup_node"].to_numpy()[assigned]) > 0.99


def test_what_cannot_be_a_graph_is_refused():
    rows = table(pd.DataFrame({"unit": [1], "lon": [0.0], "lat": [0.0], "node": [1]}), unit="unit")
    at = {"lon": "lon", "lat": "lat"}
    with pytest.raises(BadDomain):
        rows.nearest(SimpleNamespace(coordinates=[[0.0, np.nan]]), **at, within=1, name="n")
    with pytest.raises(InvalidParameter):
        rows.nearest(GRAPH, **at, within=0, name="n")
    with pytest.raises(InvalidParameter, match="already"):
        rows.nearest(GRAPH, **at, within=1)
    spread = rows.nearest(GRAPH, **at, within=1, name="n", kernel_width=5)
    with pytest.raises(MissingParameter, match="max_rows=5"):
        spread.histogram("n", keys=range(200))
    with pytest.raises(InvalidParameter, match="only max_rows"):
        spread.histogram("n", keys=range(200), max_rows=5, max_per_bin=1)


def spread_rows(rows: int = 50):
    points = {"unit": 1, "lon": RANDOM.uniform(-74, -73.92, rows), "lat": RANDOM.uniform(40.72, 40.83, rows)}
    made = table(pd.DataFrame(points), unit="unit")
    return made.nearest(GRAPH, lon="lon", lat="lat", within=3000, kernel_width=300)


def test_kernel_weights_are_not_replaced():
    """What stands in for them would be read as nodes and weights."""
    with pytest.raises(BadExpression, match="Use another name"):
        spread_rows().derive(node=ibis.array([1, 2, 3]))
    with pytest.raises(InvalidParameter, match="upper and lower case"):
        spread_rows().derive(NODE=ibis.array([1, 2, 3]))


def test_kernel_weights_stay_what_they_are_after_conditions_and_other_columns():
    query = spread_rows().where("lon < 0").derive(twice=ibis._.lon * 2).histogram("node", keys=range(200), max_rows=5)
    assert 4.99 < aggregate(query).values.sum() * query.grid <= 5


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.sum("node", clip=(0, 1), max_rows=1),
        lambda t: t.mean("lon", clip=(0, 1), by="node", keys=range(200), max_rows=1),
        lambda t: t.quantile("node", 0.5, clip=(0, 1), max_rows=1),
        lambda t: t.vector_sum("node", length=4, clip_norm=1.0, max_rows=1),
        lambda t: t.histogram("lon", "node", keys={"lon": range(2), "node": range(2)}, max_rows=1),
        lambda t: t.nearest(GRAPH, lon="node", lat="lat", within=1, name="other"),
        lambda t: t.derive(cell=lattice("node", "lat", 0.1)),
    ],
)
def test_kernel_weights_are_for_a_histogram_alone(ask):
    with pytest.raises(WrongType, match="histogram of it alone"):
        ask(spread_rows())


# A row of one to four parts of a weight each, from a quarter of what a row may weigh to four times that; or anything.
WEIGHED = st.builds(
    lambda nodes, weight: [(node << WEIGHT_BITS) + weight for node in nodes],
    st.lists(st.integers(0, 199), min_size=1, max_size=4),
    st.sampled_from([ROW_WEIGHT, ROW_WEIGHT // 2, ROW_WEIGHT // 4]),
)
ANYTHING = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**30) | st.none(), max_size=9) | st.none()


@settings(deadline=None, max_examples=10)
@given(st.lists(WEIGHED, min_size=3, max_size=6), st.lists(ANYTHING, max_size=3))
def test_whatever_a_kernel_column_holds_a_row_weighs_at_most_one(weighed, others):
    """`derive` does not let anybody write such a column; the sum relies on nobody's word."""
    arrays = weighed + others
    given_rows = pa.table({"unit": [1] * len(arrays), "node": pa.array(arrays, pa.list_(pa.int64()))})
    made = Table(replace(table(given_rows, unit="unit")._data, kernels={"node": 4}))
    query = made.histogram("node", keys=range(200), max_rows=2)
    found = aggregate(query).values * query.grid
    assert (found >= 0).all()
    assert found.sum() <= 2
