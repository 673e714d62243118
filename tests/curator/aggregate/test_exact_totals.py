"""Totals before noise: exact however large, then clamped, so that what did not fit 64 bits does not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.curator.aggregate.exact_totals import MAX_TOTAL, clamped, narrow

TOTALS = st.integers(-(2**70), 2**70) | st.integers(-9, 9) | st.integers(-2, 2).map(lambda near: MAX_TOTAL + near)


@given(st.lists(TOTALS, min_size=2, max_size=5))
def test_totals_are_clamped_and_no_two_are_moved_apart(totals: list[int]) -> None:
    found = clamped(narrow(np.array(totals, dtype=object)))
    assert found.dtype == np.int64
    assert found.tolist() == [max(-MAX_TOTAL, min(MAX_TOTAL, total)) for total in totals]
    assert abs(int(found[0]) - int(found[1])) <= abs(totals[0] - totals[1])


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_whole_numbers_of_64_bits_are_clamped_alike(dtype: Any) -> None:
    ends = np.array([2**63 - 1, -(2**63), MAX_TOTAL + 1, 7], dtype=dtype)
    assert clamped(ends).tolist() == [MAX_TOTAL, -MAX_TOTAL, MAX_TOTAL, 7]
