"""Totals before noise, a number for every bin or for the keys that were found: exact, then clamped to 64 bits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.curator.rows import totals
from leastnoise.curator.rows.totals import MAX_TOTAL, FoundKeys, counts, saturate, to_dense, to_int64

TOTALS = st.integers(-(2**70), 2**70) | st.integers(-9, 9) | st.integers(-2, 2).map(lambda near: MAX_TOTAL + near)


@given(st.lists(TOTALS, min_size=2, max_size=5))
def test_totals_are_clamped_and_no_two_are_moved_apart(totals: list[int]) -> None:
    found = saturate(to_int64(np.array(totals, dtype=object)))
    assert found.dtype == np.int64
    assert found.tolist() == [max(-MAX_TOTAL, min(MAX_TOTAL, total)) for total in totals]
    assert abs(int(found[0]) - int(found[1])) <= abs(totals[0] - totals[1])


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_whole_numbers_of_64_bits_are_clamped_alike(dtype: Any) -> None:
    ends = np.array([2**63 - 1, -(2**63), MAX_TOTAL + 1, 7], dtype=dtype)
    assert saturate(ends).tolist() == [MAX_TOTAL, -MAX_TOTAL, MAX_TOTAL, 7]


def test_bins_that_no_row_fell_into_are_zero() -> None:
    assert to_dense(5, pa.table({"bin": [3, 0], "rows": [5, 1]}), "rows").tolist() == [1, 0, 0, 5, 0]


def test_no_rows_at_all_are_zeros() -> None:
    empty = pa.table({"bin": pa.array([], pa.int64()), "rows": pa.array([], pa.int64())})
    assert to_dense(3, empty, "rows").tolist() == [0, 0, 0]


def test_sums_beyond_64_bits_stay_exact() -> None:
    sums = pa.array([Decimal(2**63), None], pa.decimal128(38, 0))
    assert to_dense(2, pa.table({"bin": [1, 0], "total": sums}), "total").tolist() == [0, 2**63]


def test_keys_are_values_or_tuples_of_them(monkeypatch) -> None:
    monkeypatch.setattr(totals, "BATCH", 2)
    one, two = pa.chunked_array([["a", None], ["b"]]), pa.chunked_array([[1, 2, 3]])
    single, pairs = FoundKeys(pa.table({"k": one})), FoundKeys(pa.table({"k": one, "n": two}))
    assert single == ("a", None, "b")
    assert (single[1], single[2], pairs[1]) == (None, "b", (None, 2))
    assert list(pairs) == [("a", 1), (None, 2), ("b", 3)]
    assert pairs[1:] == ((None, 2), ("b", 3))
    assert single != ("a", None)
    assert len(FoundKeys(pa.table({"k": pa.array([], pa.string())}))) == 0


def test_counts_are_integers_of_any_size() -> None:
    kind = pa.decimal128(38, 0)
    small = counts(pa.chunked_array([pa.array([Decimal(7), Decimal(-1)], kind)]))
    assert (small.dtype.kind, small.tolist()) == ("i", [7, -1])
    assert counts(pa.chunked_array([pa.array([Decimal(2**70)], kind)])).tolist() == [2**70]
