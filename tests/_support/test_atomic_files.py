"""Files appear whole or not at all, and leave nothing beside them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise import errors
from leastnoise._support import atomic_files, outputs

TABLE = pa.table({"value": [1, 2, 3]}, metadata={outputs.KEY: b'{"format": 2, "what": "release"}'})


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    with atomic_files.replacing(path, "release") as unfinished:
        pq.write_table(TABLE, unfinished)
    before, known = path.read_bytes(), set(atomic_files.temporary)
    with suppress(ZeroDivisionError), atomic_files.replacing(path, "release") as unfinished:
        Path(unfinished).write_bytes(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.parquet"]
    assert atomic_files.temporary == known


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    atomic_files.check_writable(tmp_path / "r.parquet")
    assert os.listdir(tmp_path) == []
    with pytest.raises(errors.BadOutput, match="directory does not exist"):
        atomic_files.check_writable(tmp_path / "none" / "r.parquet")


def test_leftovers_are_removed_when_nobody_writes_them_any_more(tmp_path: Path) -> None:
    old, new = (tmp_path / f".r.parquet.{'0' * 11}{i}.unfinished" for i in range(2))
    for path in (old, new):
        path.write_bytes(b"half")
    long_ago = old.stat().st_mtime - 2 * atomic_files.STALE_SECONDS
    os.utime(old, (long_ago, long_ago))
    atomic_files.sweep(tmp_path / "other.parquet")
    assert os.listdir(tmp_path) == [new.name]
