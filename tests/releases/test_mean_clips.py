"""Clips for means: they need not reach zero, and what is cut is weighed against the noise of a mean."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.special import ndtri

import leastnoise as ln
from leastnoise.domain.size_classes import VALUE_ENDS, signed_classes
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases import mean_clip_errors
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.mean_clip_errors import ENOUGH, BinSizes
from leastnoise.releases.signed_counts import SignedCounts
from looked_tables import Array, light, suggestion


def clips(values: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """For a sum and for a mean, from the same counts."""
    unit, place, bins = light(units=6000)
    found = [suggestion(unit, place, bins, sigma=10.0, values=values, means=means) for means in ((), ("value",))]
    return found[0].clips["value"], found[1].clips["value"]


def test_a_clip_for_a_mean_need_not_reach_zero() -> None:
    """Blood pressures, say: a sum's noise goes with the larger end, a mean's with the width."""
    rows = light(units=6000)[0].size
    values = np.random.default_rng(3).normal(130, 15, rows)
    (low, high), (lower, upper) = clips(values)
    assert (low, high >= np.quantile(values, 0.9)) == (0, True)
    assert 60 <= lower <= np.quantile(values, 0.1)
    assert np.quantile(values, 0.9) <= upper <= 256


def test_each_side_of_zero_has_an_end_of_its_own() -> None:
    """Delays, a little early or very late: a mean's clip is as wide as needed on each side."""
    chance, rows = np.random.default_rng(5), light(units=6000)[0].size
    delays = np.where(chance.random(rows) < 0.6, -chance.integers(1, 12, rows), chance.exponential(40, rows))
    (low, high), (lower, upper) = clips(delays.astype(float))
    assert low == -high
    assert -24 <= lower <= -6
    assert upper > 60


def true_mean_error(low: float, high: float, values: Array, rows: float, std: float) -> float:
    """Of a mean in one bin: what the clip changes, and the noise to first order."""
    clipped = np.clip(values, low, high)
    half, away = (high - low) / 2, clipped.mean() - (high + low) / 2
    return math.hypot(clipped.mean() - values.mean(), std / rows * math.hypot(half, away))


@pytest.mark.parametrize("rows", [2e3, 2e4, 2e5])
def test_with_little_noise_the_clip_is_nearly_the_best_of_one_side(rows: float) -> None:
    """Values above zero, of which a clip cuts the upper side: against every end of a class, with the values known."""
    values = np.exp(np.random.default_rng(6).normal(3, 0.9, 200_000))
    places = np.searchsorted(VALUE_ENDS, values, side="right")
    size = signed_classes("values")
    noisy = SignedCounts(((np.bincount(size // 2 + places, minlength=size).astype(float), 3.0),))
    (low, high), risk = mean_clip_errors.propose(noisy, rows=rows, concentration=1.0, bins=1, count_std=100.0)
    errors = {end: true_mean_error(low, end, values, rows, 100.0) for end in VALUE_ENDS if end > 8}
    assert errors[high] <= 1.25 * min(errors.values())
    assert risk < 0.2


@given(some.floats(1.0, 4.0), some.floats(2.0, 8.0), some.floats(0.0, 3.0))
def test_sizes_of_bins_are_those_of_a_lognormal(uneven: float, rows: float, threshold: float) -> None:
    """Against the sum over 20,000 quantiles of the lognormal."""
    bins, all_rows, std = 50, 50 * 10.0**rows, 10.0**threshold
    found = BinSizes.lognormal(rows=all_rows, concentration=uneven / bins, bins=bins, count_std=std)
    spread = max(math.log(uneven), 1e-4)
    sizes = 10.0**rows * np.exp(math.sqrt(spread) * ndtri((np.arange(20_000) + 0.5) / 20_000) - spread / 2)
    told = sizes[sizes > max(ENOUGH * std, 1.0)]
    if told.size > 200:
        assert found.inverse == pytest.approx((1 / told).mean(), rel=0.05)
        assert found.inverse_square == pytest.approx((1 / told**2).mean(), rel=0.1)
    least = max(ENOUGH * std, 1.0)
    assert found.inverse <= 1 / least * (1 + 1e-9)
    assert found.inverse_square <= 1 / least**2 * (1 + 1e-9)


def test_sizes_of_bins_are_those_counted_where_they_are_seen() -> None:
    """Four bins of which one is small and one empty: with noise of 500 units nothing is seen, and bins may be even."""
    units = np.array([1000.0, 2000.0, 100.0, -30.0])
    asked = {"rows": 31_000.0, "concentration": 0.25, "bins": 4, "count_std": 100.0}
    found = BinSizes.of(counted=(units, 1.0), **asked)  # type: ignore[arg-type]
    sizes = 31_000 * np.array([1000, 2000, 100]) / 3100.5
    assert found.inverse == pytest.approx((1 / sizes).mean())
    assert found.inverse_square == pytest.approx((1 / sizes**2).mean())
    assert BinSizes.of(counted=(units, 500.0), **asked) == BinSizes.lognormal(**asked)  # type: ignore[arg-type]


def test_the_noise_beside_sums_is_that_of_a_mean() -> None:
    rows = pd.DataFrame({"person": [1, 2], "zone": [0, 1], "fare": [1.0, 2.0]})
    query = ln.table(rows, unit="person").mean(
        "fare", clip=(-8, 8), by="zone", keys=range(2), max_rows=6, max_per_bin=4
    )
    expected = query.expect(epsilon=1, delta=1e-6, mechanism="gaussian")
    noise = AskedNoise(ln.sigma(epsilon=1, delta=1e-6, sensitivity=1), None)
    assert 8 * noise.std_beside_sums(Limits.of(max_rows=6, max_per_bin=4, bins=2), 2) == pytest.approx(
        expected.std, rel=1e-3
    )


def test_it_says_what_each_clip_is_for_and_keeps_it(tmp_path: Path) -> None:
    unit, place, bins = light()
    values = np.random.default_rng(3).normal(130, 15, unit.size)
    found = suggestion(unit, place, bins, sigma=10.0, values=values, means=("value",))
    low, high = found.clips["value"]
    assert f"Proposed clips, for a mean in each of these bins: value from {low:g} to {high:g}." in found.explain()
    found.save(tmp_path / "limits.parquet", allow_seeded=True)
    back = ln.load(tmp_path / "limits.parquet")
    assert (back.means, back.clips, back.explain()) == (("value",), found.clips, found.explain())
    page = found.report(tmp_path / "limits.html", allow_seeded=True).read_text()
    assert "# the clip of a mean of it" in page
