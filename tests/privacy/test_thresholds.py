"""Unknown bins: the splits are the worst ones, the conditions hold in balls, and T and sigma are the least."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import leastnoise as ln
from drawing import counted
from leastnoise import errors
from leastnoise.privacy import thresholds
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.thresholds import Conditions, Split, choose, splits
from leastnoise.testing import seeded

small = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)).map(
    lambda t: Limits.of(max_rows=t[0], max_per_bin=t[1], max_bins=t[2], bins=None)
)


def _all_multisets(rows: int, per_bin: int, bins: int) -> Iterator[tuple[int, ...]]:
    for n in range(bins + 1):
        for c in combinations_with_replacement(range(1, per_bin + 1), n):
            if sum(c) <= rows:
                yield c


def _everything(limits: Limits) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every way to fill own bins, with the worst squared norm that is left for shared ones, by brute force."""
    for own in _all_multisets(limits.max_rows, limits.max_per_bin, limits.max_bins):
        rest = _all_multisets(limits.max_rows - sum(own), limits.max_per_bin, limits.max_bins - len(own))
        yield own, max(sum(c * c for c in shared) for shared in rest)


def _worst(ways: Sequence[tuple[tuple[int, ...], float]], epsilon: float, sigma: float, at_least: int) -> float:
    """The largest left side of the two conditions, in plain doubles."""
    worst = 0.0
    for own, square in ways:
        hidden = math.prod(float(ndtr((at_least - 0.5 - c) / sigma)) for c in own)
        shift, mu = math.log(hidden), math.sqrt(square) / sigma

        def profile(e: float, mu: float = mu) -> float:
            if mu == 0:
                return max(0.0, 1 - math.exp(e))
            return float(ndtr(mu / 2 - e / mu) - math.exp(e) * ndtr(-mu / 2 - e / mu))

        worst = max(worst, 1 - hidden + hidden * profile(epsilon - shift), profile(epsilon + shift))
    return worst


@given(small, st.floats(0.3, 4), st.floats(0.8, 20), st.integers(3, 60))
def test_the_listed_splits_are_as_bad_as_any(limits: Limits, epsilon: float, sigma: float, at_least: int) -> None:
    listed = [(tuple(c for c, k in s.own for _ in range(k)), s.shared) for s in splits(limits)]
    every = list(_everything(limits))
    assert _worst(listed, epsilon, sigma, at_least) == pytest.approx(
        _worst(every, epsilon, sigma, at_least), rel=1e-9, abs=1e-12
    )


@settings(max_examples=25)  # a choice with its proof takes a third of a second
@given(small, st.floats(0.3, 3), st.floats(-9, -3))
def test_the_choice_is_private_by_brute_force_and_proved(limits: Limits, epsilon: float, power: float) -> None:
    delta = 10.0**power
    cut = choose(epsilon=epsilon, delta=delta, limits=limits, mechanism="gaussian")
    assert _worst(list(_everything(limits)), epsilon, cut.sigma, cut.at_least) <= delta * (1 + 1e-6)
    for split in splits(limits):
        assert Conditions("gaussian", epsilon, delta).hold(split, cut.sigma, cut.at_least)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("per_bin", [1, 3])
def test_no_smaller_threshold_and_no_smaller_sigma_would_do(rows: int, per_bin: int) -> None:
    limits = Limits.of(max_rows=rows, max_per_bin=per_bin, bins=None)
    cut = choose(epsilon=1, delta=1e-6, limits=limits, mechanism="gaussian")
    ways = list(_everything(limits))
    for sigma in np.geomspace(cut.sigma / 2, cut.sigma * 4, 400):
        assert _worst(ways, 1, float(sigma), cut.at_least - 1) > 1e-6
    assert _worst(ways, 1, cut.sigma * (1 - 1e-4), cut.at_least) > 1e-6


def test_one_row_a_person_needs_22_and_the_plain_sigma() -> None:
    """Own and shared bins are never both touched by one row, so nothing of delta has to be divided."""
    cut = choose(epsilon=1, delta=1e-6, limits=Limits.of(max_rows=1, bins=None), mechanism="gaussian")
    assert cut.at_least == 22
    assert cut.sigma == pytest.approx(ln.sigma(epsilon=1, delta=1e-6), rel=1e-9)


def test_which_split_is_worst_depends_on_sigma() -> None:
    """Five rows: all in one bin shows most at sigma <= 10, in five bins at sigma >= 20 (at delta_2 about 1e-6)."""

    def shows(split: tuple[int, ...], sigma: float, at_least: int) -> float:
        return 1 - math.prod(float(ndtr((at_least - 0.5 - c) / sigma)) for c in split)

    for sigma, worst in ((5.0, (5,)), (10.0, (5,)), (20.0, (1,) * 5), (40.0, (1,) * 5)):
        at_least = round(5.5 + 4.75 * sigma)
        assert shows(worst, sigma, at_least) >= shows(
            (6 - len(worst),) * 1 if worst == (1,) * 5 else (1,) * 5, sigma, at_least
        )


def _vertex_split(n: int, rows: int, per_bin: int) -> list[tuple[int, int]]:
    full, rest = divmod(min(rows, n * per_bin) - n, per_bin - 1)
    return [(per_bin, full), (rest + 1, 1 if rest else 0), (1, n - full - (1 if rest else 0))]


def test_replace_is_dearer_and_many_rows_take_the_coarse_list() -> None:
    limits = Limits.of(max_rows=5, max_per_bin=1, bins=None)
    add, swap = (
        choose(epsilon=1, delta=1e-6, limits=limits, neighbours=n, mechanism="gaussian")
        for n in ("add-remove", "replace")
    )  # type: ignore[arg-type]
    assert swap.sigma > add.sigma * 1.4
    assert swap.at_least > add.at_least
    blocks = Limits.of(max_rows=2000, max_per_bin=7, bins=None)
    one_by_one = min(
        math.prod(float(ndtr((9000 - 0.5 - c) / 1500)) ** k for c, k in (_vertex_split(n, 2000, 7)))
        for n in range(1, 2001)
    )
    in_blocks = min(math.prod(float(ndtr((9000 - 0.5 - c) / 1500)) ** k for c, k in s.own) for s in splits(blocks))
    assert in_blocks <= one_by_one
    assert in_blocks > one_by_one - 0.05 * (1 - one_by_one)
    many = Limits.of(max_rows=60, bins=None)
    assert all(s.shared == many.squared_norm for s in splits(many))
    fine = Limits.of(max_rows=40, max_per_bin=1, bins=None)
    coarse = max(
        _worst([(tuple(c for c, k in s.own for _ in range(k)), s.shared)], 1, 30, 180)
        for s in splits(fine, coarse=True)
    )
    exact = max(_worst([(tuple(c for c, k in s.own for _ in range(k)), s.shared)], 1, 30, 180) for s in splits(fine))
    assert coarse >= exact


def test_a_bin_of_one_person_shows_no_more_often_than_promised() -> None:
    """delta = 0.01 and 100,000 bins with one row each, each its own person's: the number that shows is binomial with
    p <= 0.01; more than 1,160 has a chance below 1e-6. The seed is fixed."""
    with seeded(4):
        made = counted(np.ones(100_000, dtype=int), range(100_000), delta=0.01)
    assert 0 < made.bins <= 1160


def test_is_private_says_no() -> None:
    assert not Conditions("gaussian", 1, 1e-6).hold(Split(((1, 1),), 0), 4.2, 10)
    assert not Conditions("gaussian", 1, 1e-6).hold(Split((), 1), 4.2, 100)


def test_absurd_thresholds_are_refused() -> None:
    with pytest.raises(errors.OutOfRange):
        choose(
            epsilon=1e-12,
            delta=1e-12,
            limits=Limits.of(max_rows=2**20, max_per_bin=2**20, max_bins=1, bins=None),
            mechanism="gaussian",
        )
    with pytest.raises(errors.InvalidParameter):
        choose(epsilon=1, delta=1e-6, limits=Limits.of(max_rows=1, bins=None), neighbours="swap", mechanism="gaussian")  # type: ignore[arg-type]
    assert thresholds.KeySelection("gaussian", 1.0, 2).at_least == 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [(1, 1), (4, 2), (6, 6)])
def test_the_chance_that_a_lone_bin_shows_is_paid_for(rows: tuple[int, int], neighbours: Any) -> None:
    """Against a brute force over every way to spread one person's rows over bins of their own."""
    from scipy.stats import norm

    from leastnoise.privacy import thresholds

    limits = Limits.of(max_rows=rows[0], max_per_bin=rows[1], bins=None)
    cut = thresholds.within_chance(limits=limits, sigma=7.3, chance=1e-4, neighbours=neighbours)
    worst = {
        at_least: max(
            1 - np.prod([norm.cdf((at_least - 0.5 - c) / 7.3) for c in counts]) for counts in partitions(*rows)
        )
        * (2 if neighbours == "replace" else 1)
        for at_least in (cut.at_least, cut.at_least - 1)
    }
    assert worst[cut.at_least] <= 1e-4 < worst[cut.at_least - 1]
    shown = thresholds.chance_shown(limits=limits, scale=7.3, at_least=cut.at_least, neighbours=neighbours)
    assert shown == pytest.approx(worst[cut.at_least], rel=1e-9)


def partitions(total: int, largest: int) -> list[tuple[int, ...]]:
    """Every multiset of at most `total` rows, at most `largest` in a bin."""
    found: list[tuple[int, ...]] = [()]
    for part in range(1, min(total, largest) + 1):
        found += [(part, *rest) for rest in partitions(total - part, part)]
    return found
