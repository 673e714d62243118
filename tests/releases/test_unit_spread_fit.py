"""How rows share bins: shapes are distributions, and rows that avoid each other are told from rows that meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, octaves_of
from leastnoise.releases.unit_size_fit import Fit
from leastnoise.releases.unit_spread_fit import CLASSES, _sizes, _spreads, of_spread


@pytest.mark.parametrize("bins", [2, 8, 300])
def test_shapes_are_distributions_with_no_more_than_all_rows_in_a_bin(bins: int) -> None:
    shapes, believed = _spreads(bins)
    np.testing.assert_allclose(shapes.sum(axis=2), 1, rtol=1e-9)
    assert np.exp(believed).sum() == pytest.approx(1)
    beyond = octaves_of(BIN_STARTS)[None, :] > np.arange(len(OCTAVES))[:, None]
    assert np.abs(shapes[:, :, :CLASSES][:, beyond]).max() < 1e-12


def test_rows_in_one_bin_of_two_are_binomial() -> None:
    """With x next to one half: of three other rows 0, 1, 2 or 3 are in the bin, with chances 1, 3, 3 and 1 eighths."""
    assert 4.0 in _sizes()[2]
    from leastnoise.releases.unit_spread_fit import _SHARES, _at_each_share

    place = int(np.argmin(np.abs(_SHARES - 0.5)))
    x = max(_SHARES[place], 0.5)
    exact = np.mean(
        [[_binomial(rows - 1, n - 1, x) if n <= rows else 0.0 for n in range(1, 5)] for rows in _sizes()[2]], axis=0
    )
    np.testing.assert_allclose(_at_each_share(2)[place, 2, :4], exact, rtol=1e-9)


def _binomial(n: float, k: int, p: float) -> float:
    from math import comb

    return comb(int(n), k) * p**k * (1 - p) ** (int(n) - k)


def eight_rows(deep: int) -> Any:
    """5,000 units of 8 rows, with so many of them, 1, 2, 3 to 4 ..., in the drawn one's bin; noise of 30 units."""
    chance, octaves = np.random.default_rng(1), len(OCTAVES)
    pairs, depths, shared = (chance.normal(0, 30, size) for size in (octaves * (octaves + 1) // 2, octaves, CLASSES))
    pairs[3 * 4 // 2 + deep] += 5000
    depths[deep] += 5000
    shared[BIN_STARTS.index(2**deep)] += 5000
    counts = np.where(np.array(ROW_STARTS) == 8, 5000.0, 0.0)
    rows = Fit(counts[None], np.ones(1))
    fit = of_spread((pairs, 30.0), (depths, 30.0), (shared, 30.0), rows=rows, bins=8)
    return fit.counts.reshape(-1, octaves, CLASSES + 1)[:, 3]


@pytest.mark.parametrize("deep", [0, 1])
def test_rows_that_never_meet_are_told_from_rows_that_do(deep: int) -> None:
    alone = eight_rows(deep)[:, 0]
    assert (alone == 1).all() if deep == 0 else (alone < 0.1).all()


def test_units_that_stay_in_one_bin_are_seen_to() -> None:
    assert np.median(eight_rows(3)[:, -1]) > 0.9
    assert eight_rows(1)[:, -1].max() < 0.1
