"""Cumulative sums along one column of a table of a set: a curve for every key of the other columns, with its band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import has_order, ordered_size
from leastnoise.releases.columns import key_columns
from leastnoise.releases.frames import Frames
from leastnoise.releases.interval import Interval
from leastnoise.releases.table_set import table_name

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_table import CrosstabTable
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CumulativeTable(Frames):
    """Sums from the first key of a column up to each of its keys: unbiased, so a curve may fall here and there.

    table: the table that is summed. column: along which. values: an axis a column of the table; a bin for nulls or
    others is not on the curve.
    """

    table: CrosstabTable
    column: str
    values: Floats

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

        return views.plot_cumulative(self, confidence=confidence, ax=ax)

    def _on_curve(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.take(values, range(self.values.shape[self._axis]), axis=self._axis))

    @property
    def _axis(self) -> int:
        return self.table.columns.index(self.column)

    def _columns(self) -> dict[str, Any]:
        """Key columns (the sum goes up to that key), `value`, `std`, `low` and `high` (95 %)."""
        return self._shown_columns()

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        if estimate is not None:
            raise errors.InvalidParameter("Nothing is denoised here, so no estimate stands beside it. Leave it out.")
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


def cumulative(table: CrosstabTable, column: str | None) -> CumulativeTable:
    """`CrosstabTable.cumulative`."""
    name = _along(table, column)
    axis = table.columns.index(name)
    assert table.domain is not None
    kept = range(ordered_size(table.domain.axes[axis]))
    values = np.cumsum(np.asarray(table.values, dtype=np.float64).reshape(table.shape), axis=axis)
    return CumulativeTable(table=table, column=name, values=np.take(values, kept, axis=axis))


def _along(table: CrosstabTable, column: str | None) -> str:
    """The column named, or the only one that can be meant."""
    if not table.columns:
        raise errors.InvalidParameter("The total has no column to add up along.", parameter="column")
    axes = {} if table.domain is None else dict(zip(table.domain.names, table.domain.axes, strict=True))
    if column is None:
        asked = [name for name in table.columns if name in table.within.workload.asked]
        asked = asked or [name for name in table.columns if has_order(axes[name])] or list(table.columns)
        if len(asked) != 1:
            raise errors.MissingParameter(
                f"Several columns could be meant: {', '.join(asked)}. Name one.",
                parameter="column",
                example={"column": asked[0]},
            )
        column = asked[0]
    if column not in table.columns:
        raise errors.UnknownColumn.among_columns(column, table.columns)
    if not has_order(axes[column]):
        raise errors.BadDomain(
            f'The keys of "{column}" have no order, so they cannot be added up from the first.',
            parameter="column",
            value=column,
        )
    return column


def asked_along(table: CrosstabTable) -> str | None:
    """The column whose cumulative sums stand beside the cells of a table: the only one of it that sums were asked for
    along; None where there is none, or several."""
    asked = [column for column in table.columns if column in table.within.workload.asked]
    return asked[0] if len(asked) == 1 else None


def columns_beside(table: CrosstabTable, confidence: Number) -> dict[str, list[float | None]]:
    """`cumulative`, `cumulative_low` and `cumulative_high` of every cell: the sum up to its key. None where a cell is
    not on the curve; no columns where `asked_along` has none."""
    along = asked_along(table)
    if along is None:
        return {}
    curves = table.cumulative(along)
    made = {}
    for name, values in zip(("", "_low", "_high"), (curves.values, *curves.interval(confidence)), strict=True):
        whole = np.full(table.shape, None, dtype=object)
        whole[tuple(slice(0, size) for size in values.shape)] = values
        made[f"cumulative{name}"] = [None if value is None else float(value) for value in whole.ravel()]
    return made


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
        said += f" A cumulative sum of {of} is off by at most {half:,.4g}, 95 % of the time."
        if kind == "ranges":
            std = math.sqrt(release.errors.mean_variance(table))
            said += f" A range of {of} has a standard deviation of {std:,.4g} on average."
    return said
