"""Keys as a file: what is written comes back, and every mistake names its file, line and column."""

from __future__ import annotations

import random
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastnoise as ln
from fuzzing import damaged, survives
from leastnoise import errors
from leastnoise.domain import Days, Edges, Hours, Keys, Labelled, OrOther, Steps, axis, parse, with_other
from leastnoise.domain.product import Unfilled

EVERY = """
district = ["Harbour", "Old Town"]
age = { range = [18, 100] }
code = { range = [0, 100, 10] }
income = { edges = [0, 1000, 2500.5] }
height = { bins = 4, between = [1.0, 3] }
day = { days = [2026-01-01, 2026-02-01] }
hour = { hours = [2026-01-01T00:00:00, 2026-01-02T00:00:00] }
born = [2026-01-01, 2026-01-03]
member = [false, true]
junction = { file = "nodes.parquet", column = "id" }
zone = { file = "zones.csv", column = "id", labels = "name", other = true }
sex = { keys = [1, 2], labels = ["men", "women"] }
group = { edges = [0, 18, 65], labels = ["young", "grown"] }

["a job"]
keys = ["nurse", "cook"]
other = true

[answer]
keys = ["yes", "no"]
other = "no answer"
"""
MEANT: dict[str, Any] = {
    "district": ["Harbour", "Old Town"],
    "age": range(18, 100),
    "code": range(0, 100, 10),
    "income": Edges((0.0, 1000.0, 2500.5)),
    "height": Edges((1.0, 1.5, 2.0, 2.5, 3.0)),
    "day": Days(date(2026, 1, 1), date(2026, 2, 1)),
    "hour": Hours(datetime(2026, 1, 1), datetime(2026, 1, 2)),
    "born": [date(2026, 1, 1), date(2026, 1, 3)],
    "member": [False, True],
    "junction": [3, 1],
    "zone": OrOther(Labelled(Keys((7, 8)), ("port", "park"))),
    "sex": Labelled(Keys((1, 2)), ("men", "women")),
    "group": Labelled(Edges((0.0, 18.0, 65.0)), ("young", "grown")),
    "a job": with_other(["nurse", "cook"]),
    "answer": with_other(["yes", "no"], "no answer"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": [3, 1]}), tmp_path / "nodes.parquet")
    (tmp_path / "zones.csv").write_text("id,name\n7,port\n8,park\n")
    return tmp_path


def keys_in(folder: Path, text: str) -> dict[str, Any]:
    (folder / "keys.toml").write_text(text)
    return ln.domain.read(folder / "keys.toml")


def test_every_kind_of_entry_is_read(folder: Path) -> None:
    found = keys_in(folder, EVERY)
    assert found == MEANT
    assert [type(found[column]) for column in found] == [type(MEANT[column]) for column in MEANT]


def test_what_is_written_comes_back(folder: Path) -> None:
    path = ln.domain.write(folder / "made.toml", MEANT)
    back = ln.domain.read(path)
    assert {column: axis(keys) for column, keys in back.items()} == {c: axis(k) for c, k in MEANT.items()}
    with pytest.raises(errors.BadOutput, match="is there already"):
        ln.domain.write(path, {"a": [1]})
    assert ln.domain.read(path).keys() == MEANT.keys()
    assert sorted(each.name for each in folder.iterdir()) == ["made.toml", "nodes.parquet", "zones.csv"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        TEXT,
        st.one_of(
            st.lists(TEXT, min_size=1, max_size=4, unique=True),
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4, unique=True),
            st.lists(st.dates(), min_size=1, max_size=3, unique=True),
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5, unique=True).map(
                lambda edges: Edges(tuple(sorted(edges)))
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_names_and_keys_come_back(tmp_path: Path, keys: dict[str, Any]) -> None:
    path = tmp_path / "any.toml"
    path.unlink(missing_ok=True)
    back = ln.domain.read(ln.domain.write(path, keys))
    assert {column: axis(found) for column, found in back.items()} == {c: axis(k) for c, k in keys.items()}


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ('a = [1]\nb = "0:24"', errors.WrongType, 'line 2, column "b": keys are a list'),
        ("a = { rang = [0, 3] }", errors.BadDomain, 'line 1, column "a": one of keys, ordered, range, edges'),
        ("a = { range = [0, 3], edges = [0, 1] }", errors.BadDomain, "Got range and edges"),
        ("a = { range = [0, 3], lables = [] }", errors.InvalidParameter, 'Did you mean "labels"'),
        ("\n[a]\nrange = [3, 3]", errors.BadDomain, 'line 2, column "a": the range from 3 to 3'),
        ("a = { range = [0, 3.5] }", errors.WrongType, "cut by edges"),
        ("a = { range = [0] }", errors.WrongType, "list of 2 or 3"),
        ('"a b" = { edges = [1, 1] }', errors.BadDomain, 'line 1, column "a b": edges must be'),
        ("a = { edges = [0, inf] }", errors.InvalidParameter, "finite"),
        ("a = { edges = [0, true] }", errors.WrongType, "must be numbers"),
        ("a = [0.5, 1.5]", errors.WrongType, "binned by edges"),
        ('a = ["x", "x"]', errors.BadDomain, "given twice"),
        ("a = { bins = 4 }", errors.WrongType, "between must be a list of 2"),
        ("a = { bins = 0, between = [0, 1] }", errors.BadDomain, "from 1 to 2"),
        ('a = { days = ["2026-01-01", "2026-02-01"] }', errors.WrongType, "without quotes"),
        ("a = { days = [2026-01-01T00:00:00, 2026-02-01T00:00:00] }", errors.WrongType, "two dates"),
        ("a = { hours = [2026-01-01, 2026-01-02] }", errors.WrongType, "two datetimes"),
        ('a = { file = "nodes.parquet" }', errors.BadDomain, "must name a column"),
        ('a = { file = "none.parquet", column = "id" }', errors.NoSuchFile, 'line 1, column "a": There is no file'),
        ('a = { file = "nodes.parquet", column = "i" }', errors.UnknownColumn, 'no column "i"'),
        ('a = { file = "nodes.txt", column = "i" }', errors.BadDomain, "end in .parquet or .csv"),
        ('a = { keys = [1, 2], labels = ["x"] }', errors.BadDomain, "2 keys and 1 labels"),
        ("a = { keys = [1, 2], other = 1 }", errors.WrongType, "true, or the label"),
        ('a = { keys = ["Missing or other"], other = true }', errors.BadDomain, "another label"),
        ('a = { keys = ["b", "c"], other = "B" }', errors.BadDomain, "another label"),
        ('a = { keys = ["b", "c"], other = false }', errors.WrongType, "--no-other"),
        ("", errors.BadDomain, "has no keys"),
        ("a = [1\nb = [2]", errors.InvalidParameter, "cannot be read as TOML"),
        ("a = nothing", errors.InvalidParameter, "line 1"),
    ],
)
def test_a_mistake_names_its_place(folder: Path, text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        keys_in(folder, text)
    assert words in str(caught.value)
    assert "keys.toml" in str(caught.value)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(errors.NoSuchFile, match="keys"):
        ln.domain.read(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.FileProblem, match="UTF-8"):
        ln.domain.read(tmp_path / "binary.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises((errors.FileProblem, errors.InvalidParameter), match="TOML"):
        ln.domain.read(tmp_path / "deep.toml")


def test_axes_without_a_word_in_the_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.WrongType, match='"a" are Steps'):
        ln.domain.write(tmp_path / "k.toml", {"a": Steps(0.0, 1.0, 3)})
    assert list(tmp_path.iterdir()) == []


ROWS: dict[str, Any] = {
    "who": pa.array([1, 2], pa.int64()),
    "sex": pa.array(["m", None], pa.string()),
    'a "name"\n\x7f': pa.array([1, 2], pa.int32()),
    "income": pa.array([0.5, None], pa.float64()),
    "owner": pa.array([True, False]),
    "born": pa.array([date(2000, 1, 1), None]),
    "seen": pa.array([datetime(2000, 1, 1), None]),
    "level": pa.array(["low", "high"]).dictionary_encode(),
    "parts": pa.array([[1], [2]]),
}
FULL = pa.table(ROWS)


def template_of(table: Any, path: Path) -> str:
    ln.table(table, unit="who").write_keys(path)
    return path.read_text()


def test_a_template_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    text = template_of(FULL, tmp_path / "k.toml")
    with pytest.raises(errors.BadDomain) as caught:
        ln.table(FULL, unit="who").crosstabs(ways=1, keys=ln.domain.read(tmp_path / "k.toml"), max_rows=1)
    to_do = ["sex", "income", "born", "seen", "level"]
    assert all(f'"{column}" (line ' in str(caught.value) for column in to_do)
    assert '"owner"' not in str(caught.value)
    assert "who" not in text.replace("whole", "")  # the unit is not released
    assert "low" not in text.replace("below", "")
    filled = text.replace("{ range = [] }", "{ range = [0, 3] }").replace("{ edges = [] }", "{ edges = [0, 1] }")
    filled = filled.replace("{ days = [] }", "{ days = [2000-01-01, 2000-02-01] }")
    filled = filled.replace("sex = []", 'sex = ["m", "f"]')
    filled = filled.replace("level = []", 'level = ["low", "high"]')
    (tmp_path / "filled.toml").write_text(filled)
    keys = ln.domain.read(tmp_path / "filled.toml")
    usable = [column for column in ROWS if column not in ("who", "parts")]
    assert list(keys) == usable
    for column in usable:  # each entry is of a kind that its column takes
        ln.table(FULL, unit="who").histogram(column, keys=keys, max_rows=1)


def test_a_template_never_depends_on_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def poisoned(*_: object, **__: object) -> Any:
        raise AssertionError("a row was read")

    monkeypatch.setattr("leastnoise.curator.engines.duckdb.DuckDB.fetch", poisoned)
    full, empty = template_of(FULL, tmp_path / "full.toml"), template_of(FULL.slice(0, 0), tmp_path / "empty.toml")
    assert full == empty
    pq.write_table(FULL, tmp_path / "full.parquet")
    pq.write_table(FULL.slice(0, 0), tmp_path / "empty.parquet")
    files = [template_of(tmp_path / f"{name}.parquet", tmp_path / f"{name}2.toml") for name in ("full", "empty")]
    assert files[0] == files[1]


def test_categories_of_a_frame_are_not_written(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": [1, 2], "level": pandas.Categorical(["secret1", "secret2"])})
    text = template_of(frame, tmp_path / "k.toml")
    assert "secret" not in text
    other = frame.assign(level=pandas.Categorical(["else", "else"]))
    assert template_of(other, tmp_path / "o.toml") == text


def test_a_template_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text("a = [1]\n")
    with pytest.raises(errors.BadOutput, match="would be lost"):
        ln.table(FULL, unit="who").write_keys(tmp_path / "keys.toml")
    assert (tmp_path / "keys.toml").read_text() == "a = [1]\n"
    with pytest.raises(errors.BadOutput, match="directory does not exist"):
        ln.table(FULL, unit="who").write_keys(tmp_path / "no" / "keys.toml")


def test_lines_are_found_in_every_way_of_writing() -> None:
    from leastnoise._support.toml import TomlFile

    text = "# age\n'age' = 1\n\n[keys]\nsex.keys = [1]\n[keys.\"old town\"]\nrange = [0, 1]\n[[ask]]\nkind = 'count'\n"
    file = TomlFile("f", {}, text)
    assert [file.line(*names.split("/")) for names in ("age", "keys/sex", "keys/old town", "ask/kind", "no")] == [
        2, 5, 6, 9, None
    ]  # fmt: skip
    assert (file.place("no"), file.place("age")) == ("f", "f, line 2")


def test_a_damaged_file_is_read_or_refused_and_nothing_else(folder: Path) -> None:
    path, chance, refusals = folder / "keys.toml", random.Random(4), 0
    for _ in range(400):
        path.write_bytes(damaged(EVERY.encode(), chance))
        found = survives(lambda: ln.domain.read(path))
        refusals += not isinstance(found, dict)
    assert 50 < refusals < 400  # some damage leaves keys, most does not


LEAF = st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.dates(), st.datetimes())


@given(
    st.recursive(
        LEAF,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["keys", "range", "edges", "bins", "between", "days", "hours", "file",
                                             "column", "labels", "other"]), inner, max_size=3),
        ),
        max_leaves=8,
    )
)  # fmt: skip
def test_any_entry_is_keys_or_refused(entry: Any) -> None:
    found = survives(lambda: parse({"a": entry}, place=lambda _: "f, line 1", folder=Path("/nowhere"), path="f"))
    if isinstance(found, dict) and not isinstance(found["a"], Unfilled):
        assert axis(found["a"]).size > 0
