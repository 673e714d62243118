"""Clipped doubles become integers between the rounded ends."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from leastnoise.curator.rows.clipping import CLIP_BITS, grid_step, rounded, rounded_end

ENDS = st.floats(-1e100, 1e100, allow_subnormal=False)


@given(ENDS, ENDS)
def test_a_step_is_a_power_of_two_that_keeps_the_ends_apart_and_exact(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    assume(high - low >= 1e-100)
    step = grid_step(low, high)
    assert np.frexp(step)[0] == 0.5
    assert rounded_end(high, step) - rounded_end(low, step) <= 2**CLIP_BITS
    assert max(abs(rounded_end(low, step)), abs(rounded_end(high, step))) <= 2**51


def test_values_are_rounded_as_the_ends_are_and_none_lands_beyond_them() -> None:
    low, high = -1 / 3, 10.7
    step = grid_step(low, high)
    inside = [low, np.nextafter(low, 1), 0.0, -0.0, step / 4, step / 2, 3.7, np.nextafter(high, 0), high]
    rows = ibis.memtable(pa.table({"x": inside}))
    found = rows.mutate(n=rounded(rows["x"], step)).to_pyarrow()
    assert found["n"].to_pylist() == [rounded_end(x, step) for x in inside]
    assert (min(found["n"].to_pylist()), max(found["n"].to_pylist())) == (
        rounded_end(low, step),
        rounded_end(high, step),
    )
