"""A file of public keys that is dropped on the page: read as the command line reads it, and kept."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

from leastnoise.domain import Zones
from leastnoise.studio import key_upload
from studio_visitor import ORIGIN, Visitor

FAR = b"""{"type": "FeatureCollection", "features": [{"type": "Feature", "id": 1, "properties": {}, "geometry":
    {"type": "Polygon", "coordinates": [[[1%s, 0], [1, 1], [0, 1]]]}}]}""" % (b"0" * 400)
BAD = '"><script>alert(1)</script>'


@pytest.fixture
def asking(desk: Visitor) -> Visitor:
    desk.send("/job/people/table", unit="person")
    return desk


@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("wards.csv", b"sex,people\nF,1\nM,2\n", {"text": "wards.csv:sex"}),
        ("wards.csv", b"\xef\xbb\xbfname,people\nF,1\nM,2\n", {"text": "wards.csv:name"}),
        ("wards.txt", b"F\r\n\n M \n", {"text": "F\nM"}),
        ("keys.toml", b'sex = ["F", "M"]\nage = { range = [18, 100] }\n', {"keys_file": "keys.toml"}),
    ],
)
def test_a_dropped_file_becomes_the_keys(asking: Visitor, name: str, body: bytes, found: dict[str, str]) -> None:
    for _ in range(2):  # the same file once more
        sent = asking.drop(name, body, "sex")
        assert (sent.status_code, sent.json()) == (200, found)
    fields: dict[str, Any] = {"question": "histogram", "by": ["sex"]}
    if "text" in found:
        fields |= {"keys__sex": found["text"]}
    sent = asking.send("/job/people/question", **fields, **({"keys_file": name} if "keys_file" in found else {}))
    assert sent.headers.get("location") == "/job/people/limits", sent.text
    asking.send("/job/people/limits", max_rows="1")
    asking.send("/job/people/privacy", epsilon="1", delta="1e-6")
    query = asking.studio.draft("people").run().query
    assert query.domain is not None
    assert query.domain.keys() == ["F", "M"]
    (asking.folder / "job.py").write_text(asking.studio.draft("people").python)
    assert runpy.run_path(str(asking.folder / "job.py"))["question"].describe() == query.describe()


def test_hostile_text_in_a_file_stays_text(asking: Visitor) -> None:
    sent = asking.drop("wards.csv", f"sex\n'{BAD}'\nM\n".encode(), "sex")
    assert sent.status_code == 200
    fields = {"question": "histogram", "by": ["sex"], "keys__sex": "wards.csv:sex"}
    assert asking.send("/job/people/question", **fields).status_code == 303
    for step in ("question", "limits", "privacy"):
        assert "<script>alert" not in asking.client.get(f"/job/people/{step}").text
    sent = asking.drop("wards.txt", f"{BAD}\nM".encode(), "sex")
    assert sent.headers["content-type"] == "application/json"
    shown = asking.send("/job/people/question", go="stay", **fields | {"keys__sex": sent.json()["text"]})
    assert "<script>alert" not in shown.text


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("people.parquet", b"PAR1", "end in"),
        ("../wards.csv", b"sex\nF\n", "no name of a file"),
        (".wards.csv", b"sex\nF\n", "no name of a file"),
        ("wards.csv", b"\xff\xfe\x00", "UTF-8"),
        ("wards.csv", b"", "CSV"),
        ("wards.csv", b"sex\nF\nF\n", "twice"),
        ("keys.toml", b"sex = [", "TOML"),
        ("keys.toml", b"sex" + b".a" * 100_000 + b" = 1", "TOML"),
        ("keys.toml", b"sex = {b" + b".a" * 100_000 + b" = 1}", "TOML"),
        ("keys.toml", b'sex = { file = "people.parquet", column = "sex" }', "the table itself"),
        ("keys.toml", b'sex = { file = "../keys.csv", column = "sex" }', "no name of a file"),
        ("people.toml", b'[table]\nsource = "people.parquet"\n', "one of keys"),
        ("wards.txt", b"x\n" * key_upload.MAX_TEXT_BYTES, "too large"),
        ("zones.geojson", b"{}", "GeoJSON"),
        ("zones.geojson", FAR, "no rings"),
        ("other.csv", b"sex\nF\nM\n", "another"),
    ],
)
def test_a_file_that_is_no_list_of_keys_is_refused_and_not_kept(
    asking: Visitor, name: str, body: bytes, words: str
) -> None:
    (asking.folder / "other.csv").write_text("sex\nX\n")
    before = {path.name: path.read_bytes() for path in asking.folder.iterdir()}
    sent = asking.drop(name, body, "sex")
    assert (sent.status_code, words in sent.json()["problem"]) == (422, True), sent.json()
    assert {path.name: path.read_bytes() for path in asking.folder.iterdir()} == before


def test_a_file_is_taken_from_our_own_page_alone_and_has_an_end(asking: Visitor) -> None:
    body = b"sex\n" + b"F" * key_upload.MAX_BYTES
    assert asking.drop("wards.csv", body, "sex").status_code == 413
    for headers in ({"origin": ORIGIN}, {"origin": ORIGIN, "x-form-key": "0"}, {"x-form-key": "0"}):
        sent = asking.client.post("/job/people/keys?name=wards.csv", content=b"sex\nF\n", headers=headers)
        assert sent.status_code == 403
    assert not (asking.folder / "wards.csv").exists()


def test_no_key_is_read_from_the_table_by_way_of_a_file_of_keys(asking: Visitor) -> None:
    """A keys.toml of the folder that names the table's own column is refused, whoever wrote it."""
    (asking.folder / "keys.toml").write_text('sex = { file = "people.parquet", column = "sex" }\n')
    sent = asking.send("/job/people/question", question="histogram", by=["sex"], keys_file="keys.toml")
    assert (sent.status_code, "the table itself" in sent.text) == (422, True)


def test_zones_with_thousands_of_properties_are_read_once(asking: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that is meant to keep the studio busy, its polygons are not read for every property."""
    ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    first = {"type": "Feature", "properties": {f"p{number}": number for number in range(500)}, "geometry": shape}
    features: list[dict[str, Any]] = [
        first,
        {"type": "Feature", "properties": {"p400": 1, "name": "b"}, "geometry": shape},
    ]
    read, times = Zones.read, []
    monkeypatch.setattr(Zones, "read", lambda *given, **named: times.append(1) or read(*given, **named))  # type: ignore[func-returns-value]
    body = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    assert asking.drop("zones.geojson", body).json() == {"zones": "zones.geojson", "zone_name": "p400"}
    features.append({"type": "Feature", "geometry": shape, "properties": 5})
    body = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    assert asking.drop("more.geojson", body).status_code == 422
    assert len(times) <= 2
