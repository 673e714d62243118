"""`leastnoise summarize`, and the same as a job: statistics as people type them."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run
from leastnoise import datasets
from leastnoise.jobs.calls import make
from leastnoise.jobs.statistics import parse
from page_parser import Page

TYPED = [
    *("--unit", "person", "--by", "sex", "--keys", "female,male", "--max-rows", "1", "--stat", "n=count"),
    *("--stat", "age=mean:age:0:100", "--stat", "old=rate:age > 66", "--epsilon", "1", "--delta", "1e-6"),
    *("--stat", "per_year=ratio:income:0:100000:age:1:100"),
]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(datasets.people(2000), tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def done(*typed: str) -> str:
    code, out, err = run(*typed)
    assert (code, err) == (0, "")
    return out


def titles(page: str) -> list[str]:
    """What the page calls each statistic, in its chart and its table."""
    return [measure["title"] for measure in Page(Path(page).read_text()).found["tables"][0]["measures"]]


def test_a_summary_from_file_to_page() -> None:
    out = done("summarize", "people.parquet", *TYPED, "--weights", "n=4", "-o", "r.parquet")
    assert "female" in out
    assert "[" in out
    made = ln.load("r.parquet")
    assert list(made) == ["n", "age", "old", "per_year"]
    assert [figure.weight for figure in made.figures] == [4.0, 1.0, 1.0, 1.0]
    assert "released together" in done("show", "r.parquet")
    done("report", "r.parquet", "-o", "page.html")
    assert titles("page.html") == ["n", "age", "old", "per_year"]
    facts = json.loads(done("summarize", "people.parquet", *TYPED, "-o", "s.parquet", "--json"))
    assert facts["rows"][0]["sex"] == "female"


@pytest.mark.parametrize(
    "stat",
    [
        *("x", "x=", "=count", "x=counts", "x=mean:age", "x=mean:age:0:old", "x=rate:", "x=count:age", "x=mode:age"),
        *("x=ratio:income:0:9", "x=ratio:income:0:9:age", "x=ratio:income:0:9:age:1:old"),
    ],
)
def test_what_is_no_statistic_is_refused(stat: str) -> None:
    code, out, err = run("summarize", "people.parquet", *TYPED, "--stat", stat, "-o", "r.parquet")
    assert (code, out) == (2, "")
    assert "--stat" in err


def test_statistics_are_read_as_they_are_written() -> None:
    texts = {
        "a": "count", "b": "std:x:y:-1:2.5", "c": "rate:x = ':'", "d": "share", "e": "ratio:x:y:-1:2:z:0:3"
    }  # fmt: skip
    assert {name: make(call, {}) for name, call in parse(texts).items()} == {
        "a": ln.stats.count(),
        "b": ln.stats.std("x:y", clip=(-1.0, 2.5)),
        "c": ln.stats.rate("x = ':'"),
        "d": ln.stats.share(),
        "e": ln.stats.ratio("x:y", "z", clip=(-1.0, 2.0), over_clip=(0.0, 3.0)),
    }


@pytest.mark.parametrize("name", list(inspect.signature(ln.Table.summarize).parameters))
def test_a_statistic_is_not_called_like_an_argument_of_summarize(name: str) -> None:
    code, out, err = run("summarize", "people.parquet", *TYPED, "--stat", f"{name}=count", "--expect")
    if name in ("self", "by", "statistics"):  # given by position, or not at all: free to use
        assert code == 0
        assert name in out
    else:
        assert (code, out) == (2, "")
        assert f"cannot be called '{name}'" in err


@pytest.mark.parametrize(
    ("stat", "said"),
    [("age=mean:age:5:1", "age:1:5 in the statistic"), ("r=ratio:income:0:9:age:-1:9", "age:0:100 in the statistic")],
)
def test_wrong_ends_are_answered_as_they_are_typed(stat: str, said: str) -> None:
    code, _, err = run("summarize", "people.parquet", *TYPED, "--stat", stat.replace("age=", "years="), "--expect")
    assert code == 2
    assert said in " ".join(err.split())
    assert "--clip" not in err
