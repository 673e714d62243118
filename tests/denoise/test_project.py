"""Consistency with known sums, and monotone sequences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from leastnoise import errors
from leastnoise.denoise import consistent, isotonic, project

TREE = np.array([[1, -1, -1, 0, 0, 0, 0], [0, 1, 0, -1, -1, 0, 0], [0, 0, 1, 0, 0, -1, -1]], dtype=float)


def test_a_hierarchy_adds_up_and_is_the_least_change() -> None:
    y = np.random.default_rng(1).normal(10, 3, 7)
    made = consistent(y, 1.0, matrix=csr_array(TREE))
    assert np.allclose(TREE @ made.values, 0, atol=1e-12)
    null = np.linalg.svd(TREE)[2][3:]  # rows spanning {A h = 0}
    assert np.allclose(made.values, null.T @ (null @ y))
    assert made.degrees_of_freedom == 4


def test_more_uncertain_values_move_more() -> None:
    made = consistent([10.0, 4.0, 3.0], 1.0, matrix=[[1, -1, -1]], variances=[4.0, 1.0, 1.0])
    assert np.allclose(made.values, [8.0, 4.5, 3.5])
    assert made.risk == pytest.approx((4 / 3 + 5 / 6 + 5 / 6) / 3)  # linear and unbiased, so it is known


def test_known_totals_are_met() -> None:
    made = consistent(np.arange(6.0), 1.0, matrix=[[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], totals=[6.0, 30.0])
    assert np.allclose(made.values, [1, 2, 3, 9, 10, 11])
    whole = project(np.arange(6.0), 1.0, onto="total", total=36.0).values
    assert whole.sum() == pytest.approx(36)


def test_rows_may_repeat_and_must_not_contradict() -> None:
    made = consistent(np.arange(3.0), 1.0, matrix=[[1, 1, 1], [1, 1, 1]], totals=[1.0, 1.0])
    assert np.allclose(made.values, consistent(np.arange(3.0), 1.0, matrix=[[1, 1, 1]], totals=1.0).values)
    assert made.degrees_of_freedom == 2
    with pytest.raises(errors.InvalidParameter, match="contradict"):
        consistent(np.arange(3.0), 1.0, matrix=[[1, 1, 1], [1, 1, 1]], totals=[1.0, 2.0])


def test_true_sums_never_hurt() -> None:
    """Projection onto a set that holds the truth brings y nearer to it, draw by draw."""
    rng = np.random.default_rng(2)
    leaves = rng.poisson(5, 4).astype(float)
    truth = np.concatenate([[leaves.sum(), leaves[:2].sum(), leaves[2:].sum()], leaves])
    for _ in range(200):
        y = truth + rng.laplace(0, 2, 7)
        made = consistent(y, 2.0, matrix=TREE).values
        assert ((made - truth) ** 2).sum() <= ((y - truth) ** 2).sum() + 1e-9


def test_isotonic_levels() -> None:
    made = isotonic([3.0, 1.0, 2.0, 8.0, 7.0], 1.0)
    assert np.allclose(made.values, [2, 2, 2, 7.5, 7.5])
    assert made.degrees_of_freedom == 2
    falling = isotonic([3.0, 1.0, 2.0, 8.0, 7.0], 1.0, increasing=False).values
    assert (np.diff(falling) <= 0).all()
    assert np.allclose(isotonic(falling, 1.0, increasing=False).values, falling)


def test_the_size_of_a_set_must_be_said() -> None:
    with pytest.raises(errors.MissingParameter, match="radius"):
        project(np.ones(3), 1.0, onto="l2")
    with pytest.raises(errors.MissingParameter, match="total"):
        project(np.ones(3), 1.0, onto="simplex")
    with pytest.raises(errors.InvalidParameter):
        project(np.ones(3), 1.0, onto="l1", radius=-1)
    assert project(np.ones(3), 1.0, onto="total", total=-3).values.sum() == pytest.approx(-3)
