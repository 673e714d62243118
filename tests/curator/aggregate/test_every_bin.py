"""Totals of some bins become a number for every bin."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from leastnoise.curator.aggregate.every_bin import scattered


def test_bins_that_no_row_fell_into_are_zero() -> None:
    parts = [pa.table({"bin": [3, 0], "rows": [5, 1]}), pa.table({"bin": [3], "rows": [2]})]
    assert scattered(5, parts, "rows").tolist() == [1, 0, 0, 7, 0]


def test_no_rows_at_all_are_zeros() -> None:
    empty = pa.table({"bin": pa.array([], pa.int64()), "rows": pa.array([], pa.int64())})
    assert scattered(3, [empty], "rows").tolist() == [0, 0, 0]


def test_sums_beyond_64_bits_stay_exact() -> None:
    sums = pa.array([Decimal(2**63), None], pa.decimal128(38, 0))
    assert scattered(2, [pa.table({"bin": [1, 0], "total": sums})] * 2, "total").tolist() == [0, 2**64]
