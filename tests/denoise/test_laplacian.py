"""Laplacian smoothing is the matrix it says it is, by whichever way its spectrum was found."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.denoise import laplacian
from leastnoise.denoise.laplacian import _risk, least_risk, spectrum
from leastnoise.graphs import Graph


@given(
    st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**16), st.sampled_from([0.01, 1.0, 50.0, 1e6]), st.booleans()
)
def test_small_graphs_agree_with_a_dense_solve(size, density, seed, penalty, weighted):
    rng = np.random.default_rng(seed)
    network = nx.gnp_random_graph(size, density**2, seed=seed)
    heavy = rng.uniform(0.1, 5, network.number_of_edges()) if weighted else None
    graph = Graph.from_edges(size, list(network.edges), weights=heavy)
    y = rng.normal(10, 3, size)
    smoother = np.linalg.inv(np.eye(size) + penalty * graph.laplacian().toarray())
    made = laplacian(y, 1.0, graph=graph, penalty=penalty)
    assert made.values == pytest.approx(smoother @ y, rel=1e-6)
    assert made.degrees_of_freedom == pytest.approx(np.trace(smoother), rel=1e-6)


@pytest.mark.parametrize("shape", [(1,), (7,), (40,), (5, 8), (3, 4, 5)])
def test_lattices_agree_with_a_dense_solve(shape):
    graph, y = Graph.grid(shape), np.random.default_rng(1).normal(0, 3, shape)
    smoother = np.linalg.inv(np.eye(y.size) + 2.5 * graph.laplacian().toarray())
    made = laplacian(y, 1.0, graph=graph, penalty=2.5)
    assert made.values.ravel() == pytest.approx(smoother @ y.ravel())
    assert made.degrees_of_freedom == pytest.approx(np.trace(smoother))


@pytest.mark.parametrize("penalty", [0.2, 5.0, 100.0])
def test_large_graphs_agree_with_a_dense_solve(penalty):
    """Values to CG's precision. The trace by 48 seeded probes, whose standard error is below sqrt(2 tr S^2 / 48): six
    of them is a false alarm of 2e-9. Lanczos' few steps only choose the penalty: what they miss of the residual must
    be nothing, a twentieth, beside what the probes miss of 2 sigma^2 tr S."""
    network = nx.random_geometric_graph(900, 0.05, seed=2)
    graph = Graph.from_networkx(network)
    assert len(set(graph.components)) > 1
    y = np.random.default_rng(3).normal(20, 3, graph.size)
    smoother = np.linalg.inv(np.eye(graph.size) + penalty * graph.laplacian().toarray())
    made = laplacian(y, 1.0, graph=graph, penalty=penalty)
    assert made.values == pytest.approx(smoother @ y, rel=1e-8)
    error = math.sqrt(2 * (smoother**2).sum() / 48)
    assert error < max(1.0, 0.03 * np.trace(smoother))
    assert abs(made.degrees_of_freedom - np.trace(smoother)) < 6 * error
    bands = spectrum(y, graph, seed=0)
    moved = ((y - smoother @ y) ** 2).sum()
    assert bands.energy @ (1 - 1 / (1 + penalty * bands.theta)) ** 2 == pytest.approx(moved, abs=2 * error / 20)


def test_no_penalty_and_an_infinite_one():
    graph = Graph.from_edges(5, [(0, 1), (1, 2)])
    y = np.array([1.0, 2, 6, -4, 9])
    assert laplacian(y, 1.0, graph=graph, penalty=0).values.tolist() == y.tolist()
    assert laplacian(y, 1.0, graph=graph, penalty=0).degrees_of_freedom == pytest.approx(5)
    flat = laplacian(y, 1.0, graph=graph, penalty=math.inf)
    assert flat.values == pytest.approx([3, 3, 3, -4, 9])
    assert flat.degrees_of_freedom == pytest.approx(3)
    alone = laplacian(y, 1.0, graph=Graph.from_edges(5, []))
    assert alone.values.tolist() == y.tolist()
    assert alone.degrees_of_freedom == 5


@pytest.mark.parametrize("level", [0.3, 3.0])
def test_the_chosen_penalty_has_the_least_risk(level):
    graph = Graph.grid((30, 30))
    truth = 3 * np.add.outer(np.sin(np.arange(30) / 5), np.cos(np.arange(30) / 6))
    y = truth + np.random.default_rng(4).normal(0, level, (30, 30))
    bands = spectrum(y, graph, 0)
    best, cost = least_risk(bands, level)
    assert 0 < best < math.inf
    assert 0 < cost < 3
    assert all(
        _risk(best, bands, level) <= _risk(best * factor, bands, level) for factor in 10 ** np.linspace(-4, 4, 81)
    )


def test_the_cost_of_choosing_is_how_the_choice_follows_y():
    """df of the tuned rule minus tr S, by moving every value a little and choosing again."""
    graph = Graph.grid((9, 9))
    truth = 3 * np.add.outer(np.sin(np.arange(9) / 2), np.cos(np.arange(9) / 2))
    y = truth + np.random.default_rng(5).normal(0, 1, (9, 9))
    made = laplacian(y, 1.0, graph=graph)
    fixed = laplacian(y, 1.0, graph=graph, penalty=made.parameters["penalty"])
    slope = 0.0
    for place in np.ndindex(9, 9):
        up, down = y.copy(), y.copy()
        up[place] += 1e-2
        down[place] -= 1e-2
        slope += (
            laplacian(up, 1.0, graph=graph).values[place] - laplacian(down, 1.0, graph=graph).values[place]
        ) / 2e-2
    assert made.degrees_of_freedom == pytest.approx(slope, abs=2e-3)
    assert made.degrees_of_freedom > fixed.degrees_of_freedom + 0.1
