"""The nonparametric prior: operators against dense matrices, the optimum against its certificate and another solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.denoise import empirical_bayes
from leastnoise.denoise.empirical_bayes import hermite
from leastnoise.denoise.npmle.freedom import fitting_freedom
from leastnoise.denoise.npmle.interior_point import maximise_likelihood
from leastnoise.denoise.npmle.kernels import GaussianBand, LaplaceChain
from leastnoise.denoise.npmle.layout import lay_out

B = math.sqrt(0.5)


def chain(size: int, seed: int) -> tuple[LaplaceChain, Any, Any]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, size - 1, 25))
    cell = np.floor(x).astype(np.intp)
    step = 0.3
    dense = np.exp(-step * np.abs(x[:, None] - np.arange(size)))
    return LaplaceChain.of(size, step, cell, x - cell), dense, x


def band(size: int) -> tuple[GaussianBand, Any]:
    kernel = GaussianBand(size, 2, 0.125)
    place = (np.arange(kernel.cells) - kernel.margin) * 0.125
    t = place[:, None] - np.arange(size) * 0.25
    fine = np.linspace(-0.0625, 0.0625, 41)
    dense = np.exp(-0.5 * (t[..., None] + fine) ** 2).mean(axis=2) / math.sqrt(2 * math.pi)
    return kernel, np.where(np.abs(t) <= 7.0001, dense, 0.0)


@pytest.mark.parametrize("size", [1, 2, 9, 80])
def test_operators_are_their_dense_matrices(size: int) -> None:
    rng = np.random.default_rng(size)
    cases: list[tuple[GaussianBand | LaplaceChain, Any]] = [chain(size, 1)[:2], band(size)]
    for kernel, dense in cases:
        w, u = rng.random(dense.shape[1]), rng.random(dense.shape[0])
        v, s, r = rng.random(dense.shape[0]), rng.random(size) + 0.1, rng.standard_normal(size)
        assert np.allclose(kernel.forward(w), dense @ w, rtol=1e-3, atol=1e-9)
        assert np.allclose(kernel.adjoint(u), dense.T @ u, rtol=1e-3, atol=1e-9)
        exact = np.array([kernel.forward(e) for e in np.eye(size)]).T  # its own matrix, to the last digits
        m = exact.T @ (v[:, None] * exact) + np.diag(s)
        factor = kernel.factor(v, s)
        assert np.allclose(factor.solve(r), np.linalg.solve(m, r), rtol=1e-8, atol=1e-10)
        root = np.array([factor.root(e) for e in np.eye(size)]).T
        assert np.allclose(root @ root.T, np.linalg.inv(m), rtol=1e-7, atol=1e-9)


def test_the_laplace_kernel_is_exact_between_atoms() -> None:
    kernel, dense, _ = chain(30, 2)
    w = np.random.default_rng(2).random(30)
    assert np.allclose(kernel.forward(w), dense @ w, rtol=1e-12)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_certificate_is_true_and_no_slower_solver_does_better(law: str) -> None:
    """20,000 steps of expectation-maximisation stay below the likelihood, and within the certified gap of it."""
    rng = np.random.default_rng(3)
    kernel, dense = band(60) if law == "gaussian" else chain(60, 3)[:2]
    dense = np.array([kernel.forward(e) for e in np.eye(60)]).T
    counts = np.zeros(dense.shape[0])
    np.add.at(counts, rng.integers(0 if law == "laplace" else 60, dense.shape[0] - 10, 400), 1.0)
    made = maximise_likelihood(kernel, counts, 1e-7)
    assert made.gap <= 1e-7
    assert made.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (made.weights > 0).all()
    c = counts / counts.sum()
    seen = c > 0

    def likelihood(w: Any) -> float:
        return float(c[seen] @ np.log((dense @ w)[seen]))

    gradient = dense[seen].T @ (c[seen] / (dense @ made.weights)[seen])
    assert gradient.max() - 1 == pytest.approx(made.gap, abs=1e-9)
    w = np.full(60, 1 / 60)
    for _ in range(20_000):
        w = w * (dense[seen].T @ (c[seen] / (dense @ w)[seen]))
    assert likelihood(w) <= likelihood(made.weights) + 1e-7
    assert likelihood(w) >= likelihood(made.weights) - 1e-3


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_posterior_means_are_those_of_a_dense_fit(noise: Any) -> None:
    """The same atoms, every value by itself, no cells, no tables: means agree to 0.05 sigma."""
    rng = np.random.default_rng(4)
    truth = np.repeat([0.0, 4.0, 9.0], [150, 60, 30])
    y = truth + (rng.standard_normal(240) if noise == "gaussian" else rng.laplace(0, B, 240))
    made = empirical_bayes(y, 1.0, mechanism=noise, support=(0.0, 12.0))
    atoms = np.arange(0, 12.01, 0.125)
    t = y[:, None] - atoms
    dense = np.exp(-0.5 * t**2) if noise == "gaussian" else np.exp(-np.abs(t) / B)
    w = np.full(atoms.size, 1 / atoms.size)
    for _ in range(30_000):
        w = w * (dense.T @ (1 / (dense @ w))) / y.size
    means = dense @ (w * atoms) / (dense @ w)
    assert np.abs(made.values - means).max() < 0.05
    assert made.parameters["gap"] <= 1e-6


def test_what_is_far_apart_is_fitted_as_if_alone() -> None:
    """Two groups a million sigma apart: each gets what it would get by itself (weights only scale)."""
    rng = np.random.default_rng(5)
    one, two = rng.standard_normal(50), 1e6 + rng.standard_normal(70) * 2
    both = empirical_bayes(np.concatenate([one, two]), 1.0).values
    assert np.allclose(both[:50], empirical_bayes(one, 1.0).values, atol=0.05)
    assert np.allclose(both[50:], empirical_bayes(two, 1.0).values, atol=0.15)


def test_layout_loses_nobody() -> None:
    rng = np.random.default_rng(6)
    u = np.concatenate([rng.standard_normal(100), [500.0, 900.0, 900.1], 5000 + rng.standard_normal(20)])
    placed = lay_out(u, np.ones(u.size), (-math.inf, math.inf), 0.0, spacing=0.25, fineness=0.125, quiet=8.0)
    assert placed.alone.sum() == 1
    assert placed.counts.sum() == u.size - 1
    assert np.allclose(placed.back(placed.positions(u)), u[~placed.alone], rtol=1e-12)
    assert placed.atoms * 0.25 < 60  # not 5000
    assert (placed.places >= 0).all()


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("bounds", [(0.0, 5.0), (2.0, math.inf), (-math.inf, 1.0), (0.3, 0.4)])
def test_the_support_is_kept(noise: Any, bounds: tuple[float, float]) -> None:
    y = np.random.default_rng(7).normal(1, 4, 300)
    made = empirical_bayes(y, 1.0, mechanism=noise, support=bounds).values
    assert (made >= bounds[0]).all()
    assert (made <= bounds[1]).all()
    assert np.ptp(made) > 0


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_whole_numbers_help_when_noise_is_small(noise: Any) -> None:
    rng = np.random.default_rng(8)
    truth = rng.poisson(3, 2000).astype(float)
    y = truth + 0.25 * (rng.standard_normal(2000) if noise == "gaussian" else rng.laplace(0, B, 2000))
    whole = empirical_bayes(y, 0.25, mechanism=noise, support="nonnegative", integers=True).values
    real = empirical_bayes(y, 0.25, mechanism=noise, support="nonnegative").values
    assert np.mean((whole - truth) ** 2) < np.mean((real - truth) ** 2)
    assert np.mean((whole - truth) ** 2) < 0.8 * np.mean((y - truth) ** 2)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_posterior_means_rise_with_the_values(noise: Any) -> None:
    y = np.sort(np.random.default_rng(9).normal(0, 3, 500))
    assert (np.diff(empirical_bayes(y, 1.0, mechanism=noise).values) >= -1e-9).all()


def test_any_shape_is_welcome() -> None:
    y = np.random.default_rng(10).normal(0, 2, (7, 9))
    assert np.allclose(empirical_bayes(y, 1.0, axis=None).values, empirical_bayes(y.ravel(), 1.0).values.reshape(7, 9))


@pytest.mark.parametrize("support", [(3.0, 1.0), (1.0, 1.0)])
def test_an_empty_support_is_refused(support: tuple[float, float]) -> None:
    with pytest.raises(errors.InvalidParameter):
        empirical_bayes(np.ones(4), 1.0, support=support)


def test_the_cubic_is_exact_for_cubics() -> None:
    x = np.arange(6.0)
    at = np.array([0.0, 0.3, 2.5, 4.99, 5.0])
    assert np.allclose(hermite(at, x**3 - x, 3 * x**2 - 1), at**3 - at)


def test_fitting_freedom_is_the_derivative_of_the_fit() -> None:
    """One atom: its place is the mean of all values, which costs one degree of freedom, however many there are."""
    x = np.array([-0.5, 0.0, 0.1, 0.4])
    free = fitting_freedom(x, np.ones(4), np.array([0.0]), np.array([1.0]), np.array([False]))
    assert free == pytest.approx(1.0, abs=1e-6)
    assert fitting_freedom(x, np.ones(4), np.array([0.0]), np.array([1.0]), np.array([True])) == pytest.approx(
        0, abs=1e-9
    )


def test_values_too_large_for_doubles_are_refused_and_left_alone_by_auto() -> None:
    from leastnoise.denoise import auto

    y = np.array([1e150, -3e150, 2.0, 5e149])
    with pytest.raises(errors.OutOfRange):
        empirical_bayes(y, 1.0)
    assert np.allclose(auto(y, 1.0).values, y)
