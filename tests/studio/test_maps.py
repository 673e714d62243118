"""Maps: squares, zones and junctions, drawn before the release from public files, and on its page afterwards."""

from __future__ import annotations

import itertools
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import datasets
from studio_visitor import Visitor, visitor


@pytest.fixture(scope="module")
def trips() -> Any:
    """Trips of the synthetic city, each with the place where it began."""
    town = datasets.city()
    rows = datasets.draw_trips(20_000)
    places = town.coordinates[np.asarray(rows["pickup"])]
    return rows.append_column("lon", pa.array(places[:, 0])).append_column("lat", pa.array(places[:, 1]))


@pytest.fixture
def desk(tmp_path: Path, trips: Any, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    monkeypatch.chdir(tmp_path)
    made = visitor(tmp_path, trips)
    town = datasets.city()
    (west, south), (east, north) = town.coordinates.min(axis=0), town.coordinates.max(axis=0)
    edges = np.linspace(west, east, 4)
    features = [
        {
            "type": "Feature",
            "properties": {"name": f"<b>{place}"},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[a, south], [b, south], [b, north], [a, north], [a, south]]],
            },
        }
        for place, (a, b) in enumerate(itertools.pairwise(edges))
    ]
    (tmp_path / "zones.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    nodes = {"id": range(town.junctions), "lon": town.coordinates[:, 0], "lat": town.coordinates[:, 1]}
    pq.write_table(pa.table({name: list(column) for name, column in nodes.items()}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"u": town.edges[:, 0], "v": town.edges[:, 1]}), tmp_path / "edges.parquet")
    return made


def asked(kind: str) -> dict[str, str]:
    """The fields of a map of the city."""
    town = datasets.city()
    (west, south), (east, north) = town.coordinates.min(axis=0), town.coordinates.max(axis=0)
    box = {"west": f"{west:.3f}", "east": f"{east:.3f}", "south": f"{south:.3f}", "north": f"{north:.3f}"}
    return {"question": "map", "map": kind} | {
        "squares": {"x": "lon", "y": "lat", "step": "0.02", **box},
        "zones": {"x": "lon", "y": "lat", "zones": "zones.geojson", "zone_name": "name"},
        "junctions": {"place": "pickup", "nodes": "nodes.parquet", "graph": "edges.parquet"},
    }[kind]


@pytest.mark.parametrize(("kind", "words"), [("squares", "squares"), ("zones", "3 zones"), ("junctions", "junctions")])
def test_a_map_is_drawn_before_and_after_the_release(desk: Visitor, kind: str, words: str) -> None:
    desk.send("/job/people/table", unit="taxi")
    shown = desk.send("/job/people/question", go="stay", **asked(kind)).text
    assert 'class="picture map"' in shown
    assert words in shown
    assert "<b>0" not in shown
    sent = desk.send("/job/people/question", **asked(kind))
    assert sent.headers.get("location") == "/job/people/limits", sent.text
    for name, value in asked(kind).items():  # a reload shows what was chosen
        assert f'value="{value}"' in desk.client.get("/job/people/question").text or value in shown, name
    desk.send("/job/people/limits", max_rows="5")
    desk.send("/job/people/privacy", epsilon="1", delta="1e-6")
    assert 'class="picture map"' in desk.client.get("/job/people/release").text
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done", desk.client.get("/job/people/release").text
    page = (desk.folder / "people.html").read_text()
    assert 'class="picture map"' in page
    made, text = ln.load("people-release.parquet"), desk.studio.draft("people").python
    (desk.folder / "job.py").write_text(text)
    found = runpy.run_path(str(desk.folder / "job.py"))
    assert found["question"].describe() == desk.studio.draft("people").run().query.describe()
    assert found["release"].domain.keys() == made.domain.keys()  # type: ignore[union-attr]
    assert found["estimate"].method == ln.load("people-denoised.parquet").method  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (asked("zones") | {"zones": "people.parquet"}, "the table itself"),
        (asked("zones") | {"zones": "../zones.geojson"}, "no name of a file"),
        (asked("zones") | {"zone_name": "nothing"}, "nothing"),
        (asked("zones") | {"zone_name": "a,b"}, "comma"),
        (asked("junctions") | {"nodes": "people.parquet"}, "the table itself"),
        (asked("junctions") | {"graph": ""}, "Choose"),
        (asked("squares") | {"map": "circles"}, "kind of map"),
    ],
)
def test_a_map_without_its_places_is_refused(desk: Visitor, fields: dict[str, str], words: str) -> None:
    desk.send("/job/people/table", unit="taxi")
    sent = desk.send("/job/people/question", **fields)
    assert (sent.status_code, words in sent.text) == (422, True)


def test_dropped_zones_are_named_by_the_first_property_that_can(desk: Visitor) -> None:
    desk.send("/job/people/table", unit="taxi")
    body = (desk.folder / "zones.geojson").read_bytes()
    assert desk.drop("mine.geojson", body).json() == {"zones": "mine.geojson", "zone_name": "name"}
