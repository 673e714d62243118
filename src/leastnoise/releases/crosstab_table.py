"""One table of a set that was released together: unbiased, and consistent with every other table of the set.

Cumulative sums along one of its columns are a curve for every key of the other columns, with its band.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import ordered_size
from leastnoise.releases import ratio_interval
from leastnoise.releases.block import Interval, Overall, Total
from leastnoise.releases.columns import key_columns
from leastnoise.releases.crosstab_estimate import CrosstabTableEstimate
from leastnoise.releases.published import Frames, refuse_beside
from leastnoise.releases.release import Release
from leastnoise.releases.table_set import Cells, cells_in_words, table_name

if TYPE_CHECKING:
    from leastnoise.domain import Axis
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate

Where = Mapping[str, Any]  # keys by column; a column that is not named is summed whole


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrosstabTable(Release, Cells):
    """A table of a `CrosstabsRelease`: what any release has, with sums whose errors know that cells are correlated.

    `where` names cells by column: {"age": range(18, 30), "sex": "F"}; a column that is not named is summed whole.
    """

    within: CrosstabsRelease

    _picture = "table"
    noise_added_to = "a cell, from all parts of the set"

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
            return self.within.errors.cell_half_width(self.columns, confidence=confidence, bins=bins)
        return self.within.errors.sum_half_widths(self.columns, confidence=confidence, bins=bins).ravel()

    def cumulative(self, column: str | None = None) -> CumulativeTable:
        """The sums from the first key of a column up to each of its keys, with intervals: a curve, or one for each key
        of the other columns.

        column: along which; not needed where only one can be meant.
        """
        name = _along(self, column)
        axis = self.columns.index(name)
        kept = range(ordered_size(self.within.axes[name]))
        values = np.cumsum(np.asarray(self.values, dtype=np.float64).reshape(self.shape), axis=axis)
        return CumulativeTable(table=self, column=name, values=values.take(kept, axis=axis))

    @property
    def _summed_along(self) -> str | None:
        """The column whose cumulative sums stand beside the cells: the only one of the table that sums were asked for
        along; None where there is none, or several."""
        asked = [column for column in self.columns if column in self.within.workload.asked]
        return asked[0] if len(asked) == 1 else None

    @property
    def summed_along(self) -> str:
        """What readers call that column."""
        return self._words(self._summed_along or "")

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        """Keys, value, low and high; and where cumulative sums were asked for along one column, these."""
        made = Release._shown_columns(self, confidence, estimate, for_people=for_people)
        if self._summed_along is None:
            return made
        curves = self.cumulative(self._summed_along)
        for name, values in zip(("", "_low", "_high"), (curves.values, *curves.interval(confidence)), strict=True):
            whole = np.full(self.shape, None, dtype=object)  # None where a cell is not on the curve
            whole[tuple(slice(0, size) for size in values.shape)] = values
            made[f"cumulative{name}"] = [None if value is None else float(value) for value in whole.ravel()]
        return made

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
        sums = [(self.columns, positions)]
        std = math.sqrt(max(0.0, float(self.within.errors.covariances(sums)[0, 0])))
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
        sums = [(self.columns, one), (self.columns, other)]
        half = self.within.errors.combination_half_width(sums, [1.0, -1.0], confidence=confidence)
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
        low, high = self._ratio_ends(sums, [(self.columns, top), (self.columns, bottom)], confidence)
        return Overall(sums[0] / sums[1] if math.isfinite(low) else math.nan, low, high)

    def _ratio_ends(
        self, sums: tuple[float, float], pair: list[tuple[tuple[str, ...], dict[str, list[int]]]], confidence: float
    ) -> tuple[float, float]:
        """Fieller's interval for Gaussian noise; for Laplace noise both sums are enclosed, which is wider."""
        half_width = self.within.errors.combination_half_width
        if self.mechanism == "gaussian":
            return ratio_interval.correlated_ends(
                sums, lambda factors: half_width(pair, factors, confidence=confidence)
            )
        above, below = (half_width([each], [1.0], confidence=confidence, bins=2) for each in pair)
        return ratio_interval.enclosed(sums, (above, below))

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
        errors = self.within.errors
        half, worst = (errors.cell_half_width(self.columns, confidence=0.95, bins=many) for many in (1, self.bins))
        every = f" All {self.bins:,} together are within {worst:,.4g}, with 95% confidence." if self.bins != 1 else ""
        return f"A published number is off by at most {half:,.4g}, 95% of the time.{every}"

    @property
    def note(self) -> str:
        """What the noise of the set is best for."""
        return self.within.note

    def __repr__(self) -> str:
        name = " x ".join(self.columns) or "the total"
        return f"<CrosstabTable {name}: {cells_in_words(self.bins)}, std {self.std:.4g}{self._seeded_mark}>"

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
        axes = {column: self.within.axes[column] for column in self.columns}
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CumulativeTable(Frames):
    """Sums from the first key of a column up to each of its keys: unbiased, so a curve may fall here and there.

    table: the table that is summed. column: along which. values: an axis a column of the table; a bin for nulls or
    others is not on the curve.
    """

    table: CrosstabTable
    column: str
    values: Floats

    _picture: ClassVar[str] = "cumulative"

    @property
    def std(self) -> Floats:
        """The standard deviation of every sum, in the shape of the values."""
        found = self.table.within.errors.sum_variances(self.table.columns, [self.column])
        return np.asarray(np.sqrt(self._on_curve(found)))

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals that cover the noise with this `confidence`: each sum by itself, or all of them at once
        (`simultaneous`), which is a band around the whole curve."""
        half = self._on_curve(
            self.table.within.errors.sum_half_widths(
                self.table.columns,
                [self.column],
                confidence=validation.number("confidence", confidence),
                bins=self.values.size if simultaneous else 1,
            )
        )
        return Interval(self.values - half, self.values + half)

    def to_numpy(self) -> Floats:
        """The values as an array with an axis a column of the table."""
        return self.values.copy()

    def plot(self, *, confidence: Number = 0.95, ax: Any = None) -> Any:
        """The curve with its band, or one for each key of the other columns. Returns the Axes.

        confidence: of the band, each sum by itself. ax: the Axes to draw on.
        """
        from leastnoise.releases import views

        return views.plot(self, confidence=confidence, ax=ax)

    def _on_curve(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.take(values, range(self.values.shape[self._axis]), axis=self._axis))

    @property
    def _axis(self) -> int:
        return self.table.columns.index(self.column)

    def _columns(self) -> dict[str, Any]:
        """Key columns (the sum goes up to that key), `value`, `std`, `low` and `high` (95%)."""
        return self._shown_columns()

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        refuse_beside(estimate)
        assert self.table.domain is not None
        every = key_columns(self.table.domain, self.table.bins, for_people=for_people)
        inside = self._on_curve(np.arange(self.table.bins).reshape(self.table.shape)).ravel().tolist()
        keys = {name: [found[place] for place in inside] for name, found in every.items()}
        low, high = self.interval(confidence)
        numbers = {"value": self.values, "std": self.std, "low": low, "high": high}
        return {**keys, **{name: np.asarray(each).ravel() for name, each in numbers.items()}}

    def __repr__(self) -> str:
        most = float(self.std.max())
        return f"<CumulativeTable along {self.column}: {self.values.size:,} sums, std at most {most:.4g}>"


def _along(table: CrosstabTable, column: str | None) -> str:
    """The column named, or the only one that can be meant."""
    if not table.columns:
        raise errors.InvalidParameter("The total has no column to add up along.", parameter="column")
    axes = table.within.axes
    if column is None:
        asked = [name for name in table.columns if name in table.within.workload.asked]
        asked = asked or [name for name in table.columns if axes[name].inner.has_order] or list(table.columns)
        if len(asked) != 1:
            raise errors.MissingParameter(
                f"Several columns could be meant: {', '.join(asked)}. Name one.",
                parameter="column",
                example={"column": asked[0]},
            )
        column = asked[0]
    if column not in table.columns:
        raise errors.UnknownColumn.among_columns(column, table.columns)
    if not axes[column].inner.has_order:
        raise errors.BadDomain(
            f'The keys of "{column}" have no order, so they cannot be added up from the first.',
            parameter="column",
            value=column,
        )
    return column


def sums_in_words(release: CrosstabsRelease) -> str:
    """How far off the sums are that were asked for, in the smallest table of each ordered column; nothing where none
    was."""
    said = ""
    for column, kind in release.workload.asked.items():
        table = min((table for table in release.tables if column in table), key=len, default=None)
        if table is None:
            continue
        half = float(release.errors.sum_half_widths(table, [column], confidence=0.95).max())
        name = table_name(table, release.provenance.labels)
        of = release._words(column) + (f" in {name}" if len(table) > 1 else "")
        said += f" A cumulative sum of {of} is off by at most {half:,.4g}, 95% of the time."
        if kind == "ranges":
            std = math.sqrt(release.errors.mean_variance(table))
            said += f" A range of {of} has a standard deviation of {std:,.4g} on average."
    return said
