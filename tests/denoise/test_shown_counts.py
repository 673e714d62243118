"""Counts of keys that nobody listed: what chose them is taken back, where sizes follow a power law, and little else."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise.denoise.shown_counts import shown_counts
from leastnoise.releases.noise import Noise


def draws(noise: Noise, size: int, rng: np.random.Generator) -> np.ndarray:
    if noise.mechanism == "gaussian":
        return np.rint(noise.scale * rng.standard_normal(size))
    success = -np.expm1(-1 / noise.scale)
    return (rng.geometric(success, size) - rng.geometric(success, size)).astype(float)


@pytest.mark.parametrize("noise", [Noise("gaussian", 4.22, 1.0), Noise("laplace", 3.0, 1.0)])
@pytest.mark.parametrize("power", [1.6, 2.0, 2.6])
def test_what_the_threshold_added_is_taken_back(noise: Noise, power: float) -> None:
    """Some thousand keys near the threshold. Their mean error is several standard errors before, and after it is within
    five of zero (a false alarm of 6e-7) or a quarter of what it was: the fit of the power is not free of chance."""
    rng = np.random.default_rng(4)
    truth = np.minimum(rng.zipf(power, 600_000), 10**6).astype(float)
    y, at_least = truth + draws(noise, truth.size, rng), 22
    shown = y >= at_least
    truth, y = truth[shown], y[shown]
    made = shown_counts(y, noise, at_least)
    near = y < 2 * at_least
    before, after = (y - truth)[near], (np.asarray(made.values) - truth)[near]
    error = 5 * after.std() / np.sqrt(near.sum())
    assert before.mean() > 0.3
    assert abs(after.mean()) <= max(error, 0.25 * before.mean())
    assert (after**2).mean() < (before**2).mean()
    assert abs(made.parameters["exponent"] - power) < 0.25
    far = y > 50 * at_least
    assert np.abs(np.asarray(made.values) - y)[far].max() < 1


def test_no_key_shows_and_one_does() -> None:
    noise = Noise("laplace", 1.0, 1.0)
    assert shown_counts(np.zeros(0), noise, 15).values.size == 0
    assert 0 < shown_counts(np.array([15.0]), noise, 15).values[0] <= 15.5
