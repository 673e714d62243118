"""The optimal information matrix for given weights, against a dense eigendecomposition."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise.workload.optimal_weights import (
    OrderedQuestions,
    _eigenvalues,
    geometric_mean,
    geometric_mean_diagonal,
    information,
    optimal_weights,
)


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("emphasis", [0.0, 2.5])
def test_g_is_that_of_the_questions_and_its_inverse_tridiagonal(kind, emphasis):
    questions = OrderedQuestions(kind, 20, emphasis)
    gram = questions.times(np.eye(20))
    if not emphasis:
        assert np.allclose(gram, questions.matrix().T @ questions.matrix())
    elif kind == "prefix":
        assert np.allclose(gram, questions.matrix().T @ questions.matrix() + emphasis)
    main, beside = questions.inverse()
    inverse = np.diag(main) + np.diag(beside, 1) + np.diag(beside, -1)
    assert np.allclose(inverse @ gram, np.eye(20), atol=1e-11)
    factor = np.random.default_rng(0).normal(size=(20, 7))
    assert np.isclose(questions.trace(factor), np.trace(gram @ factor @ factor.T))


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("size", [2, 5, 300])
def test_it_is_that_of_all_eigenvectors(kind, size):
    questions = OrderedQuestions(kind, size, 1.5)
    weights = np.random.default_rng(1).dirichlet(np.full(size, 3.0))  # they differ a thousandfold
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(root[:, None] * questions.times(np.eye(size)) * root)
    exact = (vectors * np.sqrt(values)) @ vectors.T / root / root[:, None]
    low, high = _eigenvalues(questions, weights)
    assert low <= 1 / values[-1] <= 1 / values[0] <= high
    assert np.allclose(geometric_mean_diagonal(questions, weights), exact.diagonal(), rtol=1e-8)
    assert np.allclose(geometric_mean(questions, weights), exact, rtol=1e-7, atol=1e-9 * exact.max())


def test_every_key_costs_the_same():
    questions = OrderedQuestions("prefix", 70)
    x = information(questions, optimal_weights(questions).weights)
    assert (x.diagonal() == 1).all()
    assert np.linalg.eigvalsh(x)[0] > 0
