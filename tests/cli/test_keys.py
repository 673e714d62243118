"""--keys: ranges, lists, and columns of public files."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import run
from fuzzing import run as run_here
from leastnoise import errors
from leastnoise.jobs.keys import parse_keys
from leastnoise.testing import aggregate

RING = [[0, 0], [1, 0], [1, 1], [0, 0]]
ZONES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "id": place,
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [RING]},
        }
        for place, name in enumerate(["port", "park"], 7)
    ],
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ln.Table:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [3, 1]}), "nodes.parquet")
    Path("zones.csv").write_text("name,n\nport,1\npark,2\n")
    Path("upper.CSV").write_text("name,n\nport,1\npark,2\n")
    Path("zones.geojson").write_text(json.dumps(ZONES))
    Path("keys of ours").write_text("a\nb\n")
    Path("damaged.parquet").write_bytes(b"PAR1 and no more")
    columns = {"taxi": [1], "zone": ["a"], "hour": [1], "night": [True], "day": [date(2026, 1, 1)]}
    return ln.table(pa.table(columns), unit="taxi")


@pytest.mark.parametrize(
    ("column", "text", "keys"),
    [
        ("hour", "0:24", range(24)),
        ("hour", "-3:4", range(-3, 4)),
        ("hour", "1,2,3", [1, 2, 3]),
        ("zone", "1,2,3", ["1", "2", "3"]),
        ("zone", "port,park", ["port", "park"]),
        ("zone", "zones.csv:name", ["port", "park"]),
        ("zone", "upper.CSV:name", ["port", "park"]),
        ("hour", "nodes.parquet:id", [3, 1]),
        ("zone", "zones.geojson:name", ["port", "park"]),
        ("hour", "zones.geojson", [7, 8]),
        ("zone", "a:b,c", ["a:b", "c"]),
        ("zone", "www.example.org:80", ["www.example.org:80"]),
        ("zone", "St. John's:east,e.g.:x", ["St. John's:east", "e.g.:x"]),
        ("night", "false,true", [False, True]),
        ("night", "True,False", [True, False]),
        ("zone", "true,false", ["true", "false"]),
        ("day", "2026-01-02,2026-01-01", [date(2026, 1, 2), date(2026, 1, 1)]),
    ],
)
def test_every_way_of_writing_keys(table: ln.Table, column: str, text: str, keys: Any) -> None:
    assert parse_keys(table, [column], [text]) == keys
    assert parse_keys(table, [column, column], [text, text]) == [keys, keys]


def test_a_day_that_is_none_is_refused(table: ln.Table) -> None:
    with pytest.raises(errors.BadDomain, match="no day 2026-02-30"):
        parse_keys(table, ["day"], ["2026-02-30"])


@pytest.mark.parametrize(
    ("text", "mistake", "words"),
    [
        ("zones.csv", errors.BadDomain, "--keys zones.csv:COLUMN"),
        ("none.csv:name", errors.NoSuchFile, "no file"),
        ("zones.csv:nam", errors.UnknownColumn, 'Did you mean "name"'),
        ("damaged.parquet:id", errors.FileProblem, "could not be read"),
        ("z.geojson:name", errors.NoSuchFile, "no file 'z.geojson' with zones"),
        ("zones.geojson:nam", errors.InvalidParameter, "as its 'nam'"),
        ("z.json:name", errors.NoSuchFile, "no file 'z.json' with zones"),
        ("x.xlsx:name", errors.BadDomain, "Keys are read from .parquet, .csv, .geojson, .json and .toml files"),
        ("x.XLSX", errors.BadDomain, "list it in a keys.toml"),
        ("maps/z.shp:name", errors.BadDomain, "zones.geojson:name"),
        ("nodes.csv.gz:id", errors.BadDomain, "Keys are read from"),
        ("keys of ours:a", errors.BadDomain, "Keys are read from"),
    ],
)
def test_keys_that_cannot_be_read_are_refused(table: ln.Table, text: str, mistake: type, words: str) -> None:
    with pytest.raises(mistake) as refused:
        parse_keys(table, ["zone"], [text])
    assert words in refused.value.message  # type: ignore[attr-defined]
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


def test_keys_may_be_said_with_their_columns_in_any_order(table: ln.Table) -> None:
    assert parse_keys(table, ["zone"], ["zone=port,park"]) == ["port", "park"]
    assert parse_keys(table, ["zone", "hour"], ["hour=0:24", "zone=port,park"]) == [["port", "park"], range(24)]
    assert parse_keys(table, ["zone"], ["size=big,mid"]) == ["size=big", "mid"]  # no column of the bins
    with pytest.raises(errors.BadDomain, match="every --keys with its column, or none"):
        parse_keys(table, ["zone", "hour"], ["zone=port,park", "0:24"])


def test_one_keys_for_each_by(table: ln.Table) -> None:
    with pytest.raises(errors.BadDomain, match="one --keys for each --by, 2 of them"):
        parse_keys(table, ["zone", "hour"], ["a,b"])


def test_a_file_of_keys_serves_all_columns(table: ln.Table) -> None:
    Path("keys.toml").write_text('zone = ["port", "park"]\nhour = { range = [0, 24] }\nother = [1]\n')
    assert parse_keys(table, ["hour"], ["keys.toml"]) == range(24)
    assert parse_keys(table, ["hour", "zone"], ["keys.toml"]) == [range(24), ["port", "park"]]
    assert parse_keys(table, ["hour", "zone"], ["keys.toml", "a,b"]) == [range(24), ["a", "b"]]
    with pytest.raises(errors.BadDomain, match=r"has no keys for taxi\. It has them for zone, hour, other"):
        parse_keys(table, ["hour", "taxi"], ["keys.toml"])
    with pytest.raises(errors.BadDomain, match="one --keys for each --by"):
        parse_keys(table, [], ["keys.toml"])


def test_only_what_is_asked_for_must_be_filled_in(table: ln.Table) -> None:
    Path("keys.toml").write_text('zone = []\nhour = { range = [0, 2] }\nmonth = { range = [] }\nsex = ["f", "m"]\n')
    keys = ln.domain.read("keys.toml")
    assert parse_keys(table, ["hour"], ["keys.toml"]) == range(2)
    rows = ln.table(pd.DataFrame({"who": [1], "zone": ["a"], "hour": [1], "month": [3], "sex": ["f"]}), unit="who")
    assert rows.histogram("hour", keys=keys, max_rows=1).domain.size == 2
    assert rows.crosstabs(("hour", "sex"), keys=keys, max_rows=1).bins == 6
    both = r'"zone" \(line 1\), "month" \(line 3\)\. Fill them in'
    for ask, columns in (
        (lambda: rows.histogram("zone", keys=keys, max_rows=1), r'"zone" \(line 1\)\. Fill them in'),
        (lambda: rows.histogram("zone", "hour", "month", keys=keys, max_rows=1), both),
        (lambda: rows.mean("hour", clip=(0, 1), by=["zone", "month"], keys=keys, max_rows=1), both),
        (lambda: rows.crosstabs(("hour", "zone"), "month", keys=keys, max_rows=1), both),
        (lambda: rows.crosstabs(ways=1, keys=keys, max_rows=1), both),
        (lambda: rows.suggest_limits("zone", "month", keys=keys, epsilon=1, delta=1e-6), both),
    ):
        with pytest.raises(errors.BadDomain, match=rf"'keys\.toml' has no keys yet for {columns}"):
            ask()


PEOPLE = "who,zone,month,fare\n1,port,1,3.5\n2,park,2,-999\n3,port,12,NA\n"


def test_a_template_is_filled_in_and_used(table: ln.Table) -> None:
    """`leastnoise keys` writes what is known and leaves the rest open; no cell of the table is in it."""
    Path("people.csv").write_text(PEOPLE)
    words = ["keys", "people.csv", "--unit", "who", "--known", "month=1:13", "-o", "mine.toml"]
    made = run(*words)
    assert (made.returncode, "Written: mine.toml" in made.stdout) == (0, True), made.stderr
    text = Path("mine.toml").read_text()
    assert "zone = []" in text
    assert "month = { range = [1, 13] }" in text
    assert not {"port", "park", "-999", "who ="} & set(text.replace("\n", " ").split(" "))
    Path("people.csv").write_text(PEOPLE.replace("port", "quay"))
    assert run(*words[:-1], "again.toml").returncode == 0
    assert Path("again.toml").read_text() == text
    again = run(*words)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    assert Path("mine.toml").read_text() == text
    Path("mine.toml").write_text('zone = { file = "zones.csv", column = "name" }\nmonth = { range = [1, 13] }\n')
    assert parse_keys(table, ["zone", "month"], ["mine.toml"]) == [["port", "park"], range(1, 13)]


def test_what_is_known_names_a_column_and_its_keys(table: ln.Table) -> None:
    Path("people.csv").write_text(PEOPLE)
    for known, words in (("month", "COLUMN=KEYS"), ("who=1:3", "names the unit"), ("mnoth=1:13", "month")):
        made = run("keys", "people.csv", "--unit", "who", "--known", known, "-o", "mine.toml")
        assert (made.returncode, words in made.stderr) == (2, True), (known, made.stderr)
    assert not Path("mine.toml").exists()


def test_words_for_a_missing_value_are_no_keys_and_no_numbers(table: ln.Table) -> None:
    Path("people.csv").write_text(PEOPLE)
    rows = ln.table("people.csv", unit="who", types={"fare": "float"}, missing=["NA", "-999"])
    assert aggregate(rows.where("fare is null").count(max_rows=1)).values.tolist() == [2]


def test_a_page_is_drawn_on_zones(table: ln.Table) -> None:
    shown = ["histogram", "points.parquet", "--unit", "who", "--by", "zone", "--keys", "zones.geojson:name"]
    pq.write_table(pa.table({"who": [1, 2], "zone": ["port", "park"]}), "points.parquet")
    asked = [*shown, "--max-rows", "1", "--epsilon", "1", "--delta", "1e-6", "-o", "out.parquet"]
    assert run_here(*asked)[0] == 0
    assert run_here("report", "out.parquet", "--zones", "zones.geojson:name")[0] == 0
    page = Path("out.html").read_text()
    assert 'aria-label="A map of 2 zones.' in page
    assert sorted(re.findall(r'class="area [^"]*" data-bin="(\d)"', page)) == ["0", "1"]
    Path("unnamed.geojson").write_text(json.dumps(ZONES).replace('"id"', '"number"'))
    code, _, err = run_here("report", "out.parquet", "--zones", "unnamed.geojson")
    assert (code, "Say --zones unnamed.geojson:name." in " ".join(err.split())) == (2, True)
    code, _, err = run_here(*[word.replace("zones.geojson:name", "unnamed.geojson") for word in asked])
    assert (code, "Say --keys unnamed.geojson:name." in " ".join(err.split())) == (2, True)
