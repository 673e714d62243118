"""Quantiles: near, in order, and inside intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise.curator.table import Table
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.testing import seeded
from queries_of_every_kind import ASK


def test_quantiles_are_near_monotone_and_inside_their_intervals(people: Table) -> None:
    question = people.quantile("age", [0.9, 0.1, 0.5], clip=(0, 100), bins=100, max_rows=100)
    ages = np.sort(people.rows.to_pyarrow()["age"].to_numpy())
    for mechanism in ("gaussian", "laplace"):
        with seeded(5):
            made = question.release(**ASK, mechanism=mechanism)
        assert isinstance(made, QuantileRelease)
        values = made.values
        assert values[1] < values[2] < values[0]
        low, high = made.interval(1 - 1e-6)
        for q, v, a, b in zip((0.9, 0.1, 0.5), values, low, high, strict=True):
            truth = ages[int(q * len(ages))]
            assert abs(v - truth) < 15
            assert a <= truth <= b + 1


@pytest.mark.slow
def test_quantile_intervals_cover() -> None:
    """2,000 medians at 90 %, noise only; false alarm 1e-7."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 60, 50)
    edges = np.arange(51.0)
    cumulative = np.concatenate([[0], np.cumsum(counts)])
    truth = int(np.flatnonzero(cumulative >= 0.5 * cumulative[-1])[0])
    covered = 0
    with seeded(12):
        for _ in range(2000):
            parts = ln.release(counts, sensitivity=1, **ASK)
            low, high = QuantileRelease(components=parts, levels=(0.5,), edges=edges).interval(0.9)
            covered += low[0] <= truth <= high[0]
    assert covered >= binom.ppf(1e-7, 2000, 0.9)
