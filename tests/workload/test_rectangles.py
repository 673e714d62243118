"""Covariances in closed form, against the dense mechanism and against exact draws."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_tables import block_information, table_matrix
from leastnoise import errors
from leastnoise.curator.noise.gaussian import rounded_gaussian
from leastnoise.testing import seeded
from leastnoise.workload import Strategy, Workload, table_errors
from leastnoise.workload.residuals import integer_residual, project, table_of_blocks
from leastnoise.workload.strategy import integer_scales

SIZES = {"a": 3, "b": 4, "one": 1, "c": 2}
TABLES = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "one")]


@cache
def strategy(mu: float = 1.0) -> Strategy:
    return Workload(SIZES, tables=TABLES).optimize(mu=mu)


@cache
def dense_covariance() -> np.ndarray:
    return np.asarray(np.linalg.pinv(block_information(SIZES, strategy().variances), rcond=1e-10, hermitian=True))


def indicator(table: tuple[str, ...], rectangle: dict[str, list[int]]) -> np.ndarray:
    """The sum over a rectangle as a vector on the finest table."""
    axes = [np.isin(np.arange(SIZES[c]), rectangle.get(c, range(SIZES[c]))) for c in table]
    cells = np.ones(())
    for axis in axes:
        cells = np.multiply.outer(cells, axis)
    return cells.ravel() @ table_matrix(SIZES, table)


def rectangles(data: st.DataObject) -> tuple[tuple[str, ...], dict[str, list[int]]]:
    table = data.draw(st.sampled_from([*TABLES, ("b",), ()]))
    named = [column for column in table if data.draw(st.booleans())]
    return table, {c: data.draw(st.lists(st.integers(0, SIZES[c] - 1), unique=True)) for c in named}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_covariances_of_rectangles_are_those_of_the_dense_mechanism(data: st.DataObject) -> None:
    made, dense = strategy(), dense_covariance()
    chosen = [rectangles(data) for _ in range(3)]
    vectors = np.array([indicator(*each) for each in chosen])
    expected = vectors @ dense @ vectors.T
    found = made.covariances(chosen)
    np.testing.assert_allclose(found, expected, atol=1e-9 * max(1, np.abs(expected).max()))
    for (table, rectangle), variance in zip(chosen, np.diag(expected), strict=True):
        first = {column: range(len(positions)) for column, positions in rectangle.items()}
        assert made.covariances([(table, first)])[0, 0] == pytest.approx(variance, abs=1e-9)
    apart = vectors[0] - vectors[1]
    difference = made.difference_variance(*chosen[0], *chosen[1])
    assert difference == pytest.approx(apart @ dense @ apart, abs=1e-8)


def test_covariances_of_cells() -> None:
    made, dense = strategy(), dense_covariance()
    one, other = indicator(("a", "b"), {"a": [2], "b": [1]}), indicator(("b", "c"), {"b": [1], "c": [0]})
    found = made.covariances(
        [(("a", "b"), {"a": 2, "b": 1}), (("c", "b"), {"c": 0, "b": 1}), ("b", {"b": 3}), ((), {})]
    )
    assert found[0, 1] == pytest.approx(one @ dense @ other)
    assert (found[2, 2], found[3, 3]) == pytest.approx((made.std["b"] ** 2, made.std[()] ** 2))


def test_a_sum_over_a_whole_axis_is_the_smaller_table() -> None:
    made = strategy()
    found = made.covariances([(("a", "b"), {"a": 1}), (("a", "b"), {}), (("a", "b"), {"a": []})]).diagonal()
    assert found == pytest.approx([made.std["a"] ** 2, made.std[()] ** 2, 0])
    assert made.difference_variance("a", {"a": [1]}, ("a", "b"), {"a": [1]}) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.covariances([("a", {"b": [1]})]), errors.UnknownColumn),
        (lambda s: s.covariances([("a", {"a": [3]})]), errors.InvalidParameter),
        (lambda s: s.covariances([(("a", "b", "c"), {})]), errors.InvalidParameter),
    ],
)
def test_mistakes(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(strategy())


def test_rounding_reaches_no_farther_than_is_said() -> None:
    """The worst rounding of every integer, by the linear map from the errors of all blocks to the sum."""
    made = strategy()
    noisy = made.workload.with_noise(integer_scales(made))
    for table, rectangle in [(("a", "b"), {"a": [0], "b": [1, 2]}), (("b", "c"), {}), (("b",), {"b": [1]})]:
        reach = 0.0
        for block in made.workload.blocks:
            shape = [SIZES[c] for c in block]
            for cell in np.ndindex(*shape):
                blocks = {b: np.zeros([SIZES[c] for c in b]) for b in made.workload.blocks}
                blocks[block][cell] = 0.5 / math.prod(shape)
                blocks[block] = project(blocks[block])
                answer = table_of_blocks(blocks, table, SIZES)
                picked = np.ix_(*[rectangle.get(c, range(SIZES[c])) for c in table])
                reach += abs(answer[picked].sum())
        found = table_errors.rectangle(made.workload, table, rectangle)
        assert noisy._reach(found) / 2 == pytest.approx(reach)


def test_exact_draws_have_these_covariances() -> None:
    """10,000 releases of a table of people. Each of the 10 z-scores of a variance or a mean is beyond 5.6 with
    probability 2e-8, so a false alarm has 2e-7; a variance off by 8 % is seen."""
    made, draws = strategy(mu=0.7), 10_000
    counts = np.random.default_rng(0).poisson(20, tuple(SIZES.values()))
    scales = integer_scales(made)
    published = {}
    with seeded(20):
        for block, sigma in scales.items():
            truth = integer_residual(counts.sum(axis=tuple(i for i, c in enumerate(SIZES) if c not in block)))
            noise = rounded_gaussian(sigma, draws * truth.size).reshape((*truth.shape, draws))
            published[block] = truth[..., None] + noise
    chosen = [(("a", "b"), {"a": [0], "b": [1]}), (("a", "b"), {"b": [1, 2]}), (("b", "c"), {"b": [0, 1], "c": [1]})]
    chosen += [(("a", "c"), {}), (("a", "one"), {"a": [2]})]
    for table, rectangle in chosen:
        errors_ = _errors(published, counts, table, rectangle, draws)
        variance = float(made.covariances([(table, rectangle)])[0, 0])
        assert abs(errors_.mean()) / math.sqrt(variance / draws) < 5.6
        assert abs(float((errors_**2).mean()) / variance - 1) / math.sqrt(2 / draws) < 5.6


def _errors(published: dict, counts: np.ndarray, table: tuple[str, ...], rectangle: dict, draws: int) -> np.ndarray:
    total = np.zeros(draws)
    picked = {c: list(rectangle.get(c, range(SIZES[c]))) for c in table}
    blocks = {
        block: np.moveaxis(project_each(noisy) / math.prod([SIZES[c] for c in block]), -1, 0)
        for block, noisy in published.items()
        if set(block) <= set(table)
    }
    for draw in range(draws):
        made = table_of_blocks({block: values[draw] for block, values in blocks.items()}, table, SIZES)
        total[draw] = made[np.ix_(*picked.values())].sum() if table else made
    truth = counts.sum(axis=tuple(i for i, c in enumerate(SIZES) if c not in table))
    return total - truth[np.ix_(*picked.values())].sum()


def project_each(noisy: np.ndarray) -> np.ndarray:
    """Projected along all axes but the last, which numbers the draws."""
    values = noisy.astype(float)
    for axis in range(values.ndim - 1):
        values = values - values.mean(axis=axis, keepdims=True)
    return values
