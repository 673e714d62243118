"""The ledger: what a durable debit costs, beside the disk's own sync, and how fast a long book verifies."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from stopwatch import human, interleave

import leastnoise as ln
from leastnoise.budget import ledger
from leastnoise.budget.account import Cost
from leastnoise.budget.ledger import Head, Row

ENTRIES = 100_000
COUNTS = np.arange(10)


def run() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_spends(Path(folder)), "", *_long_book(Path(folder))]


def _spends(folder: Path) -> list[str]:
    book = ln.Budget.open(folder / "a.ledger", epsilon=1, delta=1e-6)
    handle = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT)

    def sync() -> None:
        os.pwrite(handle, os.urandom(512), 0)
        os.fsync(handle)

    times = interleave(
        {
            "one write and fsync (the disk)": sync,
            "release of 10 counts, no budget": lambda: ln.release(COUNTS, sensitivity=1, epsilon=1, delta=1e-6),
            "the same, debited first": lambda: ln.release(COUNTS, sensitivity=1, budget=book, share=1e-6),
            "budget.remaining": lambda: book.remaining,
        },
        rounds=51,
    )
    os.close(handle)
    lines = ["| what | median | spread |", "|---|---:|---:|"]
    return lines + [f"| {name} | {human(median)} | {human(spread)} |" for name, (median, spread) in times.items()]


def _long_book(folder: Path) -> list[str]:
    book = ln.Budget.open(folder / "long.ledger", epsilon=1, delta=1e-6)
    _fill(book, ENTRIES)
    taken = []
    for act in (book.verify, book.history, lambda: ln.release(COUNTS, sensitivity=1, budget=book, share=1e-6)):
        begin = time.perf_counter()
        act()
        taken.append(human(time.perf_counter() - begin))
    verify, history, release = taken
    size = book.path.stat().st_size / ENTRIES
    book_of = f"A book of {ENTRIES:,} entries ({size:.0f} bytes each)"
    return [f"{book_of}: `verify()` takes {verify}, `history()` {history}, one more release {release}."]


def _fill(book: ln.Budget, entries: int) -> None:
    """Entries as the ledger writes them, in one transaction."""
    book_ledger, cost, spent = book._ledger, Cost(gaussian=10**24), Cost()
    rows, head = [], Head(0, book_ledger.root)
    for number in range(1, entries + 1):
        spent += cost
        row = Row(number, "2026-01-01T00:00:00+00:00", "release", f"{number:016x}", "q", "n", "", "", cost, spent)
        head = Head(number, row.hash_after(head.hash))
        rows.append([*row.to_fields(), head.hash])
    with closing(ledger._connect(book.path, "rw")) as db:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * 15)})", rows)
        db.execute("UPDATE head SET number = ?, hash = ?", head)
        db.execute("COMMIT")
