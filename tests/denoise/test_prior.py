"""Posterior means under a prior that is stated: each way against another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.denoise import gaussian_prior, posterior_mean
from leastnoise.denoise.prior import diagnose


def normal(centre: float, std: float) -> Any:
    return lambda f: -0.5 * ((f - centre) / std) ** 2


def test_theorem_10_in_closed_form() -> None:
    y = np.array([3.0, -1.0, 0.5])
    made = gaussian_prior(y, 2.0, prior_std=1.0, centre=1.0)
    assert np.allclose(made.values, 1 + (y - 1) / 5)
    assert made.parameters["bayes_risk"] == pytest.approx(1 * 4 / 5)


def test_the_interval_of_a_gaussian_prior_covers_as_promised() -> None:
    """100,000 bins under their own prior: standard error 0.0007; six are allowed (2e-9)."""
    rng = np.random.default_rng(1)
    f = 3 * rng.standard_normal(100_000)
    low, high = gaussian_prior(f + rng.standard_normal(f.size), 1.0, prior_std=3.0).interval(0.9)
    assert np.mean((low <= f) & (f <= high)) == pytest.approx(0.9, abs=0.0057)


@pytest.mark.parametrize(("centre", "std"), [(0.0, 1.0), (2.0, 0.1), (-40.0, 3.0), (0.0, 200.0)])
def test_quadrature_gives_the_conjugate_answer(centre: float, std: float) -> None:
    y = np.linspace(-6, 6, 25)
    made = posterior_mean(y, 1.5, log_density=normal(centre, std))
    exact = gaussian_prior(y, 1.5, prior_std=std, centre=centre)
    assert np.allclose(made.values, exact.values, atol=1e-5)
    assert made.degrees_of_freedom == pytest.approx(25 * std**2 / (std**2 + 1.5**2), rel=1e-4)


def test_quadrature_of_a_uniform_prior_is_the_truncated_normal() -> None:
    from scipy.stats import truncnorm

    y = np.array([-30.0, -1.0, 0.3, 2.0, 40.0])
    made = posterior_mean(y, 2.0, log_density=lambda f: np.zeros_like(f), support=(0.0, 1.0))
    exact = [truncnorm.mean((0 - v) / 2, (1 - v) / 2, loc=v, scale=2) for v in y]
    assert np.allclose(made.values, exact, atol=1e-6)


def test_laplace_noise_with_a_flat_prior_returns_y_and_a_bound_pulls_it_in() -> None:
    flat = posterior_mean([1.0, -2.0], 1.0, log_density=lambda f: np.zeros_like(f), mechanism="laplace")
    assert np.allclose(flat.values, [1.0, -2.0], atol=1e-7)
    half = posterior_mean(
        [-5.0], 1.0, log_density=lambda f: np.zeros_like(f), support=(0, math.inf), mechanism="laplace"
    )
    assert half.values[0] == pytest.approx(math.sqrt(0.5), abs=1e-7)  # an exponential law of scale b


def test_a_prior_that_quadrature_cannot_see_is_refused() -> None:
    with pytest.raises(errors.NotProved, match="support"):
        posterior_mean([0.0, 1.0], 1.0, log_density=lambda f: np.where(np.abs(f - 0.123) < 1e-9, 0.0, -np.inf))


def test_slices_give_the_conjugate_answer_in_many_dimensions() -> None:
    """A correlated Gaussian prior, d = 15: every mean within six Monte-Carlo standard errors (a chance of 3e-8)."""
    rng = np.random.default_rng(2)
    d = 15
    root = rng.standard_normal((d, d)) / 3
    covariance = root @ root.T + 0.5 * np.eye(d)
    precision = np.linalg.inv(covariance)
    y = rng.standard_normal(d) * 2
    made = posterior_mean(y, 1.0, log_density=lambda f: -0.5 * f @ precision @ f, separable=False, draws=3000, chains=3)
    posterior = np.linalg.inv(precision + np.eye(d))
    error = np.sqrt(np.diag(posterior) / made.parameters["effective_samples"])
    assert (np.abs(made.values - posterior @ y) < 6 * error).all()
    assert made.parameters["r_hat"] < 1.05
    assert made.degrees_of_freedom == pytest.approx(np.trace(posterior), rel=0.15)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_slices_agree_with_a_grid_in_two_dimensions(noise: Any) -> None:
    """A uniform prior on a disc, y outside it."""
    y = np.array([2.0, 0.5])

    def disc(f: Any) -> float:
        return 0.0 if f @ f < 1 else -math.inf

    made = posterior_mean(y, 1.0, log_density=disc, separable=False, start=np.zeros(2), draws=4000, mechanism=noise)
    a, b = np.meshgrid(*[np.linspace(-1, 1, 801)] * 2)
    inside = a**2 + b**2 < 1
    t = np.stack([a - y[0], b - y[1]])
    log = -0.5 * (t**2).sum(axis=0) if noise == "gaussian" else -math.sqrt(2) * np.abs(t).sum(axis=0)
    p = np.where(inside, np.exp(log), 0.0)
    exact = np.array([(p * a).sum(), (p * b).sum()]) / p.sum()
    assert np.abs(made.values - exact).max() < 6 * 0.5 / math.sqrt(made.parameters["effective_samples"])


def test_a_run_that_has_not_mixed_is_refused() -> None:
    """Two narrow modes far apart: every chain is caught in one of them."""

    def two(f: Any) -> float:
        return float(np.logaddexp(-0.5 * ((f - 6) ** 2).sum() * 400, -0.5 * ((f + 6) ** 2).sum() * 400))

    with pytest.raises(errors.NotProved, match="R-hat"):
        posterior_mean(np.zeros(8), 3.0, log_density=two, separable=False, start=np.full(8, 6.0), draws=60)


def test_a_start_outside_the_support_is_refused() -> None:
    with pytest.raises(errors.MissingParameter, match="start"):
        posterior_mean(
            np.full(3, -2.0), 1.0, log_density=lambda f: 0.0 if (f > 0).all() else -math.inf, separable=False
        )


def test_samples_of_the_prior_give_the_conjugate_answer() -> None:
    rng = np.random.default_rng(3)
    y = np.array([1.0, -0.5])
    made = posterior_mean(y, 1.0, samples=rng.standard_normal((200_000, 2)))
    error = math.sqrt(0.5 / made.parameters["effective_samples"])
    assert np.abs(made.values - y / 2).max() < 6 * error
    assert made.risk is not None


def test_too_few_samples_near_y_are_refused() -> None:
    samples = np.random.default_rng(4).standard_normal((1000, 30))
    with pytest.raises(errors.NotProved, match="samples"):
        posterior_mean(np.full(30, 3.0), 1.0, samples=samples)


def test_exactly_one_prior_must_be_given() -> None:
    with pytest.raises(errors.MissingParameter):
        posterior_mean([1.0], 1.0)
    with pytest.raises(errors.MissingParameter):
        posterior_mean([1.0], 1.0, log_density=normal(0, 1), samples=np.zeros((200, 1)))


def test_the_effective_sample_size_of_a_known_chain() -> None:
    """An autoregression with coefficient 0.8 has (1 - 0.8)/(1 + 0.8) of its length; independent draws all of it."""
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((4, 20_000, 1))
    chain = np.empty_like(noise)
    chain[:, 0] = noise[:, 0]
    for k in range(1, 20_000):
        chain[:, k] = 0.8 * chain[:, k - 1] + 0.6 * noise[:, k]
    r_hat, effective = diagnose(chain)
    assert r_hat < 1.01
    assert effective == pytest.approx(80_000 / 9, rel=0.15)
    assert diagnose(noise)[1] == pytest.approx(80_000, rel=0.1)
