"""The classical trend filter: never above an independent solver's objective, polynomials for free, exact knots.

A statistical test here fails by chance with 2e-9 (six standard errors); seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.denoise import trend_filter
from leastnoise.denoise.higher_orders import AlongRows
from leastnoise.denoise.lattices import lattices
from leastnoise.graphs import Graph

orders = pytest.mark.parametrize("order", [1, 2, 3])


def difference(size: int, order: int) -> Any:
    return np.diff(np.eye(size), order + 1, axis=0)


def objective(b: Any, y: Any, order: int, penalty: float) -> float:
    return float(((y - b) ** 2).sum() / 2 + penalty * np.abs(difference(y.size, order) @ b).sum())


def clarabel(y: Any, order: int, penalty: float) -> Any:
    b = cp.Variable(y.size)
    loss = cp.sum_squares(y - b) / 2 + penalty * cp.norm1(difference(y.size, order) @ b)
    cp.Problem(cp.Minimize(loss)).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
    )
    return b.value


@st.composite
def series(draw: Any, most: int = 60) -> Any:
    n = draw(st.integers(5, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.standard_normal(n)
    look = draw(st.sampled_from(["noise", "walk", "steps", "ties", "spike", "far"]))
    if look == "walk":
        y = y.cumsum()
    elif look == "steps":
        y += 10 * rng.integers(0, 3, n)
    elif look == "ties":
        y = np.rint(y)
    elif look == "spike":
        y[n // 2] += 1e3
    elif look == "far":
        y += 1e5
    return y


@orders
@settings(max_examples=40)
@given(y=series(), part=st.sampled_from([1e-6, 1e-4, 1e-2, 0.1, 0.5, 0.99, 1.01]))
def test_no_objective_is_above_an_interior_point_s(order: int, y: Any, part: float) -> None:
    penalty = part * AlongRows(Graph.path(y.size), order).top(y)
    if penalty == 0:
        return
    made = trend_filter(y, 1.0, order=order, boundary="free", penalty=penalty)
    assert made.parameters["gap"] <= 1e-6
    shift = y.mean()
    ours = objective(made.values - shift, y - shift, order, penalty)
    least = objective(clarabel(y - shift, order, penalty), y - shift, order, penalty)
    assert ours <= least * (1 + 1e-6) + 1e-12 * float(y @ y)
    free = np.abs(difference(y.size, order) @ (made.values - shift)) < 1e-7 * np.abs(y - shift).max()
    assert made.degrees_of_freedom is not None
    assert made.degrees_of_freedom >= y.size - free.sum()


@orders
def test_degrees_of_freedom_are_what_the_zero_rows_leave(order: int) -> None:
    """And a step of the values moves the fit as they say: their divergence, by differences."""
    y = np.random.default_rng(1).standard_normal(25).cumsum()
    rule = lambda x: trend_filter(x, 1.0, order=order, boundary="free", penalty=0.3)  # noqa: E731
    made = rule(y)
    rows = difference(25, order)
    zero = rows[np.abs(rows @ made.values) < 1e-9]
    assert made.degrees_of_freedom == 25 - np.linalg.matrix_rank(zero)
    step = 1e-6 * np.eye(25)
    slope = sum((rule(y + e).values - rule(y - e).values) @ e for e in step) / 2e-12
    assert made.degrees_of_freedom == pytest.approx(slope, abs=1e-4)


@orders
def test_polynomials_cost_nothing_and_are_what_a_large_penalty_leaves(order: int) -> None:
    t = np.linspace(-1, 1, 101)
    curve = np.polynomial.polynomial.polyval(t, [3.0, -5.0, 2.0, 7.0][: order + 1])
    assert np.allclose(trend_filter(curve, 1.0, order=order, boundary="free", penalty=7.0).values, curve, atol=1e-12)
    y = curve + np.random.default_rng(2).standard_normal(101)
    fitted = np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, y, order))
    for penalty in (math.inf, 1e12):
        flat = trend_filter(y, 1.0, order=order, boundary="free", penalty=penalty)
        assert np.allclose(flat.values, fitted, atol=1e-12)
        assert flat.degrees_of_freedom == order + 1
    top = AlongRows(Graph.path(101), order).top(y)
    above = trend_filter(y, 1.0, order=order, boundary="free", penalty=top * (1 + 1e-9))
    below = trend_filter(y, 1.0, order=order, boundary="free", penalty=top * (1 - 1e-3))
    assert np.allclose(above.values, fitted, atol=1e-12)
    assert below.degrees_of_freedom == order + 2
    assert (trend_filter(y, 1.0, order=order, boundary="free", penalty=0).values == y).all()


@orders
def test_a_long_row_loses_no_digits(order: int) -> None:
    """Multiplied out, these equations have a condition number of 1e32 (order 3); the polynomial is right to 1e-12."""
    t = np.linspace(-1, 1, 20_001)
    y = np.random.default_rng(3).standard_normal(t.size) + 4 * t**3
    basis = np.linalg.qr(np.polynomial.legendre.legvander(t, order))[0]
    flat = trend_filter(y, 1.0, order=order, boundary="free", penalty=math.inf)
    assert np.allclose(flat.values, basis @ (basis.T @ y), rtol=0, atol=1e-12)
    made = trend_filter(y, 1.0, order=order, boundary="free", penalty=10.0 ** (2.5 * order))
    assert made.parameters["gap"] <= 1e-6
    bends = np.abs(np.diff(made.values, order + 1))
    knots = np.flatnonzero(bends > max(1e-11, 1e-5 * bends.max()))  # the rest is what the gap leaves open
    assert made.degrees_of_freedom is not None
    assert len(knots) <= made.degrees_of_freedom - order - 1 <= 150


def test_order_zero_is_the_same_under_both_boundaries() -> None:
    y = np.repeat([0.0, 4.0, 1.0], 20) + np.random.default_rng(5).standard_normal(60)
    one, two = (trend_filter(y, 1.0, boundary=b, penalty=2.0) for b in ("reflect", "free"))  # type: ignore[arg-type]
    assert (one.values == two.values).all()


@orders
def test_every_path_is_filtered_by_itself(order: int) -> None:
    """Two of one length, one of another, a short one, a lone node; numbered at random."""
    rng = np.random.default_rng(6)
    lengths = (9, 9, 14, 3, 1)
    name = rng.permutation(sum(lengths))
    rows = np.split(name, np.cumsum(lengths)[:-1])
    pairs = np.concatenate([np.stack([row[:-1], row[1:]], axis=1) for row in rows])
    y = rng.standard_normal(name.size).cumsum()
    made = trend_filter(y, 1.0, graph=Graph.from_edges(name.size, pairs), order=order, boundary="free", penalty=0.2)
    alone = [trend_filter(y[row], 1.0, order=order, boundary="free", penalty=0.2) for row in rows]
    for row, each in zip(rows, alone, strict=True):
        assert np.allclose(made.values[row], each.values, atol=1e-10)
    assert made.degrees_of_freedom == sum(each.degrees_of_freedom or 0.0 for each in alone)


@pytest.mark.parametrize(("order", "noise", "draws"), [(1, "gaussian", 200), (3, "gaussian", 200), (1, "laplace", 50)])
def test_the_risk_of_a_given_penalty_is_unbiased(order: int, noise: Any, draws: int) -> None:
    """Degrees of freedom less what was spent, noise'(h - f): zero within six standard errors (a false alarm once in
    5e8), of which each is less than a tenth of the ten or so that are spent: 0.3 under Gaussian noise, so that two too
    many or too few are seen."""
    rng = np.random.default_rng(7)
    truth = np.concatenate([np.linspace(0, 6, 30), np.linspace(6, -3, 20)])
    off = []
    for _ in range(draws):
        z = rng.standard_normal(50) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), 50)
        made = trend_filter(truth + z, 1.0, order=order, boundary="free", penalty=2.0, mechanism=noise)
        assert made.degrees_of_freedom is not None
        off.append(made.degrees_of_freedom - z @ (made.values - truth))
    error = np.std(off) / math.sqrt(draws)
    assert error < 1
    assert abs(np.mean(off)) < 6 * error


@pytest.mark.parametrize("order", [1, 2])
def test_choosing_the_penalty_is_counted_to_within_two_degrees_of_freedom(order: int) -> None:
    rng = np.random.default_rng(8)
    truth = np.concatenate([np.linspace(0, 6, 70), np.linspace(6, -3, 50)])
    off = []
    for _ in range(60):
        z = rng.standard_normal(truth.size)
        made = trend_filter(truth + z, 1.0, order=order, boundary="free")
        assert made.degrees_of_freedom is not None
        off.append(made.degrees_of_freedom - z @ (made.values - truth))
    error = np.std(off) / math.sqrt(len(off))
    assert error < 1
    assert abs(np.mean(off)) < 2 + 6 * error


def test_what_is_no_row_is_refused() -> None:
    y = np.zeros((4, 5))
    with pytest.raises(errors.InvalidParameter, match="bins in a row"):
        trend_filter(y, 1.0, graph=Graph.grid((4, 5)), order=1, boundary="free")
    with pytest.raises(errors.InvalidParameter, match="bins in a row"):
        trend_filter(y[0], 1.0, graph=Graph.cycle(5), order=1, boundary="free")
    with pytest.raises(errors.InvalidParameter, match="neither a path, a cycle nor a grid"):
        trend_filter(y[0], 1.0, graph=Graph.from_edges(5, [(0, 1), (0, 2), (0, 3), (3, 4)]), order=1, boundary="free")
    heavy = Graph.from_edges(3, [(0, 1), (1, 2)], weights=[1.0, 2.0])
    with pytest.raises(errors.InvalidParameter, match="equal width"):
        trend_filter([1.0, 2.0, 3.0], 1.0, graph=heavy, order=1, boundary="free")


def test_graphs_are_taken_apart_into_lattices() -> None:
    [[grid, around]] = lattices(Graph.grid((3, 4, 2)))
    assert grid.shape == (1, 3, 4, 2)
    assert not around
    [[ring, around]] = lattices(Graph.cycle(7))
    assert (ring.shape, around) == ((1, 7), True)
    [[lone, around]] = lattices(Graph.from_edges(3, []))
    assert (lone.shape, around) == ((3, 1), False)
    name = np.random.default_rng(10).permutation(8)
    [[row, _]] = lattices(Graph.from_edges(8, np.stack([name[:-1], name[1:]], axis=1)))
    assert row[0].tolist() in (name.tolist(), name[::-1].tolist())
    two = Graph.from_edges(8, np.concatenate([Graph.grid((2, 2)).edges, Graph.path(4).edges + 4]))
    assert sorted(each.shape for each in lattices(two)) == [(2, 2), (4,)]
