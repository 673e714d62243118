"""Trend filtering: no objective is above an interior point's, and every certificate tells the truth."""

from __future__ import annotations

import math
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.denoise import trend_filter, trend_filter_path
from leastnoise.denoise.higher_orders import OnGraph
from leastnoise.denoise.penalty_path import averaged_on_pieces, supports
from leastnoise.denoise.risk import smoothed_divergence, sure
from leastnoise.denoise.total_variation import Network
from leastnoise.graphs import Graph


def incidence(graph: Graph) -> Any:
    m = len(graph.edges)
    d = np.zeros((m, graph.size))
    d[np.arange(m), graph.edges[:, 0]], d[np.arange(m), graph.edges[:, 1]] = 1, -1
    return d


def difference(graph: Graph, order: int) -> Any:
    """D^(k+1) as a dense matrix."""
    d = incidence(graph)
    weighted = d * (np.ones(len(d)) if graph.weights is None else graph.weights)[:, None]
    laplacian = d.T @ weighted
    return (weighted, laplacian, weighted @ laplacian)[order]


def objective(b: Any, y: Any, matrix: Any, penalty: float) -> float:
    return float(((y - b) ** 2).sum() / 2 + penalty * np.abs(matrix @ b).sum())


def interior_point(y: Any, matrix: Any, penalty: float) -> Any:
    """The dual as a quadratic programme, min 1/2 ||y - M'v||^2 over |v| <= penalty, by Clarabel; b = y - M'v."""
    import clarabel
    from scipy import sparse

    m = matrix.shape[0]
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(quiet, name, 1e-11)
    box = sparse.csc_matrix(np.vstack([np.eye(m), -np.eye(m)]))
    hessian = sparse.triu(sparse.csc_matrix(matrix @ matrix.T)).tocsc()
    cones = [clarabel.NonnegativeConeT(2 * m)]
    solver = clarabel.DefaultSolver(hessian, -matrix @ y, box, np.full(2 * m, penalty), cones, quiet)
    return y - matrix.T @ np.array(solver.solve().x)


@st.composite
def graphs(draw: Any, most: int = 24) -> Graph:
    """Random planar, grid, tree, star, complete, sparse and disconnected graphs, some with weights."""
    kind = draw(st.sampled_from(["planar", "grid", "tree", "star", "complete", "sparse", "path", "cycle"]))
    n = draw(st.integers(2, most))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if kind == "planar":
        made = nx.random_geometric_graph(n, 1.4 / math.sqrt(n), seed=seed)
    elif kind == "grid":
        made = nx.convert_node_labels_to_integers(nx.grid_2d_graph(max(1, n // 4), 4))
    elif kind == "tree":
        made = nx.random_labeled_tree(n, seed=seed)
    elif kind == "star":
        made = nx.star_graph(n - 1)
    elif kind == "complete":
        made = nx.complete_graph(min(n, 9))
    elif kind == "path":
        made = nx.path_graph(n)
    elif kind == "cycle":
        made = nx.cycle_graph(max(n, 3))
    else:
        made = nx.gnm_random_graph(n, draw(st.integers(0, 2 * n)), seed=seed)
    edges = np.array(made.edges(), dtype=np.int64).reshape(-1, 2)
    weights = draw(st.sampled_from([None, np.exp(rng.normal(0, 1, len(edges)))]))
    return Graph.from_edges(made.number_of_nodes(), rng.permutation(made.number_of_nodes())[edges], weights=weights)


@st.composite
def problems(draw: Any, most: int = 24) -> tuple[Graph, Any, float]:
    graph = draw(graphs(most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.standard_normal(graph.size)
    look = draw(st.sampled_from(["plain", "ties", "jumps", "far", "spike", "constant"]))
    if look == "ties":
        y = np.rint(y)
    elif look == "jumps":
        y = y + 10 * rng.integers(0, 3, graph.size)
    elif look == "far":
        y = y + 1e6
    elif look == "spike":
        y[0] += 1e4
    elif look == "constant":
        y = np.full(graph.size, 3.0)
    return graph, y, draw(st.sampled_from([1e-9, 1e-3, 0.1, 0.5, 1.0, 3.0, 100.0]))


@settings(max_examples=250)
@given(problems())
def test_total_variation_is_never_above_an_interior_point(problem: tuple[Graph, Any, float]) -> None:
    graph, y, penalty = problem
    matrix = difference(graph, 0)
    made = trend_filter(y, 1.0, graph=graph, penalty=penalty)
    assert made.parameters["gap"] <= 1e-10
    if len(graph.edges):
        peer = objective(interior_point(y - y.mean(), matrix, penalty), y - y.mean(), matrix, penalty)
        ours = objective(made.values - y.mean(), y - y.mean(), matrix, penalty)
        assert ours <= peer * (1 + 1e-8) + 1e-15 * np.abs(y).max() ** 2


@settings(max_examples=60)
@given(problems(400), st.booleans())
def test_certificates_are_true_and_tight_on_larger_graphs(problem: tuple[Graph, Any, float], renumber: bool) -> None:
    """The gap is recomputed here, from the flow and the values alone; renumbering inside must not show."""
    graph, y, penalty = problem
    network = Network(graph)
    if renumber:
        network.__dict__["order"] = np.random.default_rng(graph.size).permutation(graph.size)
    made = network.solve(y, penalty * network.weights)
    assert (np.abs(made.flow) <= penalty * network.weights).all()
    centre = y - y.mean()
    low, high = graph.edges.T
    left = centre - np.bincount(low, made.flow, y.size) + np.bincount(high, made.flow, y.size)
    b = made.values - y.mean()
    paid = float(penalty * network.weights @ np.abs(b[low] - b[high]))
    gap = ((centre - b) @ (centre - b) - centre @ centre + left @ left) / 2 + paid
    assert gap <= 1e-10 * (((centre - b) ** 2).sum() / 2 + paid) + 1e-12 * centre @ centre
    assert made.gap <= 1e-10


@given(problems())
def test_the_ends_of_the_path(problem: tuple[Graph, Any, float]) -> None:
    """No penalty gives y back to the last bit; an infinite one the means of the components; the least penalty that
    does so is known."""
    graph, y, _ = problem
    assert (trend_filter(y, 1.0, graph=graph, penalty=0).values == y).all()
    means = (np.bincount(graph.components, y) / np.bincount(graph.components))[graph.components]
    flat = trend_filter(y, 1.0, graph=graph, penalty=math.inf)
    size = np.abs(y).max()
    assert np.allclose(flat.values, means, rtol=0, atol=1e-12 * size)
    assert flat.degrees_of_freedom == graph.components.max() + 1
    top = Network(graph).least_capacity(y)
    spread = np.abs(y - means).max()
    if spread > 1e-9 * size:
        above = trend_filter(y, 1.0, graph=graph, penalty=top * (1 + 1e-9) + 1e-300)
        assert np.allclose(above.values, means, rtol=0, atol=1e-8 * spread + 1e-12 * size)
        if top > 0:
            below = trend_filter(y, 1.0, graph=graph, penalty=top * (1 - 1e-3))
            assert np.abs(below.values - means).max() > 1e-9 * spread


@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=120)
@given(problem=problems(16))
def test_higher_orders_are_never_above_an_interior_point(order: int, problem: tuple[Graph, Any, float]) -> None:
    graph, y, penalty = problem
    matrix = difference(graph, order)
    made = trend_filter(y, 1.0, graph=graph, order=order, penalty=penalty)
    assert made.parameters["gap"] <= 1e-6
    centre = y - (np.bincount(graph.components, y) / np.bincount(graph.components))[graph.components]
    ours = objective(made.values - (y - centre), centre, matrix, penalty)
    least = objective(interior_point(centre, matrix, penalty), centre, matrix, penalty) if len(graph.edges) else 0.0
    assert ours <= least * (1 + 1e-5) + 1e-13 * np.abs(y).max() ** 2


@pytest.mark.parametrize("order", [1, 2])
@given(problem=problems(16))
def test_the_ends_of_higher_paths(order: int, problem: tuple[Graph, Any, float]) -> None:
    graph, y, _ = problem
    assert (trend_filter(y, 1.0, graph=graph, order=order, penalty=0).values == y).all()
    means = (np.bincount(graph.components, y) / np.bincount(graph.components))[graph.components]
    flat = trend_filter(y, 1.0, graph=graph, order=order, penalty=math.inf)
    size, spread = np.abs(y).max(), np.abs(y - means).max()
    assert np.allclose(flat.values, means, rtol=0, atol=1e-12 * size)
    assert flat.degrees_of_freedom == graph.components.max() + 1
    top = OnGraph(Network(graph), order).top(y)
    if spread > 1e-9 * size and top > 0:
        below = trend_filter(y, 1.0, graph=graph, order=order, penalty=top * 0.9)
        assert np.abs(below.values - means).max() > 1e-7 * spread


def nullity(rows: Any, size: int) -> int:
    return size - (int(np.linalg.matrix_rank(rows)) if rows.size else 0)


@given(problems(12))
def test_total_variation_has_as_many_degrees_of_freedom_as_its_zero_rows_leave(
    problem: tuple[Graph, Any, float],
) -> None:
    graph, y, penalty = problem
    made = trend_filter(y, 1.0, graph=graph, penalty=penalty)
    b = made.values
    same = b[graph.edges[:, 0]] == b[graph.edges[:, 1]]
    assert made.degrees_of_freedom == nullity(incidence(graph)[same], graph.size)
    assert np.abs(incidence(graph)[~same] @ b).min(initial=np.inf) > 1e-13 * np.abs(y).max()


@given(graphs(12), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_degrees_of_freedom_of_higher_orders_are_nullities(graph: Graph, seed: int, levels: int) -> None:
    """For any pattern of zeros, whether or not a solution can have it."""
    z = np.random.default_rng(seed).integers(0, levels, graph.size).astype(float)
    zero = difference(graph, 1)[z == 0]
    assert supports(z, graph, 0.0) == nullity(zero, graph.size)
    same = z[graph.edges[:, 0]] == z[graph.edges[:, 1]]
    assert averaged_on_pieces(z, graph, 0.0)[1] == nullity(difference(graph, 2)[same], graph.size)


def test_a_line_is_left_alone_by_order_one_and_a_parabola_by_order_two_but_for_the_ends() -> None:
    """On a long path, away from its ends, a small penalty leaves them as they are; the ends are drawn level."""
    t = np.linspace(-1, 1, 101)
    for order, curve in ((1, 5 * t), (2, 5 * t + 3 * t**2)):
        made = trend_filter(curve, 1.0, graph=Graph.path(101), order=order, penalty=1e-3)
        assert np.abs(made.values - curve)[5:-5].max() < 1e-3
        level = trend_filter(curve, 1.0, graph=Graph.path(101), order=order, penalty=50.0)
        assert abs(level.values[0] - curve[0]) > 0.05
    kinked = trend_filter(np.abs(t) * 10, 1.0, graph=Graph.path(101), order=1, penalty=0.01)
    assert kinked.degrees_of_freedom is not None
    assert kinked.degrees_of_freedom <= 6


def test_an_answer_that_is_not_good_enough_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastnoise.denoise.higher_orders.MAX_ITERATIONS", 2)
    y = np.random.default_rng(6).standard_normal(400)
    with pytest.raises(errors.NotProved, match="tolerance="):
        trend_filter(y, 1.0, graph=Graph.grid((20, 20)), order=2, penalty=1.0)


def test_shapes_and_orders_are_checked() -> None:
    y = np.arange(12.0).reshape(3, 4)
    made = trend_filter(y, 1.0, graph=Graph.grid((3, 4)), penalty=0.2)
    assert made.values.shape == (3, 4)
    with pytest.raises(errors.InvalidParameter, match='Order 3 needs the boundary "free"'):
        trend_filter(y, 1.0, graph=Graph.path(12), order=3)
    with pytest.raises(errors.InvalidParameter, match="0, 1, 2 or 3"):
        trend_filter(y, 1.0, graph=Graph.path(12), order=4, boundary="free")
    with pytest.raises(errors.InvalidParameter, match="boundary"):
        trend_filter(y, 1.0, graph=Graph.path(12), boundary="open")  # type: ignore[arg-type]
    row = trend_filter(y.ravel(), 1.0, graph=Graph.path(12), penalty=0.2)
    assert (trend_filter(y.ravel(), 1.0, penalty=0.2).values == row.values).all()
    with pytest.raises(errors.InvalidParameter):
        trend_filter(y, 1.0, graph=Graph.path(12), penalty=[])


def test_a_path_holds_what_was_chosen() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0.0, 4.0, 1.0], 40) + rng.standard_normal(120)
    graph = Graph.path(120)
    path = trend_filter_path(y, 1.0, graph=graph)
    made = trend_filter(y, 1.0, graph=graph)
    assert (np.diff(path.penalties) < 0).all()
    assert path.sure[path.chosen] == path.sure.min()
    assert made.parameters["penalty"] == path.penalties[path.chosen]
    assert (made.values == path.values[path.chosen]).all()
    assert path.degrees_of_freedom[0] == 1
    for k, penalty in enumerate(path.penalties):
        one = trend_filter(y, 1.0, graph=graph, penalty=float(penalty))
        assert (one.values == path.values[k]).all()
    assert (made.details.penalties == path.penalties).all()
    assert trend_filter(y, 1.0, graph=graph, penalty=1.0).details is None
    given_ones = trend_filter(y, 1.0, graph=graph, penalty=list(path.penalties))
    assert (given_ones.values == made.values).all()


def test_nothing_but_noise_and_nothing_at_all() -> None:
    flat = trend_filter(np.full(30, 7.0), 1.0, graph=Graph.path(30))
    assert (flat.values == 7).all()
    lone = trend_filter([4.0], 1.0, graph=Graph.path(1))
    assert lone.values == [4.0]
    loose = trend_filter([1.0, 2.0, 5.0], 1.0, graph=Graph.from_edges(3, []))
    assert (loose.values == [1, 2, 5]).all()


CHECKER = np.kron([[0.0, 3.0], [3.0, 0.0]], np.ones((5, 5))).ravel()


@pytest.mark.parametrize(("noise", "draws"), [("gaussian", 1500), ("laplace", 150)])
def test_the_risk_of_a_given_penalty_is_unbiased(noise: Any, draws: int) -> None:
    """Mean of (figure - loss) over the draws: zero within six standard errors (2e-9) under Gaussian noise; under
    Laplace noise the simulated divergence may be above by 0.05 sigma^2 a bin, where Gaussian SURE is 0.1 below."""
    rng = np.random.default_rng(4)
    graph = Graph.grid((10, 10))
    off = []
    for _ in range(draws):
        z = rng.standard_normal(100) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), 100)
        made = trend_filter(CHECKER + z, 1.0, graph=graph, penalty=0.4, mechanism=noise)
        assert made.degrees_of_freedom is not None
        figure = sure(float((made.noisy - made.values) @ (made.noisy - made.values)), made.degrees_of_freedom, 100, 1.0)
        off.append(figure - float(np.mean((made.values - CHECKER) ** 2)))
    error = np.std(off) / math.sqrt(draws)
    assert error < 0.02
    above = 0.05 if noise == "laplace" else 0.0
    assert -6 * error < np.mean(off) < above + 6 * error


def test_a_chosen_penalty_is_not_flattered() -> None:
    """All is noise, and the figure shown is not below the loss on average; nor far above (0.06 sigma^2 a bin)."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(80):
        made = trend_filter(rng.standard_normal(100), 1.0, graph=Graph.grid((10, 10)))
        assert made.risk is not None
        seen.append(made.risk - float(np.mean(made.values**2)))
    error = np.std(seen) / math.sqrt(80)
    assert -6 * error < np.mean(seen) < 0.06 + 6 * error


def test_the_simulated_divergence_is_exact_for_linear_rules() -> None:
    y = np.arange(40.0)
    seen = smoothed_divergence(lambda x: 0.3 * x, y, 2.0)
    assert seen.value == pytest.approx(12.0, rel=1e-12)
    assert seen.error < 1e-9


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_hub_that_every_penalty_pulls_leaves_the_values_alone(order: Literal[0, 1, 2]) -> None:
    star = Graph.from_edges(301, [(0, leaf) for leaf in range(1, 301)])
    y = np.random.default_rng(0).normal(0, 4, 301) + np.where(np.arange(301) == 0, 5000.0, 3.0)
    made = trend_filter(y, 4.0, graph=star, order=order)
    assert made.risk is not None
    assert made.risk <= 16.0
