"""What every denoiser must obey: units, order, small noise, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leastnoise import errors
from leastnoise.denoise import (
    auto,
    consistent,
    empirical_bayes,
    gaussian_prior,
    hard_threshold,
    isotonic,
    james_stein,
    lp_ball,
    posterior_mean,
    project,
    soft_threshold,
)
from leastnoise.releases.estimate import Estimate

Rule = Callable[..., Estimate]

# name -> (rule of (y, sigma, c, noise) where every length is multiplied by c, whether the order of bins matters)
RULES: dict[str, Callable[[Any, float, float, Any], Estimate]] = {
    "james_stein": lambda y, s, c, n: james_stein(y, s, mechanism=n),
    "james_stein_mean": lambda y, s, c, n: james_stein(y, s, toward="mean", mechanism=n),
    "soft_universal": lambda y, s, c, n: soft_threshold(y, s, mechanism=n),
    "soft_sure": lambda y, s, c, n: soft_threshold(y, s, threshold="sure", mechanism=n),
    "hard": lambda y, s, c, n: hard_threshold(y, s, mechanism=n),
    "gaussian_prior": lambda y, s, c, n: gaussian_prior(y, s, prior_std=2 * c, mechanism=n),
    "empirical_bayes": lambda y, s, c, n: empirical_bayes(y, s, mechanism=n),
    "empirical_bayes_nonnegative": lambda y, s, c, n: empirical_bayes(y, s, support="nonnegative", mechanism=n),
    "lp_ball": lambda y, s, c, n: lp_ball(y, s, p=1, radius=5 * c, mechanism=n),
    "nonnegative": lambda y, s, c, n: project(y, s, onto="nonnegative", mechanism=n),
    "l1": lambda y, s, c, n: project(y, s, onto="l1", radius=4 * c, mechanism=n),
    "l2": lambda y, s, c, n: project(y, s, onto="l2", radius=4 * c, mechanism=n),
    "linf": lambda y, s, c, n: project(y, s, onto="linf", radius=1.5 * c, mechanism=n),
    "simplex": lambda y, s, c, n: project(y, s, onto="simplex", total=4 * c, mechanism=n),
    "total": lambda y, s, c, n: project(y, s, onto="total", total=4 * c, mechanism=n),
    "auto": lambda y, s, c, n: auto(y, s, mechanism=n),
    "auto_nonnegative": lambda y, s, c, n: auto(y, s, nonnegative=True, mechanism=n),
}
PROJECTIONS = ("nonnegative", "l1", "l2", "linf", "simplex", "total")
rules = pytest.mark.parametrize("name", RULES)
laws = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def mixture(seed: int, size: int = 60) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(size) < 0.7, 0.0, rng.exponential(6, size)) + rng.standard_normal(size)


@rules
@laws
def test_units_do_not_matter(name: str, noise: str) -> None:
    y = mixture(1)
    one = RULES[name](y, 1.0, 1.0, noise)
    many = RULES[name](1024 * y, 1024.0, 1024.0, noise)
    assert np.allclose(many.values, 1024 * one.values, rtol=1e-9, atol=1e-9)
    if one.risk is not None:
        assert many.risk == pytest.approx(1024**2 * one.risk, rel=1e-6)


@rules
@laws
def test_the_order_of_bins_does_not_matter(name: str, noise: str) -> None:
    y = mixture(2)
    order = np.random.default_rng(3).permutation(y.size)
    assert np.allclose(RULES[name](y[order], 1.0, 1.0, noise).values, RULES[name](y, 1.0, 1.0, noise).values[order])


@laws
@pytest.mark.parametrize(
    "name", ["james_stein", "james_stein_mean", "soft_universal", "soft_sure", "hard", "gaussian_prior", "auto"]
)
def test_small_noise_leaves_the_values(name: str, noise: str) -> None:
    y = mixture(4)
    assert np.allclose(RULES[name](y, 1e-7, 1.0, noise).values, y, atol=1e-6)


@laws
def test_values_far_apart_are_left_to_the_last_bit(noise: Any) -> None:
    y = np.array([0.1, 1e3, -7e5, 12345.678])
    assert (empirical_bayes(y, 1e-3, mechanism=noise).values == y).all()


@given(y=arrays(np.float64, st.integers(1, 40), elements=st.floats(-50, 50)), sigma=st.floats(0.1, 5))
def test_thresholds_and_shrinkage_never_grow_or_flip_a_value(y: np.ndarray[Any, Any], sigma: float) -> None:
    made = [soft_threshold(y, sigma), soft_threshold(y, sigma, threshold="sure"), hard_threshold(y, sigma)]
    if y.size >= 3:
        made.append(james_stein(y, sigma))
    for estimate in made:
        assert (np.abs(estimate.values) <= np.abs(y)).all()
        assert (estimate.values * y >= 0).all()


@given(y=arrays(np.float64, st.integers(1, 30), elements=st.floats(-50, 50)), name=st.sampled_from(PROJECTIONS))
def test_projecting_twice_is_projecting_once(y: np.ndarray[Any, Any], name: str) -> None:
    once = RULES[name](y, 1.0, 1.0, "gaussian").values
    assert np.allclose(RULES[name](once, 1.0, 1.0, "gaussian").values, once, atol=1e-9)


@given(
    y=arrays(np.float64, 12, elements=st.floats(-50, 50)),
    z=arrays(np.float64, 12, elements=st.floats(-50, 50)),
    name=st.sampled_from(PROJECTIONS),
)
def test_projections_are_nearest_and_bring_points_nearer(
    y: np.ndarray[Any, Any], z: np.ndarray[Any, Any], name: str
) -> None:
    """p = P(y) is the nearest point of C exactly when (y - p)'(q - p) <= 0 for all q in C."""
    p, q = (RULES[name](x, 1.0, 1.0, "gaussian").values for x in (y, z))
    assert (y - p) @ (q - p) <= 1e-7 * (1 + np.abs(y).max() * np.abs(q).max())
    assert np.linalg.norm(p - q) <= np.linalg.norm(y - z) + 1e-9


@laws
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_zeros_and_equal_values_are_no_trouble(noise: Any, size: int) -> None:
    for value in (0.0, 3.7, -2.0):
        y = np.full(size, value)
        for made in (
            auto(y, 1.0, mechanism=noise),
            empirical_bayes(y, 1.0, mechanism=noise),
            soft_threshold(y, 1.0, mechanism=noise),
        ):
            assert np.isfinite(made.values).all()
            assert made.risk is None or (math.isfinite(made.risk) and made.risk >= 0)
        assert np.allclose(empirical_bayes(y, 1.0, mechanism=noise).values, value)
    assert (auto(np.full(size, -2.0), 1.0, nonnegative=True, mechanism=noise).values >= 0).all()


@pytest.mark.parametrize("rule", [james_stein, soft_threshold, hard_threshold, empirical_bayes, isotonic, auto])
@pytest.mark.parametrize(
    ("y", "sigma", "mistake"),
    [
        ([1.0, 2.0, 3.0, 4.0], 0.0, errors.InvalidParameter),
        ([1.0, 2.0, 3.0, 4.0], -1.0, errors.InvalidParameter),
        ([1.0, 2.0, 3.0, 4.0], math.nan, errors.InvalidParameter),
        ([1.0, 2.0, 3.0, 4.0], [1.0], errors.InvalidParameter),
        ([1.0, 2.0, 3.0, 4.0], "1", errors.WrongType),
        ([1.0, math.nan, 3.0, 4.0], 1.0, errors.InvalidParameter),
        ([1.0, math.inf, 3.0, 4.0], 1.0, errors.InvalidParameter),
        ([], 1.0, errors.InvalidParameter),
        (["a", "b"], 1.0, errors.WrongType),
        ([[1.0], [2.0, 3.0]], 1.0, errors.WrongType),
    ],
)
def test_mistakes_are_named(rule: Rule, y: Any, sigma: Any, mistake: type[Exception]) -> None:
    with pytest.raises(mistake):
        rule(y, sigma)


def test_lengths_must_agree() -> None:
    with pytest.raises(errors.InvalidParameter):
        james_stein(np.zeros(5), 1.0, toward=np.zeros(4))
    with pytest.raises(errors.InvalidParameter):
        gaussian_prior(np.zeros(5), 1.0, prior_std=1, centre=np.zeros(6))
    with pytest.raises(errors.InvalidParameter):
        consistent(np.zeros(5), 1.0, matrix=np.ones((1, 4)))
    with pytest.raises(errors.InvalidParameter):
        posterior_mean(np.zeros(5), 1.0, samples=np.zeros((100, 4)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: james_stein(np.ones(5), 1.0, mechanism="cauchy"),
        lambda: soft_threshold(np.ones(5), 1.0, threshold="sur"),
        lambda: hard_threshold(np.ones(5), 1.0, threshold="sure"),
        lambda: project(np.ones(5), 1.0, onto="l3"),
        lambda: empirical_bayes(np.ones(5), 1.0, support="positive"),
        lambda: auto(np.ones(5), 1.0, loss="cubic"),
    ],
)
def test_unknown_words_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(errors.InvalidParameter):
        call()


def test_values_cannot_be_changed_and_the_input_is_not() -> None:
    y = mixture(6)
    before = y.copy()
    made = auto(y, 1.0)
    assert (y == before).all()
    with pytest.raises(ValueError, match="read-only"):
        made.values[0] = 1.0


@laws
def test_the_chosen_threshold_has_the_least_unbiased_risk(noise: Any) -> None:
    """Against every size as a threshold, one by one; many sizes lie beyond what noise reaches."""
    y = np.concatenate([mixture(7, 150), np.full(60, 40.0)])

    def figure(t: float) -> float:
        made = soft_threshold(y, 1.0, threshold=t, mechanism=noise)
        assert made.degrees_of_freedom is not None
        return float(((y - made.values) ** 2).sum() + 2 * made.degrees_of_freedom)

    chosen = soft_threshold(y, 1.0, threshold="sure", mechanism=noise).parameters["threshold"]
    reach = math.sqrt(2 * math.log(y.size)) if noise == "gaussian" else math.sqrt(0.5) * (math.log(y.size) + 3)
    assert figure(chosen) <= min(figure(t) for t in np.abs(y) if t <= reach) + 1e-6
