"""DuckDB's temporary folders go with their table, and no sooner."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

from leastnoise.curator.engines import spill_folder
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
            others.append(spill_folder.make())
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    folder, held = spill_folder.make()
    other, held_by_other = others[1]
    last, held_last = spill_folder.make()
    assert all(os.path.exists(os.path.join(each, "in-use")) for each in (folder, other, last))
    for each in ((folder, held), (other, held_by_other), (last, held_last)):
        spill_folder.remove(*each)
    assert list(tmp_path.iterdir()) == []
