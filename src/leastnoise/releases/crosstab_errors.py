"""How far off the tables of a set are: standard deviations, and half-widths that hold with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from leastnoise._support.directed_rounding import next_up
from leastnoise.privacy.distributions import Gaussian
from leastnoise.workload import Workload
from leastnoise.workload.table_errors import TableErrors

Table = tuple[str, ...]


class CrosstabErrors(TableErrors):
    """The errors of tables put together from blocks with rounded Gaussian noise.

    workload: the tables. scales: the standard deviation of the noise on the integers of each block.
    step: what one of the integers that are counted is worth.
    """

    def __init__(self, workload: Workload, scales: Mapping[Table, float], step: float) -> None:
        cells = np.array([float(workload.cells_of(block)) for block in workload.blocks])
        noise = np.array([_std(scales[block]) for block in workload.blocks])
        super().__init__(workload, (step / cells * noise) ** 2)
        self.step = step

    def half_width(self, table: Table, keys: Mapping[str, int], confidence: float, bins: int = 1) -> float:
        """How far off a sum over a rectangle of cells may be, with this confidence; or `bins` such sums at once.

        table: the columns. keys: how many keys of each column are summed; a column that is not named, whole.
        confidence: as a double. bins: how many sums must be right together.

        The error is normal but for the rounding of the noise, which is added at its worst. Several normal errors are
        within their bounds together at least as often as independent ones (Sidak 1967).
        """
        std = math.sqrt(self.rectangle_variance(table, keys))
        return next_up(self.normal_half_width(std, confidence, bins) + self.step * self.rounding_reach(table, keys))

    def cell_half_width(self, table: Table, confidence: float, bins: int = 1) -> float:
        """The same for one cell of a table.

        table: the columns. confidence: as a double. bins: how many cells must be right together.
        """
        return self.half_width(table, dict.fromkeys(table, 1), confidence, bins)

    def normal_half_width(self, std: float, confidence: float, bins: int = 1) -> float:
        """The half-width of normal errors.

        std: their standard deviation. confidence: as a double. bins: how many must be right together.
        """
        return Gaussian(std, 0.0).half_width(confidence, bins) if std > 0 else 0.0


def _std(scale: float) -> float:
    """The standard deviation of a Gaussian of this scale that is rounded to whole numbers.

    From scale 1 on its variance is scale^2 + 1/12 but for less than 1e-7 (Poisson's summation formula).
    """
    return math.sqrt(scale**2 + 1 / 12) if scale >= 1 else Gaussian(scale, 1.0).std
