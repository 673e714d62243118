"""The audit finds what is there, and nothing that is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import audit, errors
from leastnoise.audit import last_bit, lower_bound

SIGMA = 4.224678889326836


def _normal(shift: float, seed: int, n: int = 100_000, sigma: float = SIGMA) -> np.ndarray:
    return shift + np.random.default_rng(seed).normal(0, sigma, n)


def test_naive_floating_point_noise_fails() -> None:
    """The low-bit event: at a claimed (1, 1e-6) the true delta of a float mechanism is at least 0.05."""
    found = lower_bound(_normal(0, 1), _normal(1, 2), epsilon=1)
    assert found.refutes(delta=1e-6)
    assert found.delta > 0.05
    assert "multiple of 2^-53" in found.event
    assert "at least 0.05" in str(found)


def test_noise_that_is_too_small_fails_by_its_likelihood_ratio() -> None:
    """Rounded to a coarse grid, so that no low bit can tell: only the ratio does."""
    x, y = (np.rint(_normal(shift, seed, sigma=0.5)) for shift, seed in ((0, 1), (1, 2)))
    found = lower_bound(x, y, epsilon=1)
    assert 0.3 < found.delta < ln.delta(sigma=0.5, epsilon=1)
    assert "multiple" not in found.event


def test_the_bound_stays_below_the_truth() -> None:
    """200 audits of an honest mechanism at its exact profile, confidence 95 %: more than 25 wrong has a chance below
    1e-5; Bonferroni makes it far rarer. Seeds are fixed."""
    wrong = 0
    for seed in range(200):
        x, y = (np.rint(_normal(shift, 1000 * seed + shift, n=2000, sigma=1.0)) for shift in (0, 1))
        wrong += lower_bound(x, y, epsilon=0.5, confidence=0.95).delta > ln.delta(sigma=1.0, epsilon=0.5)
    assert wrong <= 25


def test_it_finds_a_negative_zero() -> None:
    x = np.where(np.arange(2000) % 3 == 0, -0.0, 1.0)
    y = np.where(np.arange(2000) % 3 == 0, 0.0, 1.0)
    assert "minus sign" in lower_bound(x, y, epsilon=1).event


def test_vectors_are_audited_along_their_difference() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 0.3, (5000, 4)).round(1), 0.5 + rng.normal(0, 0.3, (5000, 4)).round(1)
    assert lower_bound(x, y, epsilon=0.5).delta > 0.5


def test_last_bit() -> None:
    values = np.array([1.0, 3.0, 0.5, 6.0, 0.0, -0.75, 1 + 2**-52, 5e-324])
    assert last_bit(values).tolist() == [0, 0, -1, 1, math.inf, -2, -52, -1074]


def test_bad_samples() -> None:
    with pytest.raises(errors.InvalidParameter, match="fewer than 100"):
        lower_bound([1.0], [2.0], epsilon=1)
    with pytest.raises(errors.WrongType):
        lower_bound(["a"] * 200, [1.0] * 200, epsilon=1)
    with pytest.raises(errors.InvalidParameter):
        lower_bound(np.zeros((200, 2)), np.zeros((200, 3)), epsilon=1)
    assert audit.Finding(0.1, 1, 0.9, "x", 5).refutes(delta=0.05)
