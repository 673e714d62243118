"""A sigma for every bin: proofs, brute force, and Stein's identity by simulation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import auto, empirical_bayes, hard_threshold, james_stein, soft_threshold
from leastnoise.denoise.risk import monte_carlo_divergence
from leastnoise.denoise.shrink import tan_direction

laws = pytest.mark.parametrize("noise", ["gaussian", "laplace"])
Floats = np.ndarray[Any, Any]


def draws(rng: np.random.Generator, sigma: Floats, count: int, noise: str) -> Floats:
    if noise == "gaussian":
        return rng.normal(0, sigma, (count, sigma.size))
    return rng.laplace(0, sigma / math.sqrt(2), (count, sigma.size))


@given(v=arrays(np.float64, st.integers(3, 12), elements=st.floats(1e-3, 1e3)))
def test_the_direction_has_the_largest_gain_at_the_centre(v: Floats) -> None:
    """Against a search over every level at which variances are cut."""

    def gain(level: float) -> float:
        a = np.minimum(1.0, level / v)
        return max((a * v).sum() - 2 * (a * v).max(), 0.0) ** 2 / (a * a * v).sum()

    a, k = tan_direction(v)
    assert k >= 0
    assert k**2 / (a * a * v).sum() == pytest.approx(gain(float((a * v).max())), rel=1e-9)
    tried = np.geomspace(v.min() / 2, v.max() * 2, 400)
    assert k**2 / (a * a * v).sum() >= max(map(gain, tried)) * (1 - 1e-9)


def test_james_stein_is_tan_s_formula_written_out() -> None:
    rng = np.random.default_rng(0)
    sigma = np.array([0.5, 1.0, 1.0, 2.0, 6.0])
    y = rng.normal(1, sigma)
    v = sigma**2

    def lost(level: float) -> float:
        a = np.minimum(1.0, level / v)
        return -float(max(a @ v - 2 * (a * v).max(), 0.0) ** 2 / (a**2 @ v))

    level = minimize_scalar(lost, bounds=(0.3, 2.0), method="bounded", options={"xatol": 1e-12}).x
    a = np.minimum(1.0, level / v)
    factor = np.array([max(0.0, 1 - (a @ v - 2 * max(a * v)) * each / sum((a * y) ** 2)) for each in a])
    assert np.allclose(james_stein(y, sigma).values, factor * y, rtol=1e-6)


@pytest.mark.parametrize("truth", ["zero", "one far", "half", "noisiest far"])
@pytest.mark.parametrize("spread", ["mild", "one dominates", "two dominate"])
def test_james_stein_never_errs_more_than_the_raw_values(truth: str, spread: str) -> None:
    """20,000 paired draws; beyond 5.5 standard errors of the difference, a false alarm in 5e7."""
    sigma = {
        "mild": np.linspace(0.5, 2, 10),
        "one dominates": np.r_[np.ones(9), 30.0],
        "two dominate": np.r_[np.ones(8), 20.0, 10.0],
    }[spread]
    f = np.zeros(10)
    f[: {"half": 5}.get(truth, 0)] = 2.0
    f[{"one far": 0, "noisiest far": 9}.get(truth, 0)] += 0 if truth in ("zero", "half") else 3 * sigma.max()
    y = f + draws(np.random.default_rng(5), sigma, 20_000, "gaussian")
    for positive in (True, False):
        h = james_stein(y, sigma, positive_part=positive, axis=-1).values
        worse = ((h - f) ** 2 - (y - f) ** 2).sum(axis=1)
        assert worse.mean() <= 5.5 * worse.std() / math.sqrt(len(y))
    if truth == "zero":
        assert worse.mean() < -0.2 * np.sort(sigma**2)[:-2].sum()  # and it does gain


@laws
@pytest.mark.parametrize("rule", ["james_stein", "plain", "soft", "soft_given"])
def test_stein_s_identity_holds(rule: str, noise: Any) -> None:
    """The mean of sure less loss over 40,000 draws is within 5.5 standard errors of zero (false alarm: 4e-8 each)."""
    rng = np.random.default_rng(11)
    sigma, f = np.geomspace(0.4, 3, 12), np.r_[np.zeros(8), 1.0, 2.0, -4.0, 6.0]
    y = f + draws(rng, sigma, 40_000, noise)
    made = {
        "james_stein": lambda: james_stein(y, sigma, axis=-1, mechanism=noise),
        "plain": lambda: james_stein(y, sigma, positive_part=False, axis=-1, mechanism=noise),
        "soft": lambda: soft_threshold(y, sigma, axis=-1, mechanism=noise),
        "soft_given": lambda: soft_threshold(y, sigma, threshold=1.2, axis=-1, mechanism=noise),
    }[rule]()
    off = made.sure - ((made.values - f) ** 2).mean(axis=1)
    assert abs(off.mean()) <= 5.5 * off.std() / math.sqrt(len(y))
    assert (made.risk >= made.sure).all()


def test_degrees_of_freedom_are_the_weighted_divergence() -> None:
    """Against differences, one value moved at a time."""
    rng = np.random.default_rng(2)
    sigma = rng.uniform(0.5, 3, 15)
    y = rng.normal(0, 3, 15)
    for rule in (james_stein, soft_threshold):
        slope = 0.0
        for i in range(15):
            step = 1e-6 * np.eye(15)[i]
            slope += sigma[i] ** 2 * (rule(y + step, sigma).values - rule(y - step, sigma).values)[i] / 2e-6
        assert rule(y, sigma).degrees_of_freedom == pytest.approx(slope / np.mean(sigma**2), rel=1e-6)
    flat = monte_carlo_divergence(lambda x: np.asarray(james_stein(x, 1.0).values), y, 1.0, draws=200)
    assert abs(flat.value - (james_stein(y, 1.0).degrees_of_freedom or 0)) < 6 * flat.error


def test_thresholds_are_those_of_each_bin() -> None:
    y, sigma = np.array([3.0, 3.0, -3.0, 0.5]), np.array([0.5, 1.0, 2.0, 4.0])
    t = sigma * math.sqrt(2 * math.log(4))
    soft = [math.copysign(max(abs(a) - b, 0), a) for a, b in zip(y, t, strict=True)]
    assert np.allclose(soft_threshold(y, sigma).values, soft)
    assert np.allclose(hard_threshold(y, sigma).values, np.where(np.abs(y) > t, y, 0))
    assert np.allclose(soft_threshold(y, sigma, threshold=1.0).values, [2, 2, -2, 0])


@laws
def test_the_chosen_multiple_has_the_least_unbiased_risk(noise: Any) -> None:
    """Against every size in sigmas as a multiple, one by one."""
    rng = np.random.default_rng(7)
    sigma = rng.uniform(0.5, 4, 120)
    y = np.r_[np.zeros(90), np.full(30, 9.0)] + draws(rng, sigma, 1, noise)[0]
    chosen = soft_threshold(y, sigma, threshold="sure", mechanism=noise)

    def figure(u: float) -> float:
        t = u * sigma
        if noise == "gaussian":
            free = sigma**2 @ (np.abs(y) > t)
        else:
            b = sigma / math.sqrt(2)
            tail = [np.where(x > t, 1 - np.exp(-(x - t) / b) / 2, np.exp((x - t) / b) / 2) for x in (y, -y)]
            free = sigma**2 @ (tail[0] + tail[1])
        return float((np.minimum(np.abs(y), t) ** 2).sum() + 2 * free)

    reach = math.sqrt(2 * math.log(120)) if noise == "gaussian" else math.sqrt(0.5) * (math.log(120) + 3)
    least = min(figure(u) for u in np.abs(y) / sigma if u <= reach)
    assert figure(chosen.parameters["threshold_in_sigmas"]) == pytest.approx(least, rel=1e-12)
    assert chosen.sure == pytest.approx((least - (sigma**2).sum()) / 120, rel=1e-9)


def test_equal_sigmas_are_one_sigma() -> None:
    y = np.random.default_rng(1).normal(0, 2, 9)
    for rule in (james_stein, soft_threshold, hard_threshold, empirical_bayes, auto):
        one, many = rule(y, 1.5), rule(y, np.full(9, 1.5))
        assert np.array_equal(one.values, many.values)
        assert one.risk == many.risk
        assert many.sigmas is None


def test_what_is_known_only_for_one_sigma_is_refused_in_words() -> None:
    y, sigma = np.arange(5.0), np.linspace(1, 2, 5)
    with pytest.raises(errors.WrongType, match="one sigma for all values"):
        auto(y, sigma)
    with pytest.raises(errors.InvalidParameter, match="Toward the mean"):
        james_stein(y, sigma, toward="mean")
    made = james_stein(y, sigma)
    with pytest.raises(errors.InvalidParameter, match="one sigma"):
        made.interval()
    with pytest.raises(errors.InvalidParameter, match="one sigma"):
        made.rmse_at_most(proved=True)
    for wrong in (sigma[:4], sigma[:, None], np.zeros(5), -sigma, np.full(5, np.nan)):
        with pytest.raises(errors.InvalidParameter):
            james_stein(y, wrong)


def test_the_limit_of_the_error_holds_as_often_as_it_says() -> None:
    """Conservative by its proof: of 2,000 draws no more than 5 % are above; 7.5 % would be 5 standard errors more."""
    rng = np.random.default_rng(9)
    sigma, f = np.geomspace(0.5, 2, 200), np.r_[np.zeros(150), np.full(50, 3.0)]
    y = f + draws(rng, sigma, 2_000, "gaussian")
    found = james_stein(y, sigma, axis=-1)
    loss = np.sqrt(((found.values - f) ** 2).mean(axis=1))
    limits = np.array([found[i].rmse_at_most(0.95).value for i in range(200)])
    assert (loss[:200] > limits).mean() < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 200)


def test_an_estimate_of_different_sigmas_says_what_it_is_and_is_read_back(tmp_path: Path) -> None:
    y, sigma = np.random.default_rng(1).normal(0, 2, (3, 4)), np.linspace(1, 2, 12).reshape(3, 4)
    made = james_stein(y, sigma, axis=None)
    assert made.std == pytest.approx(math.sqrt(np.mean(sigma**2)))
    assert "12 values denoised by james_stein" in made.explain()
    made.save(tmp_path / "e.parquet")
    back = ln.load(tmp_path / "e.parquet")
    assert isinstance(back, ln.Estimate)
    assert np.array_equal(back.sigmas, sigma)
    assert (back.risk, back.sure) == (made.risk, made.sure)
