"""Public files are read within limits and by name, whoever asks: trees, columns of keys, tables that are joined in."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import parquet
from leastnoise.domain import Tree
from leastnoise.domain.public_files import read_public_column

ROWS = 20_000


def joined(path: Path) -> Any:
    rows = ln.table(pd.DataFrame({"who": [1], "key": [7]}), unit="who")
    return rows.join_public(path, on="key", columns=["word"])


READERS: dict[str, Callable[[Path], Any]] = {
    "tree": lambda path: Tree.from_columns(path, "word", "key"),
    "keys": lambda path: read_public_column(str(path), "word"),
    "joined": joined,
}


@pytest.mark.parametrize("reader", READERS)
def test_parquet_that_unpacks_out_of_proportion_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    path = tmp_path / "zones.parquet"
    pq.write_table(pa.table({"key": list(range(ROWS)), "word": ["w" * 1000] * ROWS}), path, compression="zstd")
    READERS[reader](path)
    monkeypatch.setattr(parquet, "MAX_BYTES", 10_000)
    monkeypatch.setattr(parquet, "MAX_RATIO", 2)
    with pytest.raises(errors.NotOurs, match="far out of proportion"):
        READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
def test_a_packed_csv_that_unpacks_out_of_proportion_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    path = tmp_path / "zones.csv.gz"
    rows = "\n".join(f"{key},{'w' * 1000}" for key in range(ROWS))
    path.write_bytes(gzip.compress(f"key,word\n{rows}\n".encode()))
    READERS[reader](path)
    monkeypatch.setattr(parquet, "MAX_BYTES", 10_000)
    monkeypatch.setattr(parquet, "MAX_RATIO", 2)
    with pytest.raises(errors.NotOurs, match="far out of proportion"):
        READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
def test_only_the_columns_that_are_needed_are_read(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "zones.parquet"
    pq.write_table(pa.table({"key": [7, 8], "word": ["a", "b"], "shape": [[0.5], [1.5]]}), path)
    READERS[reader](path)


def test_a_name_that_two_columns_have_is_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([7]), pa.array(["a"]), pa.array(["b"])], names=["key", "word", "word"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    for source in (twice, tmp_path / "twice.parquet"):
        with pytest.raises(errors.BadDomain, match=r'two columns .* "word"'):
            joined(source)
