"""Bins that nobody listed and their total, as one release: every outcome added up, with no code of the choice."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from leastnoise import errors
from leastnoise.privacy import thresholds
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.thresholds import CountsBesideTotal, KeySelection, NoiseInflation

TWO = Limits.of(max_rows=2, max_per_bin=1, bins=None)
ONE = Limits.of(max_rows=1, bins=None)
PARTS = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]


def above(k: Any, mechanism: str, scale: float) -> Any:
    """The chance that noise is k or more."""
    if mechanism == "gaussian":
        return ndtr(-(k - 0.5) / scale)
    q = math.exp(-1 / scale)
    return np.where(k >= 1, q ** np.maximum(k, 1) / (1 + q), 1 - q ** (1 - np.minimum(k, 0)) / (1 + q))


def chances(moved: int, mechanism: str, scale: float) -> Any:
    """Of every value around 0 of a number that is moved by so much, the ends of the line included."""
    reach = math.ceil(9 * scale) + 3
    ends = above(np.arange(-reach, reach + 1) - moved, mechanism, scale)
    return np.concatenate([[1 - ends[0]], ends[:-1] - ends[1:], [ends[-1]]])


def true_delta(epsilon: float, limits: Limits, cut: KeySelection, counts: float, total: float) -> float:
    """The largest delta over where the rows of one person lie: n in bins of their own, one in each, s in shared ones.

    A shared bin is so large that it always shows. Bins and the total have independent noise; given the person, no own
    bin shows with chance h, and without the person there is none.
    """
    worst, kind = 0.0, cut.mechanism
    for own, shared in itertools.product(range(limits.max_rows + 1), repeat=2):
        if own + shared > limits.max_rows:
            continue
        hidden = (1 - above(np.float64(cut.at_least - 1), kind, counts)) ** own
        pairs = [(chances(1, kind, counts), chances(0, kind, counts))] * shared
        pairs.append((chances(own + shared, kind, total), chances(0, kind, total)))
        present, absent = np.array([1.0]), np.array([1.0])
        for one, other in pairs:
            present, absent = np.multiply.outer(present, one).ravel(), np.multiply.outer(absent, other).ravel()
        there = 1 - hidden + np.maximum(hidden * present - math.exp(epsilon) * absent, 0).sum()
        gone = np.maximum(absent - math.exp(epsilon) * hidden * present, 0).sum()
        worst = max(worst, float(there), float(gone))
    return worst


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("limits", [ONE, TWO])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.7, 0.05)])
def test_the_true_delta_is_at_most_what_is_promised(
    mechanism: Any, limits: Limits, part: Fraction, epsilon: float, delta: float
) -> None:
    division = CountsBesideTotal(part, limits)
    cut = thresholds.choose(
        epsilon=epsilon, delta=delta, limits=limits, mechanism=mechanism, inflation=division.inflation
    )
    counts, total = division.counts(cut).scale, division.total(cut)
    assert 0.1 * delta < true_delta(epsilon, limits, cut, counts, total) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_true_delta_is_at_most_what_is_promised_where_one_person_replaces_another(
    mechanism: Any, part: Fraction
) -> None:
    """One row, or none, of either: in a bin of one's own, or in one of two shared ones."""
    epsilon, delta = 1.0, 0.01
    division = CountsBesideTotal(part, ONE, "replace")
    cut = thresholds.choose(
        epsilon=epsilon,
        delta=delta,
        limits=ONE,
        neighbours="replace",
        mechanism=mechanism,
        inflation=division.inflation,
    )
    counts, total = division.counts(cut).scale, division.total(cut)
    hidden = float(1 - above(np.float64(cut.at_least - 1), mechanism, counts))

    def outcomes(row: str) -> tuple[float, Any]:
        """The chance that no own bin shows, and those of all other outcomes."""
        first, second = (chances(int(row == name), mechanism, counts) for name in ("first", "second"))
        whole = chances(int(row != "none"), mechanism, total)
        return hidden if row == "own" else 1.0, np.multiply.outer(np.multiply.outer(first, second), whole)

    every = [outcomes(row) for row in ("none", "own", "first", "second")]
    worst = max(
        1 - h + float(np.maximum(h * one - math.exp(epsilon) * g * other, 0).sum())
        for (h, one), (g, other) in itertools.permutations(every, 2)
    )
    assert 0 < worst <= delta * (1 + 1e-9)


def test_a_total_that_own_bins_did_not_move_would_break_the_promise() -> None:
    """What is wrong if only the noise of the counts is made wider: the rows of hidden bins are in the total."""
    division = CountsBesideTotal(Fraction(9, 10), ONE)
    naive = NoiseInflation(division.inflation.gaussian, division.inflation.laplace)
    cut = thresholds.choose(epsilon=0.7, delta=0.05, limits=ONE, mechanism="gaussian", inflation=naive)
    assert true_delta(0.7, ONE, cut, division.counts(cut).sigma, division.total(cut)) > 0.05 * 1.3


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("part", PARTS)
def test_both_together_cost_what_one_count_does(part: Fraction, neighbours: Any) -> None:
    """By the arithmetic of fractions, and to a billionth all of it is used."""
    sides = 2 if neighbours == "replace" else 1
    for limits in (ONE, TWO, Limits.of(max_rows=20, max_per_bin=3, bins=None)):
        division = CountsBesideTotal(part, limits, neighbours)
        for cut in (KeySelection("gaussian", 3.1, 40), KeySelection("laplace", 1.9 / math.sqrt(2), 40)):
            power = 2 if cut.mechanism == "gaussian" else 1
            counts, total, alone = (Fraction(x) for x in (division.counts(cut).scale, division.total(cut), cut.scale))
            moved = sides * (limits.squared_norm if power == 2 else limits.max_rows)
            cost = moved / counts**power + Fraction(limits.max_rows) ** power / total**power
            assert moved / alone**power * (1 - Fraction(1, 10**9)) <= cost <= moved / alone**power


def test_a_part_is_neither_nothing_nor_all() -> None:
    for part in (Fraction(0), Fraction(1), Fraction(1, 2000)):
        with pytest.raises(errors.InvalidParameter, match="others must lie between"):
            CountsBesideTotal(part, ONE)
