"""The estimate of a set of tables: its tables, and how wrong they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.denoise._tables.integers import Integers, rounded
from leastnoise.denoise._tables.risk import TableRisks
from leastnoise.denoise.arrays import Mechanism
from leastnoise.releases.risk_limits import RmseLimit
from leastnoise.workload.residuals import Table, table_of_blocks


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
        """Whether the error is below this one by more than chance (see `denoise/_tables/risk.py`).

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
