"""The upper limit of an estimate's error: how often it holds, and when it is refused.

Draws are seeded; false-alarm rates are of a correct limit, by the binomial distribution.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise import errors
from leastnoise.releases.estimate import RiskEstimate
from leastnoise.releases.risk_limits import NoiseOfLoss, RmseLimit, fission_limit, moved_limit

TRUTHS = {
    "zeros": np.zeros(50),
    "spike": np.r_[20.0, np.zeros(49)],
    "every other": np.where(np.arange(50) % 2, 3.0, 0.0),
    "normal": 3 * np.random.default_rng(1).standard_normal(50),
}


def held(limit, *, draws: int) -> int:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(7)
    return sum(limit(x + rng.standard_normal(x.size), x) for x in TRUTHS.values() for _ in range(draws))


@pytest.mark.parametrize("denoise", [ln.denoise.auto, ln.denoise.james_stein, ln.denoise.empirical_bayes])
def test_the_asymptotic_limit_holds_nearly_as_often_as_it_says(denoise) -> None:  # type: ignore[no-untyped-def]
    """At 50 bins the limit of 95% is asked to hold 91%: false alarms below 1e-6 at 93.5%."""

    def holds(y: np.ndarray, x: np.ndarray) -> bool:
        made = denoise(y, 1.0)
        return math.sqrt(np.mean((made.values - x) ** 2)) <= made.rmse_at_most(0.95).value

    count = 4 * 300
    assert binom.cdf(math.ceil(0.91 * count), count, 0.95) < 1e-6
    assert held(holds, draws=300) > 0.91 * count


def test_the_limit_of_the_raw_values_is_that_of_chi_square() -> None:
    """For v = y the risk is sigma^2 and the loss chi-square: the limit may only be above its quantile."""
    from scipy.stats import chi2

    for bins in (6, 50, 1000):
        assert NoiseOfLoss.of_vector(2.0, bins, "gaussian").limit(4.0, 0.95) >= 4.0 * chi2.ppf(0.95, bins) / bins


def test_laplace_noise_has_a_wider_limit() -> None:
    gaussian, laplace = (NoiseOfLoss.of_vector(1.0, 100, kind).limit(0.1, 0.95) for kind in ("gaussian", "laplace"))  # type: ignore[arg-type]
    assert laplace > gaussian


def test_the_proved_limit_holds_at_any_number_of_bins() -> None:
    """Proved for 95%; of 200 draws at 6 bins, 180 or fewer have a probability below 2e-3 ... at 175: below 1e-5."""
    rng = np.random.default_rng(3)
    x, seen = np.array([0.0, 0, 0, 5, 5, 20]), 0
    for _ in range(200):
        y = x + rng.standard_normal(6)
        made = ln.denoise.james_stein(y, 1.0)
        seen += math.sqrt(np.mean((made.values - x) ** 2)) <= made.rmse_at_most(0.95, proved=True).value
    assert binom.cdf(175, 200, 0.95) < 1e-4
    assert seen > 175


def test_an_estimator_that_explodes_on_other_values_has_a_large_proved_limit() -> None:
    y = np.random.default_rng(0).standard_normal(100)
    calm = fission_limit(lambda v, s: np.zeros(100), y, 1.0, np.zeros(100), 0.95)
    wild = fission_limit(lambda v, s: np.full(100, 1e3), y, 1.0, np.zeros(100), 0.95)
    assert calm < 2 < 900 < wild


def test_no_limit_is_zero_where_chance_made_the_values_small() -> None:
    """The noise of this draw is half of what it is said to be, so that no error at all seems plausible."""
    y = 0.5 * np.random.default_rng(0).standard_normal(100)
    for confidence in (0.5, 0.95):
        assert fission_limit(lambda v, s: np.zeros(100), y, 1.0, np.zeros(100), confidence) > 0.2


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("bins", [1, 6, 200])
def test_the_raw_limit_holds_as_often_as_it_says(bins: int, law: str) -> None:
    """20,000 draws at 97.5%: fewer than 97% has a chance below 1e-5, more than 98.1% (too loose) below 1e-7."""
    rng = np.random.default_rng(bins)
    shape = (20_000, bins)
    noise = rng.standard_normal(shape) if law == "gaussian" else rng.laplace(0, math.sqrt(0.5), shape)
    limit = moved_limit(0.0, 1.0, bins, 0.975, law, 0.0)  # type: ignore[arg-type]
    assert 0.97 < np.mean(np.sqrt(np.mean(noise**2, axis=1)) <= limit) < 0.981


def test_few_bins_that_hardly_moved_have_the_raw_limit() -> None:
    """Six values far apart: denoising moves them little, and the limit is nearly that of a chi-square."""
    from scipy.stats import chi2

    made = ln.denoise.james_stein(np.array([100.0, -300.0, 500.0, 900.0, -700.0, 200.0]), 1.0)
    moved = made.compare()["moved"]
    assert moved is not None
    assert made.rmse_at_most(0.95).value == pytest.approx(moved + math.sqrt(chi2.ppf(0.975, 6) / 6))
    assert made.rmse_at_most(0.95, proved=True).value <= made.rmse_at_most(0.95).value


def test_the_grid_widens_a_proved_limit() -> None:
    y = np.rint(np.random.default_rng(0).standard_normal(100) * 3)
    limits = [fission_limit(lambda v, s: np.zeros(100), y, 3.0, np.zeros(100), 0.95, grid) for grid in (0.0, 1.0)]
    assert limits[0] + 0.5 < limits[1] < limits[0] + 4


def test_limits_that_do_not_exist_are_refused() -> None:
    y = np.arange(10.0)
    with pytest.raises(errors.InvalidParameter, match="no proved limit"):
        ln.denoise.auto(y, 1.0, mechanism="laplace").rmse_at_most(proved=True)
    with pytest.raises(errors.InvalidParameter, match="no estimate of its own error"):
        ln.denoise.hard_threshold(y, 1.0).rmse_at_most()
    with pytest.raises(errors.InvalidParameter):
        ln.denoise.auto(y, 1.0).rmse_at_most(1.5)
    medians = ln.denoise.auto(y, 1.0, loss="absolute")
    for ask in (medians.rmse_at_most, medians.interval):
        with pytest.raises(
            errors.InvalidParameter, match=r'auto with loss="absolute" has no.*Leave loss="abs'
        ) as refused:
            ask()
        assert "Use auto" not in str(refused.value)


def test_keys_that_nobody_listed_have_no_limit_and_are_not_sent_to_another_denoiser() -> None:
    """Nor to a file that they did not come from."""
    frame = pd.DataFrame({"p": range(300), "k": ["a", "b", "c"] * 100})
    made = ln.table(frame, unit="p").histogram("k", max_rows=1).release(epsilon=1, delta=1e-6).denoise()
    for ask in (made.rmse_at_most, lambda: made.rmse_at_most(proved=True), made.interval):
        with pytest.raises(errors.InvalidParameter, match=r"no other denoiser.*release\.interval") as refused:
            ask()
        assert "auto" not in str(refused.value)
        assert "file" not in str(refused.value)


def test_a_limit_says_what_it_is_and_stands_beside_the_error() -> None:
    made = ln.denoise.auto(np.r_[np.zeros(90), np.full(10, 50.0)], 3.0)
    limit = made.rmse_at_most(0.9)
    assert (limit.confidence, limit.proved) == (0.9, False)
    assert float(limit) == limit.value > made.rmse
    for words in (made.explain(), repr(made)):
        assert f"at most {made.rmse_at_most().value:.2g} (95%)" in words


def test_a_limit_is_compared_as_the_number_that_it_is() -> None:
    limit, larger = RmseLimit(12.5, 0.95, False), RmseLimit(13.0, 0.9, True)
    for number in (13, 13.0, np.float64(13), np.float32(13), np.int64(13), Fraction(13), larger):
        assert limit < number
        assert limit <= number
        assert number > limit
        assert number >= limit
        assert not limit > number
        assert not limit >= number
    assert limit <= 12.5 <= limit
    assert max(limit, larger) is larger
    assert limit == RmseLimit(12.5, 0.95, False) != RmseLimit(12.5, 0.9, False)
    for wrong in ("20", None, [20]):
        with pytest.raises(TypeError):
            limit < wrong  # type: ignore[operator]  # noqa: B015
    with pytest.raises(TypeError):
        limit * 2  # type: ignore[operator]  # a tuple would have made six numbers of it


def test_an_estimate_that_is_not_better_beyond_chance_says_so() -> None:
    rng = np.random.default_rng(5)
    far = 1e4 * rng.standard_normal(200)
    made = ln.denoise.james_stein(far + rng.standard_normal(200), 1.0)
    assert made.better_than_raw is False
    assert "not better beyond chance" in made.explain()
    assert "use the noisy values" not in made.explain()  # it gains a little, by its own estimate
    worse = replace(made, estimate_risk=lambda: RiskEstimate(1.01, 190.0))
    assert "That is not better: use the noisy values as they are." in worse.errors_in_words()
    kept = ln.denoise.auto(far[:2], 1.0)
    assert (kept.values == far[:2]).all()
    assert "The values are kept as they were published, and so is their error: standard deviation 1." in kept.explain()
    assert "before" not in kept.explain()
    flat = ln.denoise.james_stein(rng.standard_normal(200), 1.0)
    assert flat.better_than_raw is True
    assert "not better" not in flat.explain()


@pytest.mark.parametrize("risk", [756.10**2, 756.2**2, 700.0**2, 764.0**2])
def test_an_error_and_the_one_before_are_told_in_their_order(risk: float) -> None:
    """In words and in what `auto` says; rounding adds no more than a tenth to what is between them."""
    made = ln.denoise.james_stein(np.random.default_rng(5).normal(0, 756.4, 200), 756.4)
    words = replace(made, estimate_risk=lambda: RiskEstimate(risk, 150.0)).errors_in_words()
    told, limit, before = (
        float(text) for text in re.findall(r"(?:about|at most|was) ([\d.]+)", words.replace(",", ""))
    )
    assert (told < before) == (risk < 756.4**2)
    assert limit >= told
    assert abs(told - risk**0.5) <= max(0.05, abs(risk**0.5 - 756.4) / 10)
