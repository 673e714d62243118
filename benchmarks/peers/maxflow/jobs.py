"""PyMaxflow (GPL, so in this environment only): total variation on a graph by parametric cuts.

Chambolle & Darbon: {b >= t} minimises sum_i (t - y_i) over the set plus the penalty times its boundary; splitting every
level set at its mean finds the exact minimiser in a few levels, and each split is one minimum cut.
"""

import maxflow
import numpy as np


def tv(path, penalty):
    given = np.load(path)
    y, edges = given["y"].astype(float), given["edges"]

    def work():
        b = _solve(y, edges, penalty)
        return float(0.5 * np.sum((y - b) ** 2) + penalty * np.abs(b[edges[:, 0]] - b[edges[:, 1]]).sum())

    return work


def _solve(y, edges, penalty):
    """All level sets of one depth are cut in one graph: edges between them carry a known slope and leave it."""
    tail, head = edges.T
    part, pull = np.zeros(y.size, dtype=np.int64), y.copy()
    alive = np.ones(y.size, dtype=bool)
    b = np.empty(y.size)
    while alive.any():
        _, part = np.unique(part, return_inverse=True)
        size = np.bincount(part)
        mean = np.bincount(part, pull) / size
        b[:] = np.where(alive, mean[part], b)
        side = _cut(np.where(alive, pull - mean[part], 0.0), tail, head, (part[tail] == part[head]), penalty)
        ups = np.bincount(part, side)
        split = (ups > 0) & (ups < size)
        alive &= split[part]
        between = (part[tail] == part[head]) & (side[tail] != side[head]) & alive[tail]
        sign = np.where(side[tail[between]], -penalty, penalty)
        np.add.at(pull, tail[between], sign)
        np.add.at(pull, head[between], -sign)
        part = 2 * part + np.where(alive, side, 0)
    return b


def _cut(excess, tail, head, inside, penalty):
    graph = maxflow.Graph[float](excess.size, int(inside.sum()))
    nodes = graph.add_grid_nodes((excess.size,))
    graph.add_grid_tedges(nodes, np.maximum(excess, 0), np.maximum(-excess, 0))
    weights = np.full(int(inside.sum()), float(penalty))
    graph.add_edges(tail[inside], head[inside], weights, weights)
    graph.maxflow()
    return ~graph.get_grid_segments(nodes)
