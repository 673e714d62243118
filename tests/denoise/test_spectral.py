"""The monotone spectral filter: the least unbiased risk of all filters that fall, and honest degrees of freedom.

A statistical test here fails by chance with 2e-9 (six standard errors); seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from leastnoise.denoise import laplacian, spectral
from leastnoise.denoise._graph import frequencies as exact
from leastnoise.denoise._graph.frequencies import frequencies
from leastnoise.denoise._graph.low_pass import LowPass
from leastnoise.graphs import Graph

ROW, COLUMN = np.mgrid[:12, :10]
HILL = (4 * np.sin(ROW / 4) * np.cos(COLUMN / 3)).ravel()
TOWN = Graph.from_edges(121, np.concatenate([Graph.grid((12, 10)).edges, [[7, 120]]]))  # no lattice
ROWS = Graph.from_edges(120, np.concatenate([Graph.path(40).edges + 40 * k for k in range(3)]))
GRAPHS = {"grid": Graph.grid((12, 10)), "rows": ROWS}


@pytest.mark.parametrize("name", GRAPHS)
def test_cosines_are_the_eigenvectors(name: str) -> None:
    graph = GRAPHS[name]
    basis = frequencies(graph)
    assert basis is not None
    u = np.stack([basis.inverse(e) for e in np.eye(120)], axis=1)
    assert np.allclose(u.T @ u, np.eye(120), atol=1e-12)
    assert np.allclose(u @ np.diag(basis.theta) @ u.T, graph.laplacian().toarray(), atol=1e-12)
    assert np.allclose(basis.forward(HILL), u.T @ HILL)


def test_no_falling_filter_has_less_unbiased_risk() -> None:
    """Against a quadratic programme, eigenvectors written out; equal eigenvalues have equal factors."""
    y = HILL + np.random.default_rng(1).standard_normal(120)
    graph = GRAPHS["grid"]
    theta, u = np.linalg.eigh(graph.laplacian().toarray())
    c2 = (u.T @ y) ** 2
    s = cp.Variable(120)
    falls = [s[k + 1] <= s[k] for k in range(119)] + [s[0] == 1, s >= 0]
    falls += [s[k] == s[k + 1] for k in range(1, 119) if theta[k + 1] - theta[k] < 1e-8]
    least = cp.Problem(cp.Minimize(cp.sum(cp.multiply(c2, cp.square(1 - s))) + 2 * cp.sum(s)), falls)
    least.solve(solver="CLARABEL")
    made = spectral(y, 1.0, graph=graph)
    assert np.allclose(made.values, u @ (s.value * (u.T @ y)), atol=1e-4)


@pytest.mark.parametrize("truth", [HILL, np.zeros(120)])
@pytest.mark.parametrize(("noise", "draws"), [("gaussian", 400), ("laplace", 200)])
def test_degrees_of_freedom_are_what_is_spent(truth: Any, noise: Any, draws: int) -> None:
    """Exact under Gaussian noise; under Laplace noise to a tenth."""
    rng = np.random.default_rng(2)
    told, spent = [], []
    for _ in range(draws):
        z = rng.standard_normal(120) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), 120)
        made = spectral(truth + z, 1.0, graph=GRAPHS["grid"], mechanism=noise)
        told.append(made.degrees_of_freedom)
        spent.append(float(z @ (made.values - truth)))
    error = np.std(np.subtract(told, spent)) / math.sqrt(draws)
    assert error < 2
    slack = 0.1 * np.mean(spent) if noise == "laplace" else 0.0
    assert abs(np.mean(told) - np.mean(spent)) < slack + 6 * error


def test_degrees_of_freedom_are_the_divergence() -> None:
    y = np.append(HILL, 1.0) + np.random.default_rng(3).standard_normal(121)
    rule = lambda x: spectral(x, 1.0, graph=TOWN).values  # noqa: E731
    step = 1e-6 * np.eye(121)
    slope = sum((rule(y + e) - rule(y - e)) @ e for e in step) / 2e-12
    assert spectral(y, 1.0, graph=TOWN).degrees_of_freedom == pytest.approx(slope, rel=1e-5)


def test_low_pass_filters_are_functions_of_the_laplacian() -> None:
    """Against dense eigenvectors: the same function of every eigenvalue, between 0 and 1 but for ripples, and the
    traces to within their probes."""
    low = LowPass(TOWN, 0)
    _, u = np.linalg.eigh(TOWN.laplacian().toarray())
    x = np.random.default_rng(4).standard_normal(121)
    x -= x.mean()
    seen = low(x) @ u / (x @ u)  # a row for each filter, a column for each frequency
    factor = seen[:, 1:]
    assert (factor > -0.02).all()
    assert (factor < 1.02).all()
    for other in range(3):
        y = np.random.default_rng(5 + other).standard_normal(121)
        y -= y.mean()
        assert np.allclose(low(y), (y @ u)[None, 1:] * factor @ u[:, 1:].T, atol=1e-6)
    assert np.allclose(low.traces, factor.sum(axis=1), atol=4.0)


def test_without_eigenvectors_the_mixture_is_nearly_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its degrees of freedom are what is spent, within two and six standard errors."""
    truth = np.append(HILL, 1.0)
    rng = np.random.default_rng(6)
    draws = [truth + rng.standard_normal(121) for _ in range(40)]
    square = lambda made: float(((made.values - truth) ** 2).sum())  # noqa: E731
    with_them = np.mean([square(spectral(y, 1.0, graph=TOWN)) for y in draws])
    monkeypatch.setattr(exact, "MAX_NODES_FOR_EIGENVECTORS", 10)
    mixed = [spectral(y, 1.0, graph=TOWN) for y in draws]
    assert mixed[0].parameters["filter"] != "monotone"
    assert np.mean([square(made) for made in mixed]) < 1.1 * with_them
    off = []
    for made, y in zip(mixed, draws, strict=True):
        assert made.degrees_of_freedom is not None
        off.append(made.degrees_of_freedom - (y - truth) @ (made.values - truth))
    assert abs(np.mean(off)) < 2 + 6 * np.std(off) / math.sqrt(40)


def test_it_errs_less_than_laplacian_smoothing_where_the_filter_is_another() -> None:
    """A truth of two far-apart frequencies."""
    t = np.arange(256)
    truth = 6 * np.cos(np.pi * (t + 0.5) * 3 / 256) + 3 * np.cos(np.pi * (t + 0.5) * 40 / 256)
    rng = np.random.default_rng(7)
    squares = np.zeros(2)
    for _ in range(20):
        y = truth + rng.standard_normal(256)
        made = spectral(y, 1.0).values, laplacian(y, 1.0, graph=Graph.path(256)).values
        squares += [float(((values - truth) ** 2).sum()) for values in made]
    assert squares[0] < squares[1]


def test_constants_are_kept_units_do_not_matter_and_lone_nodes_stay() -> None:
    y = HILL + np.random.default_rng(8).standard_normal(120)
    one, many = spectral(y, 1.0), spectral(1024 * y + 9, 1024.0)
    assert np.allclose(many.values, 1024 * one.values + 9)
    assert spectral(y.reshape(12, 10), 1.0, graph=GRAPHS["grid"]).values.shape == (12, 10)
    assert spectral([7.0], 1.0).values == [7.0]
    assert np.allclose(spectral([1.0, 5.0], 1.0, graph=Graph.from_edges(2, [])).values, [1.0, 5.0])
    assert np.allclose(spectral(np.full(9, 3.0), 1.0).values, 3.0)
