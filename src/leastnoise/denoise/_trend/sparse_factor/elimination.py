"""In which order to eliminate the nodes of a graph, and what that fills in: compiled loops.

The node of least degree goes first, in the quotient graph: what was eliminated stands there as elements, each the set
of nodes it joined, and degrees are bounded as Amestoy, Davis & Duff (1996) bound them. The elements are the columns of
the factor, so one pass gives the order and the pattern.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled


@compiled
def eliminate(start: Any, neighbours: Any) -> tuple[Any, Any, Any]:
    """Which node goes first, second, ...; and the nodes that are left beside it then: those of node order[k] are
    left[first[k] : first[k + 1]]."""
    n = start.size - 1
    near, count = neighbours.copy(), np.zeros(n, np.int32)  # elements, then nodes, beside every node; how many
    elements, degree = np.zeros(n, np.int32), np.empty(n, np.int32)
    head, after, before = np.full(n + 1, -1, np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for i in range(n):
        count[i] = degree[i] = start[i + 1] - start[i]
        link(i, degree[i], head, after, before)
    order, place = np.empty(n, np.int32), np.full(n, -1, np.int32)
    first, left = np.zeros(n + 1, np.int64), np.empty(8 * n + 64, np.int32)
    absorbed = np.zeros(n, np.bool_)
    mark, overlap, seen = np.full(n, -1, np.int32), np.zeros(n, np.int32), np.full(n, -1, np.int32)
    kept = np.empty(n + 1, np.int32)
    least, end = 0, 0
    for k in range(n):
        while head[least] < 0:
            least += 1
        p = head[least]
        unlink(p, degree[p], head, after, before)
        order[k], place[p] = p, k
        if left.size < end + n:
            longer = np.empty(2 * left.size + n, np.int32)
            for c in range(end):
                longer[c] = left[c]
            left = longer
        mark[p] = k
        begin = end
        for a in range(start[p], start[p] + count[p]):
            q = near[a]
            if a < start[p] + elements[p]:
                absorbed[q] = True
                for c in range(first[place[q]], first[place[q] + 1]):
                    i = left[c]
                    if mark[i] != k and place[i] < 0:
                        mark[i] = k
                        left[end] = i
                        end += 1
            elif mark[q] != k and place[q] < 0:
                mark[q] = k
                left[end] = q
                end += 1
        first[k + 1] = end
        if end - begin == 1:  # a leaf joins nothing; a hub that looked through its neighbours for each would never end
            i = left[begin]
            unlink(i, degree[i], head, after, before)
            degree[i] = max(degree[i] - 1, 0)
            link(i, degree[i], head, after, before)
            least = min(least, degree[i])
            continue
        for c in range(begin, end):
            i = left[c]
            for a in range(start[i], start[i] + elements[i]):
                e = near[a]
                if seen[e] != k:
                    seen[e] = k
                    overlap[e] = 0
                overlap[e] += 1
        for c in range(begin, end):
            i = left[c]
            unlink(i, degree[i], head, after, before)
            size, beyond = 0, 0
            for a in range(start[i], start[i] + elements[i]):
                e = near[a]
                outside = first[place[e] + 1] - first[place[e]] - overlap[e]
                if not absorbed[e] and outside > 0:
                    beyond += outside
                    kept[size] = e
                    size += 1
            kept[size] = p
            size += 1
            fresh = size
            for a in range(start[i] + elements[i], start[i] + count[i]):
                if mark[near[a]] != k and place[near[a]] < 0:
                    kept[size] = near[a]
                    size += 1
            for a in range(size):
                near[start[i] + a] = kept[a]
            elements[i], count[i] = fresh, size
            inside = end - begin - 1
            degree[i] = min(n - k - 2, degree[i] + inside, beyond + size - fresh + inside)
            link(i, degree[i], head, after, before)
            least = min(least, degree[i])
    return order, first, left[:end]


@compiled
def postordered(order: Any, first: Any, left: Any) -> tuple[Any, Any, Any]:
    """The same elimination with every node right after those it waits for, so that columns alike are neighbours. A node
    waits for those whose first one left it is."""
    n = order.size
    place, parent = np.empty(n, np.int32), np.full(n, n, np.int32)
    for k in range(n):
        place[order[k]] = k
    for k in range(n):
        for c in range(first[k], first[k + 1]):
            parent[k] = min(parent[k], place[left[c]])
    child, sibling = np.full(n + 1, -1, np.int32), np.full(n, -1, np.int32)
    for k in range(n - 1, -1, -1):
        sibling[k] = child[parent[k]]
        child[parent[k]] = k
    fresh, begin, rest = np.empty(n, np.int32), np.zeros(n + 1, np.int64), np.empty_like(left)
    done, end, k = 0, 0, n
    while True:
        while child[k] >= 0:
            child[k], k = sibling[child[k]], child[k]
        if k == n:
            return fresh, begin, rest
        fresh[done] = order[k]
        for c in range(first[k], first[k + 1]):
            rest[end] = left[c]
            end += 1
        done += 1
        begin[done] = end
        k = parent[k]


@compiled
def link(i: int, degree: int, head: Any, after: Any, before: Any) -> None:
    after[i], before[i] = head[degree], -1
    if head[degree] >= 0:
        before[head[degree]] = i
    head[degree] = i


@compiled
def unlink(i: int, degree: int, head: Any, after: Any, before: Any) -> None:
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[degree] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@compiled
def transposed(first: Any, rows: Any) -> tuple[Any, Any, Any]:
    """A pattern by rows: where each begins, its columns in rising order, and where in `rows` each entry is."""
    n = first.size - 1
    begin = np.zeros(n + 1, np.int64)
    for r in rows:
        begin[r + 1] += 1
    for j in range(n):
        begin[j + 1] += begin[j]
    free = begin.copy()
    columns, source = np.empty(rows.size, np.int32), np.empty(rows.size, np.int64)
    for j in range(n):
        for s in range(first[j], first[j + 1]):
            t = free[rows[s]]
            free[rows[s]] = t + 1
            columns[t], source[t] = j, s
    return begin, columns, source


@compiled
def renumbered(order: Any, place: Any, start: Any, neighbours: Any, incident: Any) -> tuple[Any, Any, Any]:
    """Neighbours and the edges to them, with order[k] now called k."""
    begin, near, edge = np.zeros_like(start), np.empty_like(neighbours), np.empty_like(incident)
    for k in range(order.size):
        i, t = order[k], begin[k]
        for a in range(start[i], start[i + 1]):
            near[t], edge[t] = place[neighbours[a]], incident[a]
            t += 1
        begin[k + 1] = t
    return begin, near, edge
