"""Unknown bins: the true delta of tiny examples, by adding up every outcome, is never above what is promised."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.privacy import thresholds
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.thresholds import Conditions, KeySelection, chance_shown, rows_of, splits


def outcomes(count: int, cut: KeySelection, size: int) -> np.ndarray[Any, Any]:
    """The chance that a bin of this count is hidden, and of each noisy value from the threshold on; the last entry is
    all that is larger. A bin without rows is always hidden."""
    made = np.zeros(size)
    if count == 0:
        made[0] = 1.0
        return made
    above = cut.distribution.at_or_above(np.arange(cut.at_least, cut.at_least + size) - count)
    made[0] = 1 - above[0]
    made[1:] = above[:-1] - above[1:]
    made[-1] += above[-1]
    return made


def true_delta(one: tuple[int, ...], other: tuple[int, ...], cut: KeySelection, epsilon: float) -> float:
    """sum over outcomes of (P - e^epsilon Q)^+, exactly but for rounding: bins are independent."""
    size = 40 + int(8 * cut.distribution.std)
    p, q = (
        functools.reduce(np.multiply.outer, [outcomes(count, cut, size) for count in counts]) for counts in (one, other)
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def ways(limits: Limits, bins: int) -> list[tuple[int, ...]]:
    """Every way in which one person's rows can lie in so many bins."""
    each = range(limits.max_per_bin + 1)
    found = itertools.product(each, repeat=bins)
    return [w for w in found if sum(w) <= limits.max_rows and sum(c > 0 for c in w) <= limits.max_bins]


@pytest.mark.parametrize(("rows", "per_bin", "in_bins"), [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.4, 0.05), (3.0, 1e-6)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_true_delta_is_at_most_what_is_promised(
    rows: int, per_bin: int, in_bins: int, epsilon: float, delta: float, neighbours: Any, mechanism: Any
) -> None:
    limits = Limits.of(max_rows=rows, max_per_bin=per_bin, max_bins=in_bins, bins=None)
    cut = thresholds.choose(epsilon=epsilon, delta=delta, limits=limits, neighbours=neighbours, mechanism=mechanism)
    worst = 0.0
    # What the other people put into a bin. 0: it is a bin of one person's own.
    for others in itertools.combinations_with_replacement((0, 1, 7, cut.at_least + 5), 2):
        for mine in ways(limits, 2):
            theirs = ways(limits, 2) if neighbours == "replace" else [(0, 0)]
            for yours in theirs:
                one, other = (tuple(np.add(others, person)) for person in (mine, yours))
                worst = max(worst, true_delta(one, other, cut, epsilon), true_delta(other, one, cut, epsilon))
    assert worst <= delta * (1 + 1e-9)


def test_one_step_lower_breaks_the_promise() -> None:
    """The thresholds are the least: with the same noise one lower shows a person's own bin too often."""
    for rows, per_bin in ((1, 1), (2, 1), (3, 3)):
        limits = Limits.of(max_rows=rows, max_per_bin=per_bin, bins=None)
        cut = thresholds.choose(epsilon=1, delta=1e-6, limits=limits, mechanism="laplace")
        lower = KeySelection("laplace", cut.scale, cut.at_least - 1)
        found = [max(true_delta(own, (0,) * rows, one, 1.0) for own in ways(limits, rows)) for one in (lower, cut)]
        assert found[1] <= 1e-6 < found[0]


def test_less_noise_breaks_the_promise() -> None:
    limits = Limits.of(max_rows=2, max_per_bin=1, bins=None)
    cut = thresholds.choose(epsilon=1, delta=1e-6, limits=limits, mechanism="laplace")
    less = KeySelection("laplace", 0.97 * cut.scale, cut.at_least)
    assert true_delta((41, 41), (40, 40), less, 1.0) > 1e-3
    assert true_delta((41, 41), (40, 40), cut, 1.0) < 1e-12


def test_one_row_a_person_shows_from_15_on() -> None:
    limits = Limits.of(max_rows=1, bins=None)
    cut = thresholds.choose(epsilon=1, delta=1e-6, limits=limits)
    assert (cut.mechanism, cut.at_least, cut.scale) == ("laplace", 15, 1.0)
    assert round(cut.distribution.std, 2) == 1.36
    other = thresholds.choose(epsilon=1, delta=1e-6, limits=limits, mechanism="gaussian")
    assert (other.mechanism, other.at_least) == ("gaussian", 22)


@settings(max_examples=12, deadline=None)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(1, 30)),
    st.floats(0.05, 5),
    st.floats(-9, -2),
    st.sampled_from(["add-remove", "replace"]),
)
def test_auto_is_never_the_worse_of_the_two(
    sizes: tuple[int, int, int], epsilon: float, power: float, side: Any
) -> None:
    limits = Limits.of(max_rows=sizes[0], max_per_bin=sizes[1], max_bins=sizes[2], bins=None)
    facts: dict[str, Any] = {"epsilon": epsilon, "delta": 10.0**power, "limits": limits, "neighbours": side}
    both = [thresholds.choose(**facts, mechanism="gaussian"), thresholds.choose(**facts, mechanism="laplace")]
    chosen = thresholds.choose(**facts)
    assert thresholds.loss(chosen) == min(map(thresholds.loss, both))
    pure = both[1]
    assert three_conditions_hold(pure, limits, side, epsilon, 10.0**power)
    shown = chance_shown(limits=limits, scale=pure.scale, at_least=pure.at_least, mechanism="laplace")
    assert shown <= 10.0**power


def three_conditions_hold(cut: KeySelection, limits: Limits, side: Any, epsilon: float, delta: float) -> bool:
    """As a person would check them by hand: L/b <= epsilon, 1 - h <= delta, (L - 1)/b - log h <= epsilon."""
    shown = chance_shown(limits=limits, scale=cut.scale, at_least=cut.at_least, mechanism="laplace")
    rows = rows_of(limits, side)
    both = (rows - 1) / cut.scale - math.log1p(-shown)
    return bool(rows / cut.scale <= epsilon * (1 + 1e-15) and shown <= delta and both <= epsilon)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 6)),
    st.floats(0.05, 5),
    st.floats(-9, -0.3),
    st.sampled_from(["add-remove", "replace"]),
    st.integers(-2, 2),
)
def test_the_conditions_of_any_noise_are_three_of_laplace_noise(
    sizes: tuple[int, int], epsilon: float, power: float, side: Any, off: int
) -> None:
    limits, delta = Limits.of(max_rows=sizes[0], max_per_bin=sizes[1], bins=None), 10.0**power
    cut = thresholds.choose(epsilon=epsilon, delta=delta, limits=limits, neighbours=side, mechanism="laplace")
    at_least = max(limits.max_per_bin + 1, cut.at_least + off)
    conditions = Conditions("laplace", epsilon, delta, side == "replace")
    found = thresholds._priced_splits(limits, "laplace", replaced=side == "replace", total=0.0)
    assert len(found) == len(list(splits(limits, coarse=True)))
    hold = all(conditions.hold(split, cut.scale, at_least) for split in found)
    assert hold == three_conditions_hold(KeySelection("laplace", cut.scale, at_least), limits, side, epsilon, delta)


def test_the_loss_is_the_squared_error_under_zipf() -> None:
    """Against the sum itself, over keys whose number of size c is like 1/c^2, hidden ones off by their size."""
    sizes = np.arange(1, 200_000, dtype=float)
    ratios = []
    for limits in (Limits.of(max_rows=1, bins=None), Limits.of(max_rows=5, max_per_bin=1, bins=None)):
        for mechanism in ("gaussian", "laplace"):
            cut = thresholds.choose(epsilon=1, delta=1e-6, limits=limits, mechanism=mechanism)  # type: ignore[arg-type]
            shows = cut.distribution.at_or_above(cut.at_least - sizes)
            squared = np.sum((shows * cut.distribution.std**2 + (1 - shows) * sizes**2) / sizes**2)
            ratios.append(float(squared) / thresholds.loss(cut))
    assert max(ratios) / min(ratios) < 1.1


def test_intervals_hold_given_that_the_bin_shows() -> None:
    """40,000 draws: five standard errors are 0.55 %. Below the threshold Laplace noise says nothing but that."""
    from leastnoise.releases.noise import Noise
    from leastnoise.releases.release import Release

    cut = thresholds.choose(epsilon=1, delta=1e-6, limits=Limits.of(max_rows=1, bins=None))
    rng = np.random.default_rng(3)
    success = -math.expm1(-1 / cut.scale)
    for truth in (9, 13, 15, 18, 60):
        drawn = truth + rng.geometric(success, 4_000_000) - rng.geometric(success, 4_000_000)
        shown = drawn[drawn >= cut.at_least][:40_000]
        made = Release.of(shown, Noise("laplace", cut.scale, 1.0), threshold=cut.at_least)
        low, high = made.interval(0.95)
        held = float(((low <= truth) & (truth <= high)).mean())
        print(f"{truth}: {shown.size} shown, {100 * held:.2f} %")
        assert held >= 0.95 - 5 * math.sqrt(0.0475 / shown.size)


def test_a_large_delta_does_not_let_an_own_bin_cost_more_than_epsilon() -> None:
    """That no bin of one's own shows is itself told apart by -log(1 - delta_2): it is part of epsilon."""
    one = Limits.of(max_rows=1, bins=None)
    cut = thresholds.choose(epsilon=0.1, delta=0.2, limits=one, mechanism="laplace")
    shows = chance_shown(limits=one, scale=cut.scale, at_least=cut.at_least, mechanism="laplace")
    assert 0.08 < -math.log1p(-shows) <= 0.1
