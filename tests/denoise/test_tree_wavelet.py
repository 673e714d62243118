"""Spanning trees and their wavelets: trees span, the basis is the stated one, and its transforms are its matrix."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from leastnoise import errors
from leastnoise.denoise import tree_wavelet
from leastnoise.denoise.tree_wavelet import TreeWavelets, spanning_tree
from leastnoise.graphs import Graph


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Sparse and dense, connected or not, weighted or not."""
    size = draw(st.integers(1, 40))
    network = nx.gnp_random_graph(size, draw(st.floats(0, 1)) ** 2, seed=draw(st.integers(0, 2**16)))
    edges = list(network.edges)
    weights = None
    if draw(st.booleans()):
        weights = draw(st.lists(st.floats(0.01, 100), min_size=len(edges), max_size=len(edges)))
    return Graph.from_edges(size, edges, weights=weights)


def spans(tree: Any, graph: Graph) -> bool:
    """A subset of the edges, without cycles, that joins what the graph joins."""
    components = int(graph.components.max()) + 1
    inside = {tuple(edge) for edge in np.sort(tree, axis=1).tolist()} <= {tuple(edge) for edge in graph.edges.tolist()}
    forest = Graph.from_edges(graph.size, tree)
    return (
        inside
        and len(tree) == graph.size - components == len(forest.edges)
        and len(set(forest.components)) == components
    )


@settings(max_examples=60)
@given(graphs(), st.integers(0, 2**32))
def test_every_tree_spans(graph, seed):
    assert spans(spanning_tree(graph, np.random.default_rng(seed)), graph)


@pytest.mark.parametrize(
    ("edges", "weights"),
    [(list(nx.complete_graph(4).edges), None), ([(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)], [1.0, 2.0, 3.0, 4.0, 0.5])],
)
def test_uniform_trees_are_uniform(edges, weights):
    """Chi-square against the product of weights; false alarm 1e-6. A tree that were a quarter too likely would be seen
    with a chance above 0.999."""
    graph = Graph.from_edges(4, edges, weights=weights)
    heavy = dict(
        zip(map(tuple, graph.edges.tolist()), np.ones(len(edges)) if weights is None else graph.weights, strict=True)
    )
    network = nx.Graph(edges)
    chance = {
        frozenset(tuple(sorted(edge)) for edge in tree.edges): math.prod(heavy[tuple(sorted(e))] for e in tree.edges)
        for tree in nx.SpanningTreeIterator(network)
    }
    rng = np.random.default_rng(4)
    draws = 8000
    seen = Counter(frozenset(map(tuple, np.sort(spanning_tree(graph, rng), axis=1).tolist())) for _ in range(draws))
    total = sum(chance.values())
    distance = sum((seen[tree] - draws * c / total) ** 2 / (draws * c / total) for tree, c in chance.items())
    assert sum(seen[tree] for tree in chance) == draws
    assert distance < chi2.isf(1e-6, len(chance) - 1)


def test_a_walk_that_takes_too_long_is_cut_short():
    """Wilson's walk needs about n^2 steps on a cycle; two pieces, one of which the walk may never have entered."""
    ring = np.stack([np.arange(20_000), np.roll(np.arange(20_000), -1)], axis=1)
    graph = Graph.from_edges(20_060, np.concatenate([ring, 20_000 + Graph.grid((6, 10)).edges]))
    assert spans(spanning_tree(graph, np.random.default_rng(1)), graph)


def leaves(basis: TreeWavelets, name: int) -> list[int]:
    if name < basis.nodes:
        return [name]
    return [leaf for side in basis.child[name - basis.nodes] for leaf in leaves(basis, int(side))]


def matrix(basis: TreeWavelets) -> np.ndarray[Any, Any]:
    """The wavelets as they are defined, and the constants."""
    rows = np.zeros((basis.nodes, basis.nodes))
    for k, (one, other) in enumerate(basis.child):
        a, b = leaves(basis, int(one)), leaves(basis, int(other))
        scale = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
        rows[k, a], rows[k, b] = scale / len(a), -scale / len(b)
    for k, top in enumerate(basis.tops):
        inside = leaves(basis, int(top))
        rows[len(basis.child) + k, inside] = 1 / math.sqrt(len(inside))
    return rows


@settings(max_examples=60)
@given(graphs(), st.integers(0, 99))
def test_the_transform_is_an_orthonormal_matrix(graph, seed):
    basis = TreeWavelets.of(graph, seed=seed)
    w = matrix(basis)
    assert np.abs(w @ w.T - np.eye(graph.size)).max() < 1e-13
    y = np.random.default_rng(seed).normal(5, 3, graph.size)
    coefficients, constants = basis.forward(y)
    assert np.allclose(np.concatenate([coefficients, constants]), w @ y, rtol=0, atol=1e-12)
    back = basis.inverse(np.arange(len(coefficients), dtype=float), constants)
    assert np.allclose(back, w.T @ np.concatenate([np.arange(len(coefficients)), constants]), rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "graph", [Graph.grid((70, 60)), Graph.path(5000), Graph.from_edges(4000, [(0, i) for i in range(1, 4000)])]
)
def test_parseval_and_balance_on_larger_graphs(graph):
    """A part of weight w in a piece of m is at most 1.45 log2(m/w) + 1 joins deep, and pieces halve."""
    basis = TreeWavelets.of(graph, seed=2)
    y = np.random.default_rng(3).standard_normal(graph.size)
    coefficients, constants = basis.forward(y)
    assert coefficients @ coefficients + constants @ constants == pytest.approx(y @ y, rel=1e-12)
    assert np.abs(basis.inverse(coefficients, constants) - y).max() < 1e-13
    depth = np.zeros(len(basis.child), dtype=int)
    for k, pair in enumerate(basis.child):
        depth[pair[pair >= basis.nodes] - basis.nodes] = depth[k] + 1
    assert depth.max() < 2.45 * math.log2(graph.size) + 2


def test_each_component_keeps_its_mean():
    graph = Graph.from_edges(9, [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7)])
    y = np.array([1.0, 2, 3, -50, 10, 10, 11, 13, 7])
    made = tree_wavelet(y, 100.0, graph=graph)
    assert made.values == pytest.approx([2, 2, 2, -50, 11, 11, 11, 11, 7])
    assert made.degrees_of_freedom == 4


def test_thresholds_are_soft_or_zero():
    graph, y = Graph.grid((4, 5)), np.random.default_rng(5).normal(0, 4, (4, 5))
    basis = TreeWavelets.of(graph, seed=6)
    w = matrix(basis)[: graph.size - 1]
    mean = np.full(20, y.mean())
    c = w @ y.ravel()
    soft = tree_wavelet(y, 1.0, graph=graph, threshold=3.0, seed=6)
    assert soft.values.ravel() == pytest.approx(mean + w.T @ (np.sign(c) * np.maximum(np.abs(c) - 3, 0)))
    kept = tree_wavelet(y, 1.0, graph=graph, threshold=0)
    assert kept.values == pytest.approx(y)
    assert kept.degrees_of_freedom == 20
    assert tree_wavelet(y, 1.0, graph=graph).parameters["threshold"] == math.sqrt(2 * math.log(20))


def test_the_average_is_the_average():
    graph, y = Graph.grid((6, 6)), np.random.default_rng(7).normal(0, 4, 36)
    alone = [tree_wavelet(y, 1.0, graph=graph, seed=seed) for seed in (3, 4, 5)]
    made = tree_wavelet(y, 1.0, graph=graph, trees=3, seed=3)
    assert made.values == pytest.approx(np.mean([e.values for e in alone], axis=0))
    assert made.degrees_of_freedom == pytest.approx(np.mean([e.degrees_of_freedom for e in alone]))


def test_degrees_of_freedom_under_laplace_noise_are_the_smoothed_divergence():
    """sum_i E d_i h_i(y + n' e_i), by integrating the increments of h_i against the density of n'."""
    graph, y, t = Graph.grid((3, 3)), np.random.default_rng(8).normal(0, 2, 9), 1.3
    basis = TreeWavelets.of(graph, seed=9)
    w = matrix(basis)
    edges = np.linspace(-15, 15, 30_001)
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(-math.sqrt(2) * np.abs(middle)) / math.sqrt(2)  # sigma = 1
    expected = 0.0
    for i in range(9):
        c = w @ y + np.outer(edges, w[:, i])
        kept = c - np.clip(c, -t, t)
        kept[:, -1] = c[:, -1]
        expected += density @ np.diff(kept @ w[:, i])
    made = tree_wavelet(y, 1.0, graph=graph, threshold=t, seed=9, mechanism="laplace")
    assert made.degrees_of_freedom == pytest.approx(expected, abs=1e-6)


def test_refusals():
    y = np.zeros(4)
    with pytest.raises(errors.InvalidParameter):
        tree_wavelet(y, 1.0, graph=Graph.path(4), threshold="universel")
    with pytest.raises(errors.InvalidParameter):
        tree_wavelet(y, 1.0, graph=Graph.path(4), threshold=-1)
