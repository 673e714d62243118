"""Graphs of other libraries, read by what they can do: none of those libraries is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise import errors

CLASS_METHODS = {"networkx": "from_networkx", "igraph": "from_igraph", "scipy": "from_scipy"}


Parts = tuple[int, Any, Any, Any]  # size, edges, weights and coordinates, as `Graph.from_edges` takes them


def networkx_parts(graph: Any, weight: str | None, coordinates: tuple[str, str] | None) -> Parts:
    """Of a NetworkX graph, its nodes numbered in its own order."""
    _check_can(graph, "networkx", "nodes", "edges", "adjacency")
    number = {node: i for i, node in enumerate(graph.nodes)}
    ends = [(number[u], number[v]) for u, v in graph.edges()]
    heavy = None if weight is None else [_attribute(facts, weight, "edge") for _, _, facts in graph.edges(data=True)]
    points = None
    if coordinates is not None:
        points = [[_attribute(facts, name, "node") for name in coordinates] for _, facts in graph.nodes(data=True)]
    return len(number), ends, heavy, points


def igraph_parts(graph: Any, weight: str | None, coordinates: tuple[str, str] | None) -> Parts:
    """Of an igraph graph, its vertices numbered as there."""
    _check_can(graph, "igraph", "vcount", "get_edgelist", "es", "vs")
    heavy = None if weight is None else _column(graph.es, weight, "edge")
    points = None
    if coordinates is not None:
        points = np.stack([_column(graph.vs, name, "node") for name in coordinates], axis=1)
    return graph.vcount(), graph.get_edgelist(), heavy, points


def scipy_parts(matrix: Any, weighted: bool) -> Parts:
    """Of a sparse adjacency matrix: an edge wherever an entry is not zero."""
    _check_can(matrix, "scipy", "tocoo", "shape")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise errors.InvalidParameter(
            f"an adjacency matrix has a row and a column for each node. Got the shape {matrix.shape} instead."
        )
    entries = matrix.tocoo()
    ends = np.stack([entries.row, entries.col], axis=1).astype(np.int64)
    values = np.asarray(entries.data, dtype=np.float64)
    size = int(matrix.shape[0])
    code = ends.min(axis=1) * size + ends.max(axis=1)
    upper = ends[:, 0] <= ends[:, 1]
    pairs, where = np.unique(code, return_inverse=True)
    above, below = (np.bincount(where[side], values[side], pairs.size) for side in (upper, ~upper))
    if ((above != 0) & (below != 0) & (above != below)).any():
        raise errors.InvalidParameter(
            "the matrix says two different weights for one edge, (u, v) and (v, u). Give the one you mean: "
            "(A + A.T) / 2, or A.maximum(A.T)."
        )
    weight = np.where(above != 0, above, below)
    kept = weight != 0  # an entry that is stored and zero is no edge
    edges = np.stack([pairs[kept] // max(size, 1), pairs[kept] % max(size, 1)], axis=1)
    return size, edges, weight[kept] if weighted and (weight[kept] != 1).any() else None, None


def refusal(got: Any) -> errors.WrongType:
    """The error where a Graph of ours was expected, which says whose graph it is and how to make one of it."""
    method = CLASS_METHODS.get(_library(got))
    cure = (
        f"Graph.{method}(graph) makes one of it."
        if method
        else "Make one with Graph.path(n), Graph.grid(shape), Graph.from_edges, from_networkx, from_scipy, from_igraph "
        "or from_parquet."
    )
    return errors.WrongType(f"graph must be a leastnoise Graph. Got {_whose(got)} instead. {cure}", parameter="graph")


def _check_can(graph: Any, library: str, *names: str) -> None:
    if all(hasattr(graph, name) for name in names):
        return
    better = CLASS_METHODS.get(_library(graph))
    cure = f"Graph.{better} takes it." if better else "Graph.from_edges takes pairs of node numbers."
    what = "a sparse matrix" if library == "scipy" else "a graph"
    raise errors.WrongType(
        f"Graph.{CLASS_METHODS[library]} takes {what} of {library}. Got {_whose(graph)} instead. {cure}"
    )


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _whose(value: Any) -> str:
    """networkx's Graph, a list."""
    name = type(value).__name__
    return f"a {name}" if _library(value) == "builtins" else f"{_library(value)}'s {name}"


def _column(attributes: Any, name: str, what: str) -> Any:
    if name not in attributes.attributes():
        raise errors.UnknownColumn(f'the {what}s of the graph have no attribute "{name}".')
    column = attributes[name]
    if any(value is None for value in column):
        raise errors.UnknownColumn(f'not every {what} of the graph has an attribute "{name}".')
    return np.asarray(column, dtype=np.float64)


def _attribute(attributes: dict[str, Any], name: str, what: str) -> Any:
    if name not in attributes:
        raise errors.UnknownColumn(f'not every {what} of the graph has an attribute "{name}".')
    return attributes[name]
