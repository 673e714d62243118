"""--others and `others` of a job: what the keys that do not show have together."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import leastnoise as ln
from fuzzing import run
from page_parser import Page

JOB = """\
[table]
source = "rows.parquet"
unit = "p"
public_units = 700

[ask]
kind = "histogram"
by = "n"
max_rows = 1
others = "1/10"

[privacy]
epsilon = 1
delta = 1e-6

[output]
release = "out.parquet"
page = "out.html"
csv = "out.csv"
"""
ASK = ["--unit", "p", "--by", "n", "--max-rows", "1", "--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"p": range(700), "n": [1] * 300 + [2] * 200 + list(range(3, 203))}).to_parquet("rows.parquet")


def test_the_command_writes_and_shows_the_others() -> None:
    code, out, err = run("histogram", "rows.parquet", *ASK, "--others", "0.1", "-o", "out.parquet")
    assert (code, err) == (0, "")
    assert "all other keys" in out
    others = ln.load("out.parquet").others()
    assert 100 < others.value < 300
    code, out, _ = run("show", "out.parquet")
    assert (code, "all other keys" in out) == (0, True)
    code, out, _ = run("show", "out.parquet", "--json")
    assert json.loads(out)["others"] == others._asdict()
    code, out, err = run("histogram", "rows.parquet", *ASK, "--others", "2", "-o", "out.parquet")
    assert (code, out) == (2, "")
    assert "--others 0.1" in err


def test_a_job_writes_the_others_everywhere() -> None:
    Path("job.toml").write_text(JOB)
    code, _, err = run("run", "job.toml")
    assert (code, err) == (0, "")
    others = ln.load("out.parquet").others()
    assert Path("out.csv").read_text().splitlines()[-1].startswith(f'"all other keys",{others.value:.0f},')
    page = Path("out.html").read_text()
    assert f"Keys that do not show have about {others.value:,.0f} rows together" in page
    assert Page(page).found["tables"][0]["foot"]["name"] == "all other keys"
    assert Page(page).found["tables"][0]["foot"]["value"] == others.value


def test_a_public_number_of_units_is_held_against_delta() -> None:
    code, out, err = run("histogram", "rows.parquet", *ASK, "--public-units", "5000000", "-o", "out.parquet")
    assert (code, out) == (2, "")
    assert "too much for 5,000,000 units" in " ".join(err.split())
    assert not Path("out.parquet").exists()
    Path("job.toml").write_text(JOB.replace("700", "5000000"))
    code, _, err = run("run", "job.toml")
    assert code == 2
    assert "too much for 5,000,000 units" in " ".join(err.split())
