"""`suggest-limits` and `private-check`: a file in and a file out; and a private look with an exit code of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from fuzzing import run

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
    code, out, err = run("suggest-limits", "flights.parquet", *ASKED, *paid, "--json")
    assert (code, err) == (0, "")
    found, loaded = json.loads(out), ln.load("limits.parquet")
    assert found["limits"] == dict(loaded.limits)
    assert found["kept_interval"] == list(loaded.kept_interval)
    assert ln.Budget.open("city.ledger").remaining.share == pytest.approx(0.98)
    code, out, _ = run("show", "limits.parquet")
    assert code == 0
    assert "Proposed" in out
    assert run("report", "limits.parquet")[0] == 0
    page = (folder / "limits.html").read_text()
    assert f"max_rows = {loaded.limits['max_rows']}" in page
    assert "--limits limits.parquet --expect" in page
    assert "with the table t and keys as they were for this release" in page
    assert run("export", "limits.parquet", "-o", "limits.csv")[0] == 0
    exported = (folder / "limits.csv").read_text()
    assert "98% of the tables that the counts of this release cannot tell apart" in exported
    assert "95% confidence" not in exported
    asked = ["histogram", "flights.parquet", *ASKED, "--epsilon", "1", "--delta", "1e-6"]
    assert run(*asked, "--limits", "limits.parquet", "-o", "months.parquet")[0] == 0
    made = ln.load("months.parquet")
    assert made.limits["max_rows"] == loaded.limits["max_rows"]
    assert made.left_out[0].text == loaded.id
    assert f"a limit that release {loaded.id} proposed" in made.explain()
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


def test_a_private_look_takes_the_limits_of_a_file_and_counts_missing_keys(folder: Path) -> None:
    promise = ["--epsilon", "1", "--delta", "1e-6", "-o", "limits.parquet"]
    assert run("suggest-limits", "flights.parquet", *ASKED, *promise)[0] == 0
    proposed = [
        word
        for name, value in ln.load("limits.parquet").limits.items()
        for word in (f"--{name.replace('_', '-')}", value)
    ]
    looks = [
        run("private-check", "flights.parquet", *ASKED, *map(str, limits))[1]
        for limits in ((), proposed, ("--limits", "limits.parquet"))
    ]
    assert looks[0] != looks[1] == looks[2]
    assert run("private-check", "flights.parquet", *ASKED, "--nulls", "bin")[1] != looks[0]


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


CLIPPED = ["--unit", "plane", "--column", "delay", "--max-rows", "10"]
PAYS = ["--epsilon", "1", "--delta", "1e-6"]


def test_a_clip_is_paid_for_written_and_taken_by_its_file(folder: Path) -> None:
    opened = [*PAYS, "--unit", "plane", "--table", "flights"]
    assert run("budget", "create", "city.ledger", *opened)[0] == 0
    asked = ["suggest-clip", "flights.parquet", *CLIPPED, "--clip-within", "0,300", "--table", "flights"]
    paid = ["--budget", "city.ledger", "--share", "0.5"]
    code, out, _ = run(*asked, *paid, "--expect")
    assert code == 0
    assert "Nothing was read, paid or written." in out
    assert ln.Budget.open("city.ledger").remaining.share == 1
    code, out, err = run(*asked, *paid, "-o", "clip.parquet", "--json")
    assert (code, err) == (0, "")
    loaded = ln.load("clip.parquet")
    assert [row["value"] for row in json.loads(out)["rows"]] == list(loaded.clip)
    assert ln.Budget.open("city.ledger").remaining.share == pytest.approx(0.5)
    code, out, _ = run("show", "clip.parquet")
    assert code == 0
    assert "Proposed clip of delay" in out
    assert run("report", "clip.parquet")[0] == 2
    assert run("export", "clip.parquet", "-o", "clip.csv")[0] == 0
    for kind in (["sum"], ["mean"], ["quantile", "--levels", "0.5"]):
        made = [*kind, "flights.parquet", *CLIPPED, "--clip", "clip.parquet", *PAYS, "-o", "made.parquet", "--again"]
        assert run(*made)[0] == 0
        assert f"(a clip that release {loaded.id} proposed)" in ln.load("made.parquet").explain()
    low, high = loaded.clip
    assert run("mean", "flights.parquet", *CLIPPED, "--clip", f"{low},{high}", *PAYS, "-o", "own.parquet")[0] == 0
    assert "proposed" not in ln.load("own.parquet").explain()


def test_a_file_without_a_clip_of_the_column_is_refused(folder: Path) -> None:
    asked = ["suggest-clip", "flights.parquet", *CLIPPED, "--clip-within", "0,300", *PAYS, "-o", "clip.parquet"]
    assert run(*asked)[0] == 0
    other = ["--unit", "plane", "--column", "month", "--max-rows", "10", *PAYS]
    code, _, err = run("mean", "flights.parquet", *other, "--clip", "clip.parquet", "-o", "no.parquet")
    assert (code, 'has a clip of "delay"' in " ".join(err.split())) == (2, True)
    assert run("count", "flights.parquet", "--unit", "plane", "--max-rows", "3", *PAYS, "-o", "n.parquet")[0] == 0
    code, _, err = run("mean", "flights.parquet", *CLIPPED, *PAYS, "--clip", "n.parquet", "-o", "no.parquet")
    assert (code, "has no proposed clip, but Release" in " ".join(err.split())) == (2, True)
    code, _, err = run("mean", "flights.parquet", *CLIPPED, *PAYS, "--clip", "gone.parquet", "-o", "no.parquet")
    assert code != 0
    assert not (folder / "no.parquet").exists()


def test_a_job_takes_a_clip_by_its_file(folder: Path) -> None:
    asked = ["suggest-clip", "flights.parquet", *CLIPPED, "--clip-within", "0,300", *PAYS, "-o", "clip.parquet"]
    assert run(*asked)[0] == 0
    job = """[table]
source = "flights.parquet"
unit = "plane"
[ask]
kind = "mean"
column = "delay"
clip = "clip.parquet"
max_rows = 10
[privacy]
epsilon = 1
delta = 1e-6
[output]
release = "job.parquet"
"""
    (folder / "job.toml").write_text(job)
    assert run("run", "job.toml")[0] == 0
    clip = ln.load("clip.parquet")
    assert f"(a clip that release {clip.id} proposed)" in ln.load("job.parquet").explain()
    assert run(*asked, "--levels", "0.2,0.8", "--again")[0] == 0  # another clip makes another job
    assert ln.load("clip.parquet").clip != clip.clip
    assert run("run", "job.toml")[0] != 0
