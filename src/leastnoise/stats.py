"""Statistics as values: what `Table.per_unit` computes of each unit's rows, and `Table.summarize` of each bin's.

    t.per_unit(trips=ln.stats.count(), spent=ln.stats.sum("fare", grid=0.01), home=ln.stats.mode("zone"))
    t.summarize("carrier", keys=..., flights=ln.stats.count(), late=ln.stats.rate("dep_delay > 15"), ...)

A statistic names a column and what is public about it; it holds no rows and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastnoise._support.calls import explain_public

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a column's values."""

    column: str
    clip: Ends | None = None
    grid: float | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column's values."""

    column: str
    clip: Ends


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a column's values, or its root, the standard deviation."""

    column: str
    clip: Ends
    root: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of the rows for which a condition holds."""

    condition: Any


@dataclass(frozen=True, slots=True)
class Share:
    """What a bin has of the total, of rows or of a column's sum."""

    column: str | None = None
    clip: Ends | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """The sum of one column over the sum of another."""

    column: str
    over: str
    clip: Ends
    over_clip: Ends


@dataclass(frozen=True, slots=True)
class Least:
    """The least value of a column."""

    column: str


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest value of a column."""

    column: str


@dataclass(frozen=True, slots=True)
class Mode:
    """The most frequent value of a column; of several, the least."""

    column: str


@dataclass(frozen=True, slots=True)
class Distinct:
    """The number of different values of a column."""

    column: str


OfUnit = Count | Sum | Least | Largest | Mode | Distinct  # what one unit's rows can be summed up as
Statistic = Count | Sum | Mean | Variance | Rate | Share | Ratio | Least | Largest | Mode | Distinct


def count() -> Count:
    """The number of rows."""
    return Count()


def sum(column: str, *, clip: Ends | None = None, grid: float | None = None) -> Sum:  # noqa: A001
    """The sum of a column. Rows in which it is missing are left out.

    column: the column of numbers.
    clip: the public ends (low, high) of one value; `summarize` needs them.
    grid: the step to which every value is rounded before it is added, so that no order of adding matters; for
        `per_unit`. Left out, 1 for whole numbers, the scale of decimals, and a millionth for others.
    """
    return Sum(column, clip, grid)


def mean(column: str, *, clip: Ends) -> Mean:
    """The mean of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Mean(column, clip)


def variance(column: str, *, clip: Ends) -> Variance:
    """The variance of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Variance(column, clip)


def std(column: str, *, clip: Ends) -> Variance:
    """The standard deviation of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Variance(column, clip, root=True)


def rate(condition: Any) -> Rate:
    """The share of the rows for which a condition holds, of those for which it is true or false.

    condition: SQL text over one row, such as "dep_delay > 15", or a column of booleans.
    """
    return Rate(condition)


def share(column: str | None = None, *, clip: Ends | None = None) -> Share:
    """What each bin has of the total over all bins: of the rows, or of a column's sum.

    column: the column whose sum is shared out. Left out, the rows are. clip: the public ends of one value.
    """
    return Share(column, clip)


def ratio(column: str, over: str, *, clip: Ends, over_clip: Ends) -> Ratio:
    """The sum of a column over the sum of another: fares per mile, delay per minute flown.

    Both sums are over the rows in which neither is missing: a fare whose miles nobody knows is no part of a fare per
    mile. It is not the mean of each row's own ratio: long trips count for more.

    column: the column of numbers above. clip: the public ends (low, high) of one of its values.
    over: the column below. over_clip: the public ends of one of its values, the low one 0 or more.
    """
    return Ratio(column, over, clip, over_clip)


def min(column: str) -> Least:  # noqa: A001
    """The least value of a column. column: of numbers, dates or text."""
    return Least(column)


def max(column: str) -> Largest:  # noqa: A001
    """The largest value of a column. column: of numbers, dates or text."""
    return Largest(column)


def mode(column: str) -> Mode:
    """The most frequent value of a column; of several equally frequent ones, the least. column: of any kind."""
    return Mode(column)


def distinct(column: str) -> Distinct:
    """The number of different values of a column. column: of any kind."""
    return Distinct(column)


explain_public(
    globals(), ["count", "sum", "mean", "variance", "std", "rate", "share", "ratio", "min", "max", "mode", "distinct"]
)
