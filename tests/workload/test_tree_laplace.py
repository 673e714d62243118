"""Laplace noise along a tree, against dense least squares, brute force over rows, other divisions, and draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dense_trees
from dense_trees import made_workload, random_shape
from leastnoise.domain import TreeShape
from leastnoise.privacy.distributions import Laplace
from leastnoise.privacy.noise_sums import LaplaceSum
from leastnoise.testing import seeded
from leastnoise.workload import NoisyTables, Workload, laplace_tables, noisy_tables
from leastnoise.workload.shares import Candidates, choose
from leastnoise.workload.tables_noise import TablesPlanner, weighted_error
from leastnoise.workload.tree_least_squares import TreeFit

CROSSED = [(), "b", ("a", "x"), ("b", "y"), ("x", "y")]
SIZES = {"x": 2, "y": 3}
RELEASED = {("b", "y"): 1.5, ("a", "x", "y"): 2.5, ("a",): 4.0, (): 3.0, ("x",): 2.0}


def crossed(seed: int = 11) -> tuple[Workload, NoisyTables]:
    workload = made_workload(np.random.default_rng(seed), CROSSED, sizes=SIZES)
    return workload, workload.with_laplace(RELEASED, unit=2)


def dense(made: NoisyTables) -> tuple[dict[Any, np.ndarray], np.ndarray]:
    """The matrix of each table, and that of least squares from all released numbers to the finest cells."""
    workload = made.workload
    stack = np.vstack([dense_trees.table_matrix(workload, table) for table in made.released])
    precisions = np.concatenate(
        [np.full(workload.cells_of(table), (2 / Laplace(scale, 1.0).std) ** 2) for table, scale in made.scales.items()]
    )
    inverse = np.linalg.pinv((stack.T * precisions) @ stack, rcond=1e-12, hermitian=True)
    tables = {table: dense_trees.table_matrix(workload, table) for table in workload.tables}
    return tables, inverse @ (stack.T * precisions)


def test_estimates_errors_and_coefficients_are_those_of_dense_least_squares() -> None:
    workload, made = crossed()
    tables, solve = dense(made)
    variances = np.concatenate([np.full(workload.cells_of(t), Laplace(s, 1.0).std ** 2) for t, s in RELEASED.items()])
    rng = np.random.default_rng(3)
    noisy = {t: rng.integers(-9, 99, [workload.sizes[c] for c in t]) for t in made.released}
    flat = np.concatenate([values.ravel() for values in noisy.values()]) / 2
    blocks = made.residuals(noisy)
    for table, matrix in tables.items():
        np.testing.assert_allclose(workload.table_of(blocks, table).ravel(), matrix @ solve @ flat, atol=1e-8)
        exact = np.diag(matrix @ solve @ np.diag(variances / 4) @ (matrix @ solve).T)
        np.testing.assert_allclose(made.sum_variances(table).ravel(), exact, rtol=1e-9)
    keys = {"b": [0, 2], "y": [1]}
    pair = [(("b", "y"), keys), (("a", "x"), {"a": 1})]
    size = [workload.sizes["b"], workload.sizes["y"]]
    chosen = [np.ravel_multi_index((b, 1), size) for b in (0, 2)]
    state = tables["a", "x"].reshape(-1, 2, solve.shape[0])[1].sum(axis=0)
    factors = tables["b", "y"][chosen].sum(axis=0) - 0.5 * state
    count = np.abs(factors @ solve) / 2
    terms = made.noise_terms(pair, [1.0, -0.5])
    found = np.sort(np.concatenate([np.full(term.count, term.step * term.scale) for term in terms]))
    scales = np.concatenate([np.full(workload.cells_of(t), s) for t, s in RELEASED.items()])
    wanted = np.sort(count * scales)
    np.testing.assert_allclose(found, wanted[wanted > 1e-13], rtol=1e-9)
    variance = float(np.array([1.0, -0.5]) @ made.covariances(pair) @ np.array([1.0, -0.5]))
    assert LaplaceSum(terms).std == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize("rows", [1, 2])
def test_what_a_unit_costs_is_the_largest_l1_distance_over_the_scales(rows: int) -> None:
    """Every pair of sets of at most so many rows that one unit may have: brute force."""
    workload, _ = crossed(5)
    stack = np.vstack([dense_trees.table_matrix(workload, table) / scale for table, scale in RELEASED.items()])
    cells = stack.shape[1]
    units = [np.zeros(stack.shape[0])]
    units += [stack[:, list(one)].sum(axis=1) for k in range(1, rows + 1) for one in
              itertools.combinations_with_replacement(range(cells), k)]  # fmt: skip
    together = np.array(units[: 1 + cells] if rows == 1 else units[:: max(1, len(units) // 300)])
    added = max(float(np.abs(unit).sum()) for unit in units)
    apart = max(float(np.abs(together - one).sum(axis=1).max()) for one in together)
    for neighbours, exact in (("add-remove", added), ("replace", max(added, apart))):
        cost = float(workload.unit_cost(rows, neighbours).epsilon(RELEASED))
        assert exact <= cost * (1 + 1e-12)
        if rows == 1:
            assert exact == pytest.approx(cost)
        price = workload.unit_cost(rows, neighbours).laplace_mu_squared(RELEASED)
        assert 0 < price <= Fraction(cost) ** 2


@pytest.mark.parametrize(
    ("weights", "limits"),
    [("tables", {}), ("tables", {"neighbours": "replace"}), ("worst", {"weight": 3}), ({"b": 5.0}, {"weight": 4096})],
)
def test_the_noise_costs_what_was_asked_and_no_more(weights: Any, limits: dict[str, Any]) -> None:
    workload = made_workload(np.random.default_rng(2), CROSSED, sizes=SIZES)
    made = laplace_tables(workload, epsilon=0.7, weights=weights, **limits)
    cost = float(workload.unit_cost(**limits).epsilon(made.scales))
    assert 0.7 * (1 - 1e-12) < cost <= 0.7


@pytest.mark.parametrize("tables", [[(), "a", "b"], CROSSED])
def test_no_other_division_that_is_tried_has_less_error(tables: Any) -> None:
    """Five divisions at random, each followed downhill by SciPy from there over all tables within the largest."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(7)
    workload = made_workload(rng, tables, sizes=SIZES if len(tables) != 3 else {})
    made = laplace_tables(workload, epsilon=1e-3)  # noise so wide that its grid does not matter
    least = float(made.table_variances.sum()) * 1e-6
    every = list(dict.fromkeys([workload.union(workload.tables), *workload.tables, *workload.smaller()]))
    spread = Candidates(workload, every)

    def error(logits: np.ndarray) -> float:
        shares = np.exp(logits - logits.max())
        return 2 * float(spread.variances((shares / shares.sum()) ** 2)[0].sum())  # Laplace noise: 2/epsilon^2

    for _ in range(5):
        start = rng.normal(0, 2, len(every))
        found = minimize(error, start, method="L-BFGS-B", options={"maxiter": 60})
        assert least <= float(found.fun) * (1 + 1e-3)


def test_chosen_tables_may_be_larger_than_those_asked_for() -> None:
    shape = TreeShape((np.array([3]), np.array([2, 3, 2])))
    sizes = {"a": 3, "b": 7, "x": 2}
    workload = Workload(sizes, tables=["b", ("a", "x")], levels="ab", shape=shape)
    made = laplace_tables(workload, epsilon=1)
    assert made.scales == {("b", "x"): 1.0}
    asked = laplace_tables(workload, epsilon=1, larger=False)
    assert set(asked.scales) <= {("b",), ("a", "x"), ("a",), ("x",), ()}
    assert made.rmse < asked.rmse
    found = choose(workload, weights=np.ones(2), larger=True)
    assert found == {("b", "x"): 1.0}


@pytest.mark.parametrize("weights", ["tables", "worst"])
@pytest.mark.filterwarnings("error")
def test_a_level_of_one_node_is_as_accurate_as_the_whole_and_its_noise_can_be_drawn(weights: Any) -> None:
    """The table by sex tells all about it, so the steps leave its own table no share at all."""
    shape = TreeShape((np.array([1]), np.array([4])))
    sizes = {"state": 1, "county": 4, "sex": 2, "age": 4}
    one, whole = (
        laplace_tables(
            Workload(sizes, tables=[top, "sex", ("sex", "age")], levels=["state", "county"], shape=shape),
            epsilon=1.0,
            weights=weights,
        )
        for top in ("state", ())
    )
    assert isinstance(one, NoisyTables)
    assert max(one.scales.values()) < 1e5 * min(one.scales.values())
    assert weighted_error(one, weights) == pytest.approx(weighted_error(whole, weights), rel=5e-3)


@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_intervals_hold_as_often_as_stated(confidence: float) -> None:
    """20,000 draws: each coverage is within five standard errors (false alarms 6e-7 each, 40 of them), and at most 1 %
    of a half-width more than needed. The bound for large trees holds at least as often."""
    workload, made = crossed()
    draws, rng = 20_000, np.random.default_rng(8)
    noise = {}
    for table, scale in RELEASED.items():
        p = 1 - math.exp(-1 / scale)
        shape = [draws, *(workload.sizes[c] for c in table)]
        noise[table] = rng.geometric(p, shape) - rng.geometric(p, shape)
    tables, solve = dense(made)
    flat = np.concatenate([values.reshape(draws, -1) for values in noise.values()], axis=1) / 2
    error = 5 * math.sqrt(confidence * (1 - confidence) / draws)
    for table, matrix in tables.items():
        off = np.abs(flat @ (matrix @ solve).T)
        halves = made.sum_half_widths(table, confidence=confidence).ravel()
        inside = (off <= halves).mean(axis=0)
        assert (inside >= confidence - error).all()
        assert ((off <= 0.99 * halves).mean(axis=0) <= confidence + error).all()
        first = {name: 0 for name in table if name not in workload.levels}
        wide = made._bounds(table, first, 1 - confidence)
        node = np.broadcast_to(
            wide.reshape([workload.sizes[c] if c in workload.levels else 1 for c in table]),
            [workload.sizes[c] for c in table],
        ).ravel()
        assert (node >= 0.999 * halves).all()
        assert ((off <= node).mean(axis=0) >= confidence - error).all()
    sums = [(("b", "y"), {"b": [0, 1], "y": [0]}), (("a",), {"a": [0]})]
    half = made.combination_half_width(sums, [1.0, -0.3], confidence=confidence)
    size = [workload.sizes["b"], 3]
    row = tables["b", "y"].reshape(*size, -1)[:2, 0].sum(axis=0)
    row = row - 0.3 * dense_trees.table_matrix(workload, ("a",))[0]
    assert abs((np.abs(flat @ (row @ solve)) <= half).mean() - confidence) <= error + 0.004


def test_a_large_tree_has_bounds_at_most_twice_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    children = rng.integers(8, 14, 20)
    shape = TreeShape((np.array([20]), children))
    workload = Workload({"a": 20, "b": int(children.sum())}, tables=[(), "a", "b"], levels="ab", shape=shape)
    made = laplace_tables(workload, epsilon=1)
    exact = {table: made.sum_half_widths(table, confidence=0.95) for table in workload.tables}
    monkeypatch.setattr(noisy_tables, "MOST_WORK", 0)
    for table, halves in exact.items():
        ratio = made.sum_half_widths(table, confidence=0.95) / halves
        assert (ratio >= 0.999).all()
        assert (ratio <= 2).all()


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_of_single_nodes(seed: int) -> None:
    """Those of a sum, the adjoint of `estimates`; and the node's own, with a bound for all others."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, 3)
    q = (0.0 if seed == 1 else 0.5, 1.0, 0.3, 2.0)
    fit = TreeFit(shape, q)
    for level in range(4):
        own, most = fit.own_coefficients(level)
        for node in range(shape.sizes[level]):
            alpha = np.zeros(shape.sizes[level])
            alpha[node] = 1.0
            found = fit.coefficients({level: alpha})
            for below in range(4):
                for other in range(shape.sizes[below]):
                    one = {each: np.zeros(shape.sizes[each]) for each in range(4)}
                    one[below][other] = 1.0
                    moved = fit.estimates(one)[level][node] if q[below] else 0.0
                    assert found[below][other] == pytest.approx(moved, abs=1e-12)
                    if (below, other) == (level, node):
                        assert own[node] == pytest.approx(moved, abs=1e-12)
                    else:
                        assert abs(moved) <= most[node] + 1e-12


def test_few_levels_get_laplace_noise_and_many_tables_gaussian_noise() -> None:
    shape = TreeShape((np.array([10]), np.full(10, 12)))
    sizes = {"a": 10, "b": 120, "x": 4, "y": 5, "z": 6}
    few = Workload(sizes, tables=[(), "a", "b"], levels="ab", shape=shape)
    of_few = TablesPlanner(few, "tables", 1, "add-remove")
    laplace, gaussian = of_few.compare(epsilon=1, delta=1e-6, step=1).rows
    assert (laplace.mechanism, gaussian.mechanism) == ("laplace", "gaussian")
    assert laplace.std < 0.6 * gaussian.std
    pairs = [("b", "x"), ("b", "y"), ("b", "z"), ("a", "x", "y"), ("a", "x", "z"), ("a", "y", "z")]
    many = Workload(sizes, tables=[(), "a", "x", "y", "z", *pairs], levels="ab", shape=shape)
    of_many = TablesPlanner(many, "tables", 1, "add-remove")
    assert of_many.compare(epsilon=1, delta=1e-6, step=1).best.mechanism == "gaussian"
    with seeded(1):  # nothing here draws
        assert [each.mechanism for each in of_few.compare(epsilon=1, delta=0, step=1).rows] == ["laplace"]
