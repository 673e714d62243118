"""`leastnoise budget`, run as a person or a program runs it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "city.ledger"
    budget = ln.Budget.open(place, epsilon=3, delta=1e-6, unit="taxi")
    ln.release(np.array([1, 2]), sensitivity=1, budget=budget, share=0.25)
    return place


def test_create_makes_the_ledger_that_open_would(tmp_path: Path) -> None:
    place = tmp_path / "new.ledger"
    done = run("budget", "create", str(place), "--epsilon", "3", "--delta", "1e-6", "--unit", "taxi")
    assert done.returncode == 0, done.stderr
    assert "epsilon = 3, delta = 1e-06 for one taxi" in done.stdout
    ln.Budget.open(place, epsilon=3, delta=1e-6, unit="taxi")
    again = run("budget", "create", str(place), "--epsilon", "4", "--delta", "1e-6")
    assert again.returncode == 2
    assert "BudgetMismatch" in again.stderr


def test_open_names_the_command_that_begins_a_ledger(tmp_path: Path) -> None:
    done = run("budget", "open", str(tmp_path / "new.ledger"), "--epsilon", "3", "--delta", "1e-6")
    assert done.returncode == 2
    assert "create" in done.stderr
    assert not (tmp_path / "new.ledger").exists()


@pytest.mark.parametrize("order", [0, 1])
def test_history_and_verification_as_json(path: Path, order: int) -> None:
    words = ["--history", "--verify", "--json"]
    done = run("budget", *words[:order], str(path), *words[order:])
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    budget = ln.Budget.open(path)
    assert facts["verified"] == budget.verify()
    assert facts["remaining"]["share"] == 0.75
    (entry,) = facts["history"]
    assert (entry["release"], entry["gaussian"]) == (budget.history()[0].release, 0.25)


def test_failures_are_sentences_with_exit_code_1(path: Path, tmp_path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER entries_stay")
    db.execute("UPDATE entries SET query = 'nothing at all'")
    db.commit()
    db.close()
    for arguments, words, code in (
        ([str(path), "--verify"], "entry 1 ", 1),
        ([str(tmp_path / "none")], "no ledger", 2),
        ([str(tmp_path / "none")], "budget create FILE --epsilon 3 --delta 1e-6.", 2),
        ([__file__], "not a ledger of leastnoise", 1),
        ([__file__], "budget create FILE --epsilon 3 --delta 1e-6.", 1),
    ):
        done = run("budget", *arguments)
        assert done.returncode == code
        assert words in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_a_closed_budget_is_shown_and_reopened(path: Path) -> None:
    """Closed by a file whose last row cannot be read."""
    bad = path.with_name("bad.csv")
    bad.write_text("taxi,n\n1,2\nsecret424242,2,one too many\n")
    code, text = pay(path, str(bad), "--share", "0.1")
    assert code == 1
    assert "ReadingFailed" in text
    assert 'leastnoise budget reopen city.ledger --reason "..."' in text
    assert "424242" not in text
    code, text = pay(path, people(path.parent, "bad.csv.parquet"), "--table", "bad.csv", "--share", "0.1")
    assert code == 1
    assert "BudgetClosed" in text
    shown = run("budget", str(path)).stdout
    assert "CLOSED since" in shown
    assert 'leastnoise budget reopen city.ledger --reason "..."' in " ".join(shown.split())
    facts = json.loads(run("budget", str(path), "--history", "--json").stdout)
    assert facts["closed"] is True
    assert facts["history"][-1]["kind"] == "close"
    for arguments in ([], ["--reason", ""], ["--reason", "two\nlines"]):
        assert run("budget", "reopen", str(path), *arguments).returncode == 2
    done = run("budget", "reopen", str(path), "--reason", "a row had a field too many", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["closed"] is False
    done = run("budget", str(path), "--history", "--verify")
    assert "Verified" in done.stdout
    assert "reopen" in done.stdout
    assert "CLOSED" not in done.stdout
    done = run("budget", "reopen", str(path), "--reason", "again")
    assert done.returncode == 2
    assert "not closed" in done.stderr
    assert pay(path, people(path.parent, "bad.csv.parquet"), "--table", "bad.csv", "--share", "0.1")[0] == 0


def people(folder: Path, name: str) -> str:
    pq.write_table(pa.table({"taxi": [1, 2], "cab": [1, 2]}), folder / name)
    return str(folder / name)


def pay(path: Path, source: str, *extra: str, unit: str = "taxi") -> tuple[int, str]:
    ask = ["count", source, "--unit", unit, "--max-rows", "1", "--budget", str(path), *extra]
    done = run(*ask, "-o", str(path.with_name("out.parquet")), "--again")
    return done.returncode, " ".join((done.stdout + done.stderr).split())


TABLES = {
    "count": ["--max-rows", "1"],
    "histogram": ["--by", "cab", "--keys", "0:3", "--max-rows", "1"],
    "sum": ["--column", "cab", "--clip", "0,2", "--max-rows", "1"],
    "mean": ["--column", "cab", "--clip", "0,2", "--max-rows", "1"],
    "quantile": ["--column", "cab", "--clip", "0,2", "--levels", "0.5", "--max-rows", "1"],
}


@pytest.mark.parametrize("command", TABLES)
def test_a_budget_about_a_table_pays_for_every_file_of_that_name(command: str, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, unit="taxi", table="trips")
    ask = [command, people(tmp_path, "trips_2013.parquet"), "--unit", "taxi", *TABLES[command]]
    paid = [*ask, "--budget", str(tmp_path / "b"), "--share", "0.1", "-o", str(tmp_path / "o.parquet")]
    assert run(*paid, "--table", "trips").returncode == 0
    done = run(*paid)
    assert done.returncode == 2
    assert "--table trips" in " ".join(done.stderr.split())
    assert len(budget.history()) == 1


def test_a_statement_shows_what_the_first_release_bound_the_ledger_to(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    assert (budget.unit, budget.table) == (None, None)
    assert pay(tmp_path / "b", people(tmp_path, "a.parquet"), "--share", "0.1")[0] == 0
    assert (budget.unit, budget.table) == ("taxi", "a.parquet")
    assert 'for one taxi in "a.parquet"' in run("budget", str(tmp_path / "b")).stdout
    facts = json.loads(run("budget", str(tmp_path / "b"), "--json").stdout)
    assert (facts["unit"], facts["table"]) == ("taxi", "a.parquet")


def test_a_budget_about_several_columns_is_created_as_releases_name_them(tmp_path: Path) -> None:
    run("budget", "create", str(tmp_path / "b"), "--epsilon", "1", "--delta", "1e-6", "--unit", "taxi,cab")
    assert pay(tmp_path / "b", people(tmp_path, "a.parquet"), "--share", "0.1", unit="taxi,cab")[0] == 0


def test_a_mismatch_never_says_that_a_second_budget_undoes_the_first(tmp_path: Path) -> None:
    ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, unit="taxi", table="trips")
    source = people(tmp_path, "a.parquet")
    for extra, unit in (([], "taxi"), (["--table", "trips"], "cab"), (["--neighbours", "replace"], "taxi")):
        code, text = pay(tmp_path / "b", source, "--share", "0.1", *extra, unit=unit)
        assert code == 2
        assert "BudgetMismatch" in text
        assert "adds up" in text


def test_the_reason_for_the_noise_is_the_true_one(tmp_path: Path) -> None:
    gaussian, laplace = tmp_path / "g", tmp_path / "l"
    ln.Budget.open(gaussian, epsilon=9, delta=1e-6)
    ln.Budget.open(laplace, epsilon=9, pure_epsilon=9)
    source, ask = people(tmp_path, "a.parquet"), ["--epsilon", "0.5", "--delta", "1e-6"]
    for path, extra, words in (
        (gaussian, ask, "Gaussian noise: a budget with a delta counts in it, and it adds up exactly."),
        (gaussian, ["--sigma", "9"], "Gaussian noise: its sigma was given."),
        (gaussian, [*ask, "--mechanism", "gaussian"], "Gaussian noise: asked for."),
        (gaussian, ["--epsilon", "0.1", "--delta", "0"], "Laplace noise: delta = 0 has no Gaussian."),
        (gaussian, [*ask, "--mechanism", "laplace"], "Laplace noise: asked for."),
        (laplace, ask, "Laplace noise: this budget is for no other."),
    ):
        code, text = pay(path, source, *extra, "--force")  # an epsilon of 9 protects nobody
        assert code == 0, (extra, text)
        assert words in ln.load(tmp_path / "out.parquet").explain()
