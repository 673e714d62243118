"""Estimates of a set of tables from noisy residual blocks: non-negative, consistent, with their own error.

They are made from the total to the largest tables.

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
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress
from leastnoise._support.validation import Floats
from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.tables import prediction
from leastnoise.denoise.tables.consistent import nonnegative
from leastnoise.denoise.tables.mixture import Cells, Uncertain, posteriors
from leastnoise.denoise.tables.projection import nearest
from leastnoise.denoise.tables.repeated import sights
from leastnoise.denoise.tables.risk import EstimatedTables, subsets
from leastnoise.workload.residuals import Table, project

AGREE = 1e-9  # how far two known tables may differ in a common margin, relative to the total
ROUNDS_OF_THREE = 5  # of a projection whose margins may have no solution
Tables = dict[Table, Floats]


def denoise_tables(
    blocks: Mapping[Table, Any],
    variances: Mapping[Table, float],
    sizes: Mapping[str, int],
    tables: Sequence[Table],
    *,
    known: Mapping[Table, Any] | None = None,
    mechanism: Mechanism = "gaussian",
) -> EstimatedTables:
    """Non-negative, mutually consistent estimates of a set of tables about the same people.

    blocks: the unbiased noisy residual r_A of every block A (a tuple of columns, () the total), centred on every axis.
    variances: y_A of every block: the noise of r_A has covariance y_A C_A, C_A the projector on the block.
    sizes: how many keys each column has, in the order of the columns. Columns of one key are in no block.
    tables: what was asked for, one or more; every subset of a table is a block.
    known: tables that are public, without noise, such as {("district",): totals} or {(): 1000}: they are held exactly.
    mechanism: "gaussian" or "laplace", the distribution of the noise. The estimate is the same: weights of linear means
        need variances only, and posterior means take the noise as Gaussian. What differs is said in `EstimatedTables`.
    """
    numbers = {a: np.asarray(block, dtype=np.float64) for a, block in blocks.items()}
    wanted = [tuple(c for c in table if sizes[c] > 1) for table in tables]
    fixed = _margins_of(known or {}, sizes, numbers)
    place = {column: i for i, column in enumerate(sizes)}
    smaller = {a for table in wanted for a in subsets(table) if len(a) < len(table)}
    largest = [b for b in dict.fromkeys(wanted) if b not in smaller]
    needed = sorted(smaller | set(largest), key=lambda a: (len(a), [place[c] for c in a]))
    numbers = {a: numbers[a] for a in needed}
    again = partial(estimated, variances=variances, sizes=sizes, known=fixed)
    with progress.bar("denoising", len(numbers)) as advance:
        found = estimated(numbers, variances=variances, sizes=sizes, known=fixed, advance=advance)
    if max(map(len, largest)) > 2:
        found = _joint(found, fixed, largest, sizes)
    return EstimatedTables(
        blocks=found,
        noisy=numbers,
        variances={a: 0.0 if a in fixed else float(variances[a]) for a in numbers},
        sizes=dict(sizes),
        tables=[tuple(table) for table in tables],
        mechanism=mechanism,
        again=again,
    )


def _joint(
    blocks: Mapping[Table, Floats], known: Mapping[Table, Floats], largest: Sequence[Table], sizes: Mapping[str, int]
) -> dict[Table, Floats]:
    """Equal weights: in that metric a projection brings every truth of this total, which has no negative cells, nearer,
    if anything."""
    weights = {a: math.inf if a in known or a == () else 1.0 for a in blocks}
    with progress.bar("making tables consistent", 150) as advance:
        found, reached = nonnegative(blocks, weights, largest, sizes, advance)
    if not reached:
        raise errors.InvalidParameter(
            "No non-negative tables were found that have these totals. Leave some of the known tables out: together "
            "they may contradict each other.",
            parameter="known",
        )
    return found


def _margins_of(
    known: Mapping[Table, Any], sizes: Mapping[str, int], blocks: Mapping[Table, Floats]
) -> dict[Table, Floats]:
    """Every known table and all its margins, without columns of one key."""
    found: dict[Table, Floats] = {}
    for table, values in known.items():
        names = tuple(c for c in table if sizes[c] > 1)
        array = np.asarray(values, dtype=np.float64).reshape([sizes[c] for c in names])
        if not (np.isfinite(array).all() and (array >= 0).all() and (array.size == 0 or array.sum() > 0)):
            raise errors.InvalidParameter(
                f"The known table {' x '.join(table) or 'of the total'} must have finite counts of 0 or more, and "
                "not zeros alone.",
                parameter="known",
            )
        if names not in blocks:
            raise errors.InvalidParameter(
                f"The known table {' x '.join(names)} is no margin of a table that was asked for.", parameter="known"
            )
        for a in subsets(names):
            margin = np.asarray(array.sum(axis=tuple(i for i, c in enumerate(names) if c not in a)))
            if a in found and np.abs(found[a] - margin).max() > AGREE * float(array.sum()):
                raise errors.InvalidParameter(
                    f"Known tables disagree about {' x '.join(a) or 'the total'}, which both add up to.",
                    parameter="known",
                )
            found[a] = margin
    return found


def estimated(
    blocks: Mapping[Table, Floats],
    factor: float = 1.0,
    *,
    variances: Mapping[Table, float],
    sizes: Mapping[str, int],
    known: Mapping[Table, Floats],
    advance: Callable[[int], object] = lambda done: None,
) -> dict[Table, Floats]:
    """The blocks of estimated tables. No cell is negative; tables of one and two columns have the smaller as margins.

    blocks: the noisy residuals r_A. factor: by which their noise has more variance than `variances`, y_A.
    sizes: the number of keys of a column. known: tables without noise, and all their margins.
    advance: called with how many tables are done.
    """
    columns = [c for c in sizes if sizes[c] > 1]
    direct = {
        a: Uncertain(block, np.full(block.shape, factor * float(variances[a]) * _share(block)))
        for a, block in blocks.items()
    }
    orders = [[a for a in blocks if len(a) == k] for k in range(max(map(len, blocks)) + 1)]
    total = known.get((), np.array(max(float(direct[()].value), 1.0)))
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
            noise = {a: float(seen[a].variance.mean()) / _share(seen[a].value) for a in order}
            predicted = prediction.mediated(found | begun, {a: seen[a].value for a in order}, noise)
        limited = {
            a: _limited(_centred(predicted[a], direct[a].value, found), posterior, direct[a].variance)
            for a, posterior in _posteriors(order, seen, predicted, found).items()
        }
        found |= _finished(order, limited, found, known)
        advance(len(order))
    return {a: np.asarray(project(table)) for a, table in found.items()}


def _share(block: Floats) -> float:
    """p_A: the degrees of freedom of a block over its cells."""
    return math.prod(1.0 - 1.0 / int(n) for n in block.shape)


def _predicted(order: Sequence[Table], lower: Tables) -> Tables:
    """Nothing for one-way tables, independence for pairs, largest entropy for more."""
    if order and len(order[0]) == 1:
        return dict.fromkeys(order, np.zeros(0))
    return {a: (prediction.independent if len(a) == 2 else prediction.fitted)(lower, a) for a in order}


def _centred(predicted: Floats, block: Floats, lower: Tables) -> Floats:
    """The table with this block and the margins of the prediction."""
    if predicted.size == 0:
        return np.asarray(lower[()] / block.size + block)
    return np.asarray(predicted + project(block - predicted))


def _posteriors(
    order: Sequence[Table], seen: Mapping[Table, Uncertain], predicted: Tables, lower: Tables
) -> dict[Table, Uncertain]:
    if not order:
        return {}
    cells = [
        Cells(
            _centred(predicted[a], seen[a].value, lower),
            predicted[a] if predicted[a].size else np.zeros(seen[a].value.shape),
            seen[a].variance,
            _share(seen[a].value),
        )
        for a in order
    ]
    return dict(zip(order, posteriors(cells), strict=True))


def _limited(unbiased: Floats, posterior: Uncertain, variance: Floats) -> Uncertain:
    """The posterior mean, drawn back toward the unbiased table x as James-Stein would be.

    With shift g = mean - x, the freedom taken away f = sum (1 - posterior variance/variance), and |g|^2 in units of the
    noise, both over the degrees of freedom: x + min(1, (f - 2)/|g|^2) g. For a mean that is a fixed point this is the
    positive-part James-Stein estimate, whose error is below that of x whatever the truth is; a linear factor a cell
    meets Bock's condition where no factor dominates. For means that follow the values, as here, nothing is proved. One
    or two degrees of freedom are left alone, and a prior that does not fit a table is overruled by the table.
    """
    share = _share(unbiased)
    shift = posterior.value - unbiased
    freedom = share * float(np.maximum(1 - posterior.variance / variance, 0.0).sum())
    square = share * float((shift**2 / variance).sum())
    factor = min(1.0, max(freedom - 2, 0.0) / max(square, 1e-300))
    return Uncertain(unbiased + factor * shift, posterior.variance)


def _finished(
    order: Sequence[Table], means: Mapping[Table, Uncertain], lower: Tables, known: Mapping[Table, Floats]
) -> Tables:
    made: Tables = {}
    for a in order:
        if a in known:
            made[a] = known[a]
            continue
        margins = [lower[a[:i] + a[i + 1 :]] for i in range(len(a))]
        rounds = {} if len(a) < 3 else {"rounds": ROUNDS_OF_THREE}
        made[a] = nearest(means[a].value, margins, **rounds)
    return made
