"""Intervals around denoised values: the share of bins that they cover, their promise, and their length."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise import errors
from leastnoise.releases.average_coverage import NoiseKept, half_length, noise_kept
from leastnoise.releases.estimate import RiskEstimate
from leastnoise.testing import seeded


def test_without_bias_it_is_the_raw_interval_and_without_noise_chebyshev() -> None:
    assert half_length(0.0, 1.0, 0.05) == pytest.approx(1.96, abs=0.01)
    assert half_length(0.25, 0.0, 0.05) == pytest.approx((0.25 / 0.05) ** 0.5, rel=0.01)
    assert half_length(0.0, 1.0, 0.05, "laplace") == pytest.approx(2.118, abs=0.01)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 1.0])
def test_it_grows_with_bias_noise_and_confidence(noise: float) -> None:
    lengths = [half_length(bias, noise, 0.05) for bias in (0.01, 0.1, 0.5)]
    assert lengths == sorted(lengths)
    assert half_length(0.1, noise, 0.01) > half_length(0.1, noise, 0.05)
    assert half_length(0.1, 0.2, 0.05) <= half_length(0.1, 0.6, 0.05)


@pytest.mark.parametrize("seed", range(4))
def test_no_mixture_of_these_means_is_missed_more(seed: int) -> None:
    """Any two-point distribution of (bias, noise) with these means, simulated exactly."""
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    bias, noise = 0.3, 0.4
    h = half_length(bias, noise, 0.05)
    for _ in range(200):
        p, b, t = rng.uniform(0.001, 1), rng.uniform(0, 1), rng.uniform(0, 1)
        first_b, first_t = b * bias / p, min(1.0, t * noise / p)
        second_b = (bias - p * first_b) / (1 - p)
        second_t = (noise - p * first_t) / (1 - p)
        if not (0 <= second_t <= 1):
            continue
        missed = 0.0
        for weight, b2, t2 in ((p, first_b, first_t), (1 - p, second_b, second_t)):
            b1, t1 = b2**0.5, max(t2, 1e-12) ** 0.5
            missed += weight * (ndtr((b1 - h) / t1) + ndtr(-(b1 + h) / t1))
        assert missed <= 0.051


def test_the_noise_kept_is_measured() -> None:
    y = np.random.default_rng(1).standard_normal(2000)
    assert noise_kept(lambda v, s: v, y, 1.0) == pytest.approx(1.0, abs=0.15)
    assert noise_kept(lambda v, s: 0.5 * v, y, 1.0) == pytest.approx(0.25, abs=0.05)
    assert noise_kept(lambda v, s: np.zeros_like(v), y, 1.0) == 0.0


TRUTHS = {
    "flat 6": np.zeros(6),
    "flat 50": np.full(50, 10.0),
    "flat 1000": np.zeros(1000),
    "steps": np.repeat([0.0, 3.0, 30.0, 2.0], 250),
    "power law": 300.0 / np.arange(1, 1001),
}


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", TRUTHS)
def test_the_promised_share_of_the_bins_is_covered(name: str, mechanism: str) -> None:
    """Mean coverage over 12 draws. Of correct 95% intervals it is below 94% with probability below 1e-6 at 1,000
    bins (binomial on 12,000); at 6 and 50 bins the bound is wider for the same rate: 78% and 90%."""
    x, rng = TRUTHS[name], np.random.default_rng(11)
    least = {6: 0.78, 50: 0.9}.get(x.size, 0.94)
    seen = []
    for _ in range(12):
        z = rng.standard_normal(x.size) if mechanism == "gaussian" else rng.laplace(0, 0.5**0.5, x.size)
        low, high = ln.denoise.auto(x + z, 1.0, nonnegative=True, mechanism=mechanism).interval(0.95)  # type: ignore[arg-type]
        seen.append(np.mean((low <= x) & (x <= high)))
    assert np.mean(seen) >= least


def test_intervals_say_what_they_promise_and_are_never_longer_than_the_raw_ones() -> None:
    rng = np.random.default_rng(2)
    flat = ln.denoise.auto(rng.standard_normal(4000), 1.0)
    made = flat.interval(0.95)
    assert made.promise == "share of the bins"
    assert np.mean(made.high - made.low) < 2 * 1.96
    few = ln.denoise.auto(rng.standard_normal(5), 1.0).interval(0.95)
    assert few.promise == "every bin"
    assert np.allclose(few.high - few.low, 2 * 1.96, atol=0.01)
    assert ln.denoise.gaussian_prior(rng.standard_normal(5), 1.0, prior_std=1.0).interval().promise == "prior"


def test_known_sums_have_exact_intervals() -> None:
    """h = y - A'(AA')^-1 A y for one parent and two children: each keeps 2/3 of its variance. Coverage of 95% over
    60,000 bins is below 94.5% with probability below 1e-6."""
    made = ln.denoise.consistent([10.0, 4.0, 3.0], sigma=2.0, matrix=[[1, -1, -1]])
    assert made.exact_std == pytest.approx(2 * (2 / 3) ** 0.5)
    assert made.interval().promise == "every bin"
    rng, x, seen = np.random.default_rng(4), np.array([7.0, 4.0, 3.0]), 0.0
    for _ in range(2000):
        low, high = ln.denoise.consistent(x + rng.standard_normal(3), 1.0, matrix=[[1, -1, -1]]).interval()
        seen += np.sum((low <= x) & (x <= high)) / 6000
    assert 0.935 < seen < 0.965


def test_unequal_variances_are_exact_too() -> None:
    variances = np.array([1.0, 4.0, 0.25])
    made = ln.denoise.consistent([5.0, 2.0, 2.0], 1.0, matrix=[[1, -1, -1]], variances=variances)
    a = np.array([[1.0, -1, -1]])
    v = np.diag(variances)
    assert made.exact_std == pytest.approx(np.sqrt(np.diag(v - v @ a.T @ np.linalg.inv(a @ v @ a.T) @ a @ v)))


def test_what_was_asked_travels_with_files_and_pickles(tmp_path: Path) -> None:
    made = ln.denoise.auto(np.random.default_rng(0).standard_normal(500), 1.0)
    made.save(tmp_path / "before.parquet")
    with pytest.raises(errors.InvalidParameter, match="Denoise the release once more"):
        ln.load(tmp_path / "before.parquet").interval()
    asked = made.interval()
    made.save(tmp_path / "after.parquet")
    for again in (ln.load(tmp_path / "after.parquet"), pickle.loads(pickle.dumps(made))):
        assert np.allclose(again.interval().low, asked.low)
        assert again.interval().promise == asked.promise
    with pytest.raises(errors.InvalidParameter, match="read from a file"):
        ln.load(tmp_path / "after.parquet").rmse_at_most(proved=True)
    assert ln.load(tmp_path / "after.parquet").rmse_at_most() == made.rmse_at_most()


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize(
    ("share", "height"), [(0.0, 0.0), (0.001, 3.0), (0.01, 0.5), (0.03, 0.2), (0.2, 0.05), (1.0, 0.01)]
)
def test_from_zero_to_one_height_for_what_is_nearly_empty(law, share: float, height: float) -> None:  # type: ignore[no-untyped-def]
    """10,000 bins, whatever the truth: 95% of them covered in each of five draws (missed with a chance of 1e-3 each),
    by intervals of at most a third of the raw ones."""
    truth = np.zeros(10_000)
    truth[: int(share * truth.size)] = height
    for seed in range(5):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(truth.size) if law == "gaussian" else rng.laplace(0, 0.5**0.5, truth.size)
        made = ln.denoise.auto(truth + noise, 1.0, nonnegative=True, mechanism=law)
        found = made.interval(0.95)
        assert found.promise == "share of the bins"
        assert np.mean((found.low <= truth) & (truth <= found.high)) >= 0.95
        assert ((found.low <= made.values) & (made.values <= found.high)).all()
        assert np.mean(found.high - found.low) < 0.35 * 2 * made.distribution.half_width(0.95)


def test_few_bins_do_not_run_the_denoiser_again() -> None:
    """The limit of six bins is so wide that no interval can be shorter than the raw one."""

    def refuse() -> float:
        raise AssertionError("it was run again")

    made = replace(ln.denoise.auto([1.0, 2.0, 0.0, 3.0, 1.0, 2.0], 1.0), noise_kept=NoiseKept(refuse))
    assert made.interval(0.95).promise == "every bin"


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("truth", [0, 5, 10, 30])
def test_raw_intervals_of_counts_cover_every_truth_and_have_length(
    truth: int, law: Literal["gaussian", "laplace"]
) -> None:
    """20,000 counts of 0, 0.5, 1 and 3 standard deviations; false alarm 1e-7 each. None is shorter than half the raw
    one, each holds the denoised value, and where nothing is cut it is the release's own."""
    with seeded(6):
        asked = {"sigma": 10.0} if law == "gaussian" else {"epsilon": 0.1 * 2**0.5, "delta": 0, "l1_sensitivity": 1}
        release = ln.release(np.full(20_000, truth), sensitivity=1, mechanism=law, **asked)  # type: ignore[arg-type]
    unsure = RiskEstimate(1e6, 20_000.0)  # so large an error that no other interval is shorter
    made = replace(release.denoise("project", onto="nonnegative"), estimate_risk=lambda: unsure)
    low, high = made.interval(0.95)
    half = release.distribution.half_width(0.95)
    assert made.interval(0.95).promise == "every bin"
    assert np.sum((low <= truth) & (truth <= high)) >= binom.ppf(1e-7, 20_000, 0.95)
    assert (high - low >= half).all()
    assert ((low <= made.values) & (made.values <= high)).all()
    assert not np.signbit(low).any()
    uncut = release.interval(0.95).low > 0
    assert np.array_equal(np.array([low, high])[:, uncut], np.array(release.interval(0.95))[:, uncut])


def test_a_raw_interval_is_lengthened_up_to_the_value() -> None:
    made = replace(ln.denoise.auto(np.array([0.0, 10.0, -10.0]), 1.0), values=np.array([5.0, 5.0, -5.0]))
    half = made.distribution.half_width(0.95)
    low, high = replace(made, estimate_risk=lambda: RiskEstimate(1e6, 3.0)).interval(0.95)
    assert low.tolist() == [-half, 5.0, -10 - half]
    assert high.tolist() == [5.0, 10 + half, -5.0]
