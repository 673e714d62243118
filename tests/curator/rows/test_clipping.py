"""Clips of every size: an answer, or a refusal before any row is read, and soon; and integers between rounded ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.rows.clipping import CLIP_BITS, grid_step, rounded, rounded_end
from leastnoise.testing import aggregate

ROWS = ln.table(
    pa.table(
        {
            "who": [1, 2, 3, 4],
            "x": [1e308, -5e-324, float("nan"), 0.5],
            "n": pa.array([2**63 - 1, -(2**63), None, 3], pa.int64()),
            "flag": [True, False, None, True],
        }
    ),
    unit="who",
)
PATIENCE = 20  # seconds; a query takes a hundredth of that


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """What never returns fails."""

    def late(*_: Any) -> None:
        raise TimeoutError("it did not return")

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def answered(make: Any, **asked: Any) -> str:
    """What became of a question: an answer within the clip, or one of our errors."""
    signal.alarm(PATIENCE)
    try:
        query = make()
        query.expect(**asked)
        made = query.release(**asked)
    except errors.ReadingFailed:
        return "failed on rows"
    except errors.LeastnoiseError as refused:
        return type(refused).__name__
    numbers = np.asarray(made.values, float)
    if isinstance(made, ln.MeanRelease):  # a mean of too few rows is none; its interval is the clip
        numbers = np.concatenate([numbers[made.enough], *made.interval(0.95)])
    return "answered" if np.isfinite(numbers).all() else "not finite"


EXTREME = [
    (0, 1e-200), (0, 5e-324), (0, 1e-320), (0, 1e250), (-1e308, 1e308), (0, 1.7e308), (1e300, 1.0000001e300),
    (-1e-200, 1e-200), (0, 10**400), (-(10**6000), 0), (1, 1 + 2.3e-16),
]  # fmt: skip


@pytest.mark.parametrize("clip", EXTREME, ids=range(len(EXTREME)))
@pytest.mark.parametrize("kind", ["sum", "mean", "quantile"])
def test_a_clip_beyond_doubles_is_refused_at_once(kind: str, clip: Any) -> None:
    signal.alarm(PATIENCE)
    level = {"levels": 0.5} if kind == "quantile" else {}
    with pytest.raises((errors.InvalidParameter, errors.InvalidParameter), match=r"clip"):
        getattr(ROWS, kind)("x", clip=clip, max_rows=1, **level)


@pytest.mark.parametrize(
    "norm", [1e-200, 5e-324, 1e-320, 1e250, 1.7e308, 0, -1, float("nan"), 10**400, "1", True], ids=range(11)
)
def test_a_norm_beyond_doubles_is_refused_at_once(norm: Any) -> None:
    signal.alarm(PATIENCE)
    for kind in ("vector_sum", "vector_mean"):
        with pytest.raises(errors.InvalidParameter, match="clip_norm must be"):
            getattr(ROWS, kind)(["x", "n"], clip_norm=norm, max_rows=1)


@pytest.mark.parametrize("clip", [(0, 1e-100), (-1e100, 1e100), (1e99, 1e100)])
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_the_ends_of_the_range_are_answered(kind: str, clip: Any) -> None:
    assert answered(lambda: getattr(ROWS, kind)("x", clip=clip, max_rows=1), epsilon=1, delta=1e-6) == "answered"


@pytest.mark.parametrize("norm", [1e-100, 1e100, Fraction(1, 3)])
def test_the_ends_of_the_range_of_norms_are_answered(norm: Any) -> None:
    assert (
        answered(lambda: ROWS.vector_mean(["x", "n"], clip_norm=norm, max_rows=1), epsilon=1, delta=1e-6) == "answered"
    )


EXPONENTS = st.integers(-330, 310)
DIGITS = st.integers(-9, 9).filter(bool)
SIZES = st.builds(lambda digits, exponent: float(f"{digits}e{exponent}"), DIGITS, EXPONENTS)
PRIVACY = st.sampled_from(
    [{"epsilon": 1, "delta": 1e-6}, {"epsilon": 1e-9, "delta": 0}, {"epsilon": 1e4, "delta": 1e-300}, {"sigma": 1e-90},
     {"sigma": 1e120}]
)  # fmt: skip
LIMITS = st.sampled_from([1, 5, 2**31 - 1])


# A failing clip is told as it is: to shrink it takes minutes.
@settings(deadline=None, max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(SIZES, st.sampled_from([0.0, 1.0, -1.0]) | SIZES, st.sampled_from(["x", "n", "flag"]), PRIVACY, LIMITS)
def test_any_clip_is_answered_or_refused(one: float, other: float, column: str, privacy: Any, rows: int) -> None:
    clip = (min(one, other), max(one, other))
    for kind in ("sum", "mean"):
        found = answered(lambda: getattr(ROWS, kind)(column, clip=clip, max_rows=rows), **privacy)  # noqa: B023
        assert found not in ("failed on rows", "not finite")
    found = answered(lambda: ROWS.quantile(column, [0.1, 0.5], clip=clip, max_rows=rows, bins=7), **privacy)
    assert found != "failed on rows"  # a quantile of so few rows is none
    for kind in ("vector_sum", "vector_mean"):
        found = answered(lambda: getattr(ROWS, kind)(["x", "n"], clip_norm=abs(one), max_rows=rows), **privacy)  # noqa: B023
        assert found not in ("failed on rows", "not finite")
    assert answered(lambda: ROWS.count(max_rows=rows), **privacy) not in ("failed on rows", "not finite")


@pytest.mark.parametrize("end", [2**62, 2**63 - 4096, 2**63, 2**64, -(2**63), -(2**63) - 4096, -(2**62)])
def test_whole_ends_beyond_64_bits_fail_on_no_row(end: int) -> None:
    """Of a mean they are taken away again, so the noise is small and the query runs."""
    for clip in [(end, end + 2**20), (end - 2**20, end)]:
        query = ROWS.mean("n", clip=clip, max_rows=1)
        centred, rows = aggregate(query).values.tolist()
        assert rows == 3 * query.clip.half  # type: ignore[attr-defined]
        assert abs(centred) <= rows


def test_booleans_are_ones_and_zeros() -> None:
    """A mean of booleans is a rate."""
    for clip in [(0, 1), (0.0, 1.0), (0, 0.5), (-1, 3)]:
        total = ROWS.sum("flag", clip=clip, max_rows=1)
        assert aggregate(total).values[0] * total.grid == 2 * min(clip[1], 1)
    rate = ROWS.mean("flag", clip=(0, 1), max_rows=1).release(epsilon=1e5, delta=1e-9)
    assert abs(rate.values[0] - 2 / 3) < 0.1
    median = ROWS.quantile("flag", 0.5, clip=(0, 1), bins=2, max_rows=1)
    assert aggregate(median).values.tolist() == [1, 2]


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
