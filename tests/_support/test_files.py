"""Files appear whole or not at all, and leave nothing beside them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise import errors
from leastnoise._support import files, outputs

TABLE = pa.table({"value": [1, 2, 3]}, metadata={outputs.KEY: b'{"format": 1, "what": "release"}'})


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    with files.replacing(path, "release") as unfinished:
        pq.write_table(TABLE, unfinished)
    before, known = path.read_bytes(), set(files.temporary)
    with suppress(ZeroDivisionError), files.replacing(path, "release") as unfinished:
        Path(unfinished).write_bytes(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.parquet"]
    assert files.temporary == known


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    files.check_writable(tmp_path / "r.parquet")
    assert os.listdir(tmp_path) == []
    with pytest.raises(errors.BadOutput, match="directory does not exist"):
        files.check_writable(tmp_path / "none" / "r.parquet")


def test_leftovers_are_removed_when_nobody_writes_them_any_more(tmp_path: Path) -> None:
    old, new = (tmp_path / f".r.parquet.{'0' * 11}{i}.unfinished" for i in range(2))
    for path in (old, new):
        path.write_bytes(b"half")
    long_ago = old.stat().st_mtime - 2 * files.STALE_SECONDS
    os.utime(old, (long_ago, long_ago))
    files.sweep(tmp_path / "other.parquet")
    assert os.listdir(tmp_path) == [new.name]


def test_a_new_text_is_whole_and_never_in_place_of_another(tmp_path: Path) -> None:
    path = files.create(tmp_path / "keys.toml", "é = 1\n")
    assert path.read_text(encoding="utf-8") == "é = 1\n"
    with pytest.raises(errors.BadOutput, match="is there already"):
        files.create(path, "other")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(errors.BadOutput, match="is there already"):
        files.create(tmp_path / "link", "other")
    with pytest.raises(errors.BadOutput, match="directory does not exist"):
        files.create(tmp_path / "no" / "keys.toml", "a")
    assert path.read_text(encoding="utf-8") == "é = 1\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys.toml", "link"]


def test_a_rewritten_text_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = tmp_path / "record", set(files.temporary)  # an engine's own folder may be among them
    for text in ("one", "two"):
        files.rewrite(path, text)
        assert path.read_text() == text

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "sync", full)
    with pytest.raises(errors.FileProblem, match="No space left"):
        files.rewrite(path, "three")
    assert path.read_text() == "two"
    assert [each.name for each in tmp_path.iterdir()] == ["record"]
    assert set(files.temporary) <= before
