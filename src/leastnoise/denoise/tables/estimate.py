"""The estimate of a set of tables, from the total to the largest tables.

Smaller tables are estimated first and then held fixed: fitting all at once without negative cells would lift totals and
one-way tables, whose noise is the smallest. For the tables of each order:

1. what was seen of a block, together with the same in the blocks above it (`repeated`);
2. what smaller tables predict, and for pairs also other pairs (`prediction`);
3. the posterior mean of every cell, given both (`mixture`);
4. no further from the unbiased block than a James-Stein estimate may go (`_limited`);
5. the nearest non-negative table with the smaller tables as its margins (`projection`).

Three or more margins may leave no table without negative cells, so where tables have three columns or more one last
projection moves all blocks a little (`consistent`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.denoise.tables import prediction
from leastnoise.denoise.tables.mixture import Cells, Posterior, posteriors
from leastnoise.denoise.tables.projection import nearest
from leastnoise.denoise.tables.repeated import Sight, sights
from leastnoise.workload.residuals import Table, project

ROUNDS_OF_THREE = 5  # of a projection whose margins may have no solution
Tables = dict[Table, Floats]


def estimated(
    blocks: Mapping[Table, Floats],
    variances: Mapping[Table, float],
    sizes: Mapping[str, int],
    known: Mapping[Table, Floats],
    progress: Callable[[int], None] = lambda done: None,
) -> Tables:
    """A non-negative table for every block; those of one and two columns have exactly the smaller ones as margins.

    blocks, variances, sizes: the noisy residuals r_A, their y_A, and the number of keys of a column.
    known: tables without noise, and all their margins. progress: called with how many tables are done.
    """
    columns = [c for c in sizes if sizes[c] > 1]
    direct = {a: _sight(block, variances[a]) for a, block in blocks.items()}
    orders = [[a for a in blocks if len(a) == k] for k in range(max(map(len, blocks)) + 1)]
    total = known.get((), np.array(max(float(direct[()].block), 1.0)))
    first: Tables = {(): total}
    for order in orders[1:-1]:
        first |= _finished(order, _posteriors(order, direct, _predicted(order, first), first), first, known)
    seen = dict(direct)
    for below, above in reversed(list(pairwise(orders[1:]))):
        seen |= sights({a: direct[a] for a in below}, {a: seen[a] for a in above}, first, columns)
    found: Tables = {(): total}
    for order in orders[1:]:
        predicted = _predicted(order, found)
        if order and len(order[0]) == 2:
            begun = _finished(order, _posteriors(order, seen, predicted, found), found, known)
            noise = {a: float(seen[a].variance.mean()) / _share(seen[a].block) for a in order}
            predicted = prediction.mediated(found | begun, {a: seen[a].block for a in order}, noise)
        limited = {
            a: _limited(_centred(predicted[a], direct[a].block, found), posterior, direct[a].variance)
            for a, posterior in _posteriors(order, seen, predicted, found).items()
        }
        found |= _finished(order, limited, found, known)
        progress(len(order))
    return found


def _sight(block: Floats, variance: float) -> Sight:
    block = np.asarray(block, dtype=np.float64)
    return Sight(block, np.full(block.shape, variance * _share(block)))


def _share(block: Floats) -> float:
    """p_A: the degrees of freedom of a block over its cells."""
    return math.prod(1.0 - 1.0 / int(n) for n in block.shape)


def _predicted(order: Sequence[Table], lower: Tables) -> Tables:
    """Nothing for one-way tables, independence for pairs, largest entropy for more."""
    rules: dict[int, Callable[[Tables, Table], Floats]] = {
        1: lambda tables, a: np.zeros(0),
        2: prediction.independent,
    }
    return {a: rules.get(len(a), prediction.fitted)(lower, a) for a in order}


def _centred(predicted: Floats, block: Floats, lower: Tables) -> Floats:
    """The table with this block and the margins of the prediction."""
    if predicted.size == 0:
        return np.asarray(lower[()] / block.size + block)
    return np.asarray(predicted + project(block - predicted))


def _posteriors(
    order: Sequence[Table], seen: Mapping[Table, Sight], predicted: Tables, lower: Tables
) -> dict[Table, Posterior]:
    if not order:
        return {}
    cells = [
        Cells(
            _centred(predicted[a], seen[a].block, lower),
            predicted[a] if predicted[a].size else np.zeros(seen[a].block.shape),
            seen[a].variance,
            _share(seen[a].block),
        )
        for a in order
    ]
    return dict(zip(order, posteriors(cells), strict=True))


def _limited(unbiased: Floats, posterior: Posterior, variance: Floats) -> Posterior:
    """The posterior mean, drawn back toward the unbiased table x as James-Stein would be.

    With shift g = mean - x, the freedom taken away f = sum (1 - posterior variance/variance), and |g|^2 in units of the
    noise, both over the degrees of freedom: x + min(1, (f - 2)/|g|^2) g. For a mean that is a fixed point this is the
    positive-part James-Stein estimate, whose error is below that of x whatever the truth is; a linear factor a cell
    meets Bock's condition where no factor dominates. For means that follow the values, as here, nothing is proved. One
    or two degrees of freedom are left alone, and a prior that does not fit a table is overruled by the table.
    """
    share = _share(unbiased)
    shift = posterior.mean - unbiased
    freedom = share * float(np.maximum(1 - posterior.variance / variance, 0.0).sum())
    square = share * float((shift**2 / variance).sum())
    factor = min(1.0, max(freedom - 2, 0.0) / max(square, 1e-300))
    return Posterior(unbiased + factor * shift, posterior.variance)


def _finished(
    order: Sequence[Table], means: Mapping[Table, Posterior], lower: Tables, known: Mapping[Table, Floats]
) -> Tables:
    made: Tables = {}
    for a in order:
        if a in known:
            made[a] = known[a]
            continue
        margins = [lower[a[:i] + a[i + 1 :]] for i in range(len(a))]
        rounds = {} if len(a) < 3 else {"rounds": ROUNDS_OF_THREE}
        made[a] = nearest(means[a].mean, margins, **rounds)
    return made
