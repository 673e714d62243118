"""Flows on a graph in compiled loops: the dual of total variation, and the cuts that solve it exactly.

A flow u gives every edge (low, high) a number |u_e| <= capacity_e, counted positive from low to high, and leaves

    r = y - D'u,    (D b)_e = b_low - b_high

on the nodes. Everything runs in one thread: on a busy machine several would mostly wait for each other. Nodes and edges
are unsigned numbers, so that no index has to be looked at for being counted from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.runtime import compiled

UNREACHABLE_HEIGHT = np.int32(2**31 - 1)  # the height of a node from which no deficit can be reached
RELABELLING_PER_MEASUREMENT = 0.5  # relabelling, in parts of a pass over the edges, before heights are measured anew


@compiled
def descend(y: Any, capacity: Any, low: Any, high: Any, rate: Any, flow: Any, iterations: int) -> None:
    """min_u ||y - D'u||^2 over |u| <= capacity, roughly: accelerated projected gradient (Beck & Teboulle 2009) with a
    step of 1/(deg low + deg high) for every edge (`rate`), started anew when momentum points uphill."""
    ahead = flow.copy()  # flow + momentum
    left, after = y.copy(), np.empty(y.size)
    for e in range(low.size):
        left[low[e]] -= ahead[e]
        left[high[e]] += ahead[e]
    t = 1.0
    for _ in range(iterations):
        t_next = 0.5 + np.sqrt(0.25 + t * t)
        push = (t - 1.0) / t_next
        uphill = 0.0
        after[:] = y
        for e in range(low.size):
            i, j = low[e], high[e]
            new = ahead[e] + (left[i] - left[j]) * rate[e]
            new = min(max(new, -capacity[e]), capacity[e])
            step = new - flow[e]
            uphill += (ahead[e] - new) * step
            flow[e] = new
            new += push * step
            ahead[e] = new
            after[i] -= new
            after[j] += new
        left, after = after, left
        t = 1.0 if uphill > 0 else t_next


@compiled
def spare(i: int, j: int, e: int, flow: Any, capacity: Any) -> Any:
    """How much more can go from i to j along edge e."""
    return capacity[e] - flow[e] if i < j else capacity[e] + flow[e]


@compiled
def push(i: int, j: int, e: int, excess: Any, flow: Any, capacity: Any) -> None:
    """Send from i to j what i has too much, or what fits. A full edge is full to the last bit."""
    capacity_left = spare(i, j, e, flow, capacity)
    sign = 1.0 if i < j else -1.0
    moved = min(capacity_left, excess[i])
    flow[e] = sign * capacity[e] if moved == capacity_left else flow[e] + sign * moved
    excess[i] -= moved
    excess[j] += moved


@compiled
def measure_heights(
    nodes: Any, part: Any, excess: Any, tiny: float, start: Any, neighbours: Any, incident: Any, flow: Any,
    capacity: Any, height: Any, order: Any,
) -> Any:  # fmt: skip
    """Steps from every node to the nearest deficit along edges with capacity left, within its part; UNREACHABLE_HEIGHT
    where there is none. Nodes come into `order` as they are reached; how many."""
    last = 0
    for i in nodes:
        height[i] = UNREACHABLE_HEIGHT
        if excess[i] < -tiny:
            height[i] = 0
            order[last] = i
            last += 1
    first = 0
    while first < last:
        j = order[first]
        first += 1
        for a in range(start[j], start[j + 1]):
            i = neighbours[a]
            if height[i] == UNREACHABLE_HEIGHT and part[i] == part[j] and spare(i, j, incident[a], flow, capacity) > 0:
                height[i] = height[j] + 1
                order[last] = i
                last += 1
    return last


@compiled
def sweep(
    reached: int, part: Any, excess: Any, tiny: float, start: Any, neighbours: Any, incident: Any, flow: Any,
    capacity: Any, height: Any, order: Any, current: Any, waiting: Any, queue: Any,
) -> tuple[bool, int]:  # fmt: skip
    """From the farthest node to the nearest, one step downhill each: whether there was any excess, and how many nodes
    still have some (in `queue`)."""
    excited = False
    for k in range(reached - 1, -1, -1):
        i = order[k]
        current[i] = start[i]
        if excess[i] > tiny:
            excited = True
            for a in range(start[i], start[i + 1]):
                j, e = neighbours[a], incident[a]
                if height[i] == height[j] + 1 and part[j] == part[i] and spare(i, j, e, flow, capacity) > 0:
                    push(i, j, e, excess, flow, capacity)
                    if excess[i] <= tiny:
                        break
    count = 0
    for k in range(reached - 1, -1, -1):
        i = order[k]
        waiting[i] = excess[i] > tiny
        if waiting[i]:
            queue[count] = i
            count += 1
    return excited, count


@compiled
def drain(
    nodes: Any, part: Any, excess: Any, tiny: float, start: Any, neighbours: Any, incident: Any, flow: Any,
    capacity: Any, height: Any, order: Any, current: Any, waiting: Any, queue: Any,
) -> None:  # fmt: skip
    """Move all excess that can reach a deficit there: push-relabel (Goldberg & Tarjan 1988), first in, first out,
    with heights measured anew whenever relabelling has cost enough. Ends with heights that tell the least cut."""
    size, arcs = nodes.size, 0
    for i in nodes:
        arcs += start[i + 1] - start[i]
    while True:
        reached = measure_heights(
            nodes, part, excess, tiny, start, neighbours, incident, flow, capacity, height, order
        )  # fmt: skip
        excited, count = sweep(
            reached, part, excess, tiny, start, neighbours, incident, flow, capacity, height, order, current, waiting,
            queue,
        )  # fmt: skip
        if not excited:
            return
        first, work = 0, 0
        while count > 0 and work < RELABELLING_PER_MEASUREMENT * arcs + 64:
            i = queue[first]
            first = 0 if first + 1 == size else first + 1
            count -= 1
            waiting[i] = False
            while excess[i] > tiny and height[i] < size:
                a = current[i]
                if a == start[i + 1]:
                    lowest = UNREACHABLE_HEIGHT - 1
                    for c in range(start[i], start[i + 1]):
                        j = neighbours[c]
                        if part[j] == part[i] and height[j] < lowest and spare(i, j, incident[c], flow, capacity) > 0:
                            lowest = height[j]
                    height[i] = lowest + 1
                    current[i] = start[i]
                    work += 2 * (start[i + 1] - start[i]) + 4
                    continue
                j, e = neighbours[a], incident[a]
                if height[i] != height[j] + 1 or part[j] != part[i] or spare(i, j, e, flow, capacity) <= 0:
                    current[i] = a + 1
                    continue
                push(i, j, e, excess, flow, capacity)
                if excess[j] > tiny and not waiting[j]:
                    waiting[j] = True
                    place = first + count
                    queue[place - size if place >= size else place] = j
                    count += 1


@compiled
def renumber(nodes: Any, part: Any, above: Any, fresh: Any, start: Any, neighbours: Any, queue: Any) -> Any:
    """Connected pieces of every part on either side of its cut, numbered from 0 in `part`; how many."""
    for i in nodes:
        fresh[i] = -1
    pieces = 0
    for seed in nodes:
        if fresh[seed] >= 0:
            continue
        fresh[seed] = pieces
        queue[0] = seed
        first, last = 0, 1
        while first < last:
            i = queue[first]
            first += 1
            for a in range(start[i], start[i + 1]):
                j = neighbours[a]
                if part[j] == part[i] and fresh[j] < 0 and above[j] == above[i]:
                    fresh[j] = pieces
                    queue[last] = j
                    last += 1
        pieces += 1
    for i in nodes:
        part[i] = fresh[i]
    return pieces


@compiled
def conquer(
    y: Any, capacity: Any, start: Any, neighbours: Any, incident: Any, flow: Any, part: Any, tiny: float, rounds: int,
    value: Any,
) -> Any:  # fmt: skip
    """Divide and conquer on level sets: the solution b, into `value`, and how many rounds of cuts it took.

    In a connected part let t be the mean of r. Send what nodes have above t to those below. If all arrives, b = t on
    the part. If not, the least cut separates the nodes where b >= t from those where b <= t; the edges between are
    full and stay so, and both sides are parts of their own. A cut that leaves a part whole ends it, so that rounding
    cannot loop. `part` numbers the parts from 0 and is used up; after fewer `rounds` than were needed it numbers those
    that are left (-1: done).
    """
    n = y.size
    excess = np.empty(n)
    height, order, queue = np.empty(n, np.int32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    current, waiting = np.empty(n, start.dtype), np.zeros(n, np.bool_)
    nodes, fresh = np.arange(n).astype(np.uint32), np.empty(n, np.int32)
    pieces = part.max() + 1
    done = 0
    while nodes.size and done < rounds:
        done += 1
        mean, count = np.zeros(pieces), np.zeros(pieces)
        for i in nodes:
            left = y[i]
            for a in range(start[i], start[i + 1]):
                left += -flow[incident[a]] if i < neighbours[a] else flow[incident[a]]
            excess[i] = left
            mean[part[i]] += left
            count[part[i]] += 1
        mean /= count
        for i in nodes:
            value[i] = mean[part[i]]
            excess[i] -= value[i]
        drain(
            nodes, part, excess, tiny, start, neighbours, incident, flow, capacity, height, order, current, waiting,
            queue,
        )  # fmt: skip
        stuck, cut = np.zeros(pieces), np.zeros(pieces)
        for i in nodes:
            waiting[i] = height[i] == UNREACHABLE_HEIGHT
            if waiting[i]:
                cut[part[i]] += 1
                stuck[part[i]] += max(excess[i], 0.0)
        kept = 0
        for k in range(nodes.size):
            i = nodes[k]
            p = part[i]
            if cut[p] == count[p] or stuck[p] <= tiny * count[p]:
                part[i] = -1
            else:
                nodes[kept] = i
                kept += 1
        nodes = nodes[:kept]
        pieces = renumber(nodes, part, waiting, fresh, start, neighbours, queue)
    return done
