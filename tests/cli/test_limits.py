"""`suggest-limits` and `private-check`: a file in and a file out; and a private look with an exit code of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from fuzzing import run
from leastnoise.releases.limit_suggestion import LimitSuggestion

ASKED = ["--unit", "plane", "--by", "month", "--keys", "1:13"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chance = np.random.default_rng(1)
    rows = pd.DataFrame(
        {
            "plane": chance.integers(0, 6000, 60_000),
            "month": chance.integers(1, 13, 60_000),
            "delay": chance.gamma(2, 9, 60_000),
        }
    )
    rows.to_parquet(tmp_path / "flights.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_limits_are_paid_for_written_and_shown(folder: Path) -> None:
    opened = ["--epsilon", "1", "--delta", "1e-6", "--unit", "plane", "--table", "flights"]
    assert run("budget", "create", "city.ledger", *opened)[0] == 0
    paid = ["--table", "flights", "--budget", "city.ledger", "--share", "0.02", "-o", "limits.parquet"]
    code, out, err = run("suggest-limits", "flights.parquet", *ASKED, "--values", "delay", *paid, "--json")
    assert (code, err) == (0, "")
    found, loaded = json.loads(out), ln.load("limits.parquet")
    assert found["limits"] == dict(loaded.limits)
    assert found["clips"] == {"delay": list(loaded.clips["delay"])}
    assert ln.Budget.open("city.ledger").remaining.share == pytest.approx(0.98)
    code, out, _ = run("show", "limits.parquet")
    assert code == 0
    assert "Proposed" in out
    assert run("report", "limits.parquet")[0] == 0
    page = (folder / "limits.html").read_text()
    assert f"max_rows = {loaded.limits['max_rows']}" in page
    assert "--limits limits.parquet --expect" in page
    assert "with the table t and keys as they were for this look" in page
    assert run("export", "limits.parquet", "-o", "limits.csv")[0] == 0
    exported = (folder / "limits.csv").read_text()
    assert "98 % of the tables that the counts of the look cannot tell apart" in exported
    assert "95 % confidence" not in exported
    asked = ["histogram", "flights.parquet", *ASKED, "--epsilon", "1", "--delta", "1e-6"]
    assert run(*asked, "--limits", "limits.parquet", "-o", "months.parquet")[0] == 0
    made = ln.load("months.parquet")
    assert made.limits["max_rows"] == loaded.limits["max_rows"]
    assert made.left_out[0].text == loaded.id
    assert f"a limit that release {loaded.id} proposed" in made.explain()
    low, high = loaded.clips["delay"]
    pays = ["--epsilon", "1", "--delta", "1e-6", "-o", "sum.parquet"]
    clipped = ["--column", "delay", "--clip", f"{low},{high}", "--limits", "limits.parquet"]
    assert run("sum", "flights.parquet", *ASKED, "--column", "delay", "--limits", "limits.parquet", *pays)[0] == 0
    assert f"(a clip that release {loaded.id} proposed)" in ln.load("sum.parquet").explain()
    code, _, err = run("mean", "flights.parquet", *ASKED, "--column", "delay", "--limits", "limits.parquet", *pays)
    assert (code, "is for a sum, and that for a mean is another" in " ".join(err.split())) == (2, True)
    code, _, err = run("sum", "flights.parquet", *ASKED, "--column", "delay", "--max-rows", "3", *pays)
    assert (code, "Say --clip 0,100." in " ".join(err.split())) == (2, True)
    stat = ["--stat", f"mean=mean:delay:{low}:{high}", "--stat", "own=std:delay:0:60", "--stat", "rows=count"]
    typed = {"sum": clipped, "quantile": [*clipped, "--levels", "0.5"], "summarize": [*stat, *clipped[4:]]}
    for kind, given in typed.items():
        assert run(kind, *asked[1:], *given, "-o", "delays.parquet", "--again")[0] == 0
        found = {fact.numbers: fact.text for fact in ln.load("delays.parquet").left_out if fact.kind == "clip"}
        assert found == ({(low, high): loaded.id} | ({(0.0, 60.0): None} if kind == "summarize" else {}))
    for given in (["--limits", "months.parquet"], ["--limits", "limits.parquet", "--max-rows", "3"]):
        assert run(*asked, *given, "-o", "no.parquet")[0] == 2
    job = """[table]
source = "flights.parquet"
unit = "plane"
[keys]
month = { range = [1, 13] }
[ask]
kind = "histogram"
by = "month"
limits = "limits.parquet"
[privacy]
epsilon = 1
delta = 1e-6
[output]
release = "job.parquet"
"""
    (folder / "job.toml").write_text(job)
    assert run("run", "job.toml")[0] == 0
    assert ln.load("job.parquet").left_out == made.left_out
    statistics = f'statistics = {{ delay = "sum:delay:{low}:{high}", rows = "count" }}\nlimits'
    summary = job.replace('"histogram"', '"summarize"').replace("limits", statistics, 1)
    (folder / "job.toml").write_text(summary.replace("job.parquet", "summary.parquet"))
    assert run("run", "job.toml")[0] == 0
    assert [fact.text for fact in ln.load("summary.parquet").left_out if fact.kind == "clip"] == [loaded.id]


def test_a_look_goes_on_from_the_file_of_an_earlier_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitSuggestion, "risk", property(lambda _: 0.5))  # whatever is drawn
    opened = ["--epsilon", "0.1", "--delta", "1e-6", "--unit", "plane", "--table", "flights"]
    assert run("budget", "create", "city.ledger", *opened)[0] == 0
    paid = ["suggest-limits", "flights.parquet", *ASKED, "--table", "flights", "--budget", "city.ledger", "--json"]
    code, out, err = run(*paid, "--share", "1/100", "--most-share", "0.04", "-o", "limits.parquet")
    assert (code, err) == (0, "")
    found, loaded = json.loads(out), ln.load("limits.parquet")
    assert found["looks"] == [look.id for look in loaded.looks]
    assert len(loaded.looks) == 3
    assert ln.Budget.open("city.ledger").remaining.share == pytest.approx(0.96)
    after = ["--after", "limits.parquet"]
    code, out, _ = run(*paid, "--share", "0.05", *after, "-o", "limits.parquet")  # it takes the place of its own file
    assert code == 0
    assert json.loads(out)["looks"][:-1] == found["looks"]
    assert len(ln.load("limits.parquet").looks) == 4
    assert "rests on 4 looks" in run("show", "limits.parquet")[1].replace("\n", " ")
    wrong = {2: [["--values", "delay", *after], ["--most-share", "0.01"]], 1: [["--after", "flights.parquet"]]}
    for code, given in ((code, given) for code, several in wrong.items() for given in several):
        assert run(*paid, "--share", "0.05", *given, "-o", "no.parquet")[0] == code
    assert ln.Budget.open("city.ledger").remaining.share == pytest.approx(0.91)


def test_a_clip_for_a_mean_is_asked_for_by_name(folder: Path) -> None:
    asked = ["suggest-limits", "flights.parquet", *ASKED, "--epsilon", "1", "--delta", "1e-6", "-o", "limits.parquet"]
    assert run(*asked, "--values", "delay", "--means", "delay")[0] == 2
    code, out, _ = run(*asked, "--means", "delay", "--json")
    assert code == 0
    found, loaded = json.loads(out), ln.load("limits.parquet")
    assert (found["means"], found["clips"]) == (["delay"], {"delay": list(loaded.clips["delay"])})
    assert found["kept_interval"] == list(loaded.kept_interval)
    code, out, _ = run("show", "limits.parquet")
    assert "for a mean in each of these bins: delay" in out.replace("\n", " ")
    shown = run(*asked[:-1], "more.parquet", "--means", "delay")[1]
    assert re.search(r"\d+ % \(\d+ to \d+\)", shown)


def test_what_to_expect_is_free(folder: Path) -> None:
    code, out, _ = run("suggest-limits", "flights.parquet", *ASKED, "--epsilon", "1", "--delta", "1e-6", "--expect")
    assert code == 0
    assert "Nothing was read, paid or written." in out
    assert [path.name for path in folder.iterdir()] == ["flights.parquet"]


def test_a_private_look_says_so_and_writes_nothing(folder: Path) -> None:
    code, out, err = run("private-check", "flights.parquet", "--unit", "plane", "--by", "month", "--keys", "0:12")
    assert code == 4
    assert out.startswith("PRIVATE")
    assert err.startswith("PRIVATE")
    assert "rows that no key of month covers" in out
    assert [path.name for path in folder.iterdir()] == ["flights.parquet"]


def test_columns_of_bins_are_repeated_or_have_commas(folder: Path) -> None:
    asked = ["private-check", "flights.parquet", "--unit", "plane", "--keys", "1:13", "--keys", "0:300"]
    repeated, commas = run(*asked, "--by", "month", "--by", "plane2"), run(*asked, "--by", "month,plane2")
    assert repeated == commas
    assert "plane2" in commas[2]
    frame = pd.read_parquet("flights.parquet").assign(half=lambda rows: (rows["month"] > 6).astype(int))
    frame.to_parquet("halves.parquet")
    asked = ["private-check", "halves.parquet", "--unit", "plane", "--keys", "1:13", "--keys", "0:2"]
    repeated, commas = run(*asked, "--by", "month", "--by", "half"), run(*asked, "--by", "month,half")
    assert repeated == commas
    assert commas[0] == 4


def test_a_column_is_looked_at_with_its_clip(folder: Path) -> None:
    asked = ["private-check", "flights.parquet", "--unit", "plane", "--column", "delay"]
    assert run(*asked)[0] == 2
    code, out, _ = run(*asked, "--clip", "0,30", "--max-rows", "3")
    assert code == 4
    assert "values of delay above 30" in out
