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
rows below them take it away together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.compiled import compiled


@compiled
def scaled_pair(block: Any, pivot: Any) -> tuple[float, float, float, float]:
    a, b, c = pivot[0], pivot[1], pivot[2]
    l0, l1, l2, l3 = block[0], block[1], block[2], block[3]
    return l0 * a + l1 * b, l0 * b + l1 * c, l2 * a + l3 * b, l2 * b + l3 * c


@compiled
def factorise_pairs(
    coupled: Any, d: Any, start: Any, neighbours: Any, weights: Any, diagonal: Any, first: Any, rows: Any, begin: Any,
    columns: Any, source: Any, blocks: Any, pivots: Any,
) -> None:  # fmt: skip
    """The factor, column by column, into `blocks` (below the diagonal) and `pivots` (the upper
    triangle of each, and that of its inverse)."""
    n = d.size
    x = np.zeros((n, 4))
    for j in range(n):
        x[j, 0], x[j, 1], x[j, 3] = 1.0, diagonal[j] * coupled[j], -d[j]
        for a in range(start[j], start[j + 1]):
            i = neighbours[a]
            if i > j:
                x[i, 1], x[i, 2] = -weights[a] * coupled[j], -weights[a] * coupled[i]
        t = begin[j]
        while t < begin[j + 1]:
            s, k = source[t], columns[t]
            end = first[k + 1]
            c0, c1, c2, c3 = scaled_pair(blocks[s], pivots[k])
            t += 1
            if j > k + 1 and rows[first[k]] == k + 1 and first[k + 2] - end == end - first[k] - 1:
                far = source[t] - s
                d0, d1, d2, d3 = scaled_pair(blocks[s + far], pivots[k + 1])
                t += 1
                for e in range(s, end):
                    i = np.uint64(rows[e])  # no index is counted from the end
                    l0, l1, l2, l3 = blocks[e, 0], blocks[e, 1], blocks[e, 2], blocks[e, 3]
                    m0, m1, m2, m3 = blocks[e + far, 0], blocks[e + far, 1], blocks[e + far, 2], blocks[e + far, 3]
                    x0, x1, x2, x3 = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
                    x[i, 0] = x0 - (l0 * c0 + l1 * c1) - (m0 * d0 + m1 * d1)
                    x[i, 1] = x1 - (l0 * c2 + l1 * c3) - (m0 * d2 + m1 * d3)
                    x[i, 2] = x2 - (l2 * c0 + l3 * c1) - (m2 * d0 + m3 * d1)
                    x[i, 3] = x3 - (l2 * c2 + l3 * c3) - (m2 * d2 + m3 * d3)
                continue
            for e in range(s, end):
                i = np.uint64(rows[e])
                l0, l1, l2, l3 = blocks[e, 0], blocks[e, 1], blocks[e, 2], blocks[e, 3]
                x0, x1, x2, x3 = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
                x[i, 0], x[i, 1] = x0 - l0 * c0 - l1 * c1, x1 - l0 * c2 - l1 * c3
                x[i, 2], x[i, 3] = x2 - l2 * c0 - l3 * c1, x3 - l2 * c2 - l3 * c3
        a, b, c = x[j, 0], x[j, 1], x[j, 3]
        pivots[j, 0], pivots[j, 1], pivots[j, 2] = a, b, c
        one = 1.0 / (a * c - b * b)
        p, q, r = c * one, -b * one, a * one
        pivots[j, 3], pivots[j, 4], pivots[j, 5] = p, q, r
        x[j, 0] = x[j, 1] = x[j, 2] = x[j, 3] = 0.0
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x0, x1, x2, x3 = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
            blocks[s, 0], blocks[s, 1] = x0 * p + x1 * q, x0 * q + x1 * r
            blocks[s, 2], blocks[s, 3] = x2 * p + x3 * q, x2 * q + x3 * r
            x[i, 0] = x[i, 1] = x[i, 2] = x[i, 3] = 0.0


@compiled
def substitute_pairs(first: Any, rows: Any, blocks: Any, pivots: Any, x: Any) -> None:
    """The solution in place; x has two columns."""
    n = first.size - 1
    for j in range(n):
        u, v = x[j, 0], x[j, 1]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x[i, 0] -= blocks[s, 0] * u + blocks[s, 1] * v
            x[i, 1] -= blocks[s, 2] * u + blocks[s, 3] * v
    for j in range(n - 1, -1, -1):
        u = pivots[j, 3] * x[j, 0] + pivots[j, 4] * x[j, 1]
        v = pivots[j, 4] * x[j, 0] + pivots[j, 5] * x[j, 1]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            u -= blocks[s, 0] * x[i, 0] + blocks[s, 2] * x[i, 1]
            v -= blocks[s, 1] * x[i, 0] + blocks[s, 3] * x[i, 1]
        x[j, 0], x[j, 1] = u, v


@compiled
def scaled_row(row: Any, pivot: Any) -> tuple[float, float, float]:
    a, b, c, d, e, f = pivot[0], pivot[1], pivot[2], pivot[3], pivot[4], pivot[5]
    return (
        row[0] * a + row[1] * b + row[2] * c,
        row[0] * b + row[1] * d + row[2] * e,
        row[0] * c + row[1] * e + row[2] * f,
    )


@compiled
def factorise_triples(
    g: Any, start: Any, neighbours: Any, weights: Any, diagonal: Any, first: Any, rows: Any, begin: Any, columns: Any,
    source: Any, blocks: Any, pivots: Any,
) -> None:  # fmt: skip
    """As for pairs; g has one number for every entry of `neighbours`."""
    n = diagonal.size
    x = np.zeros((n, 9))
    for j in range(n):
        x[j, 0], x[j, 2], x[j, 5] = 1.0, diagonal[j], -1.0
        for a in range(start[j], start[j + 1]):
            i = neighbours[a]
            x[j, 4] += g[a]
            if i > j:
                x[i, 2], x[i, 4], x[i, 6] = -weights[a], -g[a], -weights[a]
        t = begin[j]
        while t < begin[j + 1]:
            s, k = source[t], columns[t]
            end = first[k + 1]
            c0, c1, c2 = scaled_row(blocks[s, 0:3], pivots[k])
            c3, c4, c5 = scaled_row(blocks[s, 3:6], pivots[k])
            c6, c7, c8 = scaled_row(blocks[s, 6:9], pivots[k])
            t += 1
            if j > k + 1 and rows[first[k]] == k + 1 and first[k + 2] - end == end - first[k] - 1:
                far = source[t] - s
                d0, d1, d2 = scaled_row(blocks[s + far, 0:3], pivots[k + 1])
                d3, d4, d5 = scaled_row(blocks[s + far, 3:6], pivots[k + 1])
                d6, d7, d8 = scaled_row(blocks[s + far, 6:9], pivots[k + 1])
                t += 1
                for e in range(s, end):
                    i = np.uint64(rows[e])
                    l0, l1, l2 = blocks[e, 0], blocks[e, 1], blocks[e, 2]
                    m0, m1, m2 = blocks[e + far, 0], blocks[e + far, 1], blocks[e + far, 2]
                    x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
                    x[i, 0] = x0 - (l0 * c0 + l1 * c1 + l2 * c2) - (m0 * d0 + m1 * d1 + m2 * d2)
                    x[i, 1] = x1 - (l0 * c3 + l1 * c4 + l2 * c5) - (m0 * d3 + m1 * d4 + m2 * d5)
                    x[i, 2] = x2 - (l0 * c6 + l1 * c7 + l2 * c8) - (m0 * d6 + m1 * d7 + m2 * d8)
                    l0, l1, l2 = blocks[e, 3], blocks[e, 4], blocks[e, 5]
                    m0, m1, m2 = blocks[e + far, 3], blocks[e + far, 4], blocks[e + far, 5]
                    x0, x1, x2 = x[i, 3], x[i, 4], x[i, 5]
                    x[i, 3] = x0 - (l0 * c0 + l1 * c1 + l2 * c2) - (m0 * d0 + m1 * d1 + m2 * d2)
                    x[i, 4] = x1 - (l0 * c3 + l1 * c4 + l2 * c5) - (m0 * d3 + m1 * d4 + m2 * d5)
                    x[i, 5] = x2 - (l0 * c6 + l1 * c7 + l2 * c8) - (m0 * d6 + m1 * d7 + m2 * d8)
                    l0, l1, l2 = blocks[e, 6], blocks[e, 7], blocks[e, 8]
                    m0, m1, m2 = blocks[e + far, 6], blocks[e + far, 7], blocks[e + far, 8]
                    x0, x1, x2 = x[i, 6], x[i, 7], x[i, 8]
                    x[i, 6] = x0 - (l0 * c0 + l1 * c1 + l2 * c2) - (m0 * d0 + m1 * d1 + m2 * d2)
                    x[i, 7] = x1 - (l0 * c3 + l1 * c4 + l2 * c5) - (m0 * d3 + m1 * d4 + m2 * d5)
                    x[i, 8] = x2 - (l0 * c6 + l1 * c7 + l2 * c8) - (m0 * d6 + m1 * d7 + m2 * d8)
                continue
            for e in range(s, end):
                i = np.uint64(rows[e])
                l0, l1, l2 = blocks[e, 0], blocks[e, 1], blocks[e, 2]
                x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
                x[i, 0] = x0 - (l0 * c0 + l1 * c1 + l2 * c2)
                x[i, 1] = x1 - (l0 * c3 + l1 * c4 + l2 * c5)
                x[i, 2] = x2 - (l0 * c6 + l1 * c7 + l2 * c8)
                l0, l1, l2 = blocks[e, 3], blocks[e, 4], blocks[e, 5]
                x0, x1, x2 = x[i, 3], x[i, 4], x[i, 5]
                x[i, 3] = x0 - (l0 * c0 + l1 * c1 + l2 * c2)
                x[i, 4] = x1 - (l0 * c3 + l1 * c4 + l2 * c5)
                x[i, 5] = x2 - (l0 * c6 + l1 * c7 + l2 * c8)
                l0, l1, l2 = blocks[e, 6], blocks[e, 7], blocks[e, 8]
                x0, x1, x2 = x[i, 6], x[i, 7], x[i, 8]
                x[i, 6] = x0 - (l0 * c0 + l1 * c1 + l2 * c2)
                x[i, 7] = x1 - (l0 * c3 + l1 * c4 + l2 * c5)
                x[i, 8] = x2 - (l0 * c6 + l1 * c7 + l2 * c8)
        a0, a1, a2, a4, a5, a8 = x[j, 0], x[j, 1], x[j, 2], x[j, 4], x[j, 5], x[j, 8]
        pivots[j, 0], pivots[j, 1], pivots[j, 2], pivots[j, 3], pivots[j, 4], pivots[j, 5] = a0, a1, a2, a4, a5, a8
        p0, p1, p2 = a4 * a8 - a5 * a5, a2 * a5 - a1 * a8, a1 * a5 - a2 * a4
        p4, p5, p8 = a0 * a8 - a2 * a2, a1 * a2 - a0 * a5, a0 * a4 - a1 * a1
        one = 1.0 / (a0 * p0 + a1 * p1 + a2 * p2)
        p0, p1, p2, p4, p5, p8 = p0 * one, p1 * one, p2 * one, p4 * one, p5 * one, p8 * one
        pivots[j, 6], pivots[j, 7], pivots[j, 8], pivots[j, 9], pivots[j, 10], pivots[j, 11] = p0, p1, p2, p4, p5, p8
        x[j] = 0.0
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            for k in range(0, 9, 3):
                x0, x1, x2 = x[i, k], x[i, k + 1], x[i, k + 2]
                blocks[s, k] = x0 * p0 + x1 * p1 + x2 * p2
                blocks[s, k + 1] = x0 * p1 + x1 * p4 + x2 * p5
                blocks[s, k + 2] = x0 * p2 + x1 * p5 + x2 * p8
            x[i] = 0.0


@compiled
def substitute_triples(first: Any, rows: Any, blocks: Any, pivots: Any, x: Any) -> None:
    """The solution in place; x has three columns."""
    n = first.size - 1
    for j in range(n):
        u, v, w = x[j, 0], x[j, 1], x[j, 2]
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x[i, 0] -= blocks[s, 0] * u + blocks[s, 1] * v + blocks[s, 2] * w
            x[i, 1] -= blocks[s, 3] * u + blocks[s, 4] * v + blocks[s, 5] * w
            x[i, 2] -= blocks[s, 6] * u + blocks[s, 7] * v + blocks[s, 8] * w
    for j in range(n - 1, -1, -1):
        x0, x1, x2 = x[j, 0], x[j, 1], x[j, 2]
        u = pivots[j, 6] * x0 + pivots[j, 7] * x1 + pivots[j, 8] * x2
        v = pivots[j, 7] * x0 + pivots[j, 9] * x1 + pivots[j, 10] * x2
        w = pivots[j, 8] * x0 + pivots[j, 10] * x1 + pivots[j, 11] * x2
        for s in range(first[j], first[j + 1]):
            i = np.uint64(rows[s])
            x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
            u -= blocks[s, 0] * x0 + blocks[s, 3] * x1 + blocks[s, 6] * x2
            v -= blocks[s, 1] * x0 + blocks[s, 4] * x1 + blocks[s, 7] * x2
            w -= blocks[s, 2] * x0 + blocks[s, 5] * x1 + blocks[s, 8] * x2
        x[j, 0], x[j, 1], x[j, 2] = u, v, w
