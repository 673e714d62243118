"""Row and column effects: the parts add up, the risk is unbiased, and what is additive is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.denoise.additive import additive
from leastnoise.denoise.risk import monte_carlo_divergence

laws = pytest.mark.parametrize("law", ["gaussian", "laplace"])
shapes = pytest.mark.parametrize("shape", [(6, 7), (2, 9), (4, 3, 5), (3, 1, 8), (2, 3, 2, 4)])


def drawn(shape: Any, law: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) if law == "gaussian" else rng.laplace(0, math.sqrt(0.5), shape)


def test_without_noise_nothing_is_shrunk() -> None:
    y = drawn((5, 6, 4), "gaussian", 0)
    assert np.allclose(additive(y, 1e-9, shape=y.shape).values, y, atol=1e-9)


@shapes
@laws
def test_the_degrees_of_freedom_are_the_divergence(shape: Any, law: Any) -> None:
    """Within 6 standard errors of a Monte-Carlo divergence (a false alarm in 1e8; the seeds are fixed)."""
    y = drawn(shape, law, 1) + 4 * drawn((shape[0], *[1] * (len(shape) - 1)), "gaussian", 2)
    made = additive(y, 1.0, shape=shape, mechanism=law)
    seen = monte_carlo_divergence(
        lambda v: additive(v, 1.0, shape=shape, mechanism=law).values,
        y,
        1.0,
        mechanism=law,
        draws=400 if law == "gaussian" else 1500,
    )
    assert made.degrees_of_freedom is not None
    assert abs(made.degrees_of_freedom - seen.value) < 6 * seen.error + 0.01


@laws
def test_the_risk_is_right_on_average(law: Any) -> None:
    """Over 400 draws, within 6 standard errors."""
    truth = np.array([0.0, 3, 9, 20])[:, None] + np.array([0.0, 1, 0, 2, 5, 0])
    off = []
    for seed in range(400):
        y = truth + drawn(truth.shape, law, seed)
        made = additive(y, 1.0, shape=(4, 6), mechanism=law)
        free = made.degrees_of_freedom or 0.0
        stein = (float(((y - made.values) ** 2).sum()) + 2 * free) / 24 - 1
        off.append(stein - float(np.mean((made.values - truth) ** 2)))
    assert abs(np.mean(off)) < 6 * np.std(off) / 20


def test_an_additive_table_is_found() -> None:
    """16 rows and 12 columns: 27 of 192 dimensions, so below half of the noise where all were 1."""
    truth = np.linspace(0, 100, 16)[:, None] + np.linspace(0, 20, 12)
    y = truth + drawn(truth.shape, "gaussian", 3)
    made = additive(y.ravel(), 1.0, shape=(16, 12))
    assert math.sqrt(np.mean((made.values - truth.ravel()) ** 2)) < 0.5
    assert made.parameters["factors"]["rest"] < 0.3


@pytest.mark.parametrize("shape", [(6,), (3, 1), (2, 2)])
def test_what_is_no_table_of_these_values_is_refused(shape: Any) -> None:
    with pytest.raises(errors.InvalidParameter):
        additive(np.zeros(6 if shape != (3, 1) else 3), 1.0, shape=shape)
