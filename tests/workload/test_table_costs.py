"""What one unit costs, against every unit there can be on small domains, by dense matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_tables import information
from leastnoise import errors
from leastnoise.workload import Workload, unit_cost
from leastnoise.workload.columns import PlainColumn
from leastnoise.workload.strategy import integer_scales, scales_within
from leastnoise.workload.unit_cost import TableBlocks

CASES = [
    ({"a": 2, "b": 3}, [(), ("a",), ("a", "b")]),
    ({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c"), ("a", "c")]),
    ({"a": 4, "b": 3}, [("a",), ("b",)]),
    ({"a": 3, "b": 2, "aside": 2}, [(), ("a", "b")]),
    ({"a": 5}, [("a",)]),
    ({"a": 3, "one": 1}, [("a", "one"), ()]),
    ({"a": 3, "b": 2}, [()]),  # a row that is exchanged changes nothing, one that comes or goes does
]


def squared_cost(scales: dict, sizes: dict[str, int], *, neighbours: Any = "add-remove", weight: int = 1) -> float:
    return float(TableBlocks(Workload(sizes, tables=[()]), weight, neighbours).mu_squared(scales))


def products(scales: dict, sizes: dict[str, int]) -> tuple[float, float]:
    """The squared norm of a row, and the least product of two rows that differ."""
    cost = TableBlocks(Workload(sizes, tables=[()]))
    same = float(cost.mu_squared(scales))
    return same, cost._least_product(cost._quotients(scales), same)


def noise(case: tuple[dict[str, int], list[tuple[str, ...]]], seed: int) -> tuple[dict, dict[str, int]]:
    """Scales of a workload: optimal ones, or any."""
    sizes, tables = case
    workload = Workload(sizes, tables=tables)
    if seed == 0:
        return integer_scales(workload.optimize(weights="cells")), sizes
    draws = np.random.default_rng(seed).uniform(0.5, 20, len(workload.blocks))
    return dict(zip(workload.blocks, draws.tolist(), strict=True)), sizes


def weights_of_units(cells: int, rows: int, *, most: int = 1) -> Iterator[np.ndarray]:
    """Every unit with at most so many rows of weight at most `most`: what it adds to the finest table."""
    for count in range(rows + 1):
        for chosen in itertools.combinations_with_replacement(range(cells), count):
            for each in itertools.product(range(1, most + 1), repeat=count):
                unit = np.zeros(cells)
                np.add.at(unit, list(chosen), each)
                yield unit


def largest(x: np.ndarray, units: list[np.ndarray], neighbours: str) -> float:
    """The largest squared distance of a unit from nothing, or from another."""
    vectors = np.unique(np.array(units), axis=0)
    gram = vectors @ x @ vectors.T
    norms = np.diag(gram)
    return float(norms.max() if neighbours == "add-remove" else (norms[:, None] + norms - 2 * gram).max())


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rows_cost_exactly_what_the_worst_unit_does(case: tuple, seed: int, neighbours: str) -> None:
    scales, sizes = noise(case, seed)
    x = information(sizes, scales)
    for rows in (1, 2, 3) if len(x) <= 8 else (1, 2):
        worst = largest(x, list(weights_of_units(len(x), rows)), neighbours)
        found = squared_cost(scales, sizes, neighbours=neighbours, weight=rows)
        assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rows_with_weights_cost_exactly_what_the_worst_unit_does(case: tuple, seed: int, neighbours: str) -> None:
    scales, sizes = noise(case, seed)
    x = information(sizes, scales)
    worst = largest(x, list(weights_of_units(len(x), 2, most=3)), neighbours)
    found = squared_cost(scales, sizes, neighbours=neighbours, weight=6)
    assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_parts_dealt_over_any_rows_cost_as_much_as_one_row_with_all(case: tuple, neighbours: str) -> None:
    scales, sizes = noise(case, 1)
    x = information(sizes, scales)
    parts = 4
    dealt = [unit for unit in weights_of_units(len(x), parts) if unit.sum() in (0, parts)]  # all parts, or no row kept
    worst = largest(x, dealt, neighbours)
    found = squared_cost(scales, sizes, neighbours=neighbours, weight=parts)
    assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)
    one = squared_cost(scales, sizes, neighbours=neighbours)
    assert found == pytest.approx(parts**2 * one, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_products_of_rows_are_those_of_the_matrix(data: st.DataObject) -> None:
    sizes = {f"c{i}": n for i, n in enumerate(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))}
    every = [table for k in range(4) for table in itertools.combinations(sizes, k)]
    blocks = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    sigma = st.sampled_from([1.0, 2.0, 3.0]) if data.draw(st.booleans()) else st.floats(0.1, 50)
    scales = {block: data.draw(sigma) for block in blocks if all(sizes[c] > 1 for c in block)} or {(): 1.0}
    x = information(sizes, scales)
    same, least = products(scales, sizes)
    np.testing.assert_allclose(np.diag(x), same, rtol=1e-12)
    apart = x[~np.eye(len(x), dtype=bool)]
    if len(apart):
        assert apart.min() - 1e-11 * same <= least <= apart.min() + 1e-12 * same


@pytest.mark.parametrize("case", CASES[:5], ids=str)
def test_without_symmetry_and_with_too_many_columns_the_bounds_are_safe(
    case: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        scales, sizes = noise(case, seed)
        same, exact = products(scales, sizes)
        with monkeypatch.context() as patch:
            patch.setattr(unit_cost, "MOST_TYPES", 0)
            assert products(scales, sizes)[0] == same
            assert products(scales, sizes)[1] <= exact + 1e-12


def test_types_are_the_sets_where_both_can_be_counted() -> None:
    """Twelve columns of two sizes, all of at most three: by types as by all 4,096 sets."""
    sizes = {f"c{i}": 3 + i % 2 for i in range(12)}
    scales = integer_scales(Workload(sizes, ways=3).optimize())
    columns = {column: PlainColumn(size) for column, size in sizes.items()}
    costs = {block: math.prod(sizes[c] * (sizes[c] - 1) for c in block) / sigma**2 for block, sigma in scales.items()}
    assert len(unit_cost._classes({0: costs}, columns)) == 2
    values = unit_cost._by_type(costs, columns, [[column] for column in sizes])
    assert values is not None
    assert products(scales, sizes)[1] == pytest.approx(values.ravel()[1:].min(), rel=1e-10)


def test_columns_that_only_look_alike_are_not_exchanged() -> None:
    """A ring of six columns: the same sizes and costs, but not every pair of them is a block."""
    ring = {(f"c{i}", f"c{(i + 1) % 6}"): 1.0 for i in range(5)} | {("c0", "c5"): 1.0, (): 2.0}
    sizes = {f"c{i}": 3 for i in range(6)}
    x = information(sizes, ring)
    apart = x[~np.eye(len(x), dtype=bool)]
    assert products(ring, sizes)[1] == pytest.approx(apart.min(), rel=1e-12)


def test_a_hundred_columns_are_charged_by_types() -> None:
    strategy = Workload({f"c{i}": 10 for i in range(100)}, ways=3).optimize()
    scales = integer_scales(strategy)
    same, least = products(scales, dict(strategy.workload.sizes))
    y = [strategy.variances[tuple(f"c{i}" for i in range(k))] for k in range(4)]
    for differ in range(101):  # the same sum, by hand
        g = sum(
            math.comb(differ, j) * math.comb(100 - differ, k - j) * 0.9 ** (k - j) * (-0.1) ** j / y[k]
            for k in range(4)
            for j in range(k + 1)
        )
        assert least - 1e-9 <= g <= same * (1 + 1e-9)
    assert squared_cost(scales, strategy.workload.sizes) == pytest.approx(1, abs=1e-12)


def test_adult_with_five_rows_costs_twenty_five_times_one_row() -> None:
    sizes = {f"c{i}": n for i, n in enumerate([100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2])}
    scales = integer_scales(Workload(sizes, ways=3).optimize())
    assert squared_cost(scales, sizes, weight=5) == pytest.approx(25)
    assert squared_cost(scales, sizes, neighbours="replace") == pytest.approx(2, rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(
    mu=st.fractions(Fraction(1, 1000), 50),
    rows=st.integers(1, 4),
    neighbours=st.sampled_from(["add-remove", "replace"]),
)
def test_noise_within_a_limit_is_proved_to_be_and_hardly_more(mu: Fraction, rows: int, neighbours: str) -> None:
    strategy = Workload({"a": 3, "b": 7, "c": 2}, ways=2).optimize()
    scales = scales_within(strategy, mu, neighbours=neighbours, weight=rows)
    cost = squared_cost(scales, strategy.workload.sizes, neighbours=neighbours, weight=rows)
    assert mu * Fraction(1 - 1e-13) <= Fraction(cost) <= mu


def test_scales_are_those_of_the_whole_numbers() -> None:
    strategy = Workload({"a": 3, "b": 7}, ways=2).optimize(mu=0.5)
    scales, shared = integer_scales(strategy), integer_scales(strategy, unit=4096)
    for block, sigma in scales.items():
        cells = strategy.workload.cells_of(block)
        assert sigma == pytest.approx(cells * math.sqrt(strategy.variances[block]))
        assert shared[block] == pytest.approx(4096 * sigma)
    assert squared_cost(scales, {"a": 3, "b": 7}) == pytest.approx(0.25)
    assert squared_cost(shared, {"a": 3, "b": 7}, weight=4096) == pytest.approx(0.25)


def test_equal_noise_is_equal_to_the_last_bit() -> None:
    """Sums in another order round otherwise; then columns of one size would not be seen to be exchangeable."""
    strategy = Workload({f"c{i}": (2, 3, 5, 7)[i % 4] for i in range(20)}, ways=3).optimize(weights="worst")
    sizes = strategy.workload.sizes
    kinds = {tuple(sorted(sizes[column] for column in block)) for block in strategy.workload.blocks}
    assert len(kinds) == len(set(integer_scales(strategy).values())) == 35


def test_mistakes() -> None:
    with pytest.raises(errors.InvalidParameter, match="must be positive"):
        squared_cost({(): 0.0}, {"a": 2})
    with pytest.raises(errors.InvalidParameter, match="neighbours"):
        squared_cost({(): 1.0}, {"a": 2}, neighbours="swap")
