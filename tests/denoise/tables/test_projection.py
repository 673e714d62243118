"""The nearest non-negative tables, against a convex solver."""

from typing import Any

import cvxpy
import numpy as np
import pytest

from leastnoise.denoise.tables.consistent import nonnegative
from leastnoise.denoise.tables.projection import nearest
from leastnoise.workload.residuals import project, table_of_blocks

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def _margins(rng, rows, columns, empty):
    truth = rng.poisson(3.0, (rows, columns)).astype(float)
    if empty:
        truth[0], truth[:, -1] = 0.0, 0.0
    return truth.sum(axis=0), truth.sum(axis=1)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("shape", [(4, 7), (12, 5), (2, 30)])
def test_two_margins_as_the_convex_solver_has_them(shape, empty):
    rng = np.random.default_rng(sum(shape))
    down, across = _margins(rng, *shape, empty)
    noisy = rng.normal(2.0, 6.0, shape)
    found = nearest(noisy, [down, across])
    t = cvxpy.Variable(shape, nonneg=True)
    constraints = [cvxpy.sum(t, axis=0) == down, cvxpy.sum(t, axis=1) == across]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(t - noisy)), constraints).solve(solver="CLARABEL", **TIGHT)
    assert np.abs(found - t.value).max() < 1e-5
    assert found.min() >= 0
    assert np.abs(found.sum(axis=0) - down).max() < 1e-9 * down.sum()
    assert np.abs(found.sum(axis=1) - across).max() < 1e-9 * down.sum()


def test_one_margin_is_the_simplex():
    assert nearest(np.array([3.0, 2.0, -1.0]), [np.array(3.0)]) == pytest.approx([2.0, 1.0, 0.0])
    assert nearest(np.array([3.0, 2.0, -1.0]), [np.array(0.0)]) == pytest.approx([0.0, 0.0, 0.0])


def test_large_tables_end_at_rounding():
    rng = np.random.default_rng(5)
    truth = rng.poisson(np.exp(rng.normal(0, 2, (60, 80)))).astype(float)
    found = nearest(truth + rng.normal(0, 20, truth.shape), [truth.sum(axis=0), truth.sum(axis=1)])
    assert np.abs(found.sum(axis=1) - truth.sum(axis=1)).max() < 1e-9 * truth.sum()


def _three(seed, largest):
    rng = np.random.default_rng(seed)
    sizes = {"a": 4, "b": 3, "c": 5, "d": 2}
    joint = rng.poisson(np.exp(rng.normal(-1, 1.5, tuple(sizes.values())))).astype(float)
    subsets = {s for b in largest for s in _subsets(b)}
    truth = {s: joint.sum(axis=tuple(i for i, c in enumerate(sizes) if c not in s)) for s in subsets}
    true_blocks = {s: project(t) for s, t in truth.items()}
    noisy = {s: b + project(rng.normal(0, 3.0, b.shape)) if s else b for s, b in true_blocks.items()}
    return sizes, true_blocks, noisy


def _subsets(columns):
    return [()] if not columns else [s for rest in _subsets(columns[1:]) for s in (rest, (columns[0], *rest))]


LARGEST = [[("a", "b", "c"), ("a", "b", "d"), ("b", "c", "d")], [("a", "b", "c", "d")], [("a", "b", "c"), ("c", "d")]]


@pytest.mark.parametrize("largest", LARGEST)
def test_many_tables_at_once_as_the_convex_solver_has_them(largest, monkeypatch):
    monkeypatch.setattr("leastnoise.denoise.tables.consistent.MARGIN", 1e-4)
    monkeypatch.setattr("leastnoise.denoise.tables.consistent.MOST_ROUNDS", 20_000)
    monkeypatch.setattr(
        "leastnoise.denoise.tables.consistent.STIFFNESS", 0.3
    )  # to the end, not to the first such point
    sizes, _, noisy = _three(3, largest)
    weights = {a: np.inf if not a else 1.0 for a in noisy}
    found, reached = nonnegative(noisy, weights, largest, sizes, lambda done: None)
    assert reached
    assert min(table_of_blocks(found, b, sizes).min() for b in largest) >= 0
    moved = sum(float(((found[a] - noisy[a]) ** 2).sum()) for a in noisy)
    assert moved == pytest.approx(_least_move(sizes, noisy, largest), rel=0.01)


def _least_move(sizes, noisy, largest):
    blocks = {a: cvxpy.Variable(b.size) if a else cvxpy.Constant(np.array([float(b)])) for a, b in noisy.items()}
    constraints, objective = [], 0
    for a, b in noisy.items():
        if a:
            objective += cvxpy.sum_squares(blocks[a] - b.ravel())
            constraints += [_spread(a, s, sizes).T @ blocks[a] == 0 for s in _subsets(a) if len(s) == len(a) - 1]
    for table in largest:
        parts = [
            _spread(table, s, sizes) @ blocks[s] / np.prod([sizes[c] for c in table if c not in s])
            for s in _subsets(table)
        ]
        constraints.append(sum(parts) >= 0)
    return cvxpy.Problem(cvxpy.Minimize(objective), constraints).solve(solver="CLARABEL", **TIGHT)


def _spread(table, subset, sizes):
    """The matrix that repeats a table over `subset` along the other columns of `table`."""
    made: Any = np.ones((1, 1))
    for c in table:
        made = np.kron(made, np.eye(sizes[c]) if c in subset else np.ones((sizes[c], 1)))
    return made


def test_no_truth_is_further_away_than_before():
    sizes, truth, noisy = _three(8, LARGEST[0])
    weights = {a: np.inf if not a else 1.0 for a in noisy}
    found, _ = nonnegative(noisy, weights, LARGEST[0], sizes, lambda done: None)

    def error(blocks):
        return sum(float(((blocks[a] - truth[a]) ** 2).sum()) for a in truth)

    assert error(found) < error(noisy)


def test_blocks_of_infinite_weight_stay():
    sizes, truth, noisy = _three(9, LARGEST[0])
    noisy |= {("a",): truth["a",], ("b",): truth["b",], ("a", "b"): truth["a", "b"]}
    weights = {a: np.inf if set(a) <= {"a", "b"} else 1.0 for a in noisy}
    found, reached = nonnegative(noisy, weights, LARGEST[0], sizes, lambda done: None)
    assert reached
    assert all((found[a] == noisy[a]).all() for a in noisy if set(a) <= {"a", "b"})
