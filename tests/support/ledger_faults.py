"""Processes of their own, edits by hand, and noise that must not be drawn."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from leastnoise.curator.budget.state import Row
from leastnoise.curator.noise import entropy

FORK = multiprocessing.get_context("fork")


def edit(path: Path, *statements: str) -> None:
    """By hand, as somebody with the sqlite3 shell would."""
    db = sqlite3.connect(path)
    db.executescript("DROP TRIGGER IF EXISTS entries_stay; DROP TRIGGER IF EXISTS entries_keep;")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def forge(path: Path, row: Row) -> None:
    """One more entry whose hash is right, as a faulty program might write it."""
    with closing(sqlite3.connect(path)) as db:
        (previous,) = db.execute("SELECT hash FROM head").fetchone()
        fields, written = row.to_fields(), row.hash_after(previous)
        db.execute(f"INSERT INTO entries VALUES ({', '.join('?' * (len(fields) + 1))})", [*fields, written])
        db.execute("UPDATE head SET number = ?, hash = ?", [row.number, written])
        db.commit()


def nothing_drawn() -> Any:
    def read(size: int) -> bytes:
        raise AssertionError("noise was drawn")

    return entropy.source(read)
