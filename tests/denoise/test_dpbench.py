"""The goals on thirteen real histograms: geometric-mean RMSE / sigma, and never worse than the raw values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.denoise import auto, empirical_bayes, james_stein, soft_threshold

pytestmark = pytest.mark.slow

# sigma -> what empirical Bayes must reach under Gaussian noise
GOALS = {36.3: 0.260, 4.2247: 0.354, 362.0: 0.161}


@pytest.fixture(scope="module")
def histograms(data: Path) -> dict[str, Any]:
    return {name: x.ravel().astype(float) for name, x in np.load(data / "dpbench" / "histograms.npz").items()}


def measured(histograms: dict[str, Any], sigma: float, noise: Any, draws: int) -> tuple[Any, Any, Any]:
    """RMSE / sigma of raw, empirical Bayes and auto, a row a histogram."""
    rows = []
    for x in histograms.values():
        seen = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            z = rng.standard_normal(x.size) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), x.size)
            y = x + sigma * z
            mixed = auto(y, sigma, nonnegative=True, mechanism=noise)
            all_three = (y, mixed.details.candidates["empirical_bayes"].values, mixed.values)
            seen.append([math.sqrt(np.mean((v - x) ** 2)) / sigma for v in all_three])
        rows.append(np.mean(seen, axis=0))
    raw, bayes, mixture = np.array(rows).T
    return raw, bayes, mixture


def geometric(values: Any) -> float:
    return float(np.exp(np.log(values).mean()))


@pytest.mark.parametrize("sigma", GOALS)
def test_gaussian_goals(histograms: dict[str, Any], sigma: float) -> None:
    raw, bayes, auto = measured(histograms, sigma, "gaussian", draws=2)
    assert len(histograms) == 13
    assert geometric(bayes) <= GOALS[sigma]
    assert geometric(auto) <= 1.01 * geometric(bayes)
    assert (auto <= 1.01 * raw).all()


@pytest.mark.parametrize("sigma", GOALS)
def test_laplace_goals(histograms: dict[str, Any], sigma: float) -> None:
    raw, bayes, auto = measured(histograms, sigma, "laplace", draws=4)  # ADULT is at the edge: one draw decides nothing
    assert geometric(auto) <= 1.01 * geometric(bayes)
    assert (auto <= 1.01 * raw).all()
    assert geometric(bayes) < 0.42


@pytest.mark.parametrize("sigma", [362.0, 3630.0])
def test_where_the_noise_drowns_everything(histograms: dict[str, Any], sigma: float) -> None:
    """Against the best of five simple answers (least mean error over the same four seeded draws): 1.02 in the geometric
    mean, 1.25 at worst. Without the gate against one value for all bins the worst is 5.9 at 3,630."""
    ratios = []
    for x in histograms.values():
        seen = []
        for seed in range(4):
            y = x + sigma * np.random.default_rng(seed).standard_normal(x.size)
            simple = (
                0 * y,
                np.full_like(y, y.mean()),
                soft_threshold(y, sigma).values,
                james_stein(y, sigma).values,
                y,
            )
            answers = (auto(y, sigma, nonnegative=True).values, *simple)
            seen.append([math.sqrt(np.mean((v - x) ** 2)) for v in answers])
        ours, *others = np.mean(seen, axis=0)
        ratios.append(ours / min(others))
    assert geometric(ratios) <= 1.02
    assert max(ratios) <= 1.25


def test_the_support_of_counts_helps(histograms: dict[str, Any]) -> None:
    x = histograms["MEDCOST"]
    y = x + 36.3 * np.random.default_rng(0).standard_normal(x.size)
    known, unknown = (empirical_bayes(y, 36.3, support=s).values for s in ("nonnegative", "real"))
    assert np.mean((known - x) ** 2) < np.mean((unknown - x) ** 2)
