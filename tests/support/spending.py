"""How the tests spend from a budget."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import outputs
from leastnoise.curator.budget import charge, privacy_filter, sqlite_store
from leastnoise.curator.budget.entry_row import Head, Row, root_hash
from leastnoise.curator.budget.opening import AskedTerms
from leastnoise.curator.budget.store import Snapshot
from leastnoise.curator.request import PrivacyRequest

COUNTS = np.array([120, 0, 45])


def budget_of_before(path: Path, **limits: Any) -> ln.Budget:
    """A budget as it was opened before Laplace releases alone could spend all of epsilon: in the second format."""
    texts = AskedTerms(**(dict.fromkeys(AskedTerms.__slots__) | {"pure_epsilon": 0, "threshold_delta": 0} | limits))
    terms = {name: text for name, text in texts.terms().to_texts().items() if name != "pure_instead"} | {"id": "1"}
    with closing(sqlite3.connect(path)) as db:
        db.executescript(sqlite_store._SCHEMA)
        db.execute(f"PRAGMA application_id = {int.from_bytes(outputs.APPLICATION, 'big')}")
        db.execute("PRAGMA user_version = 2")
        db.executemany("INSERT INTO terms VALUES (?, ?)", sorted(terms.items()))
        db.execute("INSERT INTO head VALUES (0, ?)", [root_hash(terms)])
        db.commit()
    return ln.Budget.open(path)


def spend(budget: ln.Budget, **how: Any) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, budget=budget, **how)


def spend_on_unknown_keys(budget: ln.Budget, *, people: int, **how: Any) -> Any:
    """Of so many people, all in one bin that nobody listed."""
    rows = pa.table({"person": range(people), "ward": ["a"] * people})
    return ln.table(rows, unit="person", name="people").histogram("ward", max_rows=1).release(budget=budget, **how)


def close(budget: ln.Budget) -> str:
    """As a release whose rows could not be read leaves it."""
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, integers=True, sensitivity=1).pay(
        query="counts"
    )
    error = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(error, errors.ReadingFailed)
    assert "reopen" in str(error)
    return receipt.id


def void(budget: ln.Budget, receipt: charge.Receipt) -> None:
    """Give a debit back, by an entry that no release writes any more and an older ledger may have."""
    ledger = budget._account.ledger

    def make(state: Snapshot, head: Head, last: Row | None) -> Row:
        assert last is not None
        cost = next(row.cost for row, _ in ledger.rows(state) if row.release == receipt.id)
        back, made = privacy_filter.Cost() - cost, "2026-01-01T00:00:00+00:00"
        return Row(head.number + 1, made, "void", receipt.id, "unreachable", "", "", "", back, last.spent + back)

    ledger.append(make)
