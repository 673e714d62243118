"""`leastnoise budget`, run as a person or a program runs it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import leastnoise as ln
from test_cli import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "city.ledger"
    book = ln.Budget.open(place, epsilon=3, delta=1e-6, unit="taxi")
    ln.release(np.array([1, 2]), sensitivity=1, budget=book, share=0.25)
    return place


def test_create_makes_the_book_that_open_would(tmp_path: Path) -> None:
    place = tmp_path / "new.ledger"
    done = run("budget", "create", str(place), "--epsilon", "3", "--delta", "1e-6", "--unit", "taxi")
    assert done.returncode == 0, done.stderr
    assert "epsilon = 3, delta = 1e-06 for one taxi" in done.stdout
    ln.Budget.open(place, epsilon=3, delta=1e-6, unit="taxi")
    again = run("budget", "create", str(place), "--epsilon", "4", "--delta", "1e-6")
    assert again.returncode == 2
    assert "BudgetMismatch" in again.stderr


def test_a_statement(path: Path) -> None:
    done = run("budget", str(path))
    assert done.returncode == 0, done.stderr
    assert "75 % left" in done.stdout
    assert "1 release;" in done.stdout


@pytest.mark.parametrize("order", [0, 1])
def test_history_and_verification_as_json(path: Path, order: int) -> None:
    words = ["--history", "--verify", "--json"]
    done = run("budget", *words[:order], str(path), *words[order:])
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    book = ln.Budget.open(path)
    assert facts["verified"] == book.verify()
    assert facts["remaining"]["share"] == 0.75
    (entry,) = facts["history"]
    assert (entry["release"], entry["gaussian"]) == (book.history()[0].release, 0.25)


def test_history_for_people(path: Path) -> None:
    done = run("budget", str(path), "--history", "--verify")
    assert done.returncode == 0, done.stderr
    assert "25 %" in done.stdout
    assert "Verified" in done.stdout


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
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_mistakes_are_exit_code_2(tmp_path: Path) -> None:
    for arguments in (["create", str(tmp_path / "b")], ["create", str(tmp_path / "b"), "--epsilon", "-1"]):
        done = run("budget", *arguments)
        assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []
    assert run("budget", "--help").returncode == 0
