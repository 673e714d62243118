"""From noisy residual blocks to tables: the estimate, and what is known without noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress
from leastnoise._support.validation import Floats
from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.tables.consistent import nonnegative
from leastnoise.denoise.tables.estimate import estimated
from leastnoise.denoise.tables.integers import Integers, rounded
from leastnoise.denoise.tables.risk import TableRisks
from leastnoise.releases.risk_limits import RmseLimit
from leastnoise.workload.residuals import Table, project, table_of_blocks

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
    tables: what was asked for, one or more; every subset of a table is a block.
    known: tables that are public, without noise, such as {("district",): totals} or {(): 1000}: they are held exactly.
    mechanism: "gaussian" or "laplace", the distribution of the noise. The estimate is the same: weights of linear means
        need variances only, and posterior means take the noise as Gaussian. What differs is said in `EstimatedTables`.
    """
    numbers = {a: np.asarray(block, dtype=np.float64) for a, block in blocks.items()}
    wanted = [tuple(c for c in table if sizes[c] > 1) for table in tables]
    fixed = _margins_of(known or {}, sizes, numbers)
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


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedTables:
    """Blocks without noise, whose tables are non-negative and add up.

    blocks: the estimated residual of every block. noisy: the unbiased ones. variances: y_A, 0 where the block is known.
    sizes: how many keys each column has. tables: what was asked for. mechanism: the distribution of the noise.
    again: the same estimate of other blocks, whose noise has `factor` times the variance.
    """

    blocks: Mapping[Table, Floats]
    noisy: Mapping[Table, Floats]
    variances: Mapping[Table, float]
    sizes: Mapping[str, int]
    tables: list[Table]
    mechanism: Mechanism
    again: Callable[..., dict[Table, Floats]] = field(repr=False)
    _risks: list[TableRisks] = field(default_factory=list, init=False, repr=False)

    def table(self, columns: Table) -> Floats:
        """The estimate of one table: no cell is negative; sums over a column are the smaller table, to rounding.

        columns: of the table, in their order. Any table whose blocks were estimated will do.
        """
        kept = tuple(c for c in columns if self.sizes.get(c) != 1)
        if kept not in self.blocks:
            raise errors.InvalidParameter(
                f"There is no table over {columns}. There are {len(self.tables):,}, such as {self.tables[-1]}.",
                parameter="columns",
            )
        return np.maximum(table_of_blocks(self.blocks, tuple(columns), self.sizes), 0.0)

    def rmse(self, table: Table | None = None) -> float:
        """The root mean squared error of a cell, estimated from the noisy blocks alone. It has an error of its own:
        see `rmse_at_most`.

        table: its columns; without it, the cells of all tables that were asked for.
        """
        return math.sqrt(self._risk.estimate(self._asked(table)))

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """An upper limit for the root mean squared error of a cell.

        confidence: how often the limit holds. table: its columns; without it, the cells of all tables asked for.
        proved: by a theorem for every truth (Gaussian noise only, and wider), else to an approximation. The theorem is
        about noise that is not rounded; rounding, by at most half of one of the whole numbers that were published, is
        left out.
        """
        if not 0 < confidence < 1:
            raise errors.InvalidParameter(
                "The confidence is how often the limit must hold: 0 < confidence < 1.",
                parameter="confidence",
                value=confidence,
            )
        if proved and self.mechanism != "gaussian":
            raise errors.InvalidParameter(
                "A proved limit needs Gaussian noise: Laplace noise cannot be split into two independent halves this "
                "way. Leave proved out for a limit that holds to an approximation.",
                parameter="proved",
            )
        risk = self._risk.proved_limit if proved else self._risk.limit
        return RmseLimit(math.sqrt(risk(self._asked(table), confidence)), confidence, proved)

    def is_below(self, rmse: float, table: Table | None = None) -> bool:
        """Whether the error is below this one by more than chance (see `denoise/tables/risk.py`).

        rmse: the root mean squared error of a cell as published. table: its columns; without it, the cells of all.
        """
        return self._risk.is_below(self._asked(table), rmse**2)

    def integers(self) -> Integers:
        """Non-negative whole numbers near the estimates that add up exactly: for tables of at most two columns, and
        for larger ones that share at most two margins with the others."""
        return rounded({table: self.table(table) for table in self.tables})

    def _asked(self, table: Table | None) -> list[Table]:
        if table is None:
            return self.tables
        self.table(table)
        return [table]

    @property
    def _risk(self) -> TableRisks:
        if not self._risks:
            self._risks.append(
                TableRisks(self.again, self.noisy, self.variances, self.blocks, self.sizes, self.mechanism)
            )
        return self._risks[0]
