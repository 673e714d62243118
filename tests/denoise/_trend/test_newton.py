"""Elimination on graphs: the pattern is the fill, the factor solves, and the interior point's certificates are true."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise._support.compilation import compiled
from leastnoise.denoise import trend_filter
from leastnoise.denoise._trend.interior import Interior
from leastnoise.denoise._trend.newton import Newton
from leastnoise.denoise._trend.sparse_factor.blocks import BLOCK_SHAPES
from leastnoise.denoise._trend.sparse_factor.elimination import eliminate, postordered
from leastnoise.denoise._trend.sparse_factor.vector_registers import settle, subtract
from leastnoise.denoise._trend.total_variation import Network
from leastnoise.graphs import Graph


@st.composite
def graphs(draw: Any, most: int = 40) -> Graph:
    """Any number of components, from no edges to nearly all."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = nx.gnm_random_graph(n, draw(st.integers(0, min(3 * n, n * (n - 1) // 2))), seed=int(rng.integers(2**32)))
    edges = np.array(made.edges(), dtype=np.int64).reshape(-1, 2)
    weights = draw(st.sampled_from([None, np.exp(rng.normal(0, 1, len(edges)))]))
    return Graph.from_edges(n, edges, weights=weights)


@pytest.mark.parametrize("post", [False, True])
@given(graph=graphs())
def test_what_is_left_beside_a_node_is_what_elimination_joins(post: bool, graph: Graph) -> None:
    made = eliminate(graph.start.astype(np.int32), graph.neighbours)
    order, first, left = postordered(*made) if post else made
    assert sorted(order) == list(range(graph.size))
    near = [set(graph.neighbours[a:b].tolist()) for a, b in zip(graph.start[:-1], graph.start[1:], strict=True)]
    for k, node in enumerate(order.tolist()):
        joined = near[node]
        assert sorted(joined) == sorted(left[first[k] : first[k + 1]].tolist())
        for other in joined:
            near[other] = (near[other] | joined) - {node, other}


def test_elimination_of_a_lattice_fills_little() -> None:
    """Nested dissection would leave 7.75 n log2 n entries to first order (George 1973); a path and a star leave
    none, and a hub of 200,000 leaves is not looked through for each of them."""
    graph = Graph.grid((40, 40))
    assert eliminate(graph.start.astype(np.int32), graph.neighbours)[2].size < 7.75 * 1600 * np.log2(1600) / 4
    n = 200_000
    star = Graph.from_edges(n, np.stack([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)], axis=1))
    for tree in (Graph.path(n), star):
        assert eliminate(tree.start.astype(np.int32), tree.neighbours)[2].size == n - 1


@pytest.mark.parametrize("order", [1, 2])
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1), some=st.booleans())
def test_newtons_equations_are_solved(order: int, graph: Graph, seed: int, some: bool) -> None:
    rng = np.random.default_rng(seed)
    newton = Newton(graph, Network(graph).weights, order)
    rows = graph.size if order == 1 else len(graph.edges)
    h, r, q = np.exp(rng.normal(0, 2, rows)), rng.standard_normal(graph.size), rng.standard_normal(rows)
    free = rng.random(rows) < 0.6 if some else np.ones(rows, dtype=bool)
    newton.factorise(h, free if some else None)
    b, v = newton.solve(r, q)
    assert (v[~free] == 0).all()
    scale = 1 + np.abs(b).max() + np.abs(v).max(initial=0) * (1 + newton.diagonal.max() ** 2)
    assert np.abs(b + newton.backward(v) - r).max() < 1e-9 * scale
    assert np.abs(newton.forward(b) - h * v - q)[free].max(initial=0) < 1e-9 * scale


@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), part=st.floats(0.001, 0.99), tolerance=st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_one_penalty_in_the_whole_path_is_as_good_as_another(
    order: int, seed: int, part: float, tolerance: float
) -> None:
    """On lattices with a step and noise, at any part of the least penalty that leaves constants, the gap is reached,
    and no small change of the values lowers the objective by more than it."""
    rng = np.random.default_rng(seed)
    graph = Graph.grid((12, 9))
    y = 3.0 * (np.arange(108) % 9 > 4) + rng.standard_normal(108)
    penalty = part * Interior(Network(graph), order).top(y)
    made = trend_filter(y, 1.0, graph=graph, order=order, penalty=penalty, tolerance=tolerance)
    assert made.parameters["gap"] <= tolerance
    newton = Newton(graph, np.ones(len(graph.edges)), order)

    def objective(b: Any) -> float:
        return float(((y - b) ** 2).sum() / 2 + penalty * np.abs(newton.forward(b[newton.order])).sum())

    least = objective(made.values)
    fine = trend_filter(y, 1.0, graph=graph, order=order, penalty=penalty, tolerance=1e-9)
    assert least <= objective(fine.values) * (1 + 1.01 * tolerance)
    for size in (1e-4, 1e-2):
        assert objective(made.values + size * rng.standard_normal(108)) >= least * (1 - tolerance)


def test_weights_over_six_powers_of_ten_do_not_drown_the_dual() -> None:
    """On weighted paths the third differences that are free are lost in rounding, unless solutions are refined."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        graph = Graph.from_edges(
            400, np.stack([np.arange(399), np.arange(1, 400)], axis=1), weights=np.exp(rng.normal(0, 2, 399))
        )
        y = np.rint(3 * rng.standard_normal(400))
        made = trend_filter(y, 1.0, graph=graph, order=2, penalty=10.0 ** (3 + seed % 3))
        assert made.parameters["gap"] <= 1e-6


@pytest.mark.parametrize("shape", BLOCK_SHAPES.values())
def test_blocks_in_vectors_multiply_as_matrices_do(shape: tuple[int, int]) -> None:
    n = shape[0]
    rng = np.random.default_rng(n)
    x, blocks, factors = (np.zeros((5, *shape)) for _ in range(3))
    for array in (x, blocks, factors):
        array[:, :, :n] = rng.normal(size=(5, n, n))
    one, two = (tuple(factors[p, :, :n].ravel().tolist()) for p in range(2))

    @compiled
    def work(x: Any, blocks: Any, one: Any, two: Any) -> None:
        subtract(x, 1, blocks, (3,), (one,))
        subtract(x, 2, blocks, (0, 4), (one, two))
        settle(blocks, 1, x, 4, two)

    wanted, kept = x.copy(), blocks.copy()
    wanted[1] -= blocks[3, :, :n] @ padded(factors[0], n).T
    wanted[2] -= blocks[0, :, :n] @ padded(factors[0], n).T + blocks[4, :, :n] @ padded(factors[1], n).T
    kept[1], wanted[4] = x[4, :, :n] @ padded(factors[1], n).T, 0.0
    work(x, blocks, one, two)
    np.testing.assert_allclose(x, wanted, atol=1e-14)
    np.testing.assert_allclose(blocks, kept, atol=1e-14)


def padded(factor: Any, n: int) -> Any:
    """With the row of zeros that makes a product's last column."""
    return np.vstack([factor[:, :n], np.zeros((factor.shape[1] - n, n))])
