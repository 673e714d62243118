"""Series: C is lower triangular, its error is the certified optimum, and what a unit costs is bounded exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from leastnoise import errors
from leastnoise.workload.series import (
    BITS,
    WEIGHT_BITS,
    SeriesStrategy,
    best_strategy,
    pattern_cost,
    sums_matrix,
)

# Published: RMSE of all cumulative sums at mu = 1 with one row per person, of the best batch mechanism.
OPTIMUM = {12: 1.607, 52: 2.037, 128: 2.311}


@pytest.mark.parametrize("periods", OPTIMUM)
def test_sums_to_date_have_the_error_of_the_best_batch_mechanism(periods: int) -> None:
    strategy = best_strategy(periods, ["to date"], 1)
    assert strategy.rmse("to date") == pytest.approx(OPTIMUM[periods], abs=6e-4)
    assert strategy.gap is not None
    assert strategy.gap < 2e-4
    assert not np.triu(strategy.matrix, 1).any()


def test_the_bound_is_that_of_ordered_columns() -> None:
    """The same optimum as all prefix sums of one column have, which is found in another way."""
    from leastnoise.workload.optimal_weights import OrderedQuestions, lower_bound

    strategy = best_strategy(52, ["to date"], 1)
    bound = lower_bound(OrderedQuestions("prefix", 52)) / (52 * 53 / 2)
    assert strategy.bound == pytest.approx(bound, rel=1e-3)


@given(
    arrays.arrays(np.int64, (6, 6), elements=st.integers(-50, 50)),
    st.integers(1, 6),
)
def test_no_pattern_of_periods_costs_more(matrix: np.ndarray, most: int) -> None:
    """Against every set of periods, every pair of opposite contributions among them."""
    gram = np.tril(matrix).T @ np.tril(matrix)
    bound = pattern_cost(gram, most)
    for size in range(1, most + 1):
        for chosen in itertools.combinations(range(6), size):
            assert np.abs(gram[np.ix_(chosen, chosen)]).sum() <= bound


@pytest.mark.parametrize("most", [1, 2, 4, 8])
def test_the_bound_is_nearly_reached(most: int) -> None:
    """By neighbouring periods, so that little noise is wasted."""
    strategy = best_strategy(52, ["to date"], most)
    gram = np.abs(strategy.matrix.T @ strategy.matrix)
    reached = max(gram[first : first + most, first : first + most].sum() for first in range(53 - most))
    assert reached <= strategy.cost <= 1.01 * reached


@pytest.mark.parametrize("most", [1, 2, 5, 12])
def test_never_worse_than_periods_by_themselves(most: int) -> None:
    strategy = best_strategy(12, ["period", "to date"], most)
    assert strategy.error <= most * (1 + 1e-9)


@pytest.mark.parametrize("name", ["period", "to date", "last 3"])
def test_weights_are_exact(name: str) -> None:
    """Row t of W C^-1, so that the weighted sum of C x is W x to 2^-100, in integers."""
    strategy = best_strategy(9, ["period", "to date", "last 3"], 2)
    x = np.arange(9) ** 3 + 7
    y = strategy.matrix @ x
    for period in range(1, 10):
        weights = strategy.weights(name, period)
        total = Fraction(sum(w * int(one) for w, one in zip(weights, y, strict=False)), 1 << (WEIGHT_BITS + BITS))
        assert abs(total - int(sums_matrix(name, 9)[period - 1] @ x)) < Fraction(1, 2**80)
        factor = np.linalg.norm([float(Fraction(w, 1 << WEIGHT_BITS)) for w in weights])
        assert factor == pytest.approx(strategy.factors(name)[period - 1], rel=1e-9)


@pytest.mark.parametrize("sums", [["weekly"], ["last 0"], ["last"], [3], []])
def test_sums_that_are_none_are_refused(sums: list[str]) -> None:
    with pytest.raises(errors.InvalidParameter) as problem:
        best_strategy(12, sums)
    assert problem.value.parameter == "sums"


def test_too_many_periods_are_refused() -> None:
    with pytest.raises(errors.InvalidParameter):
        best_strategy(513, ["period"])


def test_a_strategy_knows_its_integers() -> None:
    strategy = SeriesStrategy(np.array([[4, 0], [2, 4]]), 2, ("to date",), 1)
    assert strategy.cost == 20
    assert strategy.periods == 2
