"""Known sums: unequal variances, rows that repeat, values known exactly, errors of sums, and values above zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import consistent
from leastnoise.testing import seeded

TREE = np.array([[1, -1, -1, 0, 0, 0, 0], [0, 1, 0, -1, -1, 0, 0], [0, 0, 1, 0, 0, -1, -1]], dtype=float)


def dense(y: np.ndarray, v: np.ndarray, a: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gain = np.diag(v) @ a.T @ np.linalg.pinv(a @ np.diag(v) @ a.T)
    return y - gain @ (a @ y - totals), np.diag(v) - gain @ a @ np.diag(v)


@pytest.mark.parametrize("seed", range(4))
def test_values_and_covariances_are_those_of_dense_least_squares(seed: int) -> None:
    """With a sigma for each value, rows that follow from others, totals that are known and a value without noise."""
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.5, 3, 7)
    relative = np.ones(7)
    relative[3] = 0.0 if seed % 2 else 1.0
    a = np.vstack([TREE, TREE[0] + TREE[1], np.ones(7), 2 * np.ones(7)])
    truth = np.array([10.0, 6, 4, 2, 4, 1, 3])
    totals = a @ truth
    y = np.where(relative == 0, truth, truth + sigma * rng.normal(size=7))
    made = consistent(y, sigma, matrix=csr_array(a), totals=totals, variances=relative)
    values, covariance = dense(y, sigma**2 * relative, a, totals)
    np.testing.assert_allclose(made.values, values, atol=1e-8)
    np.testing.assert_allclose(made.exact_std, np.sqrt(np.maximum(np.diag(covariance), 0)), atol=1e-6)
    factors = rng.normal(size=(3, 7))
    np.testing.assert_allclose(made.details.covariance(factors), factors @ covariance @ factors.T, atol=1e-7)
    assert made.degrees_of_freedom == (2 if seed % 2 else 3)
    assert made.risk == pytest.approx(np.diag(covariance).mean())
    total = made.details.total(factors[0], 0.95)
    assert total.value == pytest.approx(factors[0] @ values)
    assert total.high - total.value == pytest.approx(1.959964 * total.std, rel=1e-5)
    low, high = made.interval(0.95)
    np.testing.assert_allclose((high - low) / 2, 1.959964 * np.asarray(made.exact_std), rtol=1e-5, atol=1e-9)


def test_intervals_of_sums_hold() -> None:
    """Two thousand draws, five standard errors: a false alarm in 1e-6."""
    rng = np.random.default_rng(8)
    truth, sigma = np.array([9.0, 5, 4]), np.array([2.0, 1.0, 0.5])
    inside = []
    for _ in range(2000):
        sums = consistent(truth + sigma * rng.normal(size=3), sigma, matrix=[[1, -1, -1]]).details
        low, high = sums.total([1, 0, 1], 0.9)[2:]
        inside.append(low <= 13 <= high)
    assert abs(np.mean(inside) - 0.9) < 5 * math.sqrt(0.09 / 2000)


@pytest.mark.parametrize("seed", range(3))
def test_without_negative_values_it_is_the_nearest_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.5, 3, 7)
    y = np.array([3.0, 2, 1, 0, 2, 0, 1]) + 2 * sigma * rng.normal(size=7)
    a = np.vstack([TREE, TREE[0] + TREE[1]])
    made = consistent(y, sigma, matrix=a, nonnegative=True)
    assert (made.values >= 0).all()
    assert np.allclose(a @ made.values, 0, atol=1e-6)
    leaves = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4)])
    best = minimize(lambda h: float((((leaves @ h - y) / sigma) ** 2).sum()), np.ones(4), bounds=[(0, None)] * 4)
    assert float((((made.values - y) / sigma) ** 2).sum()) == pytest.approx(best.fun, rel=1e-6)
    assert made.nonnegative
    assert made.risk is None
    np.testing.assert_array_equal(made.details.nonnegative(), made.values)
    whole = made.details.integers()
    assert whole.dtype == np.int64
    assert (whole >= 0).all()
    assert (TREE @ whole == 0).all()
    assert np.abs(whole - made.values).max() < 1 + 1e-9


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(errors.InvalidParameter, match="none is negative"):
        consistent([1.0, 2.0], 1.0, matrix=[[1, 1]], totals=[-1.0], nonnegative=True)
    with pytest.raises(errors.InvalidParameter, match="contradict"):
        consistent([1.0, 2.0], 1.0, matrix=[[1, 1]], totals=[5.0], variances=[0.0, 0.0])
    with pytest.raises(errors.InvalidParameter, match="trees"):
        consistent([1.0, 2.0], 1.0, matrix=[[1, 1]], totals=[3.0]).details.integers()
    two = consistent(np.ones(3), 1.0, matrix=[[1, 0, -1], [0, 1, -1]])
    with pytest.raises(errors.InvalidParameter, match="trees"):
        two.details.integers()
    with pytest.raises(errors.InvalidParameter, match="variances"):
        consistent(np.ones(3), 1.0, matrix=[[1, -1, -1]], variances=[1.0, -1.0, 1.0])
    with pytest.raises(errors.InvalidParameter, match="factors"):
        two.details.covariance([1.0, 2.0])


def test_a_variance_given_as_sigma_is_challenged() -> None:
    """Noise of standard deviation 100, and sigma 1: the sums are off by far more than that. With the right one nothing
    is said; that it is though the noise is right has a chance of 1e-9."""
    rng = np.random.default_rng(1)
    y = np.array([900.0, 500, 400]) + 100 * rng.normal(size=3)
    assert "times what noise" in consistent(y, 1.0, matrix=[[1, -1, -1]]).explain()
    assert "times what noise" not in consistent(y, 100.0, matrix=[[1, -1, -1]]).explain()


def test_a_release_keeps_its_keys_and_its_promise() -> None:
    people = pd.DataFrame({"who": range(60), "zone": ["all"] * 30 + ["a"] * 20 + ["b"] * 10})
    with seeded(4):
        made = ln.table(people, unit="who").histogram("zone", keys=["all", "a", "b"], max_rows=1).release(
            epsilon=1, delta=1e-6, mechanism="gaussian"
        )  # fmt: skip
    options: dict[str, Any] = {"matrix": [[1, -1, -1]], "variances": [1.0, 1.0, 1.0]}
    found = made.denoise("consistent", **options)
    assert found.guarantee == made.guarantee
    assert found.id == made.id
    assert found.to_pandas()["zone"].tolist() == ["all", "a", "b"]
    np.testing.assert_allclose(found.values, consistent(made.values, made.std, **options).values)
    assert found.values[0] == pytest.approx(found.values[1:].sum())
    with pytest.raises(errors.WrongType, match=r"y\.denoise"):
        consistent(made, 1.0, **options)
