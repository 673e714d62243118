"""The ledger's file: durable, and of text that every ledger can keep."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import sqlite_store
from spending import charge


def test_a_ledger_that_cannot_be_written_does_not_hide_the_failure(
    budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = charge(budget, share=0.1).pay(query="counts")
    monkeypatch.setattr(sqlite_store, "_connect", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("secret")))
    error = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(error, errors.ReadingFailed)
    assert "cannot be written" in str(error)
    assert "secret" not in str(error)
    assert error.__context__ is None


def test_a_commit_is_as_durable_as_sqlite_can_make_it(budget: ln.Budget) -> None:
    db = sqlite_store._connect(budget.path, "rw")
    sqlite_store._make_durable(db)
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


@pytest.mark.parametrize("sign", ["\0", "\ud800"])
def test_a_name_that_no_ledger_can_keep_is_refused_by_every_one(budget: ln.Budget, sign: str) -> None:
    decided = charge(budget, share=0.1)
    with pytest.raises(errors.InvalidParameter, match="No ledger can keep"):
        decided.pay(query="q", table=f"t{sign}")
    assert budget.history() == []
