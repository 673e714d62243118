"""Sums over the nodes around each node, ring by ring: a breadth-first walk from every node, by Numba.

The node itself is in none of its rings. Two rules bound the work whatever the graph, and neither looks at how nodes
are numbered: no further ring is begun once `enough` nodes were seen, and no hop is taken that would look at more than
`MAX_EDGES_PER_HOP` edges at once (a hub's leaves do not each walk through all the others).

A third keeps a node's own value out: no hop counts after which half of the graph were seen. The mean over all others is
(total - own) / (n - 1), from which a regression takes the own value back, and then trusts it as if it were news. Over m
of n nodes it can take back (m/n) / (1 - m/n) degrees of freedom, which is less than 1 here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.runtime import compiled
from leastnoise.denoise.arrays import Floats

MAX_EDGES_PER_HOP = 4096  # looked at from one node


@compiled
def ring_sums(
    start: NDArray[np.int64], neighbours: NDArray[np.int32], v: Floats, last: NDArray[np.int64], enough: int
) -> tuple[Floats, Floats]:
    """Sums of v and numbers of nodes, a row for each ring: those from last[r - 1] + 1 to last[r] hops away."""
    size = v.size
    sums, counts = np.zeros((last.size, size)), np.zeros((last.size, size))
    seen_from = np.full(size, -1, np.int32)
    queue = np.empty(size, np.int32)
    for i in range(size):
        seen_from[i] = i
        queue[0] = i
        first, end, hop = 0, 1, 0
        for r in range(last.size):
            if first == end or (r > 0 and end > enough):
                break
            while hop < last[r] and first < end:
                edges = 0
                for k in range(first, end):
                    edges += start[queue[k] + 1] - start[queue[k]]
                if hop > 0 and edges > MAX_EDGES_PER_HOP:
                    first = end
                    break
                hop += 1
                border, found = end, 0.0
                for k in range(first, border):
                    for p in range(start[queue[k]], start[queue[k] + 1]):
                        j = neighbours[p]
                        if seen_from[j] != i:
                            seen_from[j] = i
                            queue[end] = j
                            end += 1
                            found += v[j]
                first = border
                if 2 * (end - 1) >= size:
                    first = end
                    break
                sums[r, i] += found
                counts[r, i] += end - border
    return sums, counts
