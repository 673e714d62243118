"""Parquet is read within limits: what unpacks out of proportion to its size is refused before it fills the memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise import errors
from leastnoise._support import parquet

TABLE = pa.table({"n": [1, 2, None], "word": ["a", "a", None], "real": [0.5, None, 2.0]})


@pytest.mark.parametrize("columns", [None, ["n"], ["word", "n"]])
def test_columns_are_read_as_they_are(tmp_path: Path, columns: list[str] | None) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    wanted = TABLE if columns is None else TABLE.select(columns)
    assert parquet.read(path, columns).to_pydict() == wanted.to_pydict()
    assert parquet.read(pa.py_buffer(path.read_bytes()), columns).to_pydict() == wanted.to_pydict()


@pytest.mark.parametrize("values", [[7] * 50_000, ["w" * 1000] * 50_000, ["w" * 1000] * 1000])
def test_a_file_that_unpacks_too_far_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[object]
) -> None:
    """Too many rows are seen before any is read; of few, the lengths of their words when they are."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": values}), path, compression="zstd")
    assert parquet.read(path).num_rows == len(values)
    monkeypatch.setattr(parquet, "MAX_BYTES", 10_000)
    monkeypatch.setattr(parquet, "MAX_RATIO", 2)
    with pytest.raises(errors.NotOurs, match="far out of proportion"):
        parquet.read(path)


def test_a_nested_column_is_no_value(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [[1], [2]]}), tmp_path / "t.parquet")
    with pytest.raises(errors.WrongType, match="one value a row"):
        parquet.read(tmp_path / "t.parquet")
