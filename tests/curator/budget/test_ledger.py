"""The ledger's file: durable, and refused by a library too old to read all of it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge, sqlite_store
from leastnoise.curator.budget.entry_row import chained_hash
from leastnoise.curator.request import PrivacyRequest
from spending import budget_of_before, close, spend


@pytest.mark.parametrize("version", [1, 2])
def test_a_ledger_of_an_older_format_is_read_and_goes_on_in_this_one(tmp_path: Path, version: int) -> None:
    """Its entries keep their hashes; an older library refuses it from then on, since it knows no accounts."""
    path = tmp_path / "b"
    root = budget_of_before(path, epsilon=1, delta=1e-6)._account.ledger.root
    amounts = ["100", "0", "0", "100", "0", "0"]
    fields = [1, "2026-01-01T00:00:00.000+00:00", "release", "first", "q", "n", "taxi", "", *amounts]
    written = chained_hash(root, fields)

    def execute(statement: str, values: Sequence[object] = ()) -> int:
        with closing(sqlite3.connect(path)) as db:
            found = db.execute(statement, values).fetchone()
            db.commit()
            return int(found[0]) if found else 0

    execute(f"INSERT INTO entries VALUES ({', '.join('?' * 15)})", [*fields, written])
    execute("UPDATE head SET number = 1, hash = ?", [written])
    execute(f"PRAGMA user_version = {version}")
    old = ln.Budget.open(path)
    assert old.verify() == written
    assert (old.unit, old.history()[0].who) == ("taxi", "")
    assert execute("PRAGMA user_version") == version
    with pytest.raises(ln.BudgetExhausted):
        spend(old, share=1)
    assert execute("PRAGMA user_version") == version  # a refusal changes nothing
    spend(old, share=0.1)
    close(ln.Budget.open(path))
    assert execute("PRAGMA user_version") == sqlite_store.FORMAT == 3
    assert ln.Budget.open(path).closed
    assert old.verify()
    assert old.history()[0].release == "first"


def test_a_ledger_that_laplace_releases_may_spend_is_refused_by_older_libraries(budget: ln.Budget) -> None:
    """Which would count its epsilons as a reserve that it has not."""
    with closing(sqlite3.connect(budget.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (sqlite_store.FORMAT,) == (3,)


def test_a_ledger_that_cannot_be_written_does_not_hide_the_failure(
    budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, integers=True, sensitivity=1).pay(
        query="counts"
    )
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
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, integers=True, sensitivity=1)
    with pytest.raises(errors.InvalidParameter, match="No ledger can keep"):
        decided.pay(query="q", table=f"t{sign}")
    assert budget.history() == []
