"""Compiled loops of the tree wavelets: cutting a tree in balance.

A dendrogram over n leaves has ids 0 ... n-1 for its leaves and n, n+1, ... for its splits, each of which comes before
the splits inside it. `child[s]` are the two sides of split n + s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.runtime import compiled

Array = np.ndarray[Any, Any]


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
