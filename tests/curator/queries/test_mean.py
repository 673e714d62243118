"""Means: near, and inside intervals that cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise.curator.table import Table
from leastnoise.domain import IntegerRange
from leastnoise.releases.mean import MeanRelease
from leastnoise.testing import aggregate, seeded
from queries_of_every_kind import ASK, WARDS


def test_means_are_near_and_inside_their_intervals(people: Table) -> None:
    """The intervals miss with a chance of 1e-7 each. Near is within 2.3 standard deviations (the seed is fixed)."""
    question = people.mean("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=100)
    for mechanism in ("gaussian", "laplace"):
        with seeded(21):
            made = question.release(**ASK, mechanism=mechanism)
        assert isinstance(made, MeanRelease)
        exact = aggregate(question).values.astype(float)
        truth = made.centre + exact[:3] / (exact[4:7] / question.clip.half)  # type: ignore[attr-defined]
        low, high = made.interval(1 - 1e-7)
        assert ((low[:3] <= truth) & (truth <= high[:3])).all()
        assert np.abs(made.values[0] - truth[0]) < 5
        assert (low[3], high[3]) == (0.0, 99.0)  # nobody in the west: nothing is known


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("count", [5, 40, 400])
def test_fieller_intervals_cover(mechanism: Any, count: int) -> None:
    """20,000 means at 90 %: coverage below the 1e-7 quantile would be a false alarm of 1e-7 (the seed is fixed)."""
    n, half, theta = 20_000, 10.0, 6.0
    exact = np.concatenate([np.full(n, theta * count), np.full(n, half * count)])
    with seeded(8):
        parts = ln.release(exact, sensitivity=20, l1_sensitivity=20, epsilon=0.5, delta=1e-6, mechanism=mechanism)
    made = MeanRelease.of(
        parts,
        centre=3.0,
        half_range=half,
        within=(-7.0, 13.0),
        domain=ln.domain.Domain(("k",), (IntegerRange(0, n),)),
    )
    low, high = made.interval(0.9)
    inside = ((low <= 3 + theta) & (3 + theta <= high)).sum()
    assert inside >= binom.ppf(1e-7, n, 0.9)
    if mechanism == "gaussian" and count == 400:
        assert inside <= binom.ppf(1 - 1e-7, n, 0.9)  # and exactly so, where the noise is Gaussian
    assert (low >= -7).all()
    assert (high <= 13).all()


def test_means_module_reads_back_only_what_it_wrote(tmp_path: Path, people: Table) -> None:
    question = people.mean("age", clip=(0, 99), max_rows=3)
    made = question.release(**ASK)
    made.save(tmp_path / "m.parquet")
    assert ln.load(tmp_path / "m.parquet").reading == made.reading


def test_the_sum_of_a_mean_is_the_sum_of_its_values(people: Table) -> None:
    question = people.mean("age", clip=(0, 99), max_rows=100)
    frame = question.release(epsilon=100, delta=1e-6).to_pandas()
    exact = people.rows.to_pyarrow()["age"].to_numpy().sum()
    assert frame["sum"][0] == pytest.approx(exact, rel=0.01)
    assert frame["mean"][0] == pytest.approx(frame["sum"][0] / frame["count"][0], rel=1e-6)
