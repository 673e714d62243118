"""Points into polygons: against a slow exact rule, and one zone alone on every shared border."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise.curator.rows import points
from leastnoise.curator.rows.points import STEPS_A_DEGREE, ZoneLookup
from leastnoise.curator.table import Table
from leastnoise.domain import Zones
from leastnoise.testing import aggregate

STEP = 1 / STEPS_A_DEGREE


def polygon(name: Any, *rings: Any, identity: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "Feature", "properties": {"name": name, "size": 1}}
    return made | {
        "id": identity,
        "geometry": {"type": "Polygon", "coordinates": [np.asarray(r).tolist() for r in rings]},
    }


def collection(*features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def square(west: float, south: float, side: float) -> list[list[float]]:
    return [[west, south], [west + side, south], [west + side, south + side], [west, south + side], [west, south]]


def crooked(count: int, seed: int) -> Zones:
    """count x count quarters of a town whose corners are not straight, in steps of the lookup; no gap between them."""
    random = np.random.default_rng(seed)
    places = np.stack(np.meshgrid(np.arange(count + 1), np.arange(count + 1)), axis=-1) * 64
    moved = (places + random.integers(-20, 21, places.shape)) * STEP + [7.5, 46.9]
    corner = moved.tolist()
    quarters = [
        polygon(f"{i}.{j}", [corner[i][j], corner[i][j + 1], corner[i + 1][j + 1], corner[i + 1][j]])
        for i in range(count)
        for j in range(count)
    ]
    return Zones.read(collection(*quarters), key="name")


def exactly(zones: Zones, lon: float, lat: float) -> int:
    """The first zone by the same rule in fractions."""
    x, y = (Fraction(math.floor(value * STEPS_A_DEGREE + 0.5)) for value in (lon, lat))
    for place, rings in enumerate(zones.rings):
        met = 0
        for ring in rings:
            corners = [tuple(Fraction(math.floor(value * STEPS_A_DEGREE + 0.5)) for value in corner) for corner in ring]
            for (x1, y1), (x2, y2) in itertools.pairwise(corners):
                low, high = min(y1, y2), max(y1, y2)
                if low <= y < high and x < x1 + (x2 - x1) * (y - y1) / (y2 - y1):
                    met += 1
        if met % 2:
            return place
    return -1


@pytest.mark.parametrize("seed", range(3))
def test_every_point_is_where_the_exact_rule_says(seed: int) -> None:
    zones = crooked(4, seed)
    random = np.random.default_rng(seed)
    lon, lat = random.integers(-30, 4 * 64 + 30, (2, 400)) * STEP + np.array([[7.5], [46.9]])
    corners = np.concatenate([ring for rings in zones.rings for ring in rings])
    lon, lat = np.append(lon, corners[:, 0]), np.append(lat, corners[:, 1])
    found = ZoneLookup.of(zones)(lon, lat)
    assert found.tolist() == [exactly(zones, *place) for place in zip(lon, lat, strict=True)]
    assert len(set(found.tolist())) == 17


def test_a_point_on_a_shared_border_is_in_one_zone() -> None:
    """Every step of the town's inside, its borders and corners among them, is in one quarter whatever their order."""
    zones = crooked(3, 5)
    x, y = np.meshgrid(np.arange(25, 3 * 64 - 25), np.arange(25, 3 * 64 - 25))
    lon, lat = x.ravel() * STEP + 7.5, y.ravel() * STEP + 46.9
    found = ZoneLookup.of(zones)(lon, lat)
    assert (found >= 0).all()
    turned = Zones(zones.keys[::-1], tuple(tuple(ring[::-1] for ring in rings) for rings in zones.rings[::-1]))
    assert (8 - ZoneLookup.of(turned)(lon, lat) == found).all()


@given(data=st.data(), wide=st.sampled_from([4, 9, 40]), count=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_rings_that_cross_themselves_and_each_other_follow_the_rule_too(
    data: st.DataObject, wide: int, count: int
) -> None:
    """Every step of a small square, corners and points on edges most of all: level, upright and of no length."""
    corner = st.tuples(st.integers(0, wide), st.integers(0, wide))
    rings = data.draw(st.lists(st.lists(corner, min_size=3, max_size=12), min_size=count, max_size=count))
    features = [polygon(f"{i}", np.array([*ring, ring[0]]) * STEP) for i, ring in enumerate(rings)]
    zones = Zones.read(collection(*features), key="name")
    x, y = np.meshgrid(np.arange(-1, wide + 2), np.arange(-1, wide + 2))
    lon, lat = x.ravel() * STEP, y.ravel() * STEP
    if wide == 40:
        lon, lat = lon[::5], lat[::5]
    found = ZoneLookup.of(zones)(lon, lat)
    assert found.tolist() == [exactly(zones, *place) for place in zip(lon, lat, strict=True)]


def test_long_edges_and_large_overlaps_take_fewer_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid is coarser where zones would fill it many times over; what it finds is the same."""
    zones = crooked(4, 3)
    x, y = np.meshgrid(np.arange(-10, 270, 7), np.arange(-10, 270, 7))
    lon, lat = x.ravel() * STEP + 7.5, y.ravel() * STEP + 46.9
    fine = ZoneLookup.of(zones)
    monkeypatch.setattr(points, "MAX_COVERED", 40)
    coarse = ZoneLookup.of(zones)
    assert coarse.whole.size < fine.whole.size
    assert (coarse(lon, lat) == fine(lon, lat)).all()


def test_holes_parts_and_overlaps() -> None:
    ring = polygon("ring", square(0, 0, 4), square(1, 1, 2))
    island = polygon("island", square(1.5, 1.5, 1))
    island_too = polygon("island", square(10, 10, 1))
    over = polygon("over", square(3, 0, 5))
    zones = Zones.read(collection(ring, island, over, island_too), key="name")
    assert zones.keys == ("ring", "island", "over")
    lon, lat = (
        np.array([0.5, 1.2, 2.0, 10.5, 3.5, 4.5, 20, math.nan, 181, 0.5]),
        np.array([0.5, 1.2, 2.0, 10.5, 0.5, 0.5, 20, 0, 0, 91]),
    )
    assert ZoneLookup.of(zones)(lon, lat).tolist() == [0, -1, 1, 1, 0, 2, -1, -1, -1, -1]
    assert zones.box == (0, 0, 11, 11)


def people(**columns: Any) -> Table:
    rows = {"who": [1, 2, 3, 4], "lon": [0.5, 1.0, 1.5, None], "lat": [0.5, 0.5, 0.5, 0.5], **columns}
    return ln.table(pa.table(rows), unit="who")


TWO = collection(polygon("north", square(0, 0, 1), identity=7), polygon("süd", square(1, 0, 1), identity=9))


def test_rows_find_their_zone(tmp_path: Path) -> None:
    (tmp_path / "zones.geojson").write_text(json.dumps(TWO), encoding="utf-8")
    made = people().within(tmp_path / "zones.geojson", lon="lon", lat="lat", key="name")
    assert aggregate(made.histogram("zone", keys=["north", "süd"], max_rows=1, nulls="bin")).values.tolist() == [
        1,
        2,
        1,
    ]
    by_id = people().within(TWO, lon="lon", lat="lat", name="area")
    assert aggregate(by_id.histogram("area", keys=[7, 9], max_rows=1)).values.tolist() == [1, 2]
    assert aggregate(by_id.histogram("area", max_rows=1)).keys == (7, 9)
    by_zones = made.histogram("zone", keys=Zones.read(TWO, key="name"), max_rows=1)  # they name bins, as leaves do
    assert aggregate(by_zones).values.tolist() == [1, 2]
    assert "with zone = which of 2 zones holds lon, lat (SHA-256 " in made.count(max_rows=1).describe()
    moved = collection(polygon("north", square(0, 0, 1)), polygon("süd", square(1, 0, 2)))
    assert Zones.read(moved, key="name").digest != Zones.read(TWO, key="name").digest


@pytest.mark.parametrize(
    ("zones", "key", "error", "words"),
    [
        ({"type": "Feature"}, None, ln.errors.WrongType, "FeatureCollection"),
        (collection(), None, ln.errors.BadDomain, "no feature"),
        (collection(polygon("a", square(0, 0, 1))), None, ln.errors.MissingParameter, "name, size"),
        (collection(polygon("a", square(0, 0, 1))), "title", ln.errors.InvalidParameter, "title"),
        (collection(polygon(1.5, square(0, 0, 1))), "name", ln.errors.InvalidParameter, "1.5"),
        (
            collection(polygon("a", square(0, 0, 1)), polygon(1, square(0, 0, 1))),
            "name",
            ln.errors.WrongType,
            "all texts",
        ),
        (collection(polygon("a", [[0, 0], [1, 1]])), "name", ln.errors.BadDomain, "three corners"),
        (collection(polygon("a", [[0, 0], [1e6, 1], [2, 2]])), "name", ln.errors.BadDomain, "WGS 84"),
        (collection(polygon("a", [0, 1, 2])), "name", ln.errors.BadDomain, "no rings"),
        (collection({"type": "Feature", "id": 1, "geometry": {"type": "Point"}}), None, ln.errors.WrongType, "Point"),
        (collection({"type": "Feature", "id": 1, "geometry": None}), None, ln.errors.WrongType, "without a place"),
        ("nowhere.geojson", None, ln.errors.NoSuchFile, "nowhere"),
    ],
)
def test_what_is_no_zone_is_refused(zones: Any, key: str | None, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        people().within(zones, lon="lon", lat="lat", key=key)


def test_a_column_that_is_there_is_not_replaced() -> None:
    with pytest.raises(ln.errors.InvalidParameter, match="already"):
        people(zone=[1, 2, 3, 4]).within(TWO, lon="lon", lat="lat")
    with pytest.raises(ln.errors.BadExpression, match="unit"):
        people().within(TWO, lon="who", lat="lat")
