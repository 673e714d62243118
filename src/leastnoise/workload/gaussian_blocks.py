"""Gaussian noise on the whole numbers of residual blocks, as it is drawn: the errors of all tables, and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise.privacy.distributions import Gaussian, normal_reach
from leastnoise.workload import grids, rectangles
from leastnoise.workload.columns import Sums
from leastnoise.workload.incidence import Floats
from leastnoise.workload.rectangles import Sum
from leastnoise.workload.residuals import restored
from leastnoise.workload.table_errors import NoisyTables, TableErrors
from leastnoise.workload.tables import Table, Workload


class GaussianBlocks(NoisyTables):
    """Rounded Gaussian noise on the integers of every block, prod (n I - J) m_A for plain counts, and the errors of all
    tables.

    workload: the tables.
    scales: the standard deviation of the noise on the integers of each block, before it is rounded, in whole steps.
    unit: how many whole steps a row of weight one counts.
    """

    def __init__(self, workload: Workload, scales: Mapping[Table, float], *, unit: float = 1) -> None:
        self._scales = dict(scales)
        self._unit = unit
        known: dict[tuple[float, float], tuple[float, float]] = {}
        made = np.empty((2, len(workload.blocks)))
        for place, block in enumerate(workload.blocks):
            key = self._scales[block], unit * workload.step_of(block)
            if key not in known:
                known[key] = (Gaussian(key[0], 1.0).std / key[1]) ** 2, (key[0] / key[1]) ** 2
            made[:, place] = known[key]
        super().__init__(workload, made[0])
        self._unrounded = TableErrors(workload, made[1])
        self._largest: dict[Table, tuple[float, float]] = {}  # variance and reach of rounding, once they were found

    @property
    def scales(self) -> dict[Table, float]:
        """The standard deviation of the noise on the integers of each block, before it is rounded."""
        return dict(self._scales)

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, NDArray[np.float64]]:
        """r_A of each block, from the whole numbers as published: what `table_of_blocks` makes all tables of.

        noisy: the whole numbers published of each block.
        """
        columns = {name: self.workload.column(name) for name in self.workload.columns}
        return {
            block: restored(np.asarray(noisy[block], dtype=np.float64) / self._unit, [columns[name] for name in block])
            for block in self.workload.blocks
        }

    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over rectangles is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by.
        confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other.

        The noise before rounding is normal, and rounding moves each sum by at most its `rounding_reach`. Several
        combinations at once hold at least as often as if they were independent (Sidak 1967).
        """
        level = validation.number("confidence", confidence)
        weights = np.asarray(factors, dtype=np.float64)
        variance = max(0.0, float(weights @ self._unrounded.covariances(sums) @ weights))
        reaches = [rectangles.reach_of(self.workload, table, keys) for table, keys in sums]
        return float(self._half_widths(variance, np.abs(weights) @ reaches, level, bins))

    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> Floats:
        """How far each cell of a table, or each cumulative sum, is off at most, with at least this confidence.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        confidence: between 0 and 1. bins: how many such sums are to hold all at once.
        """
        names, along = self.workload.table(table), dict[str, Sums](dict.fromkeys(cumulative, "prefix"))
        variances = grids.variances(self.workload, self._unrounded.block_variances, names, along)
        reaches = grids.rounding_reaches(self.workload, names, along)
        return self._half_widths(variances, reaches, validation.number("confidence", confidence), bins)

    def cell_half_width(self, table: str | Iterable[str], *, confidence: float, bins: int = 1) -> float:
        """How far a cell of a table is off at most, with at least this confidence: the largest of its cells.

        table: the columns. confidence: between 0 and 1. bins: how many such cells are to hold all at once.
        """
        names = self.workload.table(table)
        if names not in self._largest:
            self._largest[names] = grids.largest(self.workload, self._unrounded.block_variances, names, {})
        variance, reach = self._largest[names]
        return float(self._half_widths(variance, reach, validation.number("confidence", confidence), bins))

    def _half_widths(self, variances: Any, reaches: Any, confidence: float, bins: int) -> Floats:
        normal = normal_reach(confidence, validation.integer("bins", bins))
        made = normal * np.sqrt(variances) * (1 + 1e-12) + np.asarray(reaches) / self._unit
        return np.asarray(np.nextafter(made, np.inf))
