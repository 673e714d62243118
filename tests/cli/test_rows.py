"""`leastnoise rows`: synthetic rows from a saved set of tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise.cli.app import app

KEYS = {"sex": ["f", "m"], "town": ["Ash", "Elm"]}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    people = pd.DataFrame({"who": range(200), "sex": ["f", "m"] * 100, "town": ["Ash"] * 150 + ["Elm"] * 50})
    query = ln.table(people, unit="who").crosstabs(ways=2, keys=KEYS, max_rows=1, other=False)
    query.release(epsilon=2, delta=1e-6).save(tmp_path / "tables.parquet")
    return tmp_path / "tables.parquet"


def test_rows_have_the_public_totals(tables: Path) -> None:
    totals = tables.with_name("totals.csv")
    totals.write_text("town,people\nAsh,120\nElm,80\n")
    output = tables.with_name("rows.csv")
    line = ["rows", str(tables), "--known", f"town={totals}:people", "-o", str(output), "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 200
    assert pd.read_csv(output)["town"].value_counts().to_dict() == {"Ash": 120, "Elm": 80}
