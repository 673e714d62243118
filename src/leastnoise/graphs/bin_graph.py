"""The graph of a release's bins, so that node i is bin i: from a word, from files that name nodes by the bins' keys, or
from the bins' own axes.

    path, cycle     the bins in their own order
    grid            the bins of a product of ranges, or of a lattice, joined along every axis
    a Parquet file  edges between keys (u and v); with a file of nodes (id, and lon and lat) in any order

Nodes that are no bins are left out with their edges; a bin that is no node is an error.

Along a domain's own axes bins are joined that are next to each other where there is an order:

    ranges, edges, steps, days, hours           a chain
    a lattice                                   a grid
    lists of dates, or of numbers in equal steps, that rise     a chain
    lists of names (and all other lists)        no edges: nothing says which names are near

With several axes it is the product: by carrier (a list) and month (a range) it is one chain of months for each carrier.
The bins of null keys and of others have no neighbour along their axis.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from reprlib import repr as short

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leastnoise import errors
from leastnoise.domain import Domain
from leastnoise.graphs import Graph, files

GRAPH_NAMES = ("path", "cycle", "grid")


def bin_graph(given: files.Path, *, domain: Domain | None, bins: int, nodes: files.Path | None = None) -> Graph:
    """The graph that `given` means for so many bins with that domain."""
    if given in GRAPH_NAMES:
        if nodes is not None:
            raise errors.InvalidParameter(f"the graph {given!r} follows the order of the bins, so it takes no nodes.")
        if given == "grid":
            return Graph.grid(shape(domain))
        return Graph.path(bins) if given == "path" else Graph.cycle(bins)
    if not os.path.exists(given):
        raise errors.UnknownSource(
            f"There is no file {os.fspath(given)!r} of edges, and it is none of the words "
            f"{', '.join(GRAPH_NAMES)} either."
        )
    return _from_files(given, nodes, _keys(domain, bins))


def shape(domain: Domain | None) -> tuple[int, ...]:
    """How many bins along every axis, a lattice having two."""
    if domain is None or not domain.axes:
        raise errors.MissingParameter(
            "these bins do not say how they lie in a grid. Give a file of edges, or make a Graph.grid in Python."
        )
    return tuple(length for axis in domain.axes for length in axis.shape)


def _keys(domain: Domain | None, bins: int) -> list[int | str]:
    if domain is None or not domain.axes:
        return list(range(bins))
    if len(domain.axes) > 1:
        raise errors.InvalidParameter(
            f"bins by {' and '.join(domain.names)} have several keys each, and a file of edges names one. "
            "Use the grid, or build the graph in Python."
        )
    return domain.keys()


def _from_files(edges: files.Path, nodes: files.Path | None, keys: list[int | str]) -> Graph:
    try:
        bins = pa.array(keys)
        bins = bins.cast(pa.int64() if pa.types.is_integer(bins.type) else pa.large_string())
    except (pa.ArrowException, TypeError):
        raise errors.WrongType("only bins named by whole numbers or strings can be nodes of a file.") from None
    names, points = (bins, None) if nodes is None else files.read_nodes(nodes, "id", None)
    pairs, _ = files.read_edges(edges, ("u", "v"), None, names)
    if pa.types.is_integer(names.type) != pa.types.is_integer(bins.type):
        raise errors.WrongType(f"the bins are named by {bins.type} and the nodes by {names.type}.")
    place = pc.index_in(bins, value_set=names)
    if place.null_count:
        lost = bins.filter(pc.is_null(place))
        raise errors.BadDomain(
            f"{len(lost):,} of {len(bins):,} bins are not among the nodes, {short(lost[0].as_py())} the first. "
            "The graph must have a node for every bin."
        )
    node = place.to_numpy()
    bin_of = np.full(len(names), -1, dtype=np.int64)
    bin_of[node] = np.arange(len(bins))
    kept = bin_of[pairs]
    return Graph.from_edges(
        len(bins), kept[(kept >= 0).all(axis=1)], coordinates=None if points is None else points[node]
    )


def ordered_axes(domain: Domain) -> tuple[str, ...]:
    """The names of the axes that have an order and more than one bin."""
    return tuple(
        name for name, axis in zip(domain.names, domain.axes, strict=True) if axis.size > 1 and axis.inner.is_chain
    )


def graph_along(domain: Domain, names: Sequence[str]) -> Graph:
    """The bins of a domain, joined to the next along the axes with these names.

    An axis that is named is chained in the order of its keys, whatever they are: who names it knows that.
    """
    unknown = [name for name in names if name not in domain.names]
    if unknown:
        raise errors.InvalidParameter.among("along", unknown[0], domain.names)
    place = np.arange(domain.size, dtype=np.int64).reshape([axis.size for axis in domain.axes])
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for k, (name, axis) in enumerate(zip(domain.names, domain.axes, strict=True)):
        if name in names:
            ends = axis.inner.neighbours()
            pairs.append(np.stack([place.take(end, axis=k).ravel() for end in ends.T], axis=1))
    return Graph.from_edges(domain.size, np.concatenate(pairs))
