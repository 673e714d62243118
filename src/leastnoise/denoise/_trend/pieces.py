"""Connected pieces of a graph in compiled loops: the nodes of a piece are led to its first one."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled


@compiled
def pieces(size: int, edges: Any, kept: Any) -> Any:
    """The number of the piece that each node is in, with these edges alone: from 0, by their first nodes."""
    lead = np.arange(size).astype(np.int32)  # to a node before it, in the end to the piece's first
    for e in range(kept.size):
        if kept[e]:
            a, b = first(edges[e, 0], lead), first(edges[e, 1], lead)
            lead[max(a, b)] = min(a, b)
    number, count = np.empty(size, np.int32), 0
    for i in range(size):
        if lead[i] == i:
            number[i] = count
            count += 1
        else:
            number[i] = number[lead[i]]
    return number


@compiled
def first(i: int, lead: Any) -> Any:
    """Where a node is led; the way is halved for the next."""
    while lead[i] != i:
        lead[i] = lead[lead[i]]
        i = lead[i]
    return i
