"""The cost of several statistics together is what the worst unit costs: found by trying every unit of a tiny table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.privacy.gaussian_price import geometric_mu
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.summary_noise import StatisticsPlanner
from leastnoise.privacy.unit_cost import BinComponents, Component, least_noise

PARTS = (
    Component("rows", "rows"),
    Component("sum 0", "signed", 3, 0),
    Component("squares 0", "signed", 9, 0),
    Component("missing 0", "missing", 1, 0),
    Component("sum 1", "signed", 1, 1),
    Component("missing 1", "missing", 1, 1),
    Component("plain 2", "one sign", 4, 2),
)
FEWER = (PARTS[0], PARTS[1], PARTS[3])
# A row: the centred value of the first column (None: missing), of the second, and the third as it is.
ROWS = list(itertools.product([None, -3, 0, 3], [None, -1, 1], [0, 4]))


def added(row: tuple[int | None, int | None, int]) -> dict[str, int]:
    first, second, third = row
    return {
        "rows": 1,
        "sum 0": 0 if first is None else first,
        "squares 0": 0 if first is None else 2 * first**2 - 9,
        "missing 0": int(first is None),
        "sum 1": 0 if second is None else second,
        "missing 1": int(second is None),
        "plain 2": third,
    }


def vectors(parts: tuple[Component, ...], limits: Limits, bins: int) -> np.ndarray[Any, Any]:
    """The whole numbers that one unit can add, in every way that the limits allow: a unit a row."""
    rows = [(place, row) for place in range(bins) for row in ROWS]
    made = set()
    for size in range(limits.max_rows + 1):
        for kept in itertools.combinations_with_replacement(rows, size):
            counts = np.bincount([place for place, _ in kept], minlength=bins)
            if counts.max() > limits.max_per_bin or (counts > 0).sum() > limits.max_bins:
                continue
            total = np.zeros((bins, len(parts)), dtype=int)
            for place, row in kept:
                total[place] += [added(row)[part.name] for part in parts]
            made.add(tuple(total.ravel()))
    return np.array(sorted(made), dtype=float)


def cases() -> Iterator[Any]:
    for parts, limits in itertools.product((PARTS, FEWER), ((1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2))):
        for bins in (1, 2):
            rows, per_bin, in_bins = limits
            if parts is PARTS and rows * bins > 2:
                continue  # thousands of units, and pairs of them
            kept = Limits.of(max_rows=rows, max_per_bin=per_bin, max_bins=in_bins, bins=bins)
            yield pytest.param(parts, kept, bins, id=f"{len(parts)} parts, {limits}, {bins} bins")


@pytest.mark.parametrize(("parts", "limits", "bins"), list(cases()))
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_costs_more_and_under_add_remove_one_costs_that(
    parts: tuple[Component, ...], limits: Limits, bins: int, neighbours: Any
) -> None:
    rng = np.random.default_rng(3)
    units = vectors(parts, limits, bins)
    for free in (True, False):  # missing values at the scale that costs nothing, or anywhere
        scales = {part.name: float(rng.uniform(0.5, 9)) for part in parts}
        for part in parts if free else ():
            if part.kind == "missing":
                signed = [p for p in parts if p.kind == "signed" and p.column == part.column]
                scales[part.name] = float(sum((p.largest / scales[p.name]) ** 2 for p in signed)) ** -0.5
        scaled = units / np.tile([scales[part.name] for part in parts], bins)
        pairs = scaled[:, None, :] - scaled[None, :, :] if neighbours == "replace" else scaled[:, None, :]
        cost = BinComponents(parts, limits, bins, neighbours)
        squared, absolute = (pairs**2).sum(axis=2).max(), np.abs(pairs).sum(axis=2).max()
        most, at_most = (float(rule(scales)) for rule in (cost.mu_squared, cost.epsilon))
        assert squared <= most * (1 + 1e-12)
        assert absolute <= at_most * (1 + 1e-12)
        if neighbours == "add-remove":
            assert squared >= most * (1 - 1e-12)
            assert absolute >= at_most * (1 - 1e-12)
        moved = np.rint(pairs * np.tile([scales[part.name] for part in parts], bins)).astype(int)
        assert _dearest(moved, [scales[part.name] for part in parts] * bins) <= cost.laplace_mu_squared(scales)


def _dearest(moved: np.ndarray[Any, Any], scales: list[float]) -> Fraction:
    """mu^2 of Laplace noise for the unit, or pair of them, that costs most."""
    mu = {
        (place, steps): float(geometric_mu(steps / Fraction(scale), steps)) ** 2
        for place, scale in enumerate(scales)
        for steps in map(int, set(np.abs(moved[..., place]).ravel()) - {0})
    }
    squared = np.zeros(moved.shape)
    for (place, steps), price in mu.items():
        squared[..., place] += price * (np.abs(moved[..., place]) == steps)
    return Fraction(squared.sum(axis=2).max() * (1 - 1e-12))


def test_laplace_noise_pays_less_than_its_epsilon_at_its_worst() -> None:
    limits = Limits.of(max_rows=5, max_per_bin=1, bins=9)
    cost = BinComponents(PARTS[:1], limits, 9, "add-remove")
    price = cost.laplace_mu_squared({"rows": 10.0})  # epsilon 0.5 in five bins
    assert float(price) == pytest.approx(0.0785, abs=5e-5)


def test_missing_values_are_free() -> None:
    limits = Limits.of(max_rows=3, bins=5)
    fewer, all_of_them = (BinComponents(parts, limits, 5, "add-remove") for parts in (FEWER[:2], FEWER))
    scales = {"rows": 2.0, "sum 0": 3.0, "missing 0": 1.0}
    without = fewer.mu_squared(scales)
    assert all_of_them.mu_squared(scales) == without
    assert all_of_them.mu_squared(scales | {"missing 0": 0.5}) > without


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(1, 50),
    per_bin=st.integers(1, 50),
    in_bins=st.integers(1, 50),
    bins=st.integers(1, 40),
    neighbours=st.sampled_from(["add-remove", "replace"]),
    scale=st.floats(0.1, 1e6),
    limit=st.fractions(Fraction(1, 10**6), 100),
)
def test_least_noise_is_within_the_limit_and_hardly_more(
    rows: int, per_bin: int, in_bins: int, bins: int, neighbours: Any, scale: float, limit: Fraction
) -> None:
    limits = Limits.of(max_rows=rows, max_per_bin=per_bin, max_bins=in_bins, bins=bins)
    cost = BinComponents(FEWER, limits, bins, neighbours)
    proportions = {"rows": scale, "sum 0": 3.0, "missing 0": 1.0}
    for rule, power in ((cost.mu_squared, 2), (cost.epsilon, 1)):
        scales, reached = least_noise(rule, proportions, limit, power=power)
        assert rule(scales) == reached
        assert limit * (1 - Fraction(1, 10**14)) <= reached <= limit
        ratios = [scales[name] / proportions[name] for name in scales]
        assert max(ratios) <= min(ratios) * (1 + 1e-15)
    with pytest.raises(errors.InvalidParameter, match="costs nothing"):
        least_noise(cost.mu_squared, proportions, Fraction(0), power=2)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_noise_costs_what_is_allowed_and_hardly_less(neighbours: Any) -> None:
    limits = Limits.of(max_rows=4, max_per_bin=2, bins=7)
    needed = {part.name: 1.0 for part in PARTS if part.kind != "missing"}
    asked = StatisticsPlanner(PARTS, needed, limits, 7, neighbours)
    for allowed in (Fraction(1, 3), Fraction(17), Fraction(1, 10**9)):
        made = asked.gaussian(allowed)
        assert allowed * (1 - Fraction(1, 10**13)) <= made.cost <= allowed
        pure = asked.laplace(float(allowed))
        assert Fraction(float(allowed)) * (1 - Fraction(1, 10**13)) <= pure.cost <= Fraction(float(allowed))


@pytest.mark.parametrize("gaussian", [True, False])
def test_no_other_division_of_the_noise_has_less_error(gaussian: bool) -> None:
    """Scales moved at random to the same cost: the weighted sum of relative variances is never less."""
    rng = np.random.default_rng(8)
    limits = Limits.of(max_rows=2, bins=3)
    needed = {"rows": 5.0, "sum 0": 1.0, "squares 0": 0.3, "sum 1": 2.0, "plain 2": 1.0}
    asked = StatisticsPlanner(PARTS, needed, limits, 3, "add-remove")
    made = asked.gaussian(Fraction(1, 10**6)) if gaussian else asked.laplace(1e-3)
    unit = asked.unit_cost
    rule, power = (unit.mu_squared, 2) if gaussian else (unit.epsilon, 1)
    largest = {part.name: part.largest for part in PARTS}

    def loss(scales: dict[str, float]) -> float:
        return sum(weight * (scales[name] / largest[name]) ** 2 for name, weight in needed.items())

    best = loss(made.scales)
    for _ in range(200):
        other = {name: scale * float(np.exp(rng.normal(0, 0.2))) for name, scale in made.scales.items()}
        cost = rule(other)
        factor = float(cost / made.cost) ** (1 / power)
        assert loss({name: scale * factor for name, scale in other.items()}) >= best * (1 - 1e-9)
