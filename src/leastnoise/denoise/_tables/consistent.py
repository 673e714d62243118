"""One set of blocks whose tables are all non-negative, nearest to given blocks.

    argmin  sum over A of  W_A |b_A - t_A|^2   subject to   T_B(b) >= 0 for every largest table B

with T_B(b) the sum of the blocks of B, spread evenly. Smaller tables are sums of larger ones, so they follow. Solved by
the alternating direction method of multipliers: every largest table has a copy of its own that is cut at a margin above
zero, and since the blocks of a table are orthogonal,

    |T_B(b)|^2 = sum over A in B of |b_A|^2 / n(B without A),

the best blocks for given copies are weighted means, block by block. It stops when no cell of T_B(b) is negative: the
margin is what makes that a finite number of rounds, and stiff copies what makes them few. So what comes back is a
point of the set that is near, not the very nearest; with copies that are not stiff it would be that, after many rounds.
Blocks of infinite weight stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from leastnoise._support.compilation import compiled
from leastnoise._support.validation import Floats
from leastnoise.workload.residuals import Table, project, table_of_blocks

MOST_ROUNDS = 1000
MARGIN = 0.02  # of the mean cell of a table, and at most as much of one count
STIFFNESS = 20.0  # of the copies against the blocks: nearly all of the way to the set in each round


def nonnegative(
    blocks: Mapping[Table, Floats],
    weights: Mapping[Table, float],
    largest: Sequence[Table],
    sizes: Mapping[str, int],
    progress: Callable[[int], None],
) -> tuple[dict[Table, Floats], bool]:
    """The nearest blocks with non-negative tables, and whether they were found in MOST_ROUNDS.

    blocks, weights: t_A and W_A. largest: the tables that no other contains, without columns of one key.
    sizes: how many keys a column has. progress: called after every round.
    """
    inside = [(a, b) for b in largest for k in range(len(b) + 1) for a in combinations(b, k)]
    rest = {(a, b): math.prod(sizes[c] for c in b if c not in a) for a, b in inside}
    rho = STIFFNESS * float(np.median([weights[b] for b in largest if math.isfinite(weights[b])] or [1.0]))
    stiff = {a: weights[a] / rho for a in blocks}
    pull = dict.fromkeys(blocks, 0.0)
    for (a, _), cells in rest.items():
        pull[a] += 1 / cells
    total = max(float(blocks[()]), 0.0)
    margin = {b: MARGIN * min(1.0, total / rest[(), b]) for b in largest}
    shifts = {b: np.zeros([sizes[c] for c in b]) for b in largest}
    # Of a largest table with three columns the block is its own: written in place, without arrays in between.
    single = {b for b in largest if len(b) == 3 and math.isfinite(stiff[b])}
    found = {a: np.array(block, dtype=np.float64) for a, block in blocks.items()}
    for _ in range(MOST_ROUNDS):
        sums = {a: np.zeros(np.shape(found[a])) for a in blocks}
        least = min(_copy(found, b, sizes, shifts[b], margin[b], sums, rest) for b in largest)
        if least >= 0:
            return found, True
        for a in blocks:
            if a in single:
                _settle(sums[a], blocks[a], stiff[a], found[a])
            elif math.isfinite(stiff[a]):
                found[a] = (stiff[a] * blocks[a] + project(sums[a])) / (stiff[a] + pull[a])
        progress(1)
    return found, False


def _copy(
    blocks: Mapping[Table, Floats],
    table: Table,
    sizes: Mapping[str, int],
    shift: Floats,
    margin: float,
    sums: dict[Table, Floats],
    rest: Mapping[tuple[Table, Table], int],
) -> float:
    """A round for one table: its shift is renewed, and its margins are added to `sums`. Back comes its least cell."""
    if len(table) == 3:
        return _copy_of_three(blocks, table, sizes, shift, margin, sums, rest)
    values = table_of_blocks(blocks, table, sizes)
    copy = np.maximum(values + shift, margin)
    shift += values - copy
    _add_margins(copy - shift, table, table, sums, rest)
    return float(values.min())


def _copy_of_three(
    blocks: Mapping[Table, Floats],
    table: Table,
    sizes: Mapping[str, int],
    shift: Floats,
    margin: float,
    sums: dict[Table, Floats],
    rest: Mapping[tuple[Table, Table], int],
) -> float:
    a, b, c = table
    i, j, k = sizes[a], sizes[b], sizes[c]
    # What all smaller blocks say, as three pairs: the first takes in the one-way blocks and the total.
    first = blocks[a, b] / k + blocks[(a,)][:, None] / (j * k) + blocks[(b,)] / (i * k) + blocks[()] / (i * j * k)
    second = blocks[a, c] / j + blocks[(c,)] / (i * j)
    third = blocks[b, c] / i
    margins = np.zeros((i, j)), np.zeros((i, k)), np.zeros((j, k))
    least = float(_three(blocks[table], first, second, third, shift, margin, sums[table], *margins))
    for pair, values in zip(((a, b), (a, c), (b, c)), margins, strict=True):
        sums[pair] += values / rest[pair, table]
    ones = margins[0].sum(axis=1), margins[0].sum(axis=0), margins[1].sum(axis=0)
    for column, values in zip(table, ones, strict=True):
        sums[(column,)] += values / rest[(column,), table]
    sums[()] += ones[0].sum() / rest[(), table]
    return least


@compiled
def _three(block, first, second, third, shift, margin, own, ab, ac, bc) -> float:  # type: ignore[no-untyped-def]
    """The same round for three columns, in one sweep; `own`, `ab`, `ac`, `bc` receive the copy and its margins."""
    least = np.inf
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            row = 0.0
            for k in range(block.shape[2]):
                value = block[i, j, k] + first[i, j] + second[i, k] + third[j, k]
                least = min(least, value)
                copy = max(value + shift[i, j, k], margin)
                shift[i, j, k] += value - copy
                copy -= shift[i, j, k]
                own[i, j, k] += copy
                row += copy
                ac[i, k] += copy
                bc[j, k] += copy
            ab[i, j] += row
    return least


@compiled
def _settle(copy, target, stiff, block) -> None:  # type: ignore[no-untyped-def]
    """block = (stiff target + the copy, centred on every axis) / (stiff + 1), for three axes."""
    i, j, k = copy.shape
    ab, ac, bc = np.zeros((i, j)), np.zeros((i, k)), np.zeros((j, k))
    for x in range(i):
        for y in range(j):
            for z in range(k):
                ab[x, y] += copy[x, y, z] / k
                ac[x, z] += copy[x, y, z] / j
                bc[y, z] += copy[x, y, z] / i
    a, b, c, mean = np.zeros(i), np.zeros(j), np.zeros(k), 0.0
    for x in range(i):
        for y in range(j):
            a[x] += ab[x, y] / j
            b[y] += ab[x, y] / i
        for z in range(k):
            c[z] += ac[x, z] / i
        mean += a[x] / i
    for x in range(i):
        for y in range(j):
            for z in range(k):
                centred = copy[x, y, z] - ab[x, y] - ac[x, z] - bc[y, z] + a[x] + b[y] + c[z] - mean
                block[x, y, z] = (stiff * target[x, y, z] + centred) / (stiff + 1)


def _add_margins(
    part: Floats, table: Table, whole: Table, sums: dict[Table, Floats], rest: Mapping[tuple[Table, Table], int]
) -> None:
    """Add the margins of a copy, each over how many cells were summed, to the sums of its blocks; each subset once.

    A column is left out only while all columns after it are still there, so every subset is reached one way.
    """
    sums[table] += part / rest[table, whole]
    for axis, column in enumerate(table):
        if all(c in table for c in whole[whole.index(column) :]):
            _add_margins(part.sum(axis=axis), table[:axis] + table[axis + 1 :], whole, sums, rest)
