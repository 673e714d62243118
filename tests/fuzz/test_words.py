"""Every oddity of Unicode as a key, a column or a filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from fuzzing import CANARY, ODD, cases, survives
from leastnoise import errors
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

pytestmark = pytest.mark.slow

ANY = st.one_of(
    ODD,
    st.text(st.characters(categories=["Cs", "Lu", "Mn"]), max_size=8),
    st.builds(lambda c, n: c * n, st.characters(), st.sampled_from([1, 300, 70_000])),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@cases("keys", 20)
@given(st.lists(ANY, min_size=1, max_size=5), ANY)
def test_any_text_is_a_key_and_comes_back(folder: Path, keys: list[str], name: str) -> None:
    """Keys and column names go into SQL, into Parquet and back, or are refused."""
    path = folder / "keys.parquet"

    def ask() -> Any:
        try:
            rows = pa.table({"who": [1, 2], name: [keys[0], CANARY]})
        except UnicodeEncodeError:  # Arrow has no surrogates
            rows = pa.table({"who": [1, 2], "z": ["a", CANARY]})
        query = table(rows, unit="who").histogram(rows.column_names[1], keys=keys, max_rows=1)
        assert aggregate(query).values.sum() <= 2  # no row is in two bins
        made = query.release(epsilon=1, delta=1e-6)
        made.save(path)
        return ln.load(path)

    loaded = survives(ask)
    assert isinstance(loaded, errors.LeastnoiseError) or loaded.domain.keys() == keys


WORDS = st.sampled_from(
    ["n", "z", "f", "t", "d", "c", "who", '"n"', "N", "and", "or", "not", "(", ")", "=", "<", ">=", "!=", "<>", "1",
     "-1", "1e5", "1e999", "'a'", "'2013-01-01'", "'x''y'", "true", "false", "--", "9" * 30, "0.1", "'" + CANARY]
)  # fmt: skip
TEXT = st.one_of(ODD, st.lists(WORDS, max_size=12).map(" ".join))
ROWS = pa.table(
    {
        "who": [1, 2],
        "n": pa.array([1, 2], pa.uint64()),
        "z": ["a", "b"],
        "f": pa.array([1.5, 2.5], pa.float32()),
        "t": pa.array([0, 1], pa.timestamp("ns", "UTC")),
        "d": pa.array([0, 1], pa.date32()),
        "c": pa.array([0, 1], pa.time64("us")),
    }
)


@pytest.fixture(scope="module")
def rows() -> Any:
    return table(ROWS, unit="who")


@cases("filters", 80)
@given(TEXT)
def test_any_filter_is_understood_or_refused(rows: Any, text: str) -> None:
    made = survives(lambda: rows.where(text.replace(CANARY, "x")))
    if not isinstance(made, errors.LeastnoiseError):
        count = aggregate(made.count(max_rows=1)).values[0]  # what was understood must run, on any rows
        assert 0 <= count <= 2
