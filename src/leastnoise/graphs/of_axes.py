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
from datetime import date
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.domain import Axis, Cells, Days, Domain, Edges, Hours, IntegerRange, Keys, Steps, innermost
from leastnoise.graphs import Graph

ALWAYS_ORDERED = (IntegerRange, Edges, Steps, Days, Hours, Cells)


def ordered_axes(domain: Domain) -> tuple[str, ...]:
    """The names of the axes that have an order and more than one bin."""
    return tuple(name for name, axis in zip(domain.names, domain.axes, strict=True) if axis.size > 1 and _ordered(axis))


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
            ends = _neighbours(axis)
            pairs.append(np.stack([place.take(end, axis=k).ravel() for end in ends.T], axis=1))
    return Graph.from_edges(domain.size, np.concatenate(pairs))


def _ordered(axis: Axis) -> bool:
    axis = innermost(axis)
    return isinstance(axis, ALWAYS_ORDERED) or (isinstance(axis, Keys) and _rising(axis.values))


def _rising(keys: Sequence[object]) -> bool:
    """Whether a list of keys rises: dates in any steps, whole numbers in equal ones (others are more often codes)."""
    if isinstance(keys[0], date):
        return all(a < b for a, b in pairwise(keys))  # type: ignore[operator]
    if type(keys[0]) is int:
        steps = {b - a for a, b in pairwise(keys)}  # type: ignore[operator]
        return len(steps) == 1 and min(steps) > 0
    return False


def _neighbours(axis: Axis) -> NDArray[np.int64]:
    """Pairs of positions on one axis that are next to each other."""
    axis = innermost(axis)
    if isinstance(axis, Cells):
        return Graph.grid((axis.height, axis.width)).edges.astype(np.int64)
    first = np.arange(axis.size - 1, dtype=np.int64)
    return np.stack([first, first + 1], axis=1)
