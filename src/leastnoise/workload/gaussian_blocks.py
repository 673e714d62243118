"""Gaussian noise on the whole numbers of residual blocks, as it is drawn: the errors of all tables, and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_up
from leastnoise.privacy.distributions import Gaussian, normal_reach
from leastnoise.workload import rectangles
from leastnoise.workload.rectangles import Sum
from leastnoise.workload.residuals import project
from leastnoise.workload.table_errors import NoisyTables, TableErrors
from leastnoise.workload.tables import Table, Workload


class GaussianBlocks(NoisyTables):
    """Rounded Gaussian noise on the integers prod (n I - J) m_A of every block, and the errors of all tables.

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
            key = self._scales[block], unit * workload.cells_of(block)
            if key not in known:
                known[key] = (Gaussian(key[0], 1.0).std / key[1]) ** 2, (key[0] / key[1]) ** 2
            made[:, place] = known[key]
        super().__init__(workload, made[0])
        self._unrounded = TableErrors(workload, made[1])

    @property
    def scales(self) -> dict[Table, float]:
        """The standard deviation of the noise on the integers of each block, before it is rounded."""
        return dict(self._scales)

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, NDArray[np.float64]]:
        """r_A of each block, from the whole numbers as published: what `table_of_blocks` makes all tables of.

        noisy: the whole numbers published of each block.
        """
        steps = {block: self._unit * self.workload.cells_of(block) for block in self.workload.blocks}
        return {block: project(np.asarray(noisy[block], dtype=np.float64) / steps[block]) for block in steps}

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
        reaches = [rectangles.rounding_reach(self.workload, table, _counts(keys)) for table, keys in sums]
        rounding = float(np.abs(weights) @ reaches) / self._unit
        return next_up(
            normal_reach(level, validation.integer("bins", bins)) * float(np.sqrt(variance)) * (1 + 1e-12) + rounding
        )


def _counts(keys: Mapping[str, Any]) -> dict[str, int]:
    return {column: len(rectangles.positions(given)) for column, given in keys.items()}
