"""Compiled loops over graphs and trees: random spanning trees, and the dendrogram of a tree cut in balance.

A dendrogram over n leaves has ids 0 ... n-1 for its leaves and n, n+1, ... for its splits, each of which comes before
the splits inside it. `child[s]` are the two sides of split n + s.

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
def depth_first(start: Array, neighbours: Array, weight: Array, roots: Array, seed: int) -> tuple[Array, Array]:
    """Nodes in the order of a depth-first search that takes neighbours at random; and for each place in the order the
    least weight on the way from the node before it (0 where a component begins).

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
    return order, link


@compiled
def cut(start: Array, neighbours: Array, twin: Array, roots: Array, child: Array) -> Array:
    """Fill `child` for a forest given as neighbour lists (`twin`: the place of the same edge seen from its other end),
    one dendrogram for each root; returns the id of each component's top.

    A piece of m nodes has a node whose removal leaves parts of at most m/2. It joins the smallest of them, and the
    parts are put together again two by two, the smallest first. So every node is inside O(log n) pieces, and every
    piece is searched once: O(n log n).
    """
    size = start.size - 1
    alive = np.ones(neighbours.size, dtype=np.bool_)
    queue = np.empty(size, dtype=np.int32)
    up = np.empty(size, dtype=np.int32)
    inside = np.empty(size, dtype=np.int32)
    todo = np.empty((size + 1, 2), dtype=np.int32)  # a node of the piece, and where its id is awaited
    tops = np.empty(roots.size, dtype=np.int32)
    many = 0
    for k in range(roots.size):
        todo[0, 0], todo[0, 1] = roots[k], -1 - k
        waiting = 1
        while waiting > 0:
            waiting -= 1
            first, slot = todo[waiting]
            count = _explore(start, neighbours, alive, first, queue, up, inside)
            name = size + many if count > 1 else first
            if slot < 0:
                tops[-1 - slot] = name
            else:
                child[slot >> 1, slot & 1] = name
            if count > 1:
                waiting, many = _split(
                    start, neighbours, twin, alive, first, count, up, inside, child, many, todo, waiting
                )
    return tops


@compiled
def _explore(start: Array, neighbours: Array, alive: Array, first: int, queue: Array, up: Array, inside: Array) -> Any:
    """How many nodes the piece has; the size below each, seen from the first."""
    queue[0] = first
    up[first] = -1
    count = 1
    head = 0
    while head < count:
        node = queue[head]
        inside[node] = 1
        head += 1
        for place in range(start[node], start[node + 1]):
            if alive[place] and neighbours[place] != up[node]:
                up[neighbours[place]] = node
                queue[count] = neighbours[place]
                count += 1
    for k in range(count - 1, 0, -1):
        inside[up[queue[k]]] += inside[queue[k]]
    return count


@compiled
def _split(
    start: Array,
    neighbours: Array,
    twin: Array,
    alive: Array,
    first: int,
    count: int,
    up: Array,
    inside: Array,
    child: Array,
    many: int,
    todo: Array,
    waiting: int,
) -> tuple[int, int]:
    """Cut one piece; returns how many pieces are waiting, and how many splits there are."""
    middle = first
    moved = True
    while moved:
        moved = False
        for place in range(start[middle], start[middle + 1]):
            other = neighbours[place]
            if alive[place] and up[other] == middle and 2 * inside[other] > count:
                middle = other
                moved = True
                break
    places = np.empty(start[middle + 1] - start[middle], dtype=np.int64)
    sizes = np.empty(places.size, dtype=np.int64)
    parts = 0
    for place in range(start[middle], start[middle + 1]):
        if alive[place]:
            other = neighbours[place]
            places[parts] = place
            sizes[parts] = inside[other] if up[other] == middle else count - inside[middle]
            parts += 1
    rank = np.argsort(sizes[:parts], kind="mergesort")
    heads = np.empty(parts + 1, dtype=np.int32)  # a node of each part, smallest first
    weights = np.empty(parts + 1, dtype=np.int64)
    for k in range(parts):
        place = places[rank[k]]
        heads[k] = neighbours[place]
        weights[k] = sizes[rank[k]]
        if k > 0 or parts == 1:
            alive[place] = False
            alive[twin[place]] = False
    if parts == 1:  # two nodes
        heads[1], weights[1] = middle, 1
        parts = 2
    else:
        weights[0] += 1  # the middle goes with the smallest, which then may not be it any more
        k = 0
        while k + 1 < parts and weights[k] > weights[k + 1]:
            heads[k], heads[k + 1] = heads[k + 1], heads[k]
            weights[k], weights[k + 1] = weights[k + 1], weights[k]
            k += 1
    # Put the parts together: of what is left of them and what was joined already, both sorted, the smallest two.
    joined = np.empty(parts - 1, dtype=np.int64)
    part, done = 0, 0
    for k in range(parts - 1):
        row = many + parts - 2 - k
        joined[k] = 0
        for side in range(2):
            if done == k or (part < parts and weights[part] <= joined[done]):
                joined[k] += weights[part]
                if weights[part] == 1:
                    child[row, side] = heads[part]
                else:
                    todo[waiting, 0], todo[waiting, 1] = heads[part], 2 * row + side
                    waiting += 1
                part += 1
            else:
                joined[k] += joined[done]
                child[row, side] = start.size - 1 + many + parts - 2 - done
                done += 1
    return waiting, many + parts - 1
