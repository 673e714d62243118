"""The ledger's file: durable, and refused by a library too old to read all of it."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge, ledger
from leastnoise.curator.request import PrivacyRequest
from spending import budget_of_before, close, spend


def test_a_closed_ledger_of_the_first_format_is_refused_by_its_library(tmp_path: Path) -> None:
    """Which would not know the entry, and go on. Before it is closed it may still be used by both."""
    budget = budget_of_before(tmp_path / "b", epsilon=1, delta=1e-6)

    def version(new: int | None = None) -> int:
        db = sqlite3.connect(budget.path)
        with closing(db):
            if new is not None:
                db.execute(f"PRAGMA user_version = {new}")
            return int(db.execute("PRAGMA user_version").fetchone()[0])

    version(1)
    old = ln.Budget.open(budget.path)
    spend(old, share=0.1)
    assert version() == 1
    close(old)
    assert version() == 2
    assert ln.Budget.open(budget.path).closed
    assert old.verify()


def test_a_ledger_that_laplace_releases_may_spend_is_refused_by_older_libraries(budget: ln.Budget) -> None:
    """Which would count its epsilons as a reserve that it has not."""
    with closing(sqlite3.connect(budget.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (ledger.FORMAT,) == (3,)


def test_a_ledger_that_cannot_be_written_does_not_hide_the_failure(
    budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, integers=True, sensitivity=1).pay(
        query="counts"
    )
    monkeypatch.setattr(ledger, "_connect", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("secret")))
    error = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(error, errors.ReadingFailed)
    assert "cannot be written" in str(error)
    assert "secret" not in str(error)
    assert error.__context__ is None


def test_a_commit_is_as_durable_as_sqlite_can_make_it(budget: ln.Budget) -> None:
    db = ledger._connect(budget.path, "rw")
    ledger._make_durable(db)
    assert db.execute("PRAGMA synchronous").fetchone() == (3,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


def test_the_directory_is_synced_after_a_budget_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode) and (tmp_path / "b").exists())
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    assert any(synced)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
