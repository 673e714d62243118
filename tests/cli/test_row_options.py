"""What one row is, on the command line and in a job: the same question as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run

ZONES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [[[w, 0], [w + 1, 0], [w + 1, 1], [w, 1], [w, 0]]]},
        }
        for name, w in (("west", 0), ("east", 1))
    ],
}
PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    rows = {
        "taxi": [1, 1, 2, 2, 3],
        "fare": [1.5, 2.0, 3.0, 4.0, 5.0],
        "zone_id": [1, 2, 1, 9, 2],
        "lon": [0.5, 1.5, 0.5, 0.2, 5.0],
        "lat": [0.5] * 5,
    }
    pq.write_table(pa.table(rows), "trips.parquet")
    Path("zones.csv").write_text("key,borough\n1,Queens\n2,Bronx\n")
    Path("zones.geojson").write_text(json.dumps(ZONES))


JOB = """\
[table]
source = "trips.parquet"
unit = "taxi"
join = "zones.csv:zone_id=key"
within = { area = "zones.geojson:name,lon,lat" }
derive = { dear = "fare > 2.5" }
lattice = { cell = "lon,lat,0.5" }
where = "fare > 1.0"
per_unit = { trips = "count", home = "mode:borough", cell = "mode:cell" }
having = "trips > 1"

[keys]
trips = [1, 2, 3]

[ask]
kind = "histogram"
by = "trips"

[privacy]
epsilon = 1
delta = 1e-6

[output]
release = "out.parquet"
"""


def test_a_job_says_what_one_row_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("job.toml").write_text(JOB)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # paths begin at the folder of the job
    code, _, err = run("run", "../job.toml")
    assert code == 0, err
    query = ln.load("../out.parquet").provenance.query
    assert query is not None
    parts = ["of a public table by zone_id", "with area = which of 2 zones", "with dear =", "with cell = cells of 0.5"]
    parts += ["where fare > 1.0", "a row for each taxi with trips = count, home = mode of borough", "where trips > 1"]
    places = [query.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "words",
    [
        ["--per-unit", "trips"], ["--per-unit", "trips=median:fare"], ["--per-unit", "trips=sum"],
        ["--per-unit", "a=count", "--per-unit", "a=count"], ["--lattice", "cell=lon,lat"],
        ["--lattice", "cell=lon,lat,wide"], ["--join", "zones.csv"], ["--join", "zones.csv:"],
        ["--within", "area=zones.geojson:lon"], ["--derive", "=1"], ["--having", "trips > 1"],
    ],
)  # fmt: skip
def test_a_mistake_says_what_to_type(words: list[str]) -> None:
    where = ["--unit", "taxi", "--max-rows", "1", "-o", "out.parquet"]
    code, _, err = run("count", "trips.parquet", *where, *words, *PRIVACY)
    assert code == 2, err
    option = "--per-unit" if words[0] == "--having" else words[0]
    assert f"{option} " in err
    assert not Path("out.parquet").exists()


def test_a_box_is_of_a_column_of_cells() -> None:
    words = ["--by", "zone_id", "--keys", "box:0,1,0,1", "--max-rows", "1", "-o", "out.parquet"]
    code, _, err = run("histogram", "trips.parquet", "--unit", "taxi", *words, *PRIVACY)
    assert code == 2
    assert "--lattice" in err
