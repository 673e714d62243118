"""DuckDB's temporary folders go with their table, and no sooner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
