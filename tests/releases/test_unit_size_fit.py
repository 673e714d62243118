"""Sizes of units from noisy counts: classes of three widths say together what they say apart, and tails are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leastnoise._support.runtime import one_thread
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, WIDE
from leastnoise.releases.limit_suggestion import WEIGHTS
from leastnoise.releases.unit_size_fit import Fit, Seen, _at_least_none, _inside, _own, _shapes, of_rows, posterior

Array = np.ndarray[Any, Any]


def test_shapes_are_distributions() -> None:
    shapes, scales, chances, _ = _shapes(tuple(map(float, ROW_STARTS)))
    assert (shapes >= 0).all()
    np.testing.assert_allclose(shapes.sum(axis=1), 1, rtol=1e-12)
    assert len(shapes) == len(scales) == len(chances)


def test_every_class_lies_in_one_octave_and_one_wide_class() -> None:
    for starts in (OCTAVES, WIDE):
        inside = _inside(starts)
        assert (inside.sum(axis=0) == 1).all()
        firsts = np.argmax(inside, axis=1)
        assert [ROW_STARTS[first] for first in firsts] == list(starts)


def test_the_posterior_is_that_of_a_linear_model() -> None:
    """Of one expectation, smooth: mean and spread over many draws, against the formulas for what is seen itself. Means
    of 4,000 draws are within five of their standard deviations, but for a chance of 1e-6 each of twelve."""
    chance = np.random.default_rng(1)
    total, std = np.vstack([np.eye(4), np.ones((2, 4))]), np.array([30.0, 30, 30, 30, 10, 10])
    expected, away = np.array([400.0, 900, 800, 300]), np.abs(np.subtract.outer(np.arange(4.0), np.arange(4)))
    seen = Seen(total @ [450.0, 800, 900, 250] + std * chance.normal(size=6), std, total)
    prior = np.outer(expected, expected) * (0.25 * np.exp(-(away**2) / 2) + 0.01 * np.eye(4)) + np.diag(
        expected**2 / (1 + expected)
    )
    gain = prior @ total.T @ np.linalg.inv(total @ prior @ total.T + np.diag(std**2))
    mean, spread = expected + gain @ (seen.noisy - total @ expected), prior - gain @ total @ prior
    found = posterior(seen, expected[None], away, np.zeros(1), ((1.0, np.zeros((4, 4))),), np.arange(4), 4000).counts
    off = 5 * np.sqrt(np.diag(spread) / 4000)
    assert (np.abs(found.mean(axis=0) - mean) < off).all()
    np.testing.assert_allclose(np.cov(found.T), spread, atol=0.15 * np.diag(spread).max())


def _looked(rows: Array, std: float, seed: int) -> list[tuple[Array, float]]:
    """Counts of units with such numbers of rows, with noise of the weights that are used."""
    chance, parts = np.random.default_rng(seed), []
    for starts, kind in ((ROW_STARTS, "rows"), (OCTAVES, "octaves"), (WIDE, "wide")):
        counts = np.bincount(np.searchsorted(starts, rows, side="right") - 1, minlength=len(starts))
        parts.append((counts + std / WEIGHTS[kind] * chance.normal(size=counts.size), std / WEIGHTS[kind]))
    return parts


def _fitted(parts: list[tuple[Array, float]]) -> Fit:
    with one_thread():
        return of_rows(parts[0], parts[1], parts[2])


@pytest.mark.parametrize("k", [1, 4, 24])
def test_everybody_has_exactly_so_many_rows(k: int) -> None:
    """3,000 units, noise of 30 in a class: in nearly all plausible tables next to nobody has more."""
    found = _fitted(_looked(np.full(3000, k), 60.0, k))
    beyond = found.counts[:, np.array(ROW_STARTS) > k].sum(axis=1)
    assert np.quantile(beyond, 0.8) < 10


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_few_with_far_more_rows_are_seen_where_they_stand_out(seed: int) -> None:
    """150 of 15,000 units have a thousand rows and more, five standard deviations of an octave's noise; the others have
    numbers that no single shape fits."""
    chance = np.random.default_rng(seed)
    rows = np.where(np.arange(15_000) < 150, 1100 + chance.poisson(200, 15_000), 1 + chance.poisson(6, 15_000))
    found = _fitted(_looked(rows, 120.0, seed))
    heavy = found.counts[:, np.array(ROW_STARTS) >= 512].sum(axis=1)
    assert np.quantile(heavy, 0.1) > 75
    none = _fitted(_looked(rows[150:], 120.0, seed))
    assert np.quantile(none.counts[:, np.array(ROW_STARTS) >= 512].sum(axis=1), 0.9) < 20


def test_a_few_with_one_row_more_are_not_ruled_out() -> None:
    """Of 2,500 units 60 have five rows and the others four: noise of 30 in a class leaves them open."""
    found = _fitted(_looked(np.repeat([4, 5], [2440, 60]), 60.0, 1))
    assert (found.counts[:, ROW_STARTS.index(5)] > 20).mean() > 0.2


def test_numbers_beyond_a_gap_are_not_ruled_out() -> None:
    """Multiples of five: of 4,000 units 140 have 25 rows, and nobody has from 21 to 24; noise of 30 in a class."""
    rows = np.repeat([5, 10, 15, 20, 25], [1400, 1300, 800, 360, 140])
    found = _fitted(_looked(rows, 60.0, 2))
    assert np.median(found.counts[:, np.array(ROW_STARTS) > 20].sum(axis=1)) > 70


def test_numbers_below_zero_are_taken_out_of_their_octave() -> None:
    found = _at_least_none(np.array([5.0, -2, 3, -4, 1]), np.array([0, 0, 1, 1, 1]))
    np.testing.assert_allclose(found, [3, 0, 0, 0, 0])


def test_versions_are_averages_of_what_is_expected_near() -> None:
    octaves = np.log2(np.array(ROW_STARTS))
    versions = _own(np.abs(np.subtract.outer(octaves, octaves)))
    assert sum(chance for chance, _ in versions) == pytest.approx(1)
    for (_, parts), times in zip(versions, (0.0, 0.1, 0.6, 3.0), strict=True):
        np.testing.assert_allclose(parts[5:-5].sum(axis=1), times, atol=1e-12)
        assert (parts >= 0).all()


def test_a_power_law_that_begins_late_keeps_its_tail() -> None:
    """16,000 units of ten rows or more, with tail 1.9: 120 of them have 128 rows or more, in classes with noise of 50,
    25 and 17. A shape that fits the many small ones alone would have none there."""
    chance = np.random.default_rng(2)
    rows = (10 * (chance.pareto(1.9, 16_000) + 1)).astype(int)
    parts = []
    for starts, std in ((ROW_STARTS, 50.0), (OCTAVES, 25.0), (WIDE, 17.0)):
        counts = np.bincount(np.searchsorted(starts, rows, side="right") - 1, minlength=len(starts))
        parts.append((counts + std * chance.normal(size=counts.size), std))
    far = np.array(ROW_STARTS) >= 128
    found = _fitted(parts).mean[far].sum()
    assert 0.5 < found / (rows >= 128).sum() < 2
