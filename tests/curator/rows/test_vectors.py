"""Vectors: inside the ball exactly, each by itself, whatever stands beside it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.curator.rows.vectors import NormClip
from leastnoise.curator.table import table
from leastnoise.errors import MissingParameter, WrongType
from leastnoise.testing import aggregate


def clip(ball: NormClip, rows: np.ndarray) -> np.ndarray:
    """Each row alone, in steps of the grid."""
    return np.array([ball.total([np.array([value]) for value in row])[:-1] for row in rows])


def reference(ball: NormClip, rows: np.ndarray) -> list[int]:
    """The rule of the ball in exact arithmetic but for the scale's two roundings, row by row."""
    total = [0] * (ball.length + 1)
    for row in rows:
        if np.isnan(row).any():
            continue
        reach = 2 * ball.radius
        steps = [round(Fraction(min(max(float(x) / ball.grid, -reach), reach))) for x in row]
        squares = sum(step * step for step in steps)
        scale = min(1.0, ball.radius / math.sqrt(max(squares, 1)))
        total = [t + int(step * scale) for t, step in zip(total, [*steps, 0], strict=True)]
        total[-1] += 1
    return total


NUMBERS = st.floats(allow_nan=False, width=32) | st.floats(-2, 2)


@settings(deadline=None)
@given(
    st.integers(1, 6).flatmap(lambda d: st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=1, max_size=9)),
    st.floats(1e-3, 1e3),
)
def test_every_clipped_vector_is_inside_the_ball_exactly(rows, norm):
    ball = NormClip.of(norm, len(rows[0]))
    assert Fraction(ball.radius) * Fraction(ball.grid) <= Fraction(norm)
    for row in clip(ball, np.array(rows, np.float64)):
        assert sum(int(step) ** 2 for step in row) <= ball.radius**2


@settings(deadline=None)
@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=40))
def test_a_vector_is_clipped_alike_in_any_company(rows):
    ball = NormClip.of(1.0, 3)
    together = ball.total(list(np.array(rows, np.float64).T.copy()))
    assert together[:-1].tolist() == clip(ball, np.array(rows, np.float64)).sum(axis=0).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_of_vectors_are_clipped_by_the_rule(kind):
    """With NaN, infinities, halves of a step and vectors on both sides of the ball."""
    random = np.random.default_rng(3)
    ball = NormClip.of(1.0, 5)
    rows = (random.normal(size=(1000, 5)) * random.choice([0.1, 0.5, 3.0], (1000, 1))).astype(kind)
    rows[::11] = np.round(rows[::11] / ball.grid * 2) * ball.grid / 2
    rows[::17, 2], rows[::19, 0], rows[::23, 4] = np.nan, np.inf, -np.inf
    assert ball.total(list(rows.T.copy())).tolist() == reference(ball, rows)


def test_a_vector_inside_the_ball_is_rounded_to_the_nearest_step():
    ball = NormClip.of(1.0, 4)
    block = np.random.default_rng(2).uniform(-0.4, 0.4, (100, 4))
    assert np.abs(clip(ball, block) * ball.grid - block).max() <= ball.grid / 2


@pytest.mark.parametrize("length", [1, 2, 1000, 2**20])
def test_squared_norms_stay_below_2_to_the_53(length):
    ball = NormClip.of(1.0, length)
    assert 4 * ball.radius**2 * length <= 2**53


def rows_of(vectors: np.ndarray, units: np.ndarray) -> pa.Table:
    columns = {f"x{place}": vectors[:, place] for place in range(vectors.shape[1])}
    return pa.table({"unit": units, **columns, "array": pa.array(vectors.tolist(), pa.list_(pa.float64()))})


def test_columns_and_arrays_give_the_same_sum():
    random = np.random.default_rng(6)
    rows = table(rows_of(random.normal(size=(300, 5)), random.integers(0, 200, 300)), unit="unit")
    columns = rows.vector_sum([f"x{place}" for place in range(5)], clip_norm=1.5, max_rows=100)
    array = rows.vector_sum("array", length=5, clip_norm=1.5, max_rows=100)
    assert aggregate(columns).values.tolist() == aggregate(array).values.tolist()


@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_a_unit_keeps_max_rows_vectors_in_any_scan_order(max_rows):
    random = np.random.default_rng(7)
    vectors, units = random.normal(size=(400, 3)), random.integers(0, 120, 400)
    vectors[::7, 1] = np.nan
    found = []
    for order in (np.arange(400), random.permutation(400)):
        rows = table(rows_of(vectors[order], units[order]), unit="unit")
        query = rows.vector_mean(["x0", "x1", "x2"], clip_norm=1.0, max_rows=max_rows)
        found.append(aggregate(query).values.tolist())
    complete = np.bincount(units[~np.isnan(vectors).any(axis=1)], minlength=120)
    assert found[0] == found[1]
    assert found[0][-1] == query.clip.radius * int(np.minimum(complete, max_rows).sum())  # type: ignore[attr-defined]


def test_vectors_need_numbers_and_a_public_length():
    rows = table(pa.table({"unit": [1], "array": [[1.0, 2.0]], "text": ["a"]}), unit="unit")
    with pytest.raises(MissingParameter, match="length=128"):
        rows.vector_mean("array", clip_norm=1.0, max_rows=1)
    with pytest.raises(WrongType):
        rows.vector_mean(["text"], clip_norm=1.0, max_rows=1)


def test_machine_code_needs_no_place_to_be_kept(tmp_path):
    """A folder nobody may write and no home: compiled in memory."""
    import os
    import shutil
    import subprocess
    import sys
    from pathlib import Path

    import leastnoise

    there = tmp_path / "site"
    shutil.copytree(
        Path(leastnoise.__file__).parent, there / "leastnoise", ignore=shutil.ignore_patterns("__pycache__")
    )
    script = "from numba.core import caching as c; c.CacheImpl._locator_classes = []\n" * 1
    script += "from leastnoise.curator.rows import keeping; keeping.prepare(); print('compiled')"
    told = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(there)}, capture_output=True, text=True
    )
    assert told.stdout.strip() == "compiled", told.stderr


@pytest.mark.parametrize("crowd", [1, 3])
def test_rows_of_nobody_are_left_out_whether_ranked_or_not(crowd):
    """A null names nobody; with `crowd` rows of unit 1 the ranking is needed or not."""
    units = pa.array([1] * crowd + [2, None, None, None])
    rows = pa.table({"unit": units, "x": [0.25] * len(units), "y": [0.5] * len(units)})
    made = aggregate(table(rows, unit="unit").vector_mean(["x", "y"], clip_norm=1.0, max_rows=1)).values
    ball = NormClip.of(1.0, 2)
    assert made.tolist() == [2 * round(0.25 / ball.grid), 2 * round(0.5 / ball.grid), 2 * ball.radius]
