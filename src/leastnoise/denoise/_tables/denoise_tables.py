"""From noisy residual blocks to tables: the checks, the estimate, and what is known without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress
from leastnoise._support.validation import Floats
from leastnoise.denoise._tables.consistent import nonnegative
from leastnoise.denoise._tables.estimate import estimated
from leastnoise.denoise._tables.estimated_tables import EstimatedTables
from leastnoise.denoise.arrays import Mechanism
from leastnoise.workload.residuals import Table, project

AGREE = 1e-9  # how far two known tables may differ in a common margin, relative to the total


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
    tables: what was asked for; every subset of a table is a block.
    known: tables that are public, without noise, such as {("district",): totals} or {(): 1000}: they are held exactly.
    mechanism: "gaussian" or "laplace", the distribution of the noise. The estimate is the same: weights of linear means
        need variances only, and posterior means take the noise as Gaussian. What differs is said in `EstimatedTables`.
    """
    numbers = {a: np.asarray(block, dtype=np.float64) for a, block in blocks.items()}
    wanted = [tuple(c for c in table if sizes[c] > 1) for table in tables]
    _check(numbers, variances, sizes, wanted)
    fixed = _margins_of(known or {}, sizes, list(sizes), numbers)
    place = {column: i for i, column in enumerate(sizes)}
    smaller = {a for table in wanted for a in _subsets(table) if len(a) < len(table)}
    largest = [b for b in dict.fromkeys(wanted) if b not in smaller]
    needed = sorted(smaller | set(largest), key=lambda a: (len(a), [place[c] for c in a]))
    numbers = {a: numbers[a] for a in needed}
    again = partial(_blocks, variances=variances, sizes=sizes, known=fixed)
    with progress.bar("denoising", len(numbers)) as advance:
        found = _blocks(numbers, variances=variances, sizes=sizes, known=fixed, advance=advance)
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


def _blocks(
    blocks: Mapping[Table, Floats],
    factor: float = 1.0,
    *,
    variances: Mapping[Table, float],
    sizes: Mapping[str, int],
    known: Mapping[Table, Floats],
    advance: Any = lambda done: None,
) -> dict[Table, Floats]:
    """The blocks of the estimated tables, where the noise has `factor` times its variance."""
    scaled = {a: factor * float(variances[a]) for a in blocks}
    return {a: np.asarray(project(t)) for a, t in estimated(blocks, scaled, sizes, known, advance).items()}


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


def _check(
    blocks: Mapping[Table, Floats], variances: Mapping[Table, float], sizes: Mapping[str, int], wanted: Sequence[Table]
) -> None:
    if not wanted:
        raise errors.InvalidParameter("There is no table to estimate.", parameter="tables")
    for table in wanted:
        for a in _subsets(table):
            shape = tuple(sizes[c] for c in a)
            if a not in blocks or a not in variances or blocks[a].shape != shape:
                raise errors.InvalidParameter(
                    f"The table {table} needs the block {a}, an array of shape {shape}, and its variance.",
                    parameter="blocks",
                )
            if not (np.isfinite(blocks[a]).all() and math.isfinite(variances[a]) and variances[a] > 0):
                raise errors.InvalidParameter(
                    f"The block {a} must be finite, and its variance above 0.", parameter="blocks"
                )


def _margins_of(
    known: Mapping[Table, Any], sizes: Mapping[str, int], columns: Sequence[str], blocks: Mapping[Table, Floats]
) -> dict[Table, Floats]:
    """Every known table and all its margins, without columns of one key."""
    found: dict[Table, Floats] = {}
    for table, values in known.items():
        names = tuple(table)
        shape = tuple(sizes.get(c, 0) for c in names)
        array = np.asarray(values, dtype=np.float64)
        if list(names) != [c for c in columns if c in names] or array.shape != shape:
            raise errors.InvalidParameter(
                f"A known table has columns in their order ({', '.join(columns)}) and an array of one number a cell. "
                f"Got {names} with shape {array.shape} instead.",
                parameter="known",
            )
        if not (np.isfinite(array).all() and (array >= 0).all() and (array.size == 0 or array.sum() > 0)):
            raise errors.InvalidParameter(
                f"The known table {' x '.join(names) or 'of the total'} must have finite counts of 0 or more, and "
                "not zeros alone.",
                parameter="known",
            )
        array = array.reshape([n for n in shape if n > 1])
        names = tuple(c for c in names if sizes[c] > 1)
        if names not in blocks:
            raise errors.InvalidParameter(
                f"The known table {' x '.join(names)} is no margin of a table that was asked for.", parameter="known"
            )
        for a in _subsets(names):
            margin = np.asarray(array.sum(axis=tuple(i for i, c in enumerate(names) if c not in a)))
            if a in found and np.abs(found[a] - margin).max() > AGREE * float(array.sum()):
                raise errors.InvalidParameter(
                    f"Known tables disagree about {' x '.join(a) or 'the total'}, which both add up to.",
                    parameter="known",
                )
            found[a] = margin
    return found


def _subsets(table: Table) -> list[Table]:
    return [a for k in range(len(table) + 1) for a in combinations(table, k)]
