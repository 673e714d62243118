"""One table of a set that was released together: unbiased, and consistent with every other table of the set."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.releases import cumulative as cumulative_sums
from leastnoise.releases.crosstab_errors import cell_half_width, difference_half_width, ratio_interval, rectangle_std
from leastnoise.releases.crosstab_estimate import CrosstabTableEstimate
from leastnoise.releases.cumulative import CumulativeTable
from leastnoise.releases.interval import Interval, Overall, Total
from leastnoise.releases.release import Release

if TYPE_CHECKING:
    from leastnoise.domain import Axis
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate

Where = Mapping[str, Any]  # keys by column; a column that is not named is summed whole


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrosstabTable(Release):
    """A table of a `CrosstabsRelease`: what any release has, with sums whose errors know that cells are correlated.

    `where` names cells by column: {"age": range(18, 30), "sex": "F"}; a column that is not named is summed whole.
    """

    within: CrosstabsRelease

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table; none of the total."""
        return () if self.domain is None else self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """How many keys each column has."""
        return () if self.domain is None else tuple(axis.size for axis in self.domain.axes)

    @property
    def one_distribution(self) -> bool:
        """Whether `distribution` is that of a cell: sums of Gaussian draws are Gaussian, those of Laplace draws not.
        Cells along a column with a strategy of its own have different ones."""
        return self.mechanism == "gaussian" and not self._cells_differ

    @property
    def _cells_differ(self) -> bool:
        return not self.within.workload.cells_alike(self.columns)

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise is, to so many `digits`: that of every cell, or of the least accurate; along a tree the
        root of the mean over the nodes of a level."""
        differ = "at most " if self.within.workload.strategies else "about "
        return f"standard deviation {differ if self._cells_differ else ''}{self.std:.{digits}g}"

    @property
    def noise_added_to(self) -> str:
        """What the noise is in: a cell has a part of what was added to several blocks."""
        return "a cell, from all parts of the set"

    def to_numpy(self) -> Any:
        """The values as an array with an axis a column."""
        return self.values.reshape(self.shape).copy()

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals that cover the noise with this `confidence`: each cell by itself, or all of the table at once
        (`simultaneous`).

        Cells share their noise with each other and with other tables; the intervals of all at once allow for that.
        """
        confidence = validation.number("confidence", confidence)
        half = self._half_widths(confidence, self.bins if simultaneous else 1)
        values: Any = self.values
        return Interval(values - half, values + half)

    def _half_widths(self, confidence: float, bins: int) -> Any:
        """One for all cells, or where they differ in accuracy one for each."""
        if not self._cells_differ:
            return cell_half_width(self.within.errors, self.columns, confidence, bins)
        return self.within.errors.sum_half_widths(self.columns, confidence=confidence, bins=bins).ravel()

    def cumulative(self, column: str | None = None) -> CumulativeTable:
        """The sums from the first key of a column up to each of its keys, with intervals: a curve, or one for each key
        of the other columns.

        column: along which; not needed where only one can be meant.
        """
        return cumulative_sums.cumulative(self, column)

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        """Keys, value, low and high; and where cumulative sums were asked for along one column, these."""
        made = Release._shown_columns(self, confidence, estimate, for_people=for_people)
        return made | cumulative_sums.columns_beside(self, confidence)

    def _denoised_columns(self, estimate: Any, confidence: Number) -> dict[str, Any]:
        """The same cells of a denoised set, and their error, estimated over the whole table."""
        if not isinstance(estimate, CrosstabTableEstimate):
            raise errors.WrongType(
                f"estimate must be the same table of what release.denoise() made. Got {type(estimate).__name__} "
                "instead.",
                parameter="estimate",
            )
        if estimate.columns != self.columns or not np.allclose(estimate.noisy, self.values, rtol=1e-9, atol=1e-6):
            raise errors.InvalidParameter(
                "The estimate is of another table or release, and would stand beside numbers that are not its own.",
                parameter="estimate",
            )
        return {"denoised": estimate.values, "denoised_error": np.full(self.bins, estimate.rmse)}

    def total(self, bins: Where | ArrayLike | slice | None = None, confidence: Number = 0.95) -> Total:
        """The sum of some cells (all by default) with its standard deviation and interval.

        bins: keys by column, such as {"age": range(18, 30)}; a column that is not named is summed whole.
        confidence: that of the interval.
        """
        confidence = validation.number("confidence", confidence)
        positions = self._rectangle(bins)
        value = self._sum(positions)
        if not all(positions.values()):
            return Total(0.0, 0.0, 0.0, 0.0)
        std = rectangle_std(self.within.errors, self.columns, positions)
        sums = [(self.columns, positions)]
        half = self.within.errors.combination_half_width(sums, [1.0], confidence=confidence)
        return Total(value, std, value - half, value + half)

    def difference(self, where: Where, minus: Where, confidence: Number = 0.95) -> Total:
        """The sum of some cells minus that of others, with its standard deviation and interval.

        where, minus: keys by column; a column that is not named is summed whole.
        confidence: that of the interval.
        """
        confidence = validation.number("confidence", confidence)
        one, other = self._rectangle(where), self._rectangle(minus)
        value = self._sum(one) - self._sum(other)
        std = math.sqrt(self.within.errors.difference_variance(self.columns, one, self.columns, other))
        half = difference_half_width(self.within.errors, self.columns, one, other, confidence)
        return Total(value, std, value - half, value + half)

    def ratio(self, where: Where, over: Where | None = None, confidence: Number = 0.95) -> Overall:
        """The sum of some cells over that of others (by default of the whole table), and its interval.

        where, over: keys by column; a column that is not named is summed whole.
        confidence: that of the interval. Where the sum below may be zero nothing is known: not a number, from minus to
        plus infinity.
        """
        confidence = validation.number("confidence", confidence)
        top, bottom = self._rectangle(where), self._rectangle(over)
        sums = self._sum(top), self._sum(bottom)
        low, high = ratio_interval(self.within.errors, self.columns, sums, top, bottom, confidence)
        return Overall(sums[0] / sums[1] if math.isfinite(low) else math.nan, low, high)

    def denoise(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the noise of cells is correlated, and the whole set is denoised together."""
        raise errors.InvalidParameter(
            f"The cells of one table share their noise with the other tables, so the set is denoised together: "
            f"release.denoise()[{', '.join(map(repr, self.columns)) or '()'}]."
        )

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> NoReturn:
        """Refused: a file of one table could not say how its cells are correlated. The set is saved whole."""
        raise errors.InvalidParameter(
            f"One table of a set is not saved by itself, because its file could not tell how its errors hang together "
            f"with the others': save the set, release.save({os.fspath(path)!r}), or write this table by to_pandas()."
        )

    def explain(self) -> str:
        """What was published, how far off it is and what it promises, in plain words."""
        many = f"{len(self.within.tables):,} tables" if len(self.within.tables) != 1 else "1 table"
        spread = self.spread_in_words(4)
        return (
            f"{self._counted()} ({spread}), from {many} released together with {self.mechanism.capitalize()} noise.\n"
            f"{self.promise_in_words(self.errors_in_words())}"
        )

    def errors_in_words(self) -> str:
        """How far off a cell is: by the noise of the whole set as it was drawn, of which a cell is a sum."""
        half, worst = (cell_half_width(self.within.errors, self.columns, 0.95, count) for count in (1, self.bins))
        every = f" All {self.bins:,} together are within {worst:,.4g}, with 95 % confidence." if self.bins != 1 else ""
        return f"A published number is off by at most {half:,.4g}, 95 % of the time.{every}"

    @property
    def note(self) -> str:
        """What the noise of the set is best for."""
        return self.within.note

    def __repr__(self) -> str:
        name = " x ".join(self.columns) or "the total"
        return f"<CrosstabTable {name}: {self.bins:,} cells, std {self.std:.4g}{self._seeded_mark}>"

    def _rectangle(self, where: Any) -> dict[str, list[int]]:
        """The positions of the keys named; all positions of a column that is not."""
        if where is None:
            where = {}
        if not isinstance(where, Mapping):
            raise errors.WrongType(
                'Cells are named by column: {"age": range(18, 30)}; a column that is not named is summed whole. '
                f"Got {type(where).__name__} instead."
            )
        for column in where:
            if column not in self.columns:
                raise errors.UnknownColumn.among_columns(column, self.columns)
        axes = {} if self.domain is None else dict(zip(self.domain.names, self.domain.axes, strict=True))
        return {
            column: _positions(column, axis, where[column]) if column in where else list(range(axis.size))
            for column, axis in axes.items()
        }

    def _sum(self, positions: Mapping[str, list[int]]) -> float:
        array = self.values.reshape(self.shape)
        return math.fsum(array[np.ix_(*positions.values())].ravel().tolist())


def _positions(column: str, axis: Axis, keys: Any) -> list[int]:
    """The positions of one key or of several, each once."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        keys = [keys]
    found = {}
    for key in keys:
        try:
            position = axis.index(key)
        except (TypeError, ValueError):
            position = None
        if position is None:
            raise errors.BadDomain(
                f'"{column}" has no key {key!r}. The first few are '
                f"{', '.join(repr(axis.key(p)) for p in range(min(5, axis.size)))}.",
                parameter="keys",
                value=key,
            )
        found[position] = key
    return sorted(found)
