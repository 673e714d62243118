"""`crosstabs`, `show`, `denoise` and `report` on a set of tables: a file in, what people read out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run
from leastnoise import datasets

KEYS = (
    'sex = ["female", "male"]\nage = { edges = [0, 18, 67, 100] }\njob = { keys = ["care", "health"], other = true }\n'
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    pq.write_table(datasets.people(3000), folder / "people.parquet")
    (folder / "keys.toml").write_text(KEYS)
    (folder / "totals.csv").write_text("sex,people\nmale,1450\nfemale,1550\nmissing or other,0\n")
    typed = ["--unit", "person", "--keys", "keys.toml", "--ways", "2", "--max-rows", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done("crosstabs", "people.parquet", *typed, "--epsilon", "1", "--delta", "1e-6", "-o", "set.parquet")
        done("denoise", "set.parquet", "--known", "sex=totals.csv:people", "-o", "estimate.parquet")
    return folder


@pytest.fixture(autouse=True)
def inside(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("COLUMNS", "200")


def done(*typed: str) -> str:
    code, out, err = run(*typed)
    assert (code, err) == (0, "")
    return out


def refused(*typed: str) -> str:
    code, out, err = run(*typed)
    assert (code, out) == (2, "")
    return " ".join(err.split())


def test_a_set_is_shown_with_all_its_tables() -> None:
    release = ln.load("set.parquet")
    out = done("show", "set.parquet")
    for table in release.tables[1:]:
        assert " x ".join(table) in out
    assert "released together" in out
    assert "add-remove" in out
    facts = json.loads(done("show", "set.parquet", "--json"))
    assert facts["what"] == "CrosstabsRelease"
    assert facts["tables"] == [list(table) for table in release.tables]


def test_one_table_is_shown_with_its_rows() -> None:
    facts = json.loads(done("show", "set.parquet", "--table-by", "job, sex", "--json"))
    want = ln.load("set.parquet")["sex", "job"].to_arrow().to_pylist()
    assert (facts["rows"], facts["first"]) == (9, want)
    assert "female" in done("show", "set.parquet", "--table-by", "sex")
    (total,) = json.loads(done("show", "set.parquet", "--table-by", "", "--json"))["first"]
    assert total["value"] == ln.load("set.parquet").total().value


def test_a_denoised_set_is_shown() -> None:
    out, estimate = done("show", "estimate.parquet"), ln.load("estimate.parquet")
    assert "noise taken back out" in out
    assert "at most (95 %)" in out
    assert "better beyond chance" in out
    assert len(re.findall(r"│ +no │$", out, re.MULTILINE)) == len(estimate.tables_not_better) > 0
    (line,) = [line for line in out.splitlines() if line.startswith("│ sex x age")]
    assert f"{estimate['sex', 'age'].rmse_at_most(0.95).value:.3g}" in line
    facts = json.loads(done("show", "estimate.parquet", "--table-by", "sex", "--json"))
    assert [row["value"] for row in facts["first"]] == pytest.approx([1550, 1450, 0])


def test_headers_break_between_words_at_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No word of a header is cut in two, where keys and numbers leave the room."""
    monkeypatch.setenv("COLUMNS", "80")
    keys = {"district": [f"the district of {name}" for name in ("harbour", "hill", "park")], "age": ["young", "old"]}
    rows = pd.DataFrame({"who": range(300), "district": keys["district"] * 100, "age": keys["age"] * 150})
    query = ln.table(rows, unit="who").histogram("district", "age", keys=keys, max_rows=1)
    query.release(epsilon=0.1, delta=1e-6).denoise().save("counts.parquet")
    head = done("show", "counts.parquet").split("┡")[0]
    assert {"district", "age", "value", "low", "high", "denoised", "error", "noisy"} <= set(re.findall(r"\w+", head))


def test_other_kinds_are_shown_too() -> None:
    made = ln.release(np.arange(20), sensitivity=1, epsilon=1, delta=1e-6)
    made.save("vector.parquet")
    out = done("show", "vector.parquet")
    assert "the first 12 of 20 rows" in " ".join(out.split())
    assert "the first" not in done("show", "vector.parquet", "--rows", "20")
    assert len(json.loads(done("show", "vector.parquet", "--rows", "15", "--json"))["first"]) == 15
    assert made.explain().splitlines()[0][:60] in out
    assert "no set of tables" in refused("show", "vector.parquet", "--table-by", "sex")
    assert "sets of tables alone" in refused("denoise", "vector.parquet", "--known", "a=b:c", "-o", "x.parquet")


def test_public_totals_are_held_from_a_file() -> None:
    estimate = ln.load("estimate.parquet")
    assert estimate.known == (("sex",),)
    np.testing.assert_allclose(estimate["sex"].values, [1550, 1450, 0], atol=1e-9)
    np.testing.assert_allclose(estimate["sex", "age"].to_numpy().sum(axis=1), [1550, 1450, 0], atol=1e-9)


def test_a_page_shows_the_set_and_its_estimate() -> None:
    assert "Written" in done("report", "set.parquet", "-o", "set.html", "--title", "Who is where")
    page = Path("set.html").read_text()
    assert "Who is where" in page
    assert "Give the file of that release" in refused("report", "estimate.parquet", "-o", "no.html")
    assert "without a map" in refused("report", "set.parquet", "-o", "no.html", "--graph", "path")
    assert not Path("no.html").exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--graph", "path"], "--graph is not for sets of tables"),
        (["--method", "james_stein"], "--method is not for sets of tables"),
        (["--known", "sex"], "district=totals.csv:people"),
        (["--known", "sex=none.csv:people"], "none.csv"),
        (["--known", "sex=totals.csv:nobody"], "nobody"),
        (["--known", "city=totals.csv:people"], "city"),
        (["--known", "sex=half.csv:people"], "has no value for 'male'"),
        (["--known", "sex=twice.csv:people"], "two values for one key"),
    ],
)
def test_what_cannot_be_denoised_so_is_refused(typed: list[str], words: str) -> None:
    Path("half.csv").write_text("sex,people\nfemale,1\n")
    Path("twice.csv").write_text("sex,people\nfemale,1\nfemale,2\nmale,3\n")
    assert words in refused("denoise", "set.parquet", *typed, "-o", "none.parquet")
    assert not Path("none.parquet").exists()


def test_cumulative_sums_and_ranges_are_options(tmp_path: Path) -> None:
    typed = ["--unit", "person", "--keys", "keys.toml", "--ways", "2", "--max-rows", "1", "--mechanism", "gaussian"]
    to = ["--epsilon", "1", "--delta", "1e-6", "-o", str(tmp_path / "sums.parquet")]
    expected = done("crosstabs", "people.parquet", *typed, "--cumulative", "age", *to, "--expect").splitlines()
    assert any(line.startswith("  table") and line.endswith("sums: std") for line in expected)  # not wrapped
    done("crosstabs", "people.parquet", *typed, "--cumulative", "age", *to)
    found = ln.load(tmp_path / "sums.parquet")
    assert dict(found.workload.asked) == {"age": "prefix"}  # type: ignore[union-attr]
    assert "cumulative sum of age" in done("show", str(tmp_path / "sums.parquet"))
    assert "Written" in done("report", str(tmp_path / "sums.parquet"))  # nothing denoises it: a page without
    assert "need keys with an order" in refused("crosstabs", "people.parquet", *typed, "--ranges", "sex", *to)
    both = ["--ranges", "age", "--cumulative", "age"]
    assert "named twice" in refused("crosstabs", "people.parquet", *typed, *both, *to)


def test_a_tree_is_in_a_file_of_keys_for_commands_and_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(datasets.people(2000), "people.parquet")
    districts = list(datasets.people_keys()["district"])
    lines = [f"{'north' if place < 5 else 'south'},{name}" for place, name in enumerate(districts)]
    Path("places.csv").write_text("\n".join(["half,district", *lines, ""]))
    Path("keys.toml").write_text(
        'district = { tree = "places.csv", levels = ["half", "district"] }\nsex = ["female", "male"]\n'
    )
    typed = ["--unit", "person", "--keys", "keys.toml", "--table-by", "district", "--table-by", "half,sex"]
    promise = ["--max-rows", "1", "--epsilon", "1", "--delta", "1e-6"]
    done("crosstabs", "people.parquet", *typed, *promise, "-o", "set.parquet")
    made = ln.load("set.parquet")
    np.testing.assert_allclose(made["half", "sex"].to_numpy().sum(axis=1), made["half"].values)
    assert "north" in done("show", "set.parquet", "--table-by", "half")
    two = refused("crosstabs", "people.parquet", *typed, "--table-by", "half,district", *promise, "-o", "two.parquet")
    assert "two levels of one tree" in two
    Path("job.toml").write_text(
        'keys = "keys.toml"\n[table]\nsource = "people.parquet"\nunit = "person"\n'
        '[ask]\nkind = "crosstabs"\ntables = ["half", "district"]\nmax_rows = 1\n'
        '[privacy]\nepsilon = 1\ndelta = 1e-6\n[output]\nrelease = "job.parquet"\npage = "job.html"\n'
    )
    done("run", "job.toml")
    assert ln.load("job.parquet").tables == (("half",), ("district",))
    assert "half › district" in Path("job.html").read_text()
    job = Path("job.toml").read_text().replace('"half", "district"]', '["district", "sex"], ["district", "age"]]')
    Path("keys.toml").write_text(Path("keys.toml").read_text() + "age = { edges = [0, 40, 100] }\n")
    Path("job.toml").write_text(job.replace("job.parquet", "both.parquet") + 'estimate = "denoised.parquet"\n')
    assert "cannot be denoised" in refused("run", "job.toml")  # sex beside age: refused before anything is released
    assert not Path("both.parquet").exists()
    Path("job.toml").write_text(job.replace("job.parquet", "both.parquet").replace("job.html", "both.html"))
    done("run", "job.toml")
    assert "half › district" in Path("both.html").read_text()


ASK = ("crosstabs", "people.parquet", "--unit", "person", "--keys", "keys.toml", "--ways", "1", "--max-rows", "1")
PRIVACY = ("--epsilon", "1", "--delta", "1e-6", "--expect")


def cells(*typed: str) -> dict[str, int]:
    facts = json.loads(done(*ASK, *PRIVACY, "--json", *typed))
    return {"".join(line["table"]): line["cells"] for line in facts["tables"] if line["table"]}


def test_missing_and_unlisted_values_have_a_key_unless_said_otherwise() -> None:
    assert cells() == cells("--other-label", "no answer") == {"sex": 3, "age": 3, "job": 3}
    assert cells("--other") == {"sex": 3, "age": 4, "job": 3}
    assert cells("--no-other") == {"sex": 2, "age": 3, "job": 3}  # that of job is typed in the file
    out = " ".join(done(*ASK, *PRIVACY).split())
    assert "Left out of every table: rows whose age is missing or not one of its keys;" in out
    assert re.search(r'"missing or other" is one more key of sex: [\d.]+ per cell; [\d.]+ with other=False', out)
    assert '"no answer" is one more key of sex' in done(*ASK, *PRIVACY, "--other-label", "no answer")


def test_a_label_that_cannot_be_is_refused_with_what_to_type() -> None:
    said = refused(*ASK, *PRIVACY, "--other-label", "Male")
    assert '--other-label "no answer", or --no-other' in said
    assert "--other-label names the key" in refused(*ASK, *PRIVACY, "--other", "--other-label", "x")


def test_a_public_table_without_the_key_for_all_others_is_refused_with_what_to_add() -> None:
    Path("few.csv").write_text("sex,people\nmale,1450\nfemale,1550\n")
    said = refused("denoise", "set.parquet", "--known", "sex=few.csv:people", "-o", "e.parquet")
    assert "has no value for 'missing or other'" in said
    assert "say 0 if there are none" in said
