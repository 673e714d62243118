"""--expect says what a release would be like: free, from public facts, without a row and without a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run

ASK = ["--epsilon", "1", "--delta", "1e-6"]
TABLES = {
    "count": ["--max-rows", "2"],
    "histogram": ["--by", "cab", "--keys", "0:3", "--max-rows", "2"],
    "sum": ["--column", "cab", "--clip", "0,2", "--max-rows", "2"],
    "mean": ["--column", "cab", "--clip", "0,2", "--max-rows", "2"],
    "quantile": ["--column", "cab", "--clip", "0,2", "--levels", "0.5", "--max-rows", "2"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose columns are known and whose rows are damaged: whoever reads one fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    pq.write_table(pa.table({"taxi": [1, 2], "cab": [1, 2]}), "trips.parquet")
    content = Path("trips.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    pages = len(content) - 4 - footer
    Path("trips.parquet").write_bytes(content[:4] + b"\xff" * pages + content[-footer:])
    return tmp_path


def test_no_row_of_the_table_of_these_tests_can_be_read(here: Path) -> None:
    asked = ["count", "trips.parquet", "--unit", "taxi", *TABLES["count"], *ASK]
    assert run(*asked, "--expect")[0] == 0
    code, out, err = run(*asked, "-o", "out.parquet")
    assert (code, out) == (1, "")
    assert "ReadingFailed" in err


@pytest.mark.parametrize("command", TABLES)
def test_expect_says_what_python_says_and_leaves_nothing_behind(here: Path, command: str) -> None:
    budget = ln.Budget.open("city.ledger", epsilon=1, delta=1e-6)
    before = sorted(path.name for path in here.iterdir())
    asked = [command, "trips.parquet", "--unit", "taxi", *TABLES[command], "--expect"]
    for privacy in (ASK, ["--budget", "city.ledger", "--share", "0.1"]):
        code, out, err = run(*asked, *privacy)
        assert (code, err) == (0, "")
        assert "Nothing was read, paid or written." in out
        facts = json.loads(run(*asked, *privacy, "--json")[1])
        kind = "mechanism" if facts["mechanism"] == "exponential" else "noise"
        assert f"{facts['mechanism'].capitalize()} {kind}" in out
        assert facts["note"] in out
        assert facts["limits"]["max_rows"] == 2
        assert facts["guarantee"]["neighbours"] == "add-remove"
    assert budget.history() == []
    assert sorted(path.name for path in here.iterdir()) == before


def test_expect_of_a_vector_does_not_open_its_file(here: Path) -> None:
    Path("n.csv").write_bytes(b"\xff\x00no table")
    asked = ["release", "n.csv", "--column", "n", "--sensitivity", "1", *ASK, "--expect"]
    code, out, err = run(*asked, "--type", "int", "--json")
    assert (code, err) == (0, "")
    made = ln.release(np.array([1, 2]), sensitivity=1, epsilon=1, delta=1e-6)
    assert json.loads(out)["sigma"] == made.sigma
    code, _, err = run(*asked)
    assert code == 2
    assert "--type int, or --type float" in err
    vector = ["release", "n.csv", "--column", "n", "--type", "int", "--sensitivity", "1"]
    laplace = [*vector, "--epsilon", "1", "--delta", "0"]
    code, _, err = run(*laplace, "--expect")
    assert code == 2
    assert "--l1-sensitivity 1" in err
    code, out, _ = run(*laplace, "--l1-sensitivity", "1", "--expect")
    assert code == 0
    assert "Laplace noise" in out


def test_without_expect_an_output_is_needed(here: Path) -> None:
    code, out, err = run("count", "none.parquet", "--unit", "taxi", "--max-rows", "1", *ASK)
    assert (code, out) == (2, "")
    assert "--output out.parquet, or --expect" in err
