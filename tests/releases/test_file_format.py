"""What is written is read again; what another version wrote is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from leastnoise import errors
from leastnoise.releases import file_format

TABLE = pa.table({"value": [1, 2, 3]})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file_format.write(tmp_path / "r.parquet", TABLE, what="release", facts={"a": 1})
    table, what, facts = file_format.read(tmp_path / "r.parquet")
    assert (table.to_pydict(), what, facts) == (TABLE.to_pydict(), "release", {"a": 1})
    assert os.listdir(tmp_path) == ["r.parquet"]


@pytest.mark.parametrize(("number", "words"), [(2, "written by a newer leastnoise"), (0, "edited or damaged")])
def test_other_versions_are_refused(number: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(file_format, "FORMAT", number)
        file_format.write(tmp_path / "r.parquet", TABLE, what="release", facts={})
    with pytest.raises(errors.NotOurs, match=words):
        file_format.read(tmp_path / "r.parquet")


def test_seeded_noise_is_refused_unless_it_is_allowed() -> None:
    file_format.refuse_seeded_noise(True, True)
    with pytest.raises(errors.SeededRelease, match=r"never published\. Say allow_seeded=True"):
        file_format.refuse_seeded_noise(True, False)
