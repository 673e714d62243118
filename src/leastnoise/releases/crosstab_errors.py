"""How far off the tables of a set are: standard deviations, and half-widths that hold with a stated confidence."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.directed_rounding import next_up
from leastnoise.privacy.distributions import Gaussian
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.releases import fieller
from leastnoise.workload import Workload, laplace_sums
from leastnoise.workload.noise_options import block_errors
from leastnoise.workload.plain_tables import PlainTables
from leastnoise.workload.residuals import project
from leastnoise.workload.table_errors import TableErrors

Table = tuple[str, ...]
Positions = Mapping[str, Sequence[int]]  # of the keys that are summed, by column


class CrosstabErrors(TableErrors):
    """What the noise of a set makes of its tables, whichever noise it is.

    step: what one of the integers that are counted is worth.
    """

    step: float

    @abstractmethod
    def half_width(self, table: Table, keys: Mapping[str, int], confidence: float, bins: int = 1) -> float:
        """How far off a sum over a rectangle of cells may be, with this confidence; or `bins` such sums at once.

        table: the columns. keys: how many keys of each column are summed; a column that is not named, whole.
        confidence: as a double. bins: how many sums must be right together.
        """

    @abstractmethod
    def difference_half_width(self, table: Table, one: Positions, other: Positions, confidence: float) -> float:
        """The same of the sum over one rectangle minus that over another."""

    @abstractmethod
    def ratio_interval(
        self, table: Table, sums: tuple[float, float], one: Positions, other: Positions, confidence: float
    ) -> tuple[float, float]:
        """Where the sum over one rectangle over that over another lies, `sums` being the two as published."""

    @abstractmethod
    def residuals(self, integers: Mapping[Table, NDArray[np.int64]]) -> Mapping[Table, NDArray[np.float64]]:
        """The residual of every block, in the unit of the tables, from the integers that were published."""

    def cell_half_width(self, table: Table, confidence: float, bins: int = 1) -> float:
        """How far off one cell of a table may be.

        table: the columns. confidence: as a double. bins: how many cells must be right together.
        """
        return self.half_width(table, dict.fromkeys(table, 1), confidence, bins)


class GaussianErrors(CrosstabErrors):
    """The errors of tables put together from blocks with rounded Gaussian noise.

    Every error is normal but for the rounding of the noise, which is added at its worst. Several normal errors are
    within their bounds together at least as often as independent ones (Sidak 1967).

    workload: the tables. scales: the standard deviation of the noise on the integers of each block.
    step: what one of the integers that are counted is worth.
    """

    def __init__(self, workload: Workload, scales: Mapping[Table, float], step: float) -> None:
        super().__init__(workload, step**2 * block_errors(workload, scales).block_variances)
        self.step = step

    def half_width(self, table: Table, keys: Mapping[str, int], confidence: float, bins: int = 1) -> float:
        std = math.sqrt(self.rectangle_variance(table, keys))
        return next_up(_normal(std, confidence, bins) + self.step * self.rounding_reach(table, keys))

    def difference_half_width(self, table: Table, one: Positions, other: Positions, confidence: float) -> float:
        std = math.sqrt(self.difference_variance(table, one, table, other))
        return next_up(_normal(std, confidence) + self._reach(table, one) + self._reach(table, other))

    def ratio_interval(
        self, table: Table, sums: tuple[float, float], one: Positions, other: Positions, confidence: float
    ) -> tuple[float, float]:
        return fieller.interval(
            sums,
            self.covariances([(table, one), (table, other)]),
            reach=(self._reach(table, one), self._reach(table, other)),
            half_width=lambda std: _normal(std, confidence),
        )

    def residuals(self, integers: Mapping[Table, NDArray[np.int64]]) -> Mapping[Table, NDArray[np.float64]]:
        return {block: self.step * project(values / values.size) for block, values in integers.items()}

    def _reach(self, table: Table, positions: Positions) -> float:
        return self.step * self.rounding_reach(table, _counts(positions))


class LaplaceErrors(CrosstabErrors):
    """The errors of tables put together, by least squares, from whole tables with Laplace noise.

    Several sums are right together where each is with a confidence that misses a part of the chance (Bonferroni).

    workload: the tables. scales: the scale of the noise on the integers of each table that was released.
    step: what one of the integers that are counted is worth.
    """

    def __init__(self, workload: Workload, scales: Mapping[Table, float], step: float) -> None:
        self._plain = PlainTables(workload, scales, mechanism="laplace")
        super().__init__(workload, step**2 * self._plain.block_variances)
        self.step = step

    def half_width(self, table: Table, keys: Mapping[str, int], confidence: float, bins: int = 1) -> float:
        each = 1 - (1 - confidence) / bins
        return next_up(self.step * _of_laplace(tuple(self._plain.noise_terms(table, keys)), each))

    def difference_half_width(self, table: Table, one: Positions, other: Positions, confidence: float) -> float:
        return next_up(sum(self.half_width(table, _counts(each), confidence, 2) for each in (one, other)))

    def ratio_interval(
        self, table: Table, sums: tuple[float, float], one: Positions, other: Positions, confidence: float
    ) -> tuple[float, float]:
        halves = [self.half_width(table, _counts(each), confidence, 2) for each in (one, other)]
        return fieller.enclosed(sums, (halves[0], halves[1]))

    def residuals(self, integers: Mapping[Table, NDArray[np.int64]]) -> Mapping[Table, NDArray[np.float64]]:
        return {block: self.step * values for block, values in self._plain.residuals(integers).items()}


def crosstab_errors(
    mechanism: Mechanism, workload: Workload, scales: Mapping[Table, float], step: float
) -> CrosstabErrors:
    """The errors of tables with this noise.

    mechanism: "gaussian" or "laplace". workload: the tables. scales: of the noise on whole numbers.
    step: what one of these is worth.
    """
    kind = GaussianErrors if mechanism == "gaussian" else LaplaceErrors
    return kind(workload, scales, step)


@functools.lru_cache(maxsize=4096)
def _of_laplace(terms: tuple[laplace_sums.Term, ...], confidence: float) -> float:
    """Many tables, and many releases of one question, have the same."""
    return laplace_sums.half_width(terms, confidence)


def _normal(std: float, confidence: float, bins: int = 1) -> float:
    return Gaussian(std, 0.0).half_width(confidence, bins) if std > 0 else 0.0


def _counts(positions: Positions) -> dict[str, int]:
    return {column: len(chosen) for column, chosen in positions.items()}
