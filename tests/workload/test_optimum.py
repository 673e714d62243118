"""The optimal noise: published figures, dense oracles, the SVD bound, and a search over all Gaussian mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dense_tables import block_information, table_matrix
from leastnoise.workload import Workload
from leastnoise.workload.tables_noise import TablesPlanner

DOMAINS = {
    "Adult": [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2],
    "CPS": [50, 100, 7, 4, 2],
    "Loans": [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15],
}
# RMSE at mu = 1 of the 1-, 2-, 3- and 0-to-3-way tables, as published for ResidualPlanner.
PUBLISHED = {
    "Adult": [3.047, 6.359, 10.515, 10.665],
    "CPS": [1.744, 2.035, 2.048, 2.276],
    "Loans": [2.875, 5.634, 8.702, 8.876],
}
LEAST_LARGEST = {"Adult": "253.605", "CPS": "13.2156", "Loans": "180.817"}
SMALL = [
    ({"a": 2, "b": 3}, [(), ("a",), ("b",), ("a", "b")]),
    ({"a": 2, "b": 3, "c": 4}, [("a", "b"), ("b", "c")]),
    ({"a": 2, "b": 2, "c": 3}, [(), ("a",), ("a", "c"), ("b", "c")]),
    ({"a": 3, "b": 3, "c": 2}, [("a",), ("a", "b"), ("b", "c"), ("a", "c")]),
    ({"a": 3, "one": 1, "b": 2}, [("a", "one"), ("one",), ("a", "b", "one"), ("b",)]),
]


def columns(sizes: list[int]) -> dict[str, int]:
    return {f"column {i}": size for i, size in enumerate(sizes)}


def quadratic(workload: Workload, weights: np.ndarray) -> np.ndarray:
    """V: the weighted sum of the variances of one cell of each table is tr(V X^-1)."""
    tables = [table_matrix(workload.sizes, table) for table in workload.tables]
    return np.asarray(sum(c * m.T @ m / len(m) for c, m in zip(weights, tables, strict=True)))


@pytest.mark.parametrize("name", DOMAINS)
def test_the_published_errors(name: str) -> None:
    found = [Workload(columns(DOMAINS[name]), ways=w).optimize(weights="cells").rmse for w in ((1,), (2,), (3,), 3)]
    assert [f"{rmse:.3f}" for rmse in found] == [f"{rmse:.3f}" for rmse in PUBLISHED[name]]


@pytest.mark.parametrize("name", DOMAINS)
def test_the_published_least_largest_variances(name: str) -> None:
    made = Workload(columns(DOMAINS[name]), ways=3).optimize(weights="worst")
    assert f"{made.largest_std**2:.6g}" == LEAST_LARGEST[name]
    assert made.gap < 1e-9


@pytest.mark.parametrize(("sizes", "tables"), SMALL)
@pytest.mark.parametrize("weights", ["tables", "cells", "worst"])
def test_variances_are_those_of_the_dense_mechanism(sizes: dict[str, int], tables: list, weights: str) -> None:
    made = Workload(sizes, tables=tables).optimize(mu=1.7, weights=weights)
    information = block_information(sizes, made.variances)
    np.testing.assert_allclose(np.diag(information), 1.7**2, rtol=1e-12)  # every row costs the same, exactly mu^2
    covariance = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    for table in made.workload.tables:
        matrix = table_matrix(sizes, table)
        np.testing.assert_allclose(np.diag(matrix @ covariance @ matrix.T), made.std[table] ** 2, rtol=1e-9)
        assert np.linalg.matrix_rank(np.vstack([information, matrix]), tol=1e-9) == np.linalg.matrix_rank(
            information, tol=1e-9
        )  # the table can be answered at all


@pytest.mark.parametrize(("sizes", "tables"), SMALL)
def test_the_weighted_sum_attains_the_bound_of_singular_values(sizes: dict[str, int], tables: list) -> None:
    workload = Workload(sizes, tables=tables)
    weights = np.random.default_rng(0).uniform(0.3, 3, len(tables))
    made = workload.optimize(weights=dict(zip(workload.tables, weights, strict=True)))
    value = float(weights @ made.table_variances)
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(quadratic(workload, weights)), 0))
    assert value == pytest.approx(roots.sum() ** 2 / len(roots), rel=1e-7)
    assert made.gap < 1e-12
    assert made.certificate["lower_bound"] == pytest.approx(value, rel=1e-12)
    assert made.certificate["neighbours"] == "add-remove"


@pytest.mark.parametrize(("sizes", "tables"), SMALL)
def test_every_block_is_an_eigenspace_of_the_quadratic_form(sizes: dict[str, int], tables: list) -> None:
    """V is N s_A/N_A^2 on block A, N_A p_A times: the step of the proof that the bound is (sum p_A sqrt s_A)^2."""
    workload = Workload(sizes, tables=tables)
    weights = np.random.default_rng(0).uniform(0.3, 3, len(tables))
    finest = math.prod(sizes.values())
    expected = []
    for block in (b for k in range(len(sizes) + 1) for b in itertools.combinations(sizes, k)):
        s = sum(
            c / math.prod(sizes[column] for column in table if column not in block) ** 2
            for table, c in zip(workload.tables, weights, strict=True)
            if set(block) <= set(table)
        )
        cells = math.prod(sizes[column] for column in block)
        expected += [finest * s / cells**2] * math.prod(sizes[column] - 1 for column in block)
    found = np.linalg.eigvalsh(quadratic(workload, weights))
    np.testing.assert_allclose(found, np.sort(expected), rtol=1e-9, atol=1e-12 * max(expected))


def least_error(v: np.ndarray, seed: int) -> float:
    """min tr(V X^-1) over all X with unit diagonal, by L-BFGS on a square root of X."""
    size = len(v)

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        root = z.reshape(size, size)
        norms = np.sqrt((root**2).sum(axis=0))
        unit = root / norms
        inverse = np.linalg.inv(unit.T @ unit + 1e-10 * np.eye(size))
        slope = -2 * unit @ (inverse @ v @ inverse)
        return float((v * inverse).sum()), ((slope - unit * (unit * slope).sum(axis=0)) / norms).ravel()

    start = np.eye(size) + 0.1 * np.random.default_rng(seed).standard_normal((size, size))
    options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    return float(minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options).fun)


@pytest.mark.parametrize(("sizes", "tables"), SMALL[:4])
def test_no_gaussian_mechanism_that_a_search_finds_is_better(sizes: dict[str, int], tables: list) -> None:
    workload = Workload(sizes, tables=tables)
    made = workload.optimize(weights="tables")
    found = min(least_error(quadratic(workload, np.ones(len(tables))), seed) for seed in range(3))
    ours = float(made.table_variances.sum())
    assert ours * (1 - 1e-5) <= found <= ours * 1.005  # its ridge is 1e-10; and it comes near, so it could have won


@pytest.mark.parametrize(("sizes", "tables"), SMALL)
def test_the_least_largest_variance_is_that_of_a_general_solver(sizes: dict[str, int], tables: list) -> None:
    workload = Workload(sizes, tables=tables)
    incidence = workload.incidence
    made = workload.optimize(weights="worst")
    shrink = incidence.asks.toarray()
    constraints = [
        {"type": "ineq", "fun": lambda z: z[0] - shrink @ (incidence.cost * np.exp(z[1:]))},
        {"type": "ineq", "fun": lambda z: 1 - float(np.sum(incidence.cost * np.exp(-z[1:])))},
    ]
    start = np.concatenate([[made.largest_std**2 * 2], np.log(made.block_variances) + 0.5])
    options = {"maxiter": 3000, "ftol": 1e-14}
    found = minimize(lambda z: z[0], start, constraints=constraints, method="SLSQP", options=options)
    assert made.largest_std**2 == pytest.approx(found.fun, rel=1e-6)


def test_tables_of_the_same_sizes_in_other_company_need_other_noise() -> None:
    """Four pairs share a column and a fifth has its own two: with one multiplier for all five it would be 3.283."""
    pairs = [("b0", f"b{i}") for i in range(1, 5)] + [("b5", "b6")]
    made = Workload({f"b{i}": 2 for i in range(7)}, tables=pairs).optimize(weights="worst")
    assert f"{made.largest_std**2:.3f}" == "2.916"
    assert made.gap < 1e-9


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_certified_holds_for_any_workload(data: st.DataObject) -> None:
    sizes = columns(data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=6)))
    every = [table for k in range(4) for table in itertools.combinations(sizes, k)]
    tables = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=8, unique=True))
    workload = Workload(sizes, tables=tables)
    worst, alike, cells = (workload.optimize(weights=word) for word in ("worst", "tables", "cells"))
    assert worst.gap < 1e-8
    assert worst.largest_std <= min(alike.largest_std, cells.largest_std) * (1 + 1e-9)
    assert cells.rmse <= min(alike.rmse, worst.rmse) * (1 + 1e-9)
    assert alike.table_variances.sum() <= min(cells.table_variances.sum(), worst.table_variances.sum()) * (1 + 1e-9)


def test_a_hundred_columns_of_ten_keys() -> None:
    """By symmetry the noise depends on the number of columns alone, which gives a formula of four terms."""
    d, n = 100, 10
    p = [(1 - 1 / n) ** a for a in range(4)]
    made = Workload(columns([n] * d), ways=3).optimize(weights="tables")
    s = [sum(math.comb(d - a, b - a) * n ** (-2.0 * (b - a)) for b in range(a, 4)) for a in range(4)]
    total = sum(math.comb(d, a) * p[a] * math.sqrt(s[a]) for a in range(4))
    y = [total / math.sqrt(s[a]) for a in range(4)]
    variance = [sum(math.comb(b, a) * y[a] * p[a] * n ** (-2.0 * (b - a)) for a in range(b + 1)) for b in range(4)]
    found = [made.std[tuple(columns([n] * b))] ** 2 for b in range(4)]
    assert found == pytest.approx(variance, rel=1e-9)
    assert len(made.variances) == 166_751


def test_noise_scales_with_mu() -> None:
    workload = Workload({"age": 10, "sex": 2}, ways=2)
    one, three = workload.optimize(mu=1), workload.optimize(mu=3)
    assert three.rmse == pytest.approx(one.rmse / 3)
    assert one.at(3).rmse == pytest.approx(three.rmse)
    assert one.at(3).mu == 3


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_under_replace_nothing_is_called_best(mechanism: Any, neighbours: Any) -> None:
    """Noise is divided for add-remove, and optimal there: a table of two keys shows that it is not under replace."""
    workload = Workload({"sex": 2}, tables=["sex"])
    planner = TablesPlanner(workload, "tables", 1, neighbours)
    noise = planner.gaussian(Fraction(1)) if mechanism == "gaussian" else planner.laplace(1)
    assert ("under replace, which is promised here, another division may have less" in noise.note) == (
        neighbours == "replace"
    )
    if mechanism == "gaussian":
        assert ("under add-remove no other Gaussian noise" in noise.note) == (neighbours == "replace")
    assert workload.optimize().certificate["neighbours"] == "add-remove"
