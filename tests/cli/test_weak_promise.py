"""The command line refuses what protects nobody, unless it is forced; what is only weak it notes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run

COUNT = ["count", "trips.parquet", "--unit", "taxi", "--max-rows", "1", "-o", "out.parquet"]
VECTOR = ["release", "n.csv", "--column", "n", "--type", "int", "--sensitivity", "1", "-o", "out.parquet"]
NOBODY = ["--epsilon", "100", "--delta", "1e-6"]
OUT = Path("out.parquet")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    pq.write_table(pa.table({"taxi": [1, 2]}), "trips.parquet")
    Path("n.csv").write_text("n\n3\n4\n")


@pytest.mark.parametrize("command", [COUNT, VECTOR], ids=["table", "vector"])
def test_what_protects_nobody_is_refused_and_force_passes(command: list[str]) -> None:
    code, out, err = run(*command, *NOBODY)
    assert (code, out) == (2, "")
    assert "protects nobody in practice" in err
    assert "--epsilon 1 --delta 1e-6, or --force." in err
    assert not OUT.exists()
    code, out, err = run(*command, *NOBODY, "--force")
    assert code == 0
    assert err.count("Note: The promise protects nobody in practice") == 1
    assert ln.load(OUT).strength.protects_nobody  # type: ignore[union-attr]


@pytest.mark.parametrize("command", [COUNT, VECTOR], ids=["table", "vector"])
def test_a_weak_promise_is_noted_and_a_strong_one_is_not(command: list[str]) -> None:
    code, _, err = run(*command, "--sigma", "0.5")
    assert code == 0
    assert err.count("Note: The promise is weak") == 1
    code, _, err = run(*command, "--epsilon", "1", "--delta", "1e-6", "--again")
    assert (code, err) == (0, "")


def test_a_share_of_a_budget_that_protects_nobody_is_refused_and_not_paid() -> None:
    budget = ln.Budget.open("city.ledger", epsilon=100, delta=1e-6)
    asked = [*COUNT, "--budget", "city.ledger", "--share", "0.001"]
    code, _, err = run(*asked)
    assert code == 2
    assert "The promise of the whole budget protects nobody" in err
    assert budget.history() == []
    assert run(*asked, "--force")[0] == 0
    assert len(budget.history()) == 1


@pytest.mark.parametrize("command", [COUNT, VECTOR], ids=["table", "vector"])
def test_programs_are_told_how_strong_a_promise_is_and_what_is_left_out(command: list[str]) -> None:
    told = json.loads(run(*command, *NOBODY, "--force", "--json")[1])
    assert told["band"] == "protects nobody in practice"
    assert told["strength"]["found"] > 0.99
    assert [each["kind"] for each in told["left_out"]] == (["max_rows", "unit is null"] if command is COUNT else [])


def test_a_statement_of_account_says_that_a_budget_is_weak() -> None:
    assert run("budget", "create", "city.ledger", "--epsilon", "100", "--delta", "1e-6")[0] == 0
    assert "whole budget protects nobody in practice" in run("budget", "city.ledger")[1]
    assert json.loads(run("budget", "city.ledger", "--json")[1])["band"] == "protects nobody in practice"


def test_a_delta_that_is_too_large_is_named_in_the_refusal() -> None:
    asked = ["histogram", "trips.parquet", "--by", "place", "--unit", "taxi", "--max-rows", "1", "-o", "out.parquet"]
    pq.write_table(pa.table({"taxi": [1, 2], "place": ["a", "b"]}), "trips.parquet")
    code, _, err = run(*asked, "--epsilon", "1", "--delta", "0.02", "--mechanism", "laplace")
    assert code == 2
    assert "with probability 0.02 everything may show" in err
    assert "--delta" in err


def test_gaussian_noise_that_protects_is_named_as_an_option() -> None:
    code, _, err = run(*COUNT, "--epsilon", "5", "--delta", "1e-6", "--mechanism", "laplace")
    assert code == 2
    assert "With Gaussian noise for the same epsilon and delta it would be moderate: up to 26.7 %; the error" in err
    assert "Say --mechanism gaussian, or --epsilon 1 --delta 1e-6, or --force." in err
    code, _, err = run(*COUNT, "--epsilon", "3", "--delta", "1e-6")
    assert code == 0
    assert "Or say --mechanism gaussian." in err


def test_auto_is_not_refused_where_gaussian_noise_passes() -> None:
    assert run(*COUNT, "--epsilon", "5", "--delta", "1e-6")[0] == 0
    assert ln.load(OUT).mechanism == "gaussian"  # type: ignore[union-attr]
