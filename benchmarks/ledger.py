"""The ledger: what a durable debit costs, in a file and on a server, and how fast a long ledger verifies."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
from findings import Findings, Headline, Table, timings
from stopwatch import human, race

import leastnoise as ln
from leastnoise.curator.budget import sqlite_store
from leastnoise.curator.budget.debit import Debit
from leastnoise.curator.budget.entry_row import COLUMNS, Head, Row
from leastnoise.curator.budget.privacy_filter import Cost

ENTRIES = 100_000
COUNTS = np.arange(10)


def run(*, toy: bool = False) -> Findings:
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        spends = _spends(Path(folder), 3 if toy else 51)
        return [
            *spends,
            *_on_a_server(Path(folder), 3 if toy else 51),
            *_long_book(Path(folder), 100 if toy else ENTRIES),
        ]


def _spends(folder: Path, rounds: int) -> Findings:
    budget = ln.Budget.open(folder / "a.ledger", epsilon=1, delta=1e-6)
    handle = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT)

    def sync() -> None:
        os.pwrite(handle, os.urandom(512), 0)
        os.fsync(handle)

    seen = race(
        {
            "one write and fsync": sync,
            "release of 10 counts, no budget": lambda: ln.release(COUNTS, sensitivity=1, epsilon=1, delta=1e-6),
            "the same, debited first": lambda: ln.release(COUNTS, sensitivity=1, budget=budget, share=1e-6),
            "budget.remaining": lambda: budget.remaining,
        },
        rounds=rounds,
    )
    os.close(handle)
    rows = timings(seen, reference="one write and fsync")
    debited, sync_alone = seen["the same, debited first"], seen["one write and fsync"]
    return [
        Headline.between("a debited release / one write and fsync", debited, sync_alone),
        Table("ledger", "A durable debit:", rows),
    ]


def _on_a_server(folder: Path, rounds: int) -> Findings:
    """The debit alone, beside a bare transaction that inserts one row over a new connection, with the same password."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    import postgres_server

    if postgres_server.programs() is None:
        return ["PostgreSQL is not installed, so a debit on a server was not measured."]
    import psycopg

    def debit(budget: ln.Budget) -> None:
        cost = budget.terms.gaussian_share(budget.terms.epsilon / 10**6)
        budget._debit(Debit(cost=cost, release=secrets.token_hex(8), query="q", noise="n", neighbours="add-remove"))

    with postgres_server.Server() as server:
        server.run("CREATE TABLE bare (words text)")
        there = ln.Budget.open(server.url("city"), epsilon=1, delta=1e-6)
        here = ln.Budget.open(folder / "b.ledger", epsilon=1, delta=1e-6)

        def bare() -> None:
            with psycopg.connect(server.address()) as db:
                db.execute("INSERT INTO bare VALUES ('a row')")

        seen = race(
            {
                "a bare transaction": bare,
                "a debit in PostgreSQL": lambda: debit(there),
                "a debit in a file": lambda: debit(here),
            },
            rounds=rounds,
        )
    rows = timings(seen, reference="a bare transaction")
    return [
        Headline.between(
            "a debit in PostgreSQL / a bare transaction", seen["a debit in PostgreSQL"], seen["a bare transaction"]
        ),
        Table("server", "A debit on a server of this machine, each over a connection of its own:", rows),
    ]


def _long_book(folder: Path, entries: int) -> Findings:
    budget = ln.Budget.open(folder / "long.ledger", epsilon=1, delta=1e-6)
    fill(budget, entries)
    taken = []
    for act in (budget.verify, budget.history, lambda: ln.release(COUNTS, sensitivity=1, budget=budget, share=1e-6)):
        begin = time.perf_counter()
        act()
        taken.append(human(time.perf_counter() - begin))
    verify, history, release = taken
    size = budget.path.stat().st_size / entries
    title = f"A ledger of {entries:,} entries ({size:.0f} bytes each)"
    return [f"{title}: `verify()` takes {verify}, `history()` {history}, one more release {release}."]


def fill(budget: ln.Budget, entries: int) -> None:
    """Entries as the ledger writes them, in one transaction."""
    own_ledger, cost, spent = budget._account.ledger, budget.terms.gaussian_share(Fraction(1, 10**6)), Cost()
    rows, head = [], Head(0, own_ledger.root)
    for number in range(1, entries + 1):
        spent += cost
        row = Row(number, "2026-01-01T00:00:00+00:00", "release", f"{number:016x}", "q", "n", "", "", cost, spent)
        head = Head(number, row.hash_after(head.hash))
        rows.append([*row.to_fields(), head.hash])
    with closing(sqlite_store._connect(budget.path, "rw")) as db:
        db.execute("BEGIN IMMEDIATE")
        names, marks = ", ".join(f'"{name}"' for name in (*COLUMNS, "hash")), ", ".join("?" * (len(COLUMNS) + 1))
        db.executemany(f"INSERT INTO entries ({names}) VALUES ({marks})", rows)
        db.execute("UPDATE head SET number = ?, hash = ?", head)
        db.execute("COMMIT")
