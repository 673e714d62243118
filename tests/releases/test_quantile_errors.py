"""What to expect of quantiles from public facts: laws, and the two mechanisms beside draws of a made-up column."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.privacy.distributions import Gaussian
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.releases.quantile import errors_by_histogram, errors_by_rank, judged_rows, typical_error
from leastnoise.releases.quantile_readings import moments, rank_stds
from leastnoise.workload.ordered import prefix_strategy

HALF = Fraction(1, 2)
ROWS = judged_rows(1)


def test_where_rows_are_many_the_error_is_the_noise() -> None:
    rates = RankRates((HALF,), Fraction(1))
    assert errors_by_rank(rates, ROWS)[-1] == pytest.approx(rates.rank_std, rel=1e-6)
    found = errors_by_histogram([100.0], [0.5], 10**6, ROWS)
    assert found[-1] == pytest.approx(100, rel=1e-3)


@pytest.mark.filterwarnings("error")
def test_without_noise_the_steps_of_the_histogram_are_left() -> None:
    assert errors_by_histogram([0.0], [0.5], 100, ROWS) == pytest.approx(0.003 * ROWS)


def test_errors_grow_with_less_privacy_to_spend_and_with_rows_of_a_unit() -> None:
    levels = (Fraction(1, 10), HALF, Fraction(9, 10))
    by_rate = [errors_by_rank(RankRates(levels, Fraction(1, n)), ROWS) for n in (1, 4, 16, 64)]
    assert all((after >= before).all() for before, after in itertools.pairwise(by_rate))
    # A unit with k rows at 1/k of the rate, in tables of k times the rows: everything k times.
    assert errors_by_rank(RankRates(levels, Fraction(1, 7)), judged_rows(7)) == pytest.approx(
        7 * errors_by_rank(RankRates(levels, Fraction(1)), ROWS)
    )
    by_noise = [errors_by_histogram([std] * 3, [0.1, 0.5, 0.9], 100, ROWS) for std in (1, 10, 100, 1000)]
    assert all((after > before).all() for before, after in itertools.pairwise(by_noise))


def test_far_levels_are_lost_first_where_rows_are_few() -> None:
    """At a rate of 0.1 a thousand rows hold the median, and lose the level of 99.9%."""
    median, far = (errors_by_rank(RankRates((q,), Fraction(1, 10)), ROWS) for q in (HALF, Fraction(999, 1000)))
    assert median[0] < 40
    assert far[0] > 0.9 * ROWS[0]
    assert typical_error(far) > typical_error(median)


def test_the_noise_of_ranks_is_that_of_draws() -> None:
    """20,000 draws of noise on the sums of 40 steps: the mean square of C_j - q T over all edges, to 3% (its relative
    standard deviation is below 0.3%, so a false alarm has 1e-20)."""
    strategy, rng = prefix_strategy(40), np.random.default_rng(1)
    noise = strategy.estimate(rng.normal(size=(20_000, 40)) * 1000)
    sums = np.concatenate([np.zeros((len(noise), 1)), np.cumsum(noise, axis=1)], axis=1)
    for level in (0.1, 0.5):
        (expected,) = rank_stds(Gaussian(1000), moments(strategy), [level])
        drawn = math.sqrt(np.mean((sums - level * sums[:, -1:]) ** 2))
        assert drawn == pytest.approx(expected, rel=0.03)
