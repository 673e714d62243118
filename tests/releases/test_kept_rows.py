"""How many rows limits keep: bounds that hold for every unit, and ends that hold for most draws of the noise."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import leastnoise as ln
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.limit_errors import HIDDEN, AskedNoise, kept_in_words, predict
from leastnoise.releases.limit_suggestion import Layout, LimitSuggestion
from leastnoise.releases.unit_size_fit import Fit
from leastnoise.testing import seeded
from looked_tables import counted, light, suggestion, true_error

Array = np.ndarray[Any, Any]


def remaining(unit: Array, place: Array, bins: int, limits: Limits) -> float:
    """The share of the rows that is kept: in each bin first, then in all."""
    pairs, rows = np.unique(unit * bins + place, return_counts=True)
    in_bins = np.bincount(pairs // bins, weights=np.minimum(rows, limits.max_per_bin))
    return float(np.minimum(in_bins, limits.max_rows).sum() / unit.size)


@given(some.lists(some.lists(some.integers(1, 40), min_size=1, max_size=6), min_size=1, max_size=8), some.data())
def test_what_is_kept_lies_between_its_bounds(units: list[list[int]], data: some.DataObject) -> None:
    """Units of one size: N mean of min(1, p/n, m/N) <= mean of min(m, K) <= min(m, N mean of min(1, p/n))."""
    size = sum(units[0])
    units = [rows for rows in units if sum(rows) == size]
    p, m = data.draw(some.integers(1, 40)), data.draw(some.integers(1, 240))
    kept = np.mean([min(m, sum(min(n, p) for n in rows)) for rows in units])
    low = np.mean([sum(n * min(1, p / n, m / size) for n in rows) for rows in units])
    high = min(m, np.mean([sum(n * min(1, p / n) for n in rows) for rows in units]))
    assert low <= kept * (1 + 1e-12)
    assert kept <= high * (1 + 1e-12)


@pytest.mark.parametrize("bins", [3, 20, 150])
def test_the_ends_hold_for_every_limit_where_the_noise_is_small(bins: int) -> None:
    """Units with a home in which half of their rows are, so that both limits matter."""
    unit, place, _ = light(bins=bins, rows=20)
    place = np.where(np.random.default_rng(8).random(unit.size) < 0.5, unit % bins, place)
    found = suggestion(unit, place, bins, sigma=0.5).errors
    for at in found.best_for_each():
        limits = Limits(int(found.max_rows[at]), int(found.max_per_bin[at]), bins)
        assert found.kept_low[at] <= remaining(unit, place, bins, limits) <= found.kept_high[at]
        assert found.kept_low[at] <= found.kept[at] <= found.kept_high[at]
        assert found.error_low[at] <= found.error[at] <= found.error_high[at]


def test_one_known_table_has_ends_as_wide_as_what_classes_hide() -> None:
    """500 units with nine rows in one bin: five of nine are kept under a limit of five."""
    counts = np.zeros((1, len(Layout(1).part(np.zeros(Layout(1).size), "rows"))))
    counts[0, 8] = 500.0
    found = predict(
        Fit(counts, np.ones(1)), None, concentrations=np.ones(1), bins=1, noise=AskedNoise(4.2, math.sqrt(2))
    )
    (at,) = np.flatnonzero(found.max_rows == 5)
    assert found.kept[at] == pytest.approx(5 / 9)
    assert (found.kept_low[at], found.kept_high[at]) == pytest.approx((5 / 9 - HIDDEN, 5 / 9 + HIDDEN))
    assert found.error_high[at] == pytest.approx(math.hypot(500 * 9 * (4 / 9 + HIDDEN), found.noise[at]))
    assert found.error_low[at] == pytest.approx(math.hypot(500 * 9 * (4 / 9 - HIDDEN), found.noise[at]))


def test_the_ends_hold_in_most_draws_of_the_noise() -> None:
    """12 looks at one table. If ends held with a chance of 0.95, 7 would miss with a chance of 5e-7; were they half as
    wide they would miss in about every other look."""
    unit, place, bins = light(units=1500, bins=4, rows=12)
    exact, noise = counted(unit, place, bins), AskedNoise(4.2, None)
    missed = np.zeros(2)
    for draw in range(12):
        with seeded(zlib.crc32(f"kept {draw}".encode())):
            noisy = ln.release(exact, sensitivity=6, sigma=60.0)
        found = LimitSuggestion(components=noisy, layout=Layout(bins), asked=noise)
        kept, error = remaining(unit, place, bins, found._limits), true_error(unit, place, bins, found._limits, noise)
        ends = (found.kept_interval, found.error_interval)
        missed += [not low <= true <= high for true, (low, high) in zip((kept, error), ends, strict=True)]
    assert (missed < 7).all()


def test_ends_are_rounded_outwards() -> None:
    assert kept_in_words(0.999, 0.985, 0.9991) == "100% (98 to 100)"
    assert kept_in_words(0.5, 0.5, 0.5) == "50% (50 to 50)"
