"""Rows that cannot be read: one sentence without a value of theirs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.curator.table import table
from leastnoise.errors import (
    ReadingFailed,
)
from leastnoise.testing import aggregate
from spoilt_files import spoil


def broken(folder: Path, frame: pd.DataFrame) -> dict[str, Path]:
    """Files that cannot be read, each holding the secret 424242."""
    frame = frame.assign(place=424242)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    files = {name: folder / f"{name}.parquet" for name in ("truncated", "spoilt")}
    pq.write_table(arrow, files["truncated"])
    files["truncated"].write_bytes(files["truncated"].read_bytes()[:-20])
    pq.write_table(arrow, files["spoilt"])
    spoil(files["spoilt"])
    files["csv"] = folder / "bad.csv"
    lines = ["taxi,place,fare"] + ["1,2,3.5"] * 30_000 + ["secret424242,2,3.5,one too many"]
    files["csv"].write_text("\n".join(lines))
    return files


@pytest.mark.parametrize("kind", ["truncated", "spoilt", "csv"])
def test_unreadable_rows_give_one_sentence_without_a_value(kind, frame, tmp_path):
    path = broken(tmp_path, frame)[kind]
    types = {"fare": "float"} if kind == "csv" else None
    with pytest.raises(ReadingFailed) as caught:
        aggregate(table(path, unit="taxi", types=types).sum("fare", clip=(0, 9), max_rows=2))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "424242" not in str(caught.value)
    assert str(caught.value).startswith(f'the rows of "{path.name}" could not be read.')


def test_a_private_check_withholds_what_an_engine_says(frame, tmp_path):
    path = broken(tmp_path, frame)["spoilt"]
    with pytest.raises(ReadingFailed) as caught:
        table(path, unit="taxi").private_check()
    assert caught.value.__context__ is None
    assert str(caught.value).startswith('the rows of "spoilt.parquet" could not be read.')


MALFORMED = {
    "a field missing": b"taxi,place,fare\n1,2,3.5\nsecret424242,2\n",
    "a field too many": b"taxi,place,fare\n1,2,3.5\nsecret424242,2,3.5,4\n",
    "an open quote": b'taxi,place,fare\n1,2,3.5\n1,"secret424242,3.5\n1,2,3.5\n',
    "another encoding": "taxi,place,fare\n1,2,3.5\nsecret424242,\xe9,3.5\n".encode("latin-1"),
}


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize(
    "ask", [lambda t: t.private_check(), lambda t: aggregate(t.histogram("place", keys=["2"], max_rows=1))]
)
@pytest.mark.parametrize("by", [",", ";"])
def test_a_malformed_csv_is_an_error_that_names_the_file_and_every_likely_cause(by, kind, ask, tmp_path):
    """The same words whatever the mistake is, so that they tell nothing of a row."""
    path = tmp_path / "bad.csv"
    path.write_bytes(MALFORMED[kind].replace(b",", by.encode()))
    with pytest.raises(ReadingFailed) as caught:
        ask(table(path, unit="taxi", delimiter=by))
    told = str(caught.value)
    assert told.startswith('the rows of "bad.csv" could not be read. Nothing was released.')
    for words in ("more or fewer fields than the header", "quote that is not closed", "encoding"):
        assert words in told
    assert "424242" not in told
    assert "check()" not in told
    assert len(told) < 500
    assert caught.value.__context__ is None
