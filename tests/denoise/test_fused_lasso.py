"""The fused lasso along depth-first orders: optimal on every chain, orders that are depth-first, an honest average."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace

from leastnoise.denoise import chain_kernels, fused_lasso
from leastnoise.denoise.fused_lasso import chains, laplace_freedom, mean_fit
from leastnoise.graphs import Graph

Array = np.ndarray[Any, Any]
tied = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40)
free = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40)
penalties = st.sampled_from([1e-9, 0.25, 0.5, 1.0, 2.0, 7.0, 1e3, 1e9, 1e300, math.inf])


def gap(y: Array, b: Array, limits: Array) -> float:
    """How far b is from optimal: with u_i the sum of y - b up to i, optimal is u_i = limit_i sign(b_(i+1) - b_i) where
    that is not zero, |u_i| <= limit_i elsewhere, and u = 0 at the end."""
    u = np.cumsum(y - b)
    steps = np.diff(b)
    held = np.where(steps == 0, np.maximum(np.abs(u[:-1]) - limits, 0), np.abs(u[:-1] + limits * np.sign(steps)))
    return float(np.max(np.append(held, abs(u[-1]))))


@pytest.mark.slow
@given(st.one_of(tied, free), penalties, st.integers(0, 99))
def test_every_chain_is_solved_exactly(y, penalty, seed):
    y = np.array(y)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.5, 1.0, 3.0], y.size - 1)
    edges = Graph.path(y.size).edges
    for graph, limits in [
        (Graph.path(y.size), np.full(y.size - 1, 1.0)),
        (Graph.from_edges(y.size, edges, weights=weights), weights),
    ]:
        b = fused_lasso(y, 1.0, graph=graph, penalty=penalty).values
        scale = 1 + np.abs(y).sum()
        assert gap(y, b, np.minimum(penalty * limits, 1e12 * scale)) < 1e-11 * scale


@settings(max_examples=40)
@given(st.one_of(tied, free.map(lambda y: [v / 100 for v in y])), st.sampled_from([0.3, 1.0, 4.0]))
def test_clarabel_does_no_better(y, penalty):
    """In the objective, whose minimum is unique: where values tie, Clarabel's own places are only good to 1e-4."""
    y = np.array(y)
    b = cp.Variable(y.size)
    rough = cp.norm1(cp.diff(b)) if y.size > 1 else 0
    cp.Problem(cp.Minimize(cp.sum_squares(y - b) / 2 + penalty * rough)).solve(solver="CLARABEL")
    made = fused_lasso(y, 1.0, graph=Graph.path(y.size), penalty=penalty)

    def objective(x):
        return np.sum((y - x) ** 2) / 2 + penalty * np.abs(np.diff(x)).sum()

    assert objective(made.values) <= objective(b.value) + 1e-9 * (1 + np.sum(y**2))
    assert made.values == pytest.approx(b.value, abs=1e-2)


def test_no_penalty_keeps_the_values_and_an_infinite_one_the_means():
    graph = Graph.from_edges(7, [(0, 1), (1, 2), (2, 0), (4, 5), (5, 6)])
    y = np.array([3.0, 4, 8, -1, 10, 11, 15])
    kept = fused_lasso(y, 1.0, graph=graph, penalty=0)
    assert kept.values.tolist() == y.tolist()
    assert kept.degrees_of_freedom == 7
    flat = fused_lasso(y, 1.0, graph=graph, penalty=math.inf)
    assert flat.values == pytest.approx([5, 5, 5, -1, 12, 12, 12])
    assert flat.degrees_of_freedom == 3


def test_a_long_path_is_solved_exactly():
    rng = np.random.default_rng(1)
    y = np.repeat(rng.normal(0, 50, 300), 100) + rng.normal(0, 10, 30_000)
    for penalty in (3.0, 100.0, 1e5):
        b = fused_lasso(y, 10.0, graph=Graph.path(y.size), penalty=penalty).values
        assert gap(y, b, np.full(y.size - 1, penalty)) < 1e-7


def least_on_the_way(tree: Any, one: int, other: int) -> float:
    way = nx.shortest_path(tree, one, other)
    return min(tree.edges[edge]["weight"] for edge in pairwise(way))


@given(st.integers(1, 25), st.floats(0, 1), st.integers(0, 2**16), st.booleans())
def test_orders_are_depth_first(size, density, seed, weighted):
    """Every node is entered from the last visited one that still has unvisited neighbours; between them the chain is
    tied by the least weight on the way, and components not at all."""
    network = nx.gnp_random_graph(size, density**2, seed=seed)
    heavy = np.random.default_rng(seed).uniform(0.1, 5, network.number_of_edges()) if weighted else None
    graph = Graph.from_edges(size, list(network.edges), weights=heavy)
    for row in chains(graph, 2, seed):
        assert sorted(row.order) == list(range(size))
        stack: list[int] = []
        tree = nx.Graph()
        left = set(range(size))
        for place, node in enumerate(row.order.tolist()):
            before = stack[-1] if stack else -1
            while stack and not left & set(network[stack[-1]]):
                stack.pop()
            if stack:
                assert network.has_edge(stack[-1], node)
                edge = np.flatnonzero((graph.edges == sorted((stack[-1], node))).all(axis=1))[0]
                tree.add_edge(stack[-1], node, weight=1.0 if graph.weights is None else graph.weights[edge])
                assert row.link[place] == least_on_the_way(tree, before, node)
            else:
                assert row.link[place] == 0
            stack.append(node)
            left.remove(node)


@given(st.integers(2, 25), st.floats(0, 1), st.integers(0, 2**16))
def test_a_chain_varies_at_most_twice_as_much_as_the_graph(size, density, seed):
    network = nx.gnp_random_graph(size, density, seed=seed)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 5, network.number_of_edges())
    graph = Graph.from_edges(size, list(network.edges), weights=weights)
    b = rng.normal(size=size)
    rough = graph.weights @ np.abs(b[graph.edges[:, 0]] - b[graph.edges[:, 1]])
    row = chains(graph, 1, seed)[0]
    assert row.link[1:] @ np.abs(np.diff(b[row.order])) <= 2 * rough + 1e-9


def test_paths_are_taken_from_an_end_and_once():
    shuffled = np.random.default_rng(3).permutation(50)
    edges = np.stack([shuffled[:-1], shuffled[1:]], axis=1)
    rows = chains(Graph.from_edges(50, edges), 10, seed=0)
    assert len(rows) == 1
    assert rows[0].order.tolist() in (shuffled.tolist(), shuffled[::-1].tolist())
    assert len(chains(Graph.cycle(50), 10, seed=0)) == 10


def test_the_average_is_the_average_and_its_pieces_too():
    graph, y = Graph.grid((6, 7)), np.random.default_rng(4).normal(0, 3, (6, 7))
    rows = chains(graph, 5, seed=9)
    fits = [mean_fit(y.ravel(), [row], 2.0) for row in rows]
    made = fused_lasso(y, 1.0, graph=graph, penalty=2.0, orders=5, seed=9)
    assert made.values.shape == (6, 7)
    assert made.values.ravel() == pytest.approx(np.mean([fit.values for fit in fits], axis=0))
    assert made.degrees_of_freedom == pytest.approx(np.mean([fit.free for fit in fits]))
    for row, fit in zip(rows, fits, strict=True):
        assert fit.free == 1 + np.count_nonzero(np.diff(fit.values[row.order]))


def test_the_chosen_penalty_has_the_least_risk_of_those_around_it():
    rng = np.random.default_rng(5)
    graph, y = Graph.grid((20, 20)), np.repeat([0.0, 6.0], 200) + rng.standard_normal(400)
    made = fused_lasso(y, 1.0, graph=graph)
    rows = chains(graph, 10, seed=0)

    def risk(penalty: float) -> float:
        fit = mean_fit(y, rows, penalty)
        return float(((y - fit.values) ** 2).sum()) + 2 * fit.free

    best = made.parameters["penalty"]
    assert all(risk(best) <= risk(best * 2.0**k) for k in (-4, -3, -2, -1, -0.5, -0.25, 0.25, 0.5, 1, 2, 3))


def test_degrees_of_freedom_under_laplace_noise_are_the_smoothed_divergence():
    """sum_i E d_i h_i(y + n' e_i), by integrating the increments of h_i against the density of n'."""
    rng = np.random.default_rng(6)
    graph = Graph.from_edges(9, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7)], weights=[1.0, 2, 1, 0.5, 1, 1])
    y = rng.normal(0, 2, 9)
    edges = np.linspace(-12, 12, 1201)
    chance = np.diff(laplace(scale=math.sqrt(0.5)).cdf(edges)) / np.diff(edges)  # sigma = 1
    rows = chains(graph, 1, seed=0)
    expected = 0.0
    for i in range(9):
        moved = [mean_fit(y + step * (np.arange(9) == i), rows, 0.8).values[i] for step in edges]
        expected += float(chance @ np.diff(moved))
    made = fused_lasso(y, 1.0, graph=graph, penalty=0.8, mechanism="laplace")
    assert made.degrees_of_freedom == pytest.approx(expected, abs=1e-3)
    assert abs(made.degrees_of_freedom - fused_lasso(y, 1.0, graph=graph, penalty=0.8).degrees_of_freedom) > 0.1


def test_under_laplace_noise_a_sample_of_places_tells_nearly_the_same(monkeypatch):
    y = np.repeat([0.0, 5.0, 2.0], 2000) + np.random.default_rng(7).laplace(0, math.sqrt(0.5), 6000)
    row = chains(Graph.path(6000), 1, seed=0)[0]
    whole = laplace_freedom(y, row, 1.5, 1e9, math.sqrt(0.5), 0)
    parts = [chain_kernels.laplace_freedom(y, *row, 1.5, 1e9, math.sqrt(0.5), k, 7) for k in range(7)]
    assert sum(parts) == pytest.approx(whole)
    monkeypatch.setattr(sys.modules[laplace_freedom.__module__], "MAX_SAMPLED_PLACES", 1000)
    assert laplace_freedom(y, row, 1.5, 1e9, math.sqrt(0.5), 3) == pytest.approx(whole, rel=0.1)
