"""One set of blocks whose tables are all non-negative, nearest to given blocks.

    argmin  sum over A of  W_A |b_A - t_A|^2   subject to   T_B(b) >= 0 for every largest table B

with T_B(b) the sum of the blocks of B, spread evenly. Smaller tables are sums of larger ones, so they follow. Solved by
the alternating direction method of multipliers: every largest table has a copy of its own that is cut at a margin above
zero, and since the blocks of a table are orthogonal,

    |T_B(b)|^2 = sum over A in B of |b_A|^2 / n(B without A),

the best blocks for given copies are weighted means, block by block. It stops when no cell of T_B(b) is negative (by
more than rounding, which is all that a cell has whose known sum is zero): the margin is what makes that a finite number
of rounds, and stiff copies what makes them few. So what comes back is a point of the set that is near, not the very
nearest; with copies that are not stiff it would be that, after many rounds.
Blocks of infinite weight stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.workload.residuals import Table, project, table_of_blocks

MOST_ROUNDS = 1000
ROUNDING = 1e-12  # of the total
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
    found = {a: np.array(block, dtype=np.float64) for a, block in blocks.items()}
    for _ in range(MOST_ROUNDS):
        sums = {a: np.zeros(np.shape(found[a])) for a in blocks}
        least = min(_copy(found, b, sizes, shifts[b], margin[b], sums, rest) for b in largest)
        if least >= -ROUNDING * total:
            return found, True
        for a in blocks:
            if math.isfinite(stiff[a]):
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
    values = table_of_blocks(blocks, table, sizes)
    copy = np.maximum(values + shift, margin)
    shift += values - copy
    _add_margins(copy - shift, table, table, sums, rest)
    return float(values.min())


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
