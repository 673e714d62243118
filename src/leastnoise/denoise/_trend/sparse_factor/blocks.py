"""Symmetric sparse factors in compiled loops, with a small block for every node: two unknowns (pairs) or three.

    pairs     [ I     L P     ]        triples   [ I   0    L ]
              [ P L   -diag(d)]                  [ 0   L_g  -I ]
                                                 [ L   -I   0 ]

L is the Laplacian, L_g the one with weights g >= 0, P = diag(coupled) of zeros and ones, d > 0. Whatever nodes are
kept, the part of the matrix on them is regular: pairs are quasi-definite (Vanderbei 1995), and triples come down to
I + L L_g L. So a factor exists in any order of the nodes, without pivots, and its fill is that of L alone.

All arrays are numbered in the order of elimination: `first, rows` is the pattern of the factor by columns, `begin,
columns, source` the same by rows (`elimination.py`), and `start, neighbours, weights, diagonal` is L. Column j is what
the matrix has there less what the columns k with an entry in row j take away; two neighbouring columns with the same
rows below them take it away together. Blocks lie as `vector_registers.py` has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled
from leastnoise.denoise._trend.sparse_factor.vector_registers import settle, subtract

BLOCK_SHAPES = {1: (2, 2), 2: (3, 4)}  # of a block, by order


@compiled
def scaled_pair(block: Any, pivot: Any) -> Any:
    """A block times a pivot."""
    a, b, c = pivot[0], pivot[1], pivot[2]
    u, v, y, z = block[0, 0], block[0, 1], block[1, 0], block[1, 1]
    return u * a + v * b, u * b + v * c, y * a + z * b, y * b + z * c


@compiled
def factorise_pairs(
    coupled: Any, d: Any, start: Any, neighbours: Any, weights: Any, diagonal: Any, first: Any, rows: Any, begin: Any,
    columns: Any, source: Any, blocks: Any, pivots: Any,
) -> None:  # fmt: skip
    """The factor, column by column, into `blocks` (below the diagonal) and `pivots` (the upper
    triangle of each, and that of its inverse)."""
    n = d.size
    x = np.zeros((n, 2, 2))
    for j in range(n):
        x[j, 0, 0], x[j, 0, 1], x[j, 1, 1] = 1.0, diagonal[j] * coupled[j], -d[j]
        for a in range(start[j], start[j + 1]):
            i = neighbours[a]
            if i > j:
                x[i, 0, 1], x[i, 1, 0] = -weights[a] * coupled[j], -weights[a] * coupled[i]
        t = begin[j]
        while t < begin[j + 1]:
            s, k = source[t], columns[t]
            end = first[k + 1]
            factor = scaled_pair(blocks[s], pivots[k])
            if j > k + 1 and rows[first[k]] == k + 1 and first[k + 2] - end == end - first[k] - 1:
                far = source[t + 1] - s
                both = factor, scaled_pair(blocks[s + far], pivots[k + 1])
                for e in range(s, end):
                    subtract(x, rows[e], blocks, (e, e + far), both)
                t += 2
            else:
                for e in range(s, end):
                    subtract(x, rows[e], blocks, (e,), (factor,))
                t += 1
        a0, a1, a2 = x[j, 0, 0], x[j, 0, 1], x[j, 1, 1]
        one = 1.0 / (a0 * a2 - a1 * a1)
        p0, p1, p2 = a2 * one, -a1 * one, a0 * one
        pivots[j, 0], pivots[j, 1], pivots[j, 2] = a0, a1, a2
        pivots[j, 3], pivots[j, 4], pivots[j, 5] = p0, p1, p2
        x[j] = 0.0
        for s in range(first[j], first[j + 1]):
            settle(blocks, s, x, rows[s], (p0, p1, p1, p2))


@compiled
def substitute_pairs(first: Any, rows: Any, blocks: Any, pivots: Any, x: Any) -> None:
    """The solution in place; x has two columns."""
    n = first.size - 1
    for j in range(n):
        u, v = x[j, 0], x[j, 1]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])  # no index is counted from the end
            x[i, 0] -= blocks[s, 0, 0] * u + blocks[s, 0, 1] * v
            x[i, 1] -= blocks[s, 1, 0] * u + blocks[s, 1, 1] * v
    for j in range(n - 1, -1, -1):
        u = pivots[j, 3] * x[j, 0] + pivots[j, 4] * x[j, 1]
        v = pivots[j, 4] * x[j, 0] + pivots[j, 5] * x[j, 1]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            u -= blocks[s, 0, 0] * x[i, 0] + blocks[s, 1, 0] * x[i, 1]
            v -= blocks[s, 0, 1] * x[i, 0] + blocks[s, 1, 1] * x[i, 1]
        x[j, 0], x[j, 1] = u, v


@compiled
def scaled_triple(block: Any, pivot: Any) -> Any:
    return scaled_row(block[0], pivot) + scaled_row(block[1], pivot) + scaled_row(block[2], pivot)


@compiled
def scaled_row(row: Any, pivot: Any) -> Any:
    a, b, c, d, e, f = pivot[0], pivot[1], pivot[2], pivot[3], pivot[4], pivot[5]
    u, v, w = row[0], row[1], row[2]
    return u * a + v * b + w * c, u * b + v * d + w * e, u * c + v * e + w * f


@compiled
def factorise_triples(
    g: Any, start: Any, neighbours: Any, weights: Any, diagonal: Any, first: Any, rows: Any, begin: Any, columns: Any,
    source: Any, blocks: Any, pivots: Any,
) -> None:  # fmt: skip
    """As for pairs; g has one number for every entry of `neighbours`."""
    n = diagonal.size
    x = np.zeros((n, 3, 4))
    for j in range(n):
        x[j, 0, 0], x[j, 0, 2], x[j, 1, 2] = 1.0, diagonal[j], -1.0
        for a in range(start[j], start[j + 1]):
            i = neighbours[a]
            x[j, 1, 1] += g[a]
            if i > j:
                x[i, 0, 2], x[i, 1, 1], x[i, 2, 0] = -weights[a], -g[a], -weights[a]
        t = begin[j]
        while t < begin[j + 1]:
            s, k = source[t], columns[t]
            end = first[k + 1]
            factor = scaled_triple(blocks[s], pivots[k])
            if j > k + 1 and rows[first[k]] == k + 1 and first[k + 2] - end == end - first[k] - 1:
                far = source[t + 1] - s
                both = factor, scaled_triple(blocks[s + far], pivots[k + 1])
                for e in range(s, end):
                    subtract(x, rows[e], blocks, (e, e + far), both)
                t += 2
            else:
                for e in range(s, end):
                    subtract(x, rows[e], blocks, (e,), (factor,))
                t += 1
        a0, a1, a2, a3, a4, a5 = x[j, 0, 0], x[j, 0, 1], x[j, 0, 2], x[j, 1, 1], x[j, 1, 2], x[j, 2, 2]
        p0, p1, p2 = a3 * a5 - a4 * a4, a2 * a4 - a1 * a5, a1 * a4 - a2 * a3
        p3, p4, p5 = a0 * a5 - a2 * a2, a1 * a2 - a0 * a4, a0 * a3 - a1 * a1
        one = 1.0 / (a0 * p0 + a1 * p1 + a2 * p2)
        p0, p1, p2, p3, p4, p5 = p0 * one, p1 * one, p2 * one, p3 * one, p4 * one, p5 * one
        pivots[j, 0], pivots[j, 1], pivots[j, 2], pivots[j, 3], pivots[j, 4], pivots[j, 5] = a0, a1, a2, a3, a4, a5
        pivots[j, 6], pivots[j, 7], pivots[j, 8], pivots[j, 9], pivots[j, 10], pivots[j, 11] = p0, p1, p2, p3, p4, p5
        x[j] = 0.0
        for s in range(first[j], first[j + 1]):
            settle(blocks, s, x, rows[s], (p0, p1, p2, p1, p3, p4, p2, p4, p5))


@compiled
def substitute_triples(first: Any, rows: Any, blocks: Any, pivots: Any, x: Any) -> None:
    """The solution in place; x has three columns."""
    n = first.size - 1
    for j in range(n):
        u, v, w = x[j, 0], x[j, 1], x[j, 2]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x[i, 0] -= blocks[s, 0, 0] * u + blocks[s, 0, 1] * v + blocks[s, 0, 2] * w
            x[i, 1] -= blocks[s, 1, 0] * u + blocks[s, 1, 1] * v + blocks[s, 1, 2] * w
            x[i, 2] -= blocks[s, 2, 0] * u + blocks[s, 2, 1] * v + blocks[s, 2, 2] * w
    for j in range(n - 1, -1, -1):
        x0, x1, x2 = x[j, 0], x[j, 1], x[j, 2]
        u = pivots[j, 6] * x0 + pivots[j, 7] * x1 + pivots[j, 8] * x2
        v = pivots[j, 7] * x0 + pivots[j, 9] * x1 + pivots[j, 10] * x2
        w = pivots[j, 8] * x0 + pivots[j, 10] * x1 + pivots[j, 11] * x2
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
            u -= blocks[s, 0, 0] * x0 + blocks[s, 1, 0] * x1 + blocks[s, 2, 0] * x2
            v -= blocks[s, 0, 1] * x0 + blocks[s, 1, 1] * x1 + blocks[s, 2, 1] * x2
            w -= blocks[s, 0, 2] * x0 + blocks[s, 1, 2] * x1 + blocks[s, 2, 2] * x2
        x[j, 0], x[j, 1], x[j, 2] = u, v, w
