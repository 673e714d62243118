"""Whole-number strategies for sums over ordered keys: published figures, exact sensitivity, no bias, dense oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.workload.optimal_weights import MAX_ORDERED_KEYS, OrderedQuestions
from leastnoise.workload.ordered import (
    MAX_KEYS,
    IntegerStrategy,
    LongColumn,
    prefix_strategy,
    range_strategy,
    root_coefficients,
)
from leastnoise.workload.residuals import CLAMP

STRATEGIES = {"prefix": prefix_strategy, "ranges": range_strategy}


@pytest.mark.parametrize(
    ("kind", "keys", "rmse"), [("prefix", 128, 2.311), ("prefix", 1024, 2.958), ("ranges", 1024, 3.517)]
)
def test_figures_of_the_literature_are_reached(kind, keys, rmse):
    strategy = STRATEGIES[kind](keys)
    assert strategy.rmse < rmse + 5e-4
    assert strategy.gap < 1e-4


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("keys", [2, 3, 7, 40])
def test_the_error_is_that_of_the_dense_pseudo_inverse_and_of_the_general_search(kind, keys):
    strategy = STRATEGIES[kind](keys)
    questions = OrderedQuestions(kind, keys).matrix()
    dense = questions @ np.linalg.pinv(strategy.matrix.astype(float))
    variances = (dense**2).sum(axis=1)
    assert math.isclose(strategy.mean_variance, variances.mean(), rel_tol=1e-9)
    assert np.allclose(strategy.variance(questions), variances, rtol=1e-9)
    assert np.allclose(strategy.covariance(questions), dense @ dense.T, rtol=1e-9, atol=1e-22)
    best = math.sqrt(least_sum_of_variances(questions) / len(questions))
    assert best * (1 - 1e-7) < strategy.rmse < best * (1 + 3e-5)
    assert strategy.bound <= best**2 * (1 + 1e-9)


def least_sum_of_variances(questions):
    """Of W x at mu = 1, within 1e-7: with weights d on the cells and s the singular values of W D^.5, s_1 + ... squared
    is below every strategy's, and d_j <- d_j X_jj drives what is attained down to it."""
    weights, least = np.full(questions.shape[1], 1 / questions.shape[1]), math.inf
    for _ in range(100_000):
        _, singular, right = np.linalg.svd(questions * np.sqrt(weights), full_matrices=False)
        diagonal = (right.T**2 @ singular) / weights
        least = min(least, singular.sum() * diagonal.max())
        if least <= singular.sum() ** 2 * (1 + 1e-7):
            return least
        weights = weights * diagonal / (weights * diagonal).sum()
    raise AssertionError("the search did not end")


@pytest.mark.parametrize("strategy", [prefix_strategy(9), range_strategy(12, bits=6), prefix_strategy(5, bits=24)])
def test_sensitivity_is_that_of_the_whole_numbers_by_brute_force(strategy: IntegerStrategy):
    columns = strategy.matrix.T.astype(object)
    assert strategy.squared_sensitivity == max(int((column**2).sum()) for column in columns)


@pytest.mark.parametrize("strategy", [prefix_strategy(300), range_strategy(300, bits=6), prefix_strategy(2)])
def test_counts_come_back_without_bias(strategy: IntegerStrategy):
    counts = np.random.default_rng(1).integers(0, 10**7, (3, strategy.keys))
    answers = strategy.apply(counts)
    assert answers.dtype == np.int64
    assert (answers == counts @ strategy.matrix.T).all()
    assert np.abs(strategy.estimate(answers) - counts).max() < 1e-6
    assert (strategy.apply(counts.T, axis=0) == answers.T).all()
    assert np.abs(strategy.estimate(answers.T, axis=0) - counts.T).max() < 1e-6


def test_answers_beyond_doubles_are_exact_and_within_the_reach_of_noise():
    strategy = prefix_strategy(6)
    large = np.array([2**40 + 1, 3, 0, 0, 2**41 + 7, 5])
    exact = strategy.matrix.astype(object) @ large.astype(object)
    assert strategy.apply(large).tolist() == exact.tolist()
    assert strategy.apply(np.full(6, 2**60)).max() == CLAMP


def test_variances_are_those_of_draws():
    # 20,000 draws of the mean squared error of 30 prefix sums: its standard deviation is below 1 % (the sums are
    # correlated, so it is that of a few degrees of freedom a draw), and six of them are one false alarm in 5e8.
    strategy, draws, sigma = prefix_strategy(30), 20_000, 1e5
    noise = np.rint(np.random.default_rng(7).normal(0, sigma, (draws, 30)))
    counts = np.arange(30) * 1000
    curves = np.cumsum(strategy.estimate(strategy.apply(counts) + noise), axis=1)
    found = ((curves - np.cumsum(counts)) ** 2).mean(axis=0)
    assert np.abs(found / (strategy.variance(np.tri(30)) * sigma**2) - 1).max() < 0.06


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_the_square_root_of_the_cumulative_sum(kind):
    questions = OrderedQuestions(kind, 60)
    strategy = IntegerStrategy(LongColumn(questions, root_coefficients(60, 16), 16))
    dense = questions.matrix() @ np.linalg.inv(strategy.matrix.astype(float))
    assert math.isclose(strategy.mean_variance, (dense**2).sum(axis=1).mean(), rel_tol=1e-9)
    assert np.allclose(strategy.variance(questions.matrix()), (dense**2).sum(axis=1), rtol=1e-9)
    columns = strategy.matrix.T.astype(object)
    assert strategy.squared_sensitivity == max(int((column**2).sum()) for column in columns)
    best = STRATEGIES[kind](60)
    assert math.isclose(strategy.gap, (strategy.rmse / best.rmse) ** 2 * (1 + best.gap) - 1, rel_tol=1e-3)
    counts = np.random.default_rng(3).integers(0, 10**7, (2, 60))
    assert (strategy.apply(counts) == counts @ strategy.matrix.T).all()
    assert np.abs(strategy.estimate(strategy.apply(counts)) - counts).max() < 1e-5
    large = np.full(60, 2**55)
    large[7] = -(2**50) - 3
    exact = strategy.matrix.astype(object) @ large.astype(object)
    assert strategy.apply(large).tolist() == np.clip(exact, -CLAMP, CLAMP).tolist()


def test_beyond_the_largest_matrix_the_loss_is_known():
    strategy = prefix_strategy(MAX_KEYS + 904)
    assert isinstance(strategy.column, LongColumn)
    steps = np.arange(1, 5000)
    squares = np.cumsum(np.cumprod(np.concatenate([[1.0], (2 * steps - 1) / (2 * steps)])) ** 2)
    assert math.isclose(strategy.rmse, math.sqrt(squares[-1] * squares.mean()), rel_tol=1e-4)
    assert 0.05 < strategy.gap < 0.12
    counts = np.zeros(5000, dtype=np.int64)
    counts[4999] = 10**7
    assert np.abs(strategy.estimate(strategy.apply(counts)) - counts).max() < 1e-5


def test_bad_input_is_refused():
    with pytest.raises(errors.InvalidParameter, match="keys"):
        prefix_strategy(1)
    with pytest.raises(errors.BadDomain, match="coarser keys"):
        range_strategy(MAX_ORDERED_KEYS + 1)
    with pytest.raises(errors.InvalidParameter, match="bits"):
        prefix_strategy(8, bits=60)
    with pytest.raises(errors.WrongType, match="whole numbers"):
        prefix_strategy(8).apply(np.ones(8))
    with pytest.raises(errors.InvalidParameter, match="8 keys"):
        prefix_strategy(8).apply(np.ones(7, dtype=int))
