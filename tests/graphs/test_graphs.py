"""Graphs: every way to make one agrees with NetworkX; nearest nodes agree with brute force."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.graphs import Graph
from leastnoise.graphs.places import EARTH_RADIUS_METRES


@st.composite
def networks(draw: st.DrawFn) -> nx.Graph:
    """Up to twelve nodes with names in any order, any simple edges (isolated nodes and pieces too), weights."""
    names = draw(st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True))
    made = nx.Graph()
    made.add_nodes_from(names)
    for i, u in enumerate(names):
        for v in names[:i]:
            if draw(st.booleans()):
                made.add_edge(u, v, weight=draw(st.floats(0.1, 10)))
    return made


@given(networks())
def test_facts_agree_with_networkx(network):
    graph = Graph.from_networkx(network, weight="weight")
    names = list(network.nodes)
    assert graph.size == len(names)
    assert len(graph.edges) == network.number_of_edges()
    assert graph.degrees.tolist() == [network.degree(name) for name in names]
    for i, name in enumerate(names):
        row = slice(graph.start[i], graph.start[i + 1])
        assert graph.neighbours[row].tolist() == sorted(names.index(other) for other in network[name])
        for j, edge in zip(graph.neighbours[row], graph.incident[row], strict=True):
            assert sorted((i, j)) == graph.edges[edge].tolist()
            assert graph.weights[edge] == network.edges[name, names[j]]["weight"]
    pieces = {frozenset(names[i] for i in np.flatnonzero(graph.components == k)) for k in set(graph.components)}
    assert pieces == {frozenset(piece) for piece in nx.connected_components(network)}
    expected = nx.laplacian_matrix(network, weight="weight").toarray()
    assert np.allclose(graph.laplacian().toarray(), expected, atol=1e-12)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.booleans())
def test_grids_agree_with_networkx(shape, periodic):
    if periodic:
        shape = [length if length > 2 else 3 for length in shape]
    lattice = nx.grid_graph(shape[::-1], periodic=periodic)
    number = {place: int(np.ravel_multi_index(np.atleast_1d(place), shape)) for place in lattice.nodes}
    expected = {tuple(sorted((number[u], number[v]))) for u, v in lattice.edges}
    graph = Graph.grid(tuple(shape), periodic=periodic)
    assert {tuple(edge) for edge in graph.edges.tolist()} == expected
    assert len(graph.edges) == len(expected)


def test_loops_and_parallels_are_told_and_merged():
    multi = nx.MultiDiGraph([("a", "b", {"w": 1.0}), ("b", "a", {"w": 2.0}), ("c", "c", {"w": 5.0})])
    with pytest.warns(errors.Wasteful, match="2 of 3 edges"):
        graph = Graph.from_networkx(multi, weight="w")
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.weights.tolist() == [3.0]
    assert repr(graph) == "<Graph of 3 nodes and 1 edges, in 2 components>"


def test_places_of_a_networkx_graph():
    network = nx.path_graph(2)
    nx.set_node_attributes(network, {0: {"x": 1.0, "y": 2.0}, 1: {"x": 3.0, "y": 4.0}})
    assert Graph.from_networkx(network, coordinates=("x", "y")).coordinates.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(errors.UnknownColumn, match="length"):
        Graph.from_networkx(network, weight="length")


def test_a_graph_survives_pickling_frozen():
    graph = Graph.from_edges(3, [(2, 0)], weights=[2.0], coordinates=np.zeros((3, 2)))
    assert graph.components.tolist() == [0, 1, 0]
    other = pickle.loads(pickle.dumps(graph))
    assert other.edges.tolist() == [[0, 2]]
    assert other.weights.tolist() == [2.0]
    assert other.components.tolist() == [0, 1, 0]
    assert hash(graph) != hash(other)
    for array in (other.edges, other.weights, other.coordinates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(("shape", "periodic"), [((5,), False), ((5,), True), ((2, 3, 4), False), ((3, 4), True)])
def test_a_grid_remembers_its_shape(shape, periodic):
    graph = Graph.grid(shape, periodic=periodic)
    for one in (graph, pickle.loads(pickle.dumps(graph))):
        assert (one.grid_shape, one.periodic) == (shape, periodic)
        assert one.edges.tolist() == graph.edges.tolist()
    assert Graph.from_edges(graph.size, graph.edges).grid_shape is None
    assert Graph.path(3).grid_shape == Graph.cycle(3).grid_shape == (3,)


def test_the_real_map(data):
    graph = Graph.from_parquet(data / "taxi" / "nodes.parquet", data / "taxi" / "edges.parquet", weight="length_m")
    assert repr(graph) == "<Graph of 3,874 nodes and 7,041 edges, connected>"
    assert graph.coordinates.shape == (3874, 2)
    assert graph.weights.sum() == pytest.approx(
        pd.read_parquet(data / "taxi" / "edges.parquet")["length_m"].sum(), rel=1e-12
    )
    with pytest.warns(errors.Wasteful, match="29 of 7,070"):
        multi = Graph.from_parquet(data / "taxi" / "nodes.parquet", data / "taxi" / "edges_multi.parquet")
    assert (multi.edges == graph.edges).all()
    county = Graph.from_parquet(data / "tables" / "county_nodes.parquet", data / "tables" / "county_edges.parquet")
    assert county.size == 3234
    assert county.coordinates is None
    assert np.bincount(county.components).max() == 3109
    fips = pd.read_parquet(data / "tables" / "county_nodes.parquet")["fips"]
    assert all(code.startswith("01") for code in fips[county.neighbours[county.start[0] : county.start[1]]])


@pytest.mark.parametrize("name", [str, int, lambda i: f"{i:05d}", lambda i: -(7**15) * i])
def test_nodes_of_any_name_keep_the_order_of_the_file(name, tmp_path):
    nodes = pd.DataFrame({"id": [name(i) for i in (4, 2, 9)]})
    nodes.to_parquet(tmp_path / "nodes.parquet")
    edges = pd.DataFrame({"from": [name(9), name(2)], "to": [name(4), name(9)], "w": [1, 2]})
    edges.to_parquet(tmp_path / "edges.parquet")
    graph = Graph.from_parquet(tmp_path / "nodes.parquet", tmp_path / "edges.parquet", ends=("from", "to"), weight="w")
    assert graph.edges.tolist() == [[0, 2], [1, 2]]
    assert graph.weights.tolist() == [1.0, 2.0]


def test_files_that_are_no_graph_are_refused(tmp_path):
    nodes, edges = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"

    def write(ids, u, v):
        pd.DataFrame({"id": ids, "lon": 0.0}).to_parquet(nodes)
        pd.DataFrame({"u": u, "v": v}).to_parquet(edges)

    write([1, 2], [1], [3])
    with pytest.raises(errors.BadDomain, match=r'column "v" .* names 3, which is not among the 2 nodes \(1 such edges'):
        Graph.from_parquet(nodes, edges)
    with pytest.raises(errors.UnknownColumn, match='no column "lat"'):
        Graph.from_parquet(nodes, edges, coordinates=("lon", "lat"))
    with pytest.raises(errors.UnknownColumn, match='no column "osmid"'):
        Graph.from_parquet(nodes, edges, node="osmid")
    with pytest.raises(errors.UnknownColumn, match='no column "w"'):
        Graph.from_parquet(nodes, edges, weight="w")
    write([1, 1], [1], [1])
    with pytest.raises(errors.BadDomain, match="node 1 twice"):
        Graph.from_parquet(nodes, edges)
    write([1, 2], ["1"], ["2"])
    with pytest.raises(errors.WrongType, match="named by int64"):
        Graph.from_parquet(nodes, edges)
    write([1.5, 2], [1], [2])
    with pytest.raises(errors.WrongType, match="whole numbers or strings"):
        Graph.from_parquet(nodes, edges)
    write(["a", None], ["a"], ["a"])
    with pytest.raises(errors.BadDomain, match="nulls"):
        Graph.from_parquet(nodes, edges)
    with pytest.raises(errors.UnknownSource, match="no Parquet file"):
        Graph.from_parquet(tmp_path / "nothing.parquet", edges)


def metres(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Every distance by the haversine formula."""
    (a, b), (c, d) = np.radians(one).T[:, :, None], np.radians(other).T[:, None, :]
    inner = np.sin((b - d) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((a - c) / 2) ** 2
    return 2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(inner))


def test_the_nearest_node_is_the_nearest():
    rng = np.random.default_rng(1)
    nodes = np.stack([rng.uniform(-180, 180, 300), rng.uniform(-89, 89, 300)], axis=1)
    points = np.stack([rng.uniform(-180, 180, 2000), rng.uniform(-90, 90, 2000)], axis=1)
    away = metres(points, nodes)
    expected = np.where(away.min(axis=1) <= 5e5, away.argmin(axis=1), -1)
    assert 0 < (expected == -1).sum() < 2000
    found = Graph.from_edges(300, [], coordinates=nodes).nearest(points, within=5e5)
    assert found.tolist() == expected.tolist()
    with pytest.raises(errors.MissingParameter, match="coordinates"):
        Graph.path(3).nearest(points, within=1)


@pytest.mark.parametrize("on", ["earth", "plane"])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_nearest_neighbours_are_the_nearest(on, k):
    rng = np.random.default_rng(2)
    points = np.stack([rng.uniform(-180, 180, 40), rng.uniform(-80, 80, 40)], axis=1)
    away = metres(points, points) if on == "earth" else np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(away, np.inf)
    expected = {tuple(sorted((i, int(j)))) for i in range(40) for j in away[i].argsort()[: min(k, 39)]}
    graph = Graph.nearest_neighbours(points, k, on=on)
    assert {tuple(edge) for edge in graph.edges.tolist()} == expected


def test_coincident_points_have_neighbours_and_no_loops():
    graph = Graph.nearest_neighbours(np.zeros((9, 2)), 2)
    assert graph.degrees.min() >= 2
    assert Graph.nearest_neighbours([[0.0, 0.0]], 3).edges.shape == (0, 2)


@pytest.mark.parametrize(
    ("size", "edges", "error"),
    [
        (0, [], errors.InvalidParameter),
        (2, [(0, 2)], errors.BadDomain),
        (2, [(0, -1)], errors.BadDomain),
        (2, [(0.0, 1.0)], errors.WrongType),
        (2, [0, 1], errors.WrongType),
        (2**31, [], errors.BadDomain),
    ],
)
def test_what_is_no_graph_is_refused(size, edges, error):
    with pytest.raises(error):
        Graph.from_edges(size, edges)


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1)],
        np.array([(0, 1)]),
        np.array([(1, 0)], np.int32),
        np.array([(0, 0)], np.int32),
        np.array([(0, 1), (0, 1)], np.int32),
        np.array([(1, 2), (0, 1)], np.int32),
        np.array([0, 1], np.int32),
    ],
)
def test_the_bare_constructor_takes_nothing_else_than_orderly_edges(edges: Any) -> None:
    with pytest.raises(errors.WrongType):
        Graph(3, edges)


def test_a_graph_leaves_the_caller_s_arrays_as_they_were() -> None:
    edges = np.array([(0, 1), (1, 2)], np.int32)
    places = np.zeros((3, 2))
    graph = Graph(3, edges, None, places)
    assert edges.flags.writeable
    assert places.flags.writeable
    assert not graph.edges.flags.writeable
    with pytest.raises(errors.BadDomain):
        Graph(2, edges)
    with pytest.raises(errors.InvalidParameter):
        Graph(3, edges, np.ones(3))


class Attributes(dict):
    """As igraph's sequences of edges and vertices: columns by name."""

    def attributes(self):
        return list(self)


class LikeIgraph:
    """What is used of an igraph graph."""

    def __init__(self, network):
        names = list(network.nodes)
        self.size, self.pairs = len(names), [(names.index(u), names.index(v)) for u, v in network.edges]
        self.es = Attributes(weight=[network.edges[edge]["weight"] for edge in network.edges])
        self.vs = Attributes(x=[float(name) for name in names], y=[0.5 * name for name in names])

    def vcount(self):
        return self.size

    def get_edgelist(self):
        return self.pairs


LikeIgraph.__module__ = "igraph"


def real_igraph(network):
    """The same in igraph itself, where it is installed."""
    igraph = pytest.importorskip("igraph")
    like = LikeIgraph(network)
    return igraph.Graph(n=like.size, edges=like.pairs, edge_attrs=dict(like.es), vertex_attrs=dict(like.vs))


def same_graph(one, other):
    assert one.size == other.size
    assert one.edges.tolist() == other.edges.tolist()
    assert (one.weights is None) == (other.weights is None)
    assert one.weights is None or np.allclose(one.weights, other.weights)


@pytest.mark.parametrize("make", [LikeIgraph, real_igraph])
@given(network=networks())
def test_igraph_agrees_with_networkx(make, network):
    made = Graph.from_igraph(make(network), weight="weight", coordinates=("x", "y"))
    same_graph(made, Graph.from_networkx(network, weight="weight"))
    assert made.coordinates.tolist() == [[name, name / 2] for name in network.nodes]
    same_graph(Graph.from_igraph(make(network)), Graph.from_networkx(network))
    with pytest.raises(errors.UnknownColumn, match="length"):
        Graph.from_igraph(make(network), weight="length")


@given(networks(), st.sampled_from(["csr_array", "csc_matrix", "coo_array", "dok_array", "lil_matrix"]), st.booleans())
def test_sparse_matrices_agree_with_networkx(network, kind, once):
    from scipy import sparse

    matrix = nx.to_scipy_sparse_array(network, weight="weight")
    matrix = getattr(sparse, kind)(sparse.triu(matrix) if once else matrix)
    same_graph(Graph.from_scipy(matrix), Graph.from_networkx(network, weight="weight" if network.edges else None))
    same_graph(Graph.from_scipy(matrix, weighted=False), Graph.from_networkx(network))


def test_sparse_matrices_that_are_no_graph_are_refused():
    from scipy.sparse import csr_array

    ones = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert Graph.from_scipy(ones).weights is None
    stored = ones.copy().astype(float)
    stored.data[:] = [0.0, 0.0, 1.0, 1.0]  # zeros that are stored
    assert Graph.from_scipy(stored).edges.tolist() == [[1, 2]]
    with pytest.raises(errors.InvalidParameter, match="two different weights"):
        Graph.from_scipy(csr_array(np.array([[0.0, 1.0], [2.0, 0.0]])))
    with pytest.raises(errors.InvalidParameter, match="above zero"):
        Graph.from_scipy(csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]])))
    with pytest.raises(errors.InvalidParameter, match="row and a column"):
        Graph.from_scipy(csr_array((2, 3)))
    with pytest.warns(errors.Wasteful, match="loops"):
        assert len(Graph.from_scipy(csr_array(np.eye(3) + ones.toarray())).edges) == 2


def test_the_error_says_whose_graph_it_got():
    from scipy.sparse import csr_array

    from leastnoise import denoise, plot

    network = nx.path_graph(4)
    for use in (
        lambda graph: denoise.laplacian(np.zeros(4), 1.0, graph=graph),
        lambda graph: denoise.trend_filter(np.zeros(4), 1.0, graph=graph),
        lambda graph: denoise.auto(np.zeros(4), 1.0, graph=graph),
        lambda graph: plot.map(graph, truth=np.zeros(4)),
    ):
        with pytest.raises(errors.WrongType, match=r"networkx's Graph instead\. Graph\.from_networkx\(graph\)"):
            use(network)
        with pytest.raises(errors.WrongType, match=r"scipy's csr_array instead\. Graph\.from_scipy\(graph\)"):
            use(csr_array((4, 4)))
        with pytest.raises(errors.WrongType, match=r"a list instead\. Make one with Graph\.path"):
            use([(0, 1)])
    with pytest.raises(errors.WrongType, match=r"networkx's Graph instead\. Graph\.from_networkx takes it"):
        Graph.from_igraph(network)
    with pytest.raises(errors.WrongType, match=r"scipy's csr_array instead\. Graph\.from_scipy takes it"):
        Graph.from_networkx(csr_array((4, 4)))
    with pytest.raises(errors.WrongType, match=r"numpy's ndarray instead\. Graph\.from_edges takes pairs"):
        Graph.from_scipy(np.zeros((2, 2)))


def test_other_libraries_are_not_imported():
    import subprocess
    import sys

    code = "import sys, leastnoise.graphs; print({'networkx', 'igraph', 'scipy.sparse'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
