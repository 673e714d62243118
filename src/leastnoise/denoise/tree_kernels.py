"""Compiled loops over graphs and trees: random spanning trees, and the dendrogram of a tree cut in balance.

Graphs are neighbour lists (start, neighbours). A forest is an array `parent`, -1 at the roots. Random numbers are
SplitMix64 (Steele, Lea & Flood 2014), so that a seed means the same on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.runtime import compiled

Array = np.ndarray[Any, Any]
MAX_STEPS_PER_NODE = 100  # steps a node that Wilson's walk may take ...
MIN_STEPS_ALLOWED = 4_000_000  # ... or so many in all, if that is more


@compiled
def _random(state: Array) -> Any:
    """The next 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _below(state: Array, count: int) -> Any:
    """A number 0 ... count-1, uniform but for a bias of count / 2^32."""
    return np.int64(((_random(state) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@compiled
def wilson(start: Array, neighbours: Array, heavy: Array, component: Array, seed: int) -> Array:
    """A spanning forest drawn with probability proportional to the product of its weights (Wilson 1996).

    From every node walk at random until the tree is met, and keep the walk without its loops. `heavy` holds the
    weights as the neighbours lie, and is overwritten (empty: all are one). On long thin graphs walks take n^2 steps:
    once the allowance is spent, the rest of the tree is a random search from what there is.
    """
    size = start.size - 1
    if heavy.size > 0:
        for node in range(size):
            for place in range(start[node] + 1, start[node + 1]):
                heavy[place] += heavy[place - 1]
    state = np.array([seed], dtype=np.uint64)
    parent = np.full(size, -1, dtype=np.int32)
    done = np.zeros(size, dtype=np.bool_)
    rooted = np.zeros(component.max() + 1, dtype=np.bool_)
    order = np.arange(size).astype(np.int32)
    for i in range(size - 1, 0, -1):
        j = _below(state, i + 1)
        order[i], order[j] = order[j], order[i]
    left = max(MAX_STEPS_PER_NODE * size, MIN_STEPS_ALLOWED)
    for k in range(size):
        first: Any = order[k]
        if not rooted[component[first]]:
            rooted[component[first]] = True
            done[first] = True
        node = first
        while not done[node] and left > 0:
            left -= 1
            low, high = start[node], start[node + 1]
            if heavy.size == 0:
                parent[node] = neighbours[low + _below(state, high - low)]
            else:
                aim = (_random(state) >> np.uint64(11)) * (heavy[high - 1] / 9007199254740992.0)
                place = low + np.searchsorted(heavy[low:high], aim, side="right")
                parent[node] = neighbours[min(place, high - 1)]
            node = parent[node]
        if not done[node]:
            break
        node = first
        while not done[node]:
            done[node] = True
            node = parent[node]
    if left == 0:
        for k in range(size):
            if not rooted[component[order[k]]]:
                rooted[component[order[k]]] = True
                done[order[k]] = True
        _search_on(start, neighbours, order, done, parent, state)
    return parent


@compiled
def _search_on(start: Array, neighbours: Array, order: Array, done: Array, parent: Array, state: Array) -> None:
    """Complete a forest: nodes that are in it are taken at random and reach for their neighbours that are not."""
    size = start.size - 1
    queue = np.empty(size, dtype=np.int32)
    count = 0
    for node in order:
        if done[node]:
            queue[count] = node
            count += 1
    head = 0
    while head < count:
        pick = head + _below(state, count - head)
        node = queue[pick]
        queue[pick] = queue[head]
        head += 1
        for place in range(start[node], start[node + 1]):
            other = neighbours[place]
            if not done[other]:
                done[other] = True
                parent[other] = node
                queue[count] = other
                count += 1


@compiled
def depth_first(start: Array, neighbours: Array, weight: Array, roots: Array, seed: int) -> tuple[Array, Array, Array]:
    """Nodes in the order of a depth-first search that takes neighbours at random; their parents; and for each place
    in the order the least weight on the way from the node before it (0 where a component begins).

    `neighbours` is shuffled row by row, and `weight` with it (empty: all are one).
    """
    size = start.size - 1
    state = np.array([seed], dtype=np.uint64)
    parent = np.full(size, -1, dtype=np.int32)
    seen = np.zeros(size, dtype=np.bool_)
    tried = np.zeros(size, dtype=np.int32)
    order = np.empty(size, dtype=np.int32)
    link = np.empty(size, dtype=weight.dtype)
    up = np.empty(0 if weight.size == 0 else size, dtype=weight.dtype)
    one = np.ones(1, dtype=weight.dtype)[0]
    count = 0
    for root in roots:
        seen[root] = True
        order[count] = root
        link[count] = 0
        count += 1
        node = root
        way = np.inf
        while node >= 0:
            low = start[node]
            many = start[node + 1] - low
            found = False
            while tried[node] < many and not found:
                here = low + tried[node]
                pick = here + _below(state, many - tried[node])
                neighbours[here], neighbours[pick] = neighbours[pick], neighbours[here]
                if weight.size > 0:
                    weight[here], weight[pick] = weight[pick], weight[here]
                tried[node] += 1
                found = not seen[neighbours[here]]
            if found:
                other = neighbours[here]
                seen[other] = True
                parent[other] = node
                order[count] = other
                if weight.size > 0:
                    up[other] = weight[here]
                    link[count] = min(way, weight[here])
                else:
                    link[count] = one
                way = np.inf
                count += 1
                node = other
            else:
                if weight.size > 0 and parent[node] >= 0:
                    way = min(way, up[node])
                node = parent[node]
    return order, parent, link


@compiled
def lists(one: Array, other: Array, size: int) -> tuple[Array, Array, Array]:
    """Neighbour lists of these edges, and the place of each edge as seen from its other end."""
    start = np.zeros(size + 1, dtype=np.int64)
    for edge in range(one.size):
        start[one[edge] + 1] += 1
        start[other[edge] + 1] += 1
    for node in range(size):
        start[node + 1] += start[node]
    free = start[:-1].copy()
    neighbours = np.empty(2 * one.size, dtype=np.int32)
    twin = np.empty(2 * one.size, dtype=np.int64)
    for edge in range(one.size):
        a, b = free[one[edge]], free[other[edge]]
        neighbours[a], neighbours[b] = other[edge], one[edge]
        twin[a], twin[b] = b, a
        free[one[edge]] += 1
        free[other[edge]] += 1
    return start, neighbours, twin
