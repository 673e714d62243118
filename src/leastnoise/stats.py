"""Statistics as values: what `Table.per_unit` computes of each unit's rows, and `Table.summarize` of each bin's.

    t.per_unit(trips=ln.stats.count(), spent=ln.stats.sum("fare", grid=0.01), home=ln.stats.mode("zone"))
    t.summarize("carrier", keys=..., flights=ln.stats.count(), late=ln.stats.rate("dep_delay > 15"), ...)

A statistic names a column and what is public about it; it holds no rows and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from leastnoise._support.calls import explain_public

Ends = tuple[float, float]


Name = Literal["count", "sum", "mean", "variance", "std", "rate", "share", "ratio", "min", "max", "mode", "distinct"]
OF_UNIT = ("count", "sum", "min", "max", "mode", "distinct")  # what one unit's rows can be summed up as


@dataclass(frozen=True, slots=True)
class Statistic:
    """Which statistic, and what is public about it: each field as the function of that name says."""

    name: Name
    column: Any = None  # of a rate the condition
    clip: Ends | None = None
    grid: float | None = None
    over: Any = None  # the column below, of a ratio
    over_clip: Ends | None = None


def count() -> Statistic:
    """The number of rows."""
    return Statistic("count")


def sum(column: str, *, clip: Ends | None = None, grid: float | None = None) -> Statistic:  # noqa: A001
    """The sum of a column. Rows in which it is missing are left out.

    column: the column of numbers.
    clip: the public ends (low, high) of one value; `summarize` needs them.
    grid: the step to which every value is rounded before it is added, so that no order of adding matters; for
        `per_unit`. Left out, 1 for whole numbers, the scale of decimals, and a millionth for others.
    """
    return Statistic("sum", column, clip, grid)


def mean(column: str, *, clip: Ends) -> Statistic:
    """The mean of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Statistic("mean", column, clip)


def variance(column: str, *, clip: Ends) -> Statistic:
    """The variance of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Statistic("variance", column, clip)


def std(column: str, *, clip: Ends) -> Statistic:
    """The standard deviation of a column, over the rows in which it is not missing.

    column: the column of numbers. clip: the public ends (low, high) of one value.
    """
    return Statistic("std", column, clip)


def rate(condition: Any) -> Statistic:
    """The share of the rows for which a condition holds, of those for which it is true or false.

    condition: SQL text over one row, such as "dep_delay > 15", or a column of booleans.
    """
    return Statistic("rate", condition)


def share(column: str | None = None, *, clip: Ends | None = None) -> Statistic:
    """What each bin has of the total over all bins: of the rows, or of a column's sum.

    column: the column whose sum is shared out. Left out, the rows are. clip: the public ends of one value.
    """
    return Statistic("share", column, clip)


def ratio(column: str, over: str, *, clip: Ends, over_clip: Ends) -> Statistic:
    """The sum of a column over the sum of another: fares per mile, delay per minute flown.

    Both sums are over the rows in which neither is missing: a fare whose miles nobody knows is no part of a fare per
    mile. It is not the mean of each row's own ratio: long trips count for more.

    column: the column of numbers above. clip: the public ends (low, high) of one of its values.
    over: the column below. over_clip: the public ends of one of its values, the low one 0 or more.
    """
    return Statistic("ratio", column, clip, over=over, over_clip=over_clip)


def min(column: str) -> Statistic:  # noqa: A001
    """The least value of a column. column: of numbers, dates or text."""
    return Statistic("min", column)


def max(column: str) -> Statistic:  # noqa: A001
    """The largest value of a column. column: of numbers, dates or text."""
    return Statistic("max", column)


def mode(column: str) -> Statistic:
    """The most frequent value of a column; of several equally frequent ones, the least. column: of any kind."""
    return Statistic("mode", column)


def distinct(column: str) -> Statistic:
    """The number of different values of a column. column: of any kind."""
    return Statistic("distinct", column)


explain_public(
    globals(), ["count", "sum", "mean", "variance", "std", "rate", "share", "ratio", "min", "max", "mode", "distinct"]
)
