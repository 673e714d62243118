"""Sizes of units from noisy counts: classes of three widths say together what they say apart, and tails are kept."""

from __future__ import annotations

import numpy as np

from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, WIDE
from leastnoise.releases.unit_size_fit import Seen, _inside, _shapes, of_rows


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


def test_fewer_numbers_say_as_much_of_the_counts() -> None:
    """Least squares and what it leaves of a difference are the same before and after."""
    chance = np.random.default_rng(1)
    seen = Seen(chance.normal(size=9), chance.uniform(1, 3, 9), chance.normal(size=(9, 4)))
    fewer = seen.reduced()
    assert fewer.noisy.size == 4
    one, other = chance.normal(size=(2, 4))

    def log_likelihood(what: Seen, counts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(-(((what.noisy - what.total @ counts) / what.std) ** 2).sum() / 2)

    gain = log_likelihood(seen, one) - log_likelihood(seen, other)
    np.testing.assert_allclose(log_likelihood(fewer, one) - log_likelihood(fewer, other), gain, rtol=1e-12)


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
    found = of_rows(parts[0], parts[1], parts[2]).mean[far].sum()
    assert 0.5 < found / (rows >= 128).sum() < 2
