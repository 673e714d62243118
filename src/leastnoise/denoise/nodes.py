"""What every denoiser on a graph is given: one value for each node, in the order of the nodes.

Values on a lattice may keep its shape; they are read as NumPy flattens them, which is how `Graph.grid` numbers.
"""

from __future__ import annotations

import math
from typing import Any

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.denoise.arrays import Floats, Mechanism, given_on_host
from leastnoise.graphs import Graph


def given_on_graph(y: Any, sigma: validation.Number, mechanism: Mechanism, graph: Graph) -> tuple[Floats, float]:
    """The values in their shape, and sigma, after checking that the graph has as many nodes."""
    array, level = given_on_host(y, sigma, mechanism)
    if not isinstance(graph, Graph):
        raise errors.WrongType(
            f"graph must be a leastnoise Graph. Got {type(graph).__name__} instead. Make one with "
            "Graph.path(n), Graph.grid(shape), Graph.from_edges, from_networkx or from_parquet."
        )
    if graph.size != array.size:
        raise errors.InvalidParameter(
            f"the graph has {graph.size:,} nodes, and there are {array.size:,} values. Give one value for each node, "
            "in the order of the nodes."
        )
    return array, level


def penalty_or_word(value: Any) -> float | None:
    """A penalty from zero to infinity, or None for "sure"."""
    if isinstance(value, str):
        validation.word("penalty", value, ("sure",))
        return None
    if validation.is_zero(value):
        return 0.0
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return validation.number("penalty", value)
