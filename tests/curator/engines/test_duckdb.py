"""DuckDB's temporary folders go with their table, and no sooner."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

from leastnoise.curator.engines import duckdb
from leastnoise.curator.table import table


def test_temporary_folders_go_with_their_table(frame):
    rows = table(frame, unit="taxi")
    engine: Any = rows._data.engine
    folder = Path(engine.backend.con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    engine = rows._data.engine
    del rows, engine
    import gc

    gc.collect()
    assert not folder.exists()


def test_a_spill_folder_is_not_removed_before_its_lock_is_held(monkeypatch, tmp_path):
    """Another process cleans up just before ours holds its lock."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = fcntl.flock
    others: list[Any] = []

    def late(file, operation):
        if operation == fcntl.LOCK_EX and not others:
            others.append(None)
            others.append(duckdb.make_spill_folder())
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    folder, held = duckdb.make_spill_folder()
    other, held_by_other = others[1]
    last, held_last = duckdb.make_spill_folder()
    assert all(os.path.exists(os.path.join(each, "in-use")) for each in (folder, other, last))
    for each in ((folder, held), (other, held_by_other), (last, held_last)):
        duckdb.remove_spill_folder(*each)
    assert list(tmp_path.iterdir()) == []
