"""The graph that a domain's own axes make: bins that are next to each other along an ordered axis are joined.

    ranges, edges, steps, days, hours           a chain
    a lattice                                   a grid
    lists of dates, or of numbers in equal steps, that rise     a chain
    lists of names (and all other lists)        no edges: nothing says which names are near

With several axes it is the product: by carrier (a list) and month (a range) it is one chain of months for each carrier.
The bins of null keys and of others have no neighbour along their axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastnoise import errors
from leastnoise.domain import Domain
from leastnoise.graphs import Graph


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
