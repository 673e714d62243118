"""The order of several quantiles, and the shares of its depths."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.privacy.rank_noise import Node, RankRates, depth_shares, depths, level_tree

LEVELS = st.lists(st.integers(1, 999), min_size=1, max_size=40, unique=True).map(
    lambda found: tuple(Fraction(one, 1000) for one in sorted(found))
)


def squared_errors(nodes: tuple[Node, ...], shares: list[float]) -> float:
    """The sum of the squared rank errors of all levels, written as `RankRates.rank_stds` is."""
    own: dict[int | None, float] = {None: 0.0}
    for node in nodes:
        handed = float(1 - node.relative) ** 2 * own[node.below] + float(node.relative) ** 2 * own[node.above]
        own[node.place] = 2 * (2 * float(node.reach) / shares[node.depth]) ** 2 + handed
    return sum(own[node.place] for node in nodes)


@given(LEVELS)
def test_every_quantile_lies_between_those_found_before_it(levels: tuple[Fraction, ...]) -> None:
    found: set[int | None] = {None}
    for node in level_tree(levels):
        assert {node.below, node.above} <= found
        assert 0 < node.relative < 1
        found.add(node.place)
    assert found == {None, *range(len(levels))}
    assert depths(level_tree(levels)) == math.floor(math.log2(len(levels))) + 1


@given(LEVELS)
def test_shares_of_depths_add_up_to_one_exactly(levels: tuple[Fraction, ...]) -> None:
    """What a unit loses is their sum: one part in a thousand more would break the promise."""
    shares = depth_shares(level_tree(levels))
    assert sum(shares) == 1
    assert min(shares) > 0


@given(LEVELS, st.lists(st.floats(0.5, 2), min_size=6, max_size=6))
def test_no_other_shares_have_a_smaller_error(levels: tuple[Fraction, ...], factors: list[float]) -> None:
    """Up to their rounding to parts of 4,096."""
    nodes = level_tree(levels)
    shares = [float(share) for share in depth_shares(nodes)]
    others = [share * factor for share, factor in zip(shares, factors, strict=False)]
    others = [each / sum(others) for each in others]
    assert squared_errors(nodes, shares) <= squared_errors(nodes, others) * (1 + 1e-4)
    rates = RankRates(levels, Fraction(1))
    assert rates.rank_std**2 * len(levels) == pytest.approx(squared_errors(nodes, shares))
