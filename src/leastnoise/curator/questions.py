"""The questions that can be asked of a table: a method for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leastnoise import stats
from leastnoise._support import validation
from leastnoise.curator.budget.terms import Share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.crosstab_options import checked_axes, checked_weight, checked_workload, crosstab_limits
from leastnoise.curator.queries.crosstabs import Crosstabs, RowWeight
from leastnoise.curator.queries.kernel_histogram import KernelHistogram
from leastnoise.curator.queries.options import check_names, column_names, limits_of, listed_domain
from leastnoise.curator.queries.quantile import (
    FINE_STEPS,
    Quantile,
    check_counts,
    checked_levels,
    checked_rows,
    checked_steps,
)
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.statistic_options import checked, counted, one_statistic
from leastnoise.curator.queries.statistics import Statistics
from leastnoise.curator.queries.unknown_keys import UnknownCounts, UnknownKeys
from leastnoise.curator.queries.vectors import Vectors
from leastnoise.curator.rows.clipping import Clip
from leastnoise.domain import Domain, OrOther, Steps
from leastnoise.errors import Code, InvalidParameter, MissingParameter
from leastnoise.workload.strategy import Weights


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Questions:
    """What can be asked of rows: each method makes a Query, and reads nothing."""

    _data: Dataset

    def count(self, *, max_rows: int | None = None) -> Query:
        """The number of rows.

        max_rows: how many rows of one unit count at most. It must be given: noise grows with it.
        """
        return Statistics.of("count", counted(self._data), (), max_rows=max_rows)

    def count_units(self) -> Query:
        """The number of distinct units. Each counts once, so there is no limit to give."""
        return Statistics.of("units", counted(self._data), (), max_rows=1)

    def histogram(
        self,
        *by: str,
        keys: Any = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        nulls: str = "drop",
        others: Share | None = None,
    ) -> Query:
        """The number of rows in each bin.

        by: the column, or columns, whose values are the bins.
        keys: the public bins: a list, a range, or an axis of `ln.domain` (Edges, Days, Hours ...); for several columns
            a list or a mapping with one entry for each, such as `ln.domain.read` makes of a file. Rows outside are left
            out, unless `ln.domain.with_other` gives them a bin. Left out, the keys are found in the rows, and only bins
            whose noisy count passes a threshold show (this needs a delta).
        max_rows: how many rows of one unit count at most.
        max_per_bin: how many of them in one bin. Left out, as many as max_rows.
        max_bins: in how many bins. Left out, as many as max_rows. Of the three, enough must be given to limit a unit.
        nulls: "drop" (the default) leaves out rows without a key, "bin" counts them in a bin of their own.
        others: where keys are left out: how many rows are in keys that do not show is published too, and this part of
            the release pays for it, such as 0.1: of its mu^2 under Gaussian noise, of epsilon under Laplace noise.
        """
        if not by:
            raise MissingParameter(
                "histogram needs the column whose values are the bins, such as histogram('junction'). For one number "
                "use count().",
                parameter="by",
            )
        check_names(by)
        if by[0] in self._data.kernels:
            if max_per_bin is not None or max_bins is not None or nulls != "drop":
                raise InvalidParameter(
                    "a row of kernel weights touches several nodes, so only max_rows limits a unit: leave out "
                    "max_per_bin, max_bins and nulls."
                )
            _refuse_others(others)
            return KernelHistogram.of(self._data, by, keys, max_rows)
        limits = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        if keys is None:
            return UnknownCounts.of_keys(self._data, by, nulls, others=others, **limits)
        _refuse_others(others)
        return Statistics.of("count", counted(self._data), by, keys=keys, nulls=nulls, **limits)

    def crosstabs(
        self,
        *tables: str | Sequence[str],
        keys: Mapping[str, Any] | None = None,
        ways: int | Sequence[int] | None = None,
        weights: Weights = "tables",
        max_rows: int | None = None,
        row_weight: RowWeight = "whole",
        weight: str | None = None,
        weight_clip: tuple[float, float] | None = None,
        other: bool | str | None = None,
        nulls: str | None = None,
        cumulative: Sequence[str] = (),
        ranges: Sequence[str] = (),
    ) -> Query:
        """Several tables of counts over the same columns, released together with the least noise.

        tables: the tables, each a column or a tuple of columns; () is the total. Or none, and `ways`.
        keys: the public keys of every column, by name: a range, a list, `ln.domain.Edges(...)`. A row whose value in
            one of the columns has no key leaves all tables; see `other`.
        ways: instead of tables, 2 for every table of at most two of the columns of `keys`, the total included; (2,) for
            the tables of two columns alone.
        weights: what the noise is best for: "tables" (the default: every table counts the same), "cells" (every cell
            does), "worst" (the least accurate table), or a mapping of tables to numbers, such as {("age", "sex"): 10}.
        max_rows: how many rows of one unit are used at most. Noise grows with it: with one row a unit it is the least.
        row_weight: "whole" (the default), or "shared": the rows of one unit that are kept share the weight of one row,
            so a unit may have any number of rows at the noise of one.
        weight: a column of survey weights: their sums are published instead of counts of rows.
        weight_clip: the least and the largest weight, public; others count as the nearer end.
        other: whether columns have one more key, "missing or other", for values that are missing or not listed. Left
            out, those whose keys are a plain list have; a text does the same under that label. True: every column has,
            also those with ranges, edges or days. False: none has, and rows with such a value leave all tables.
        nulls: instead of `other`: "bin" gives missing values a key of their own and leaves out unlisted ones, "drop"
            leaves out both.
        cumulative: columns with ordered keys, such as ["age"], of which the cumulative sums are to be accurate: the
            noise is then the least for these, in every table with the column.
        ranges: columns with ordered keys of which the sums over all ranges are, such as ages 18 to 29.
        """
        validation.word("row_weight", row_weight, ("whole", "shared"))
        data, shared = self._data, row_weight == "shared"
        ordered = [name for names in (cumulative, ranges) if isinstance(names, Iterable) for name in names]
        axes, tree = checked_axes(data, tables, keys=keys, ways=ways, other=other, nulls=nulls, ordered=ordered)
        assert keys is not None
        workload = checked_workload(axes, tables, ways, cumulative=cumulative, ranges=ranges, tree=tree)
        by = tuple(column for column in keys if column in axes or (tree is not None and column == tree.column))
        return Crosstabs(
            _data=data,
            by=by,
            limits=crosstab_limits(data, by, max_rows, shared=shared),
            workload=workload,
            axes=axes,
            tree=tree,
            weights=weights,
            row_weight=row_weight,
            weight=weight,
            clip=checked_weight(data, weight, weight_clip, shared=shared, workload=workload),
            counted=workload.maximal,
            keyed=tuple(
                name for name in axes if isinstance(axes[name], OrOther) and not isinstance(keys[name], OrOther)
            ),
        )

    def quantile(
        self,
        column: str,
        levels: float | Sequence[float] | None = None,
        *,
        clip: tuple[float, float],
        by: str | Sequence[str] = (),
        keys: Any = None,
        bins: int | None = None,
        intervals: bool = True,
        expected_rows: float | None = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:
        """The values below which given shares of the rows lie, in all or in each group.

        column: the column of numbers. Rows in which it is missing are left out.
        levels: the share, or several that rise, above 0 and below 1; 0.5 is the median.
        clip: the public ends (low, high), in the column's unit; values beyond count as the nearer end.
        by: the column, or columns, whose values are the groups. Left out, there is one group of everything.
        keys: the public groups, as for `histogram`; they must be given with `by`.
        bins: into how many equal steps a noisy histogram cuts the clip, where quantiles are read off one, 1 to 2^20;
            left out, 32, 128 or 1,000. Quantiles that are drawn by rank have 2^20 steps to choose from in any case.
        intervals: whether a quarter of the promise is spent on intervals in the column's unit, where quantiles are
            drawn by rank. Without, the quantiles themselves are a third more accurate, and only their ranks have known
            errors.
        expected_rows: about how many rows there are, in all groups together, where that is public (last year's number,
            a register's): by it the best mechanism is chosen. Roughly right is enough; it must not be counted from
            these rows. Left out, mechanisms are judged by tables of 1,000 to 100,000 rows.
        max_rows: how many rows of one unit count at most.
        max_per_bin: how many of them in one group. Left out, as many as max_rows.
        max_bins: in how many groups. Left out, as many as max_rows. Of the three, enough must be given to limit a unit.
        nulls: "drop" (the default) leaves out rows without a key, "bin" gives them a group of their own.
        """
        data = self._data
        data.check_usable(column)
        exact, count, rows = checked_levels(levels), checked_steps(bins), checked_rows(expected_rows)
        names = column_names(by)
        if names and keys is None:
            raise MissingParameter(
                f"quantiles by {', '.join(names)} need the public keys. Histograms and summaries find them.",
                example={"keys": ["a", "b"]},
            )
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        ends = Clip.of(clip, data.rows[column].type())
        check_counts(domain, count)
        limits = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        return Quantile(
            _data=data,
            _bins=domain,
            by=names,
            column=column,
            levels=exact,
            steps=Steps(low=ends.low, high=ends.high, bins=count or FINE_STEPS),
            chosen_with=ends.chosen_with,
            fixed=count is not None,
            intervals=bool(intervals),
            expected_rows=rows,
            limits=limits_of(data, bins=domain.size, by=names, **limits),
        )

    def sum(
        self,
        column: str,
        *,
        clip: tuple[float, float],
        by: str | Sequence[str] = (),
        keys: Any = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:
        """The sum of a column, in all or in each bin.

        column: the column of numbers. Rows in which it is missing are left out.
        clip: the public ends (low, high), in the column's unit; values beyond count as the nearer end. Noise grows with
            the larger of the two.
        by: the column, or columns, whose values are the bins. Left out, everything is added up to one number.
        keys: the public bins, as for `histogram`. Left out, the keys are found in the rows, and those show whose noisy
            number of rows passes a threshold (this needs a delta): a summary, with the sums as `release["sum"]`.
        max_rows: how many rows of one unit are added at most.
        max_per_bin: how many of them in one bin. Left out, as many as max_rows.
        max_bins: in how many bins. Left out, as many as max_rows. Of the three, enough must be given to limit a unit.
        nulls: "drop" (the default) leaves out rows without a key, "bin" gives them a bin of their own.
        """
        limits = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        return self._of_column("sum", column, clip, by, keys=keys, nulls=nulls, **limits)

    def mean(
        self,
        column: str,
        *,
        clip: tuple[float, float],
        by: str | Sequence[str] = (),
        keys: Any = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:
        """The mean of a column, in all or in each bin: a noisy sum over a noisy count, under one guarantee.

        column: the column of numbers. Rows in which it is missing are left out.
        clip: the public ends (low, high), in the column's unit; values beyond count as the nearer end. Noise grows with
            the distance between the two.
        by: the column, or columns, whose values are the bins. Left out, there is one mean of everything.
        keys: the public bins, as for `histogram`. Left out, the keys are found in the rows, and those show whose noisy
            number of rows passes a threshold (this needs a delta): a summary, with the means as `release["mean"]`.
        max_rows: how many rows of one unit count at most.
        max_per_bin: how many of them in one bin. Left out, as many as max_rows.
        max_bins: in how many bins. Left out, as many as max_rows. Of the three, enough must be given to limit a unit.
        nulls: "drop" (the default) leaves out rows without a key, "bin" gives them a bin of their own.
        """
        limits = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        return self._of_column("mean", column, clip, by, keys=keys, nulls=nulls, **limits)

    def _of_column(
        self, kind: Literal["sum", "mean"], column: str, clip: Any, by: str | Sequence[str], *, keys: Any, **limits: Any
    ) -> Query:
        """One statistic of a column; over keys that are found it is a summary of one."""
        names = column_names(by)
        if names and keys is None:
            asked = checked(self._data, {kind: stats.Statistic(kind, column, clip)}, None, names)
            return UnknownKeys.of(asked, names, **limits)
        self._data.check_usable(column)
        return Statistics.of(kind, one_statistic(self._data, kind, column, clip), names, keys=keys, **limits)

    def vector_sum(
        self, columns: str | Sequence[str], *, clip_norm: float, length: int | None = None, max_rows: int | None = None
    ) -> Query:
        """The sum of vectors, one vector a row, component by component.

        columns: the columns that make up the vector, or one column of arrays. A vector with a missing element is left
            out.
        clip_norm: the largest L2 norm, in the columns' unit; a longer vector is scaled down to it. Noise grows with it.
        length: how many elements an array has, 2 to 2^20; for an array column alone. Others are left out.
        max_rows: how many rows of one unit are added at most. It must be given: noise grows with it.
        """
        return Vectors.of(self._data, "vector_sum", columns, clip_norm=clip_norm, length=length, max_rows=max_rows)

    def vector_mean(
        self, columns: str | Sequence[str], *, clip_norm: float, length: int | None = None, max_rows: int | None = None
    ) -> Query:
        """The mean of vectors, one vector a row: their noisy sum over their noisy number, under one guarantee.

        columns: the columns that make up the vector, or one column of arrays. A vector with a missing element is left
            out.
        clip_norm: the largest L2 norm, in the columns' unit; a longer vector is scaled down to it. Noise grows with it.
        length: how many elements an array has, 2 to 2^20; for an array column alone. Others are left out.
        max_rows: how many rows of one unit count at most. It must be given: noise grows with it.
        """
        return Vectors.of(self._data, "vector_mean", columns, clip_norm=clip_norm, length=length, max_rows=max_rows)

    def summarize(
        self,
        /,
        *by: str,
        keys: Any = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        weights: Mapping[str, float] | None = None,
        nulls: str = "drop",
        **statistics: Any,
    ) -> Query:
        """Several statistics of the same rows, in all or in each bin, under one guarantee.

        by: the columns whose values are the bins. Left out, there is one bin.
        keys: the public bins, as for `histogram`. Left out, the keys are found in the rows, and those show whose noisy
            number of rows passes a threshold (this needs a delta).
        max_rows: how many rows of one unit are used at most.
        max_per_bin: how many of them in one bin. Left out, as many as max_rows.
        max_bins: in how many bins. Left out, as many as max_rows. Of the three, enough must be given to limit a unit.
        weights: how much the error of a statistic counts, by its name; 1 where nothing is said. Noise is divided so
            that the weighted sum of variances is least, each relative to what one row can add to its statistic.
        nulls: "drop" (the default) leaves out rows without a key, "bin" gives them a bin of their own.
        statistics: `ln.stats.count()`, `sum`, `mean`, `rate`, `variance`, `std`, `share` or `ratio`, each by the name
            it gets.
        """
        limits = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        check_names(by)
        asked = checked(self._data, statistics, weights, by)
        if by and keys is None:
            return UnknownKeys.of(asked, by, nulls=nulls, **limits)
        return Statistics.of("summary", asked, by, keys=keys, nulls=nulls, **limits)


def _refuse_others(others: Share | None) -> None:
    """Which are the others of listed keys, `with_other` says before."""
    if others is not None:
        raise InvalidParameter(
            "others is for keys that nobody listed, and these are. Leave it out, and give the rows of all other keys a "
            "bin.",
            parameter="others",
            example=Code('keys=ln.domain.with_other(["a", "b"])', "--keys a,b --other"),
        )
