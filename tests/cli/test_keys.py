"""--keys: ranges, lists, and columns of public files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli.keys import parse_keys


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ln.Table:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [3, 1]}), "nodes.parquet")
    Path("zones.csv").write_text("name,n\nport,1\npark,2\n")
    Path("damaged.parquet").write_bytes(b"PAR1 and no more")
    return ln.table(pa.table({"taxi": [1], "zone": ["a"], "hour": [1]}), unit="taxi")


@pytest.mark.parametrize(
    ("column", "text", "keys"),
    [
        ("hour", "0:24", range(24)),
        ("hour", "-3:4", range(-3, 4)),
        ("hour", "1,2,3", [1, 2, 3]),
        ("zone", "1,2,3", ["1", "2", "3"]),
        ("zone", "port,park", ["port", "park"]),
        ("zone", "zones.csv:name", ["port", "park"]),
        ("hour", "nodes.parquet:id", [3, 1]),
    ],
)
def test_every_way_of_writing_keys(table: ln.Table, column: str, text: str, keys: Any) -> None:
    assert parse_keys(table, [column], [text]) == keys
    assert parse_keys(table, [column, column], [text, text]) == [keys, keys]


def test_without_keys_there_are_none(table: ln.Table) -> None:
    assert parse_keys(table, ["hour"], None) is None


@pytest.mark.parametrize(
    ("text", "mistake", "words"),
    [
        ("zones.csv", errors.BadDomain, "--keys zones.csv:COLUMN"),
        ("none.csv:name", errors.NoSuchFile, "no file"),
        ("zones.csv:nam", errors.UnknownColumn, 'Did you mean "name"'),
        ("damaged.parquet:id", errors.FileProblem, "could not be read"),
    ],
)
def test_keys_that_cannot_be_read_are_refused(table: ln.Table, text: str, mistake: type, words: str) -> None:
    with pytest.raises(mistake) as refused:
        parse_keys(table, ["zone"], [text])
    assert words in refused.value.message  # type: ignore[attr-defined]
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


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
    Path("keys.toml").write_text("zone = []\n")
    with pytest.raises(errors.BadDomain, match=r'no keys yet for "zone" \(line 1\)'):
        parse_keys(table, ["zone"], ["keys.toml"])
