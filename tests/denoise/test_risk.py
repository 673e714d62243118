"""Estimated against true errors, by simulation.

For each rule the mean of (Stein's figure - true loss) over N draws must be zero within six standard errors: a false
alarm has a chance of 2e-9 a case. Standard errors are below 0.015, of most rules below 0.01: a bias of 0.13 sigma^2 a
bin is seen 999 times of 1000, of most rules one of 0.09. Seeds are fixed, so a pass stays a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leastnoise.denoise import (
    auto,
    empirical_bayes,
    gaussian_prior,
    hard_threshold,
    isotonic,
    james_stein,
    lp_ball,
    monte_carlo_divergence,
    posterior_mean,
    project,
    soft_threshold,
)
from leastnoise.denoise.risk import sure
from leastnoise.releases.estimate import Estimate

TRUTH = np.concatenate([np.zeros(12), np.linspace(-3, 6, 18)])
RISING = np.repeat([0.0, 1.0, 1.5, 4.0], 8)


def laplace_density(f: Any) -> Any:
    return -np.abs(f) / 2


EXACT: dict[str, tuple[Callable[[Any, Any], Estimate], tuple[str, ...]]] = {
    "james_stein": (lambda y, n: james_stein(y, 1.0, mechanism=n), ("gaussian", "laplace")),
    "james_stein_plain": (lambda y, n: james_stein(y, 1.0, positive_part=False, mechanism=n), ("gaussian", "laplace")),
    "james_stein_mean": (lambda y, n: james_stein(y, 1.0, toward="mean", mechanism=n), ("gaussian", "laplace")),
    "james_stein_smooth": (lambda y, n: james_stein(y, 1.0, positive_part="smooth"), ("gaussian",)),
    "smooth_mean": (lambda y, n: james_stein(y, 1.0, toward="mean", positive_part="smooth"), ("gaussian",)),
    "soft": (lambda y, n: soft_threshold(y, 1.0, threshold=1.5, mechanism=n), ("gaussian", "laplace")),
    "lp_ball": (lambda y, n: lp_ball(y, 1.0, p=2, radius=9, mechanism=n), ("gaussian", "laplace")),
    "gaussian_prior": (lambda y, n: gaussian_prior(y, 1.0, prior_std=2, mechanism=n), ("gaussian", "laplace")),
    "nonnegative": (lambda y, n: project(y, 1.0, onto="nonnegative", mechanism=n), ("gaussian", "laplace")),
    "linf": (lambda y, n: project(y, 1.0, onto="linf", radius=2.0, mechanism=n), ("gaussian", "laplace")),
    "total": (lambda y, n: project(y, 1.0, onto="total", total=TRUTH.sum(), mechanism=n), ("gaussian", "laplace")),
    "l1": (lambda y, n: project(y, 1.0, onto="l1", radius=30, mechanism=n), ("gaussian",)),
    "l2": (lambda y, n: project(y, 1.0, onto="l2", radius=12, mechanism=n), ("gaussian",)),
    "simplex": (lambda y, n: project(y, 1.0, onto="simplex", total=40, mechanism=n), ("gaussian",)),
    "isotonic": (lambda y, n: isotonic(y, 1.0, mechanism=n), ("gaussian",)),
    "posterior_mean": (lambda y, n: posterior_mean(y, 1.0, log_density=laplace_density, mechanism=n), ("gaussian",)),
}
CASES = [(name, noise) for name, (_, noises) in EXACT.items() for noise in noises]


def draw(rng: np.random.Generator, size: int, noise: str) -> Any:
    return rng.standard_normal(size) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), size)


def excess(rule: Callable[[Any], Estimate], truth: Any, noise: str, draws: int, seed: int) -> tuple[Any, Any, Any]:
    """Stein's figure minus the loss, the loss, and the figure that is shown, for every draw."""
    rng = np.random.default_rng(seed)
    off, loss, shown = np.empty(draws), np.empty(draws), np.empty(draws)
    for k in range(draws):
        y = truth + draw(rng, truth.size, noise)
        made = rule(y)
        loss[k] = np.mean((made.values - truth) ** 2)
        risk, free, _ = made.estimate_risk()
        assert free is not None
        assert risk is not None
        off[k] = sure(float(((y - made.values) ** 2).sum()), free, truth.size, 1.0) - loss[k]
        shown[k] = risk
    return off, loss, shown


@pytest.mark.parametrize(("name", "noise"), CASES)
def test_stein_s_identity(name: str, noise: str) -> None:
    rule = EXACT[name][0]
    draws = 400 if name == "posterior_mean" else 1500 if noise == "laplace" else 3000
    off, _, _ = excess(lambda y: rule(y, noise), TRUTH, noise, draws, seed=7)
    error = off.std() / math.sqrt(draws)
    assert error < (0.02 if name == "posterior_mean" else 0.015)
    assert abs(off.mean()) < 6 * error


def test_the_gaussian_figure_is_wrong_under_laplace_noise_and_ours_is_not() -> None:
    """Soft threshold at 1.5 b, truth zero, b = 1: error 0.438; the Gaussian formula says -0.226."""
    rng = np.random.default_rng(8)
    y = rng.laplace(0, 1, 400_000)
    sigma = math.sqrt(2)
    right, wrong = (soft_threshold(y, sigma, threshold=1.5, mechanism=n) for n in ("laplace", "gaussian"))
    loss = float(np.mean(right.values**2))
    assert loss == pytest.approx(0.438, abs=0.02)
    assert right.risk == pytest.approx(loss, abs=0.05)
    moved = float(((y - wrong.values) ** 2).sum())
    assert wrong.degrees_of_freedom is not None
    assert sure(moved, wrong.degrees_of_freedom, y.size, sigma) == pytest.approx(-0.226, abs=0.03)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_tuned_threshold_is_not_flattered(noise: Any) -> None:
    """Where all is noise, plain SURE at its own minimum is below zero on average; the held-out figure is not."""
    truth = np.zeros(100)
    off, loss, shown = excess(lambda y: soft_threshold(y, 1.0, threshold="sure", mechanism=noise), truth, noise, 600, 9)
    error = off.std() / math.sqrt(off.size)
    assert abs(off.mean()) < 0.03 + 6 * error
    assert (shown >= 0).all()
    assert shown.mean() >= loss.mean() - 6 * error
    rng = np.random.default_rng(9)
    plain = []
    for _ in range(300):
        y = draw(rng, 100, noise)
        t = soft_threshold(y, 1.0, threshold="sure", mechanism=noise).parameters["threshold"]
        fixed = soft_threshold(y, 1.0, threshold=t, mechanism=noise)
        assert fixed.degrees_of_freedom is not None
        plain.append(sure(float(((y - fixed.values) ** 2).sum()), fixed.degrees_of_freedom, 100, 1.0))
    assert np.mean(plain) < loss.mean() - 0.02
    assert np.mean(plain) < 0 or noise == "laplace"


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("support", ["real", "nonnegative"])
def test_empirical_bayes_counts_the_fitting_of_its_prior(noise: Any, support: Any) -> None:
    """Its figure is within 0.04 sigma^2 (+ 6 standard errors) of its loss; without the fitting it would be 0.09 off."""
    truth = np.concatenate([np.zeros(120), np.full(40, 3.0), np.linspace(0, 15, 40)])
    off, _, _ = excess(lambda y: empirical_bayes(y, 1.0, support=support, mechanism=noise), truth, noise, 150, 10)
    error = off.std() / math.sqrt(off.size)
    assert error < 0.015
    assert abs(off.mean()) < 0.04 + 6 * error


def test_fitting_costs_what_a_lone_value_s_atom_costs() -> None:
    """Values that do not see each other are their own atoms: one degree of freedom each."""
    y = np.arange(40) * 5.0
    free = empirical_bayes(y, 1.0).degrees_of_freedom
    assert free == pytest.approx(40, abs=0.5)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_aggregate_s_figure_is_honest(noise: Any) -> None:
    off, _, shown = excess(lambda y: auto(y, 1.0, mechanism=noise), np.repeat(TRUTH, 4), noise, 150, 11)
    assert abs(off.mean()) < 0.04 + 6 * off.std() / math.sqrt(off.size)
    assert (shown >= 0).all()


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_monte_carlo_divergence_brackets_the_closed_form(noise: Any) -> None:
    y = TRUTH + draw(np.random.default_rng(12), TRUTH.size, noise)
    made = soft_threshold(y, 1.0, threshold=1.5, mechanism=noise)
    seen = monte_carlo_divergence(
        lambda x: soft_threshold(x, 1.0, threshold=1.5, mechanism=noise).values, y, 1.0, mechanism=noise, draws=3000
    )
    assert made.degrees_of_freedom is not None
    assert abs(seen.value - made.degrees_of_freedom) <= 6 * seen.error + 1e-6
    assert seen.error < 0.5


def test_estimators_without_a_risk_say_none() -> None:
    y = RISING + np.random.default_rng(13).laplace(0, 1, RISING.size)
    none = [
        hard_threshold(y, 1.0),
        isotonic(y, 1.0, mechanism="laplace"),
        project(y, 1.0, onto="l1", radius=5, mechanism="laplace"),
        posterior_mean(y, 1.0, log_density=laplace_density, mechanism="laplace"),
    ]
    for made in none:
        assert made.risk is None
        assert made.rmse is None
        assert "cannot be told" in made.explain()


def test_the_floor_lifts_the_risk_where_the_truth_is_zero_and_sure_is_on_record() -> None:
    """4,000 draws of 200 bins of James-Stein: sure is right within 5 standard errors, risk is above it by many."""
    y = np.random.default_rng(6).standard_normal((4000, 200))
    made = james_stein(y, 1.0, axis=-1)
    off = made.sure - (made.values**2).mean(axis=1)
    assert abs(off.mean()) < 5 * off.std() / math.sqrt(4000)
    assert made.sure.min() < 0
    floor = (made.degrees_of_freedom / 200) ** 2
    assert np.array_equal(made.risk, np.maximum(made.sure, floor))
    lifted = made.risk - (made.values**2).mean(axis=1)
    assert lifted.mean() > 0.02
