"""Processes of their own, edits by hand, and noise that must not be drawn."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

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


def nothing_drawn() -> Any:
    def read(size: int) -> bytes:
        raise AssertionError("noise was drawn")

    return entropy.source(read)
