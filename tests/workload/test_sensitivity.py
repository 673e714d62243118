"""What one unit costs, against every unit there can be on small domains, by dense matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_tables import information
from leastnoise import errors
from leastnoise.workload import Workload, row_products
from leastnoise.workload.integer_noise import integer_scales, scales_within
from leastnoise.workload.row_products import key_products
from leastnoise.workload.sensitivity import squared_cost

CASES = [
    ({"a": 2, "b": 3}, [(), ("a",), ("a", "b")]),
    ({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c"), ("a", "c")]),
    ({"a": 4, "b": 3}, [("a",), ("b",)]),
    ({"a": 3, "b": 2, "aside": 2}, [(), ("a", "b")]),
    ({"a": 5}, [("a",)]),
    ({"a": 3, "one": 1}, [("a", "one"), ()]),
    ({"a": 3, "b": 2}, [()]),  # a row that is exchanged changes nothing, one that comes or goes does
]


def noise(case: tuple[dict[str, int], list[tuple[str, ...]]], seed: int) -> tuple[dict, dict[str, int]]:
    """Scales of a workload: optimal ones, or any."""
    sizes, tables = case
    workload = Workload(sizes, tables=tables)
    if seed == 0:
        return integer_scales(workload.optimize(weights="cells")), sizes
    draws = np.random.default_rng(seed).uniform(0.5, 20, len(workload.blocks))
    return dict(zip(workload.blocks, draws.tolist(), strict=True)), sizes


def weights_of_units(cells: int, rows: int, *, most: int = 1, distinct: bool = False) -> Iterator[np.ndarray]:
    """Every unit with at most so many rows of weight at most `most`: what it adds to the finest table."""
    for count in range(rows + 1):
        choose = itertools.combinations if distinct else itertools.combinations_with_replacement
        for chosen in choose(range(cells), count):
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
        found = squared_cost(scales, sizes, neighbours=neighbours, max_rows=rows)
        assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rows_with_weights_cost_exactly_what_the_worst_unit_does(case: tuple, seed: int, neighbours: str) -> None:
    scales, sizes = noise(case, seed)
    x = information(sizes, scales)
    worst = largest(x, list(weights_of_units(len(x), 2, most=3)), neighbours)
    found = squared_cost(scales, sizes, neighbours=neighbours, max_rows=2, row_weight=3)
    assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_parts_dealt_over_any_rows_cost_as_much_as_one_row_with_all(case: tuple, neighbours: str) -> None:
    scales, sizes = noise(case, 1)
    x = information(sizes, scales)
    parts = 4
    dealt = [unit for unit in weights_of_units(len(x), parts) if unit.sum() in (0, parts)]  # all parts, or no row kept
    worst = largest(x, dealt, neighbours)
    found = squared_cost(scales, sizes, neighbours=neighbours, parts=parts)
    assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12)
    one = squared_cost(scales, sizes, neighbours=neighbours)
    assert found == pytest.approx(parts**2 * one, rel=1e-14)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exchanged_rows_that_nothing_leaves_out(case: tuple) -> None:
    scales, sizes = noise(case, 2)
    x = information(sizes, scales)
    norms = np.diag(x)
    worst = float((norms[:, None] + norms - 2 * x).max())
    found = squared_cost(scales, sizes, neighbours="replace", always_counted=True)
    assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-12) + 1e-13 * norms[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rows_in_distinct_cells_never_cost_more_than_is_charged(case: tuple, seed: int, neighbours: str) -> None:
    scales, sizes = noise(case, seed)
    x = information(sizes, scales)
    for rows in (2, 3):
        worst = largest(x, list(weights_of_units(len(x), rows, distinct=True)), neighbours)
        found = squared_cost(scales, sizes, neighbours=neighbours, max_rows=rows, distinct=True)
        assert worst * (1 - 1e-12) <= found
        assert found <= squared_cost(scales, sizes, neighbours=neighbours, max_rows=rows)
    pairs = list(weights_of_units(len(x), 2, distinct=True))
    exact = squared_cost(scales, sizes, max_rows=2, distinct=True)  # with two rows the bound is attained
    assert exact <= largest(x, pairs, "add-remove") * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_products_of_rows_are_those_of_the_matrix(data: st.DataObject) -> None:
    sizes = {f"c{i}": n for i, n in enumerate(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))}
    every = [table for k in range(4) for table in itertools.combinations(sizes, k)]
    blocks = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    sigma = st.sampled_from([1.0, 2.0, 3.0]) if data.draw(st.booleans()) else st.floats(0.1, 50)
    scales = {block: data.draw(sigma) for block in blocks if all(sizes[c] > 1 for c in block)} or {(): 1.0}
    x = information(sizes, scales)
    found = row_products.row_products(scales, key_products(sizes))
    np.testing.assert_allclose(np.diag(x), found.same, rtol=1e-12)
    apart = x[~np.eye(len(x), dtype=bool)]
    if len(apart):
        assert found.least <= apart.min() + 1e-12 * found.same
        assert found.greatest >= apart.max() - 1e-12 * found.same
        assert apart.min() - 1e-11 * found.same <= found.least
        assert found.greatest <= apart.max() + 1e-11 * found.same


@pytest.mark.parametrize("case", CASES[:5], ids=str)
def test_without_symmetry_and_with_too_many_columns_the_bounds_are_safe(
    case: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        scales, sizes = noise(case, seed)
        exact = row_products.row_products(scales, key_products(sizes))
        with monkeypatch.context() as patch:
            patch.setattr(row_products, "MOST_TYPES", 0)
            bound = row_products.row_products(scales, key_products(sizes))
        assert bound.same == exact.same
        assert bound.least <= exact.least + 1e-12
        assert bound.greatest >= exact.greatest - 1e-12


def test_types_are_the_sets_where_both_can_be_counted() -> None:
    """Twelve columns of two sizes, all of at most three: by types as by all 4,096 sets."""
    sizes = {f"c{i}": 3 + i % 2 for i in range(12)}
    scales = integer_scales(Workload(sizes, ways=3).optimize())
    by_types = row_products.row_products(scales, key_products(sizes))
    costs = {block: math.prod(sizes[c] * (sizes[c] - 1) for c in block) / sigma**2 for block, sigma in scales.items()}
    assert len(row_products._classes(costs, key_products(sizes), list(sizes))) == 2
    values = row_products._by_type(costs, key_products(sizes), [[column] for column in sizes])
    assert values is not None
    assert by_types.least == pytest.approx(values.ravel()[1:].min(), rel=1e-10)
    assert by_types.greatest == pytest.approx(values.ravel()[1:].max(), rel=1e-10)


def test_columns_that_only_look_alike_are_not_exchanged() -> None:
    """A ring of six columns: the same sizes and costs, but not every pair of them is a block."""
    ring = {(f"c{i}", f"c{(i + 1) % 6}"): 1.0 for i in range(5)} | {("c0", "c5"): 1.0, (): 2.0}
    sizes = {f"c{i}": 3 for i in range(6)}
    x = information(sizes, ring)
    found = row_products.row_products(ring, key_products(sizes))
    apart = x[~np.eye(len(x), dtype=bool)]
    assert found.least == pytest.approx(apart.min(), rel=1e-12)
    assert found.greatest == pytest.approx(apart.max(), rel=1e-12)


def test_a_hundred_columns_are_charged_by_types() -> None:
    strategy = Workload({f"c{i}": 10 for i in range(100)}, ways=3).optimize()
    scales = integer_scales(strategy)
    products = row_products.row_products(scales, key_products(strategy.workload.sizes))
    y = [strategy.variances[tuple(f"c{i}" for i in range(k))] for k in range(4)]
    for differ in range(101):  # the same sum, by hand
        g = sum(
            math.comb(differ, j) * math.comb(100 - differ, k - j) * 0.9 ** (k - j) * (-0.1) ** j / y[k]
            for k in range(4)
            for j in range(k + 1)
        )
        assert products.least - 1e-9 <= g <= products.same * (1 + 1e-9)
        assert differ == 0 or g <= products.greatest + 1e-9
    assert squared_cost(scales, strategy.workload.sizes) == pytest.approx(1, abs=1e-12)


def test_adult_with_five_rows_in_distinct_cells_costs_twenty_times_one_row() -> None:
    sizes = {f"c{i}": n for i, n in enumerate([100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2])}
    scales = integer_scales(Workload(sizes, ways=3).optimize())
    assert f"{squared_cost(scales, sizes, max_rows=5, distinct=True):.1f}" == "20.7"
    assert squared_cost(scales, sizes, max_rows=5) == pytest.approx(25)
    assert squared_cost(scales, sizes, neighbours="replace") == pytest.approx(2, rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(
    mu=st.fractions(Fraction(1, 1000), 50),
    rows=st.integers(1, 4),
    neighbours=st.sampled_from(["add-remove", "replace"]),
)
def test_noise_within_a_limit_is_proved_to_be_and_hardly_more(mu: Fraction, rows: int, neighbours: str) -> None:
    strategy = Workload({"a": 3, "b": 7, "c": 2}, ways=2).optimize()
    scales = scales_within(strategy, mu, neighbours=neighbours, max_rows=rows)
    cost = squared_cost(scales, strategy.workload.sizes, neighbours=neighbours, max_rows=rows)
    assert mu * Fraction(1 - 1e-13) <= Fraction(cost) <= mu


def test_scales_are_those_of_the_whole_numbers() -> None:
    strategy = Workload({"a": 3, "b": 7}, ways=2).optimize(mu=0.5)
    scales, shared = integer_scales(strategy), integer_scales(strategy, unit=4096)
    for block, sigma in scales.items():
        cells = strategy.workload.cells_of(block)
        assert sigma == pytest.approx(cells * math.sqrt(strategy.variances[block]))
        assert shared[block] == pytest.approx(4096 * sigma)
    assert squared_cost(scales, {"a": 3, "b": 7}) == pytest.approx(0.25)
    assert squared_cost(shared, {"a": 3, "b": 7}, parts=4096) == pytest.approx(0.25)


def test_equal_noise_is_equal_to_the_last_bit() -> None:
    """Sums in another order round otherwise; then columns of one size would not be seen to be exchangeable."""
    strategy = Workload({f"c{i}": (2, 3, 5, 7)[i % 4] for i in range(20)}, ways=3).optimize(weights="worst")
    sizes = strategy.workload.sizes
    kinds = {tuple(sorted(sizes[column] for column in block)) for block in strategy.workload.blocks}
    assert len(kinds) == len(set(integer_scales(strategy).values())) == 35


def test_mistakes() -> None:
    with pytest.raises(errors.InvalidParameter, match="must be positive"):
        squared_cost({(): 0.0}, {"a": 2})
    with pytest.raises(errors.InvalidParameter, match="every row weighs one"):
        squared_cost({(): 1.0}, {"a": 2}, distinct=True, row_weight=2)
    with pytest.raises(errors.InvalidParameter, match="neighbours"):
        squared_cost({(): 1.0}, {"a": 2}, neighbours="swap")
