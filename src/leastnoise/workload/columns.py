"""How one column enters a set of tables: which integers of it get noise, and how its keys come back from them.

For a column of n keys an integer matrix S with a column a key and rank n - 1 is published of; S v = 0 for one vector v,
scaled to sum to one. G is its generalised inverse with S G S = S and sums of zero over the keys (1'G = 0), so that
G S = I - v 1'. A block A gets noise on the integers (kron of S over its columns) m_A, and with r_A = (kron of G) of
what was published every table is

    m_B = sum over A in B of  r_A, spread over the other columns by their v.

Proof: I = G S + v 1' on each axis; multiply out, and 1' sums an axis. With noise of variance 1 on the integers a sum
with factors q over the keys weighs the noise of a block with the column by G'q, and what a block without the column
says by v'q. Plain counts have S = n I - J, G = C/n, v = 1/n (`residuals`); cumulative sums and ranges `ordered`.

A row costs, over the square of a block's sigma, the product over its columns of |S_t|^2, at most `norm`; and two rows
have the product of S_t S_t', between `least` and `norm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.workload.optimal_weights import Kind, OrderedQuestions

Table = tuple[str, ...]
Sums = Literal["cells", "prefix"]  # along one column: every key, or the first 1, 2 ... n keys


@dataclass(frozen=True)
class PlanFactors:
    """What a column multiplies in a plan, y_A being variances on integers over the squares of their `step`.

    cost: p, what a row costs in a block with the column: norm/step^2.
    within: the mean variance of the sums asked for along the column, over p, in a block with it.
    without: the mean of (v'q)^2 of these sums q, in a block without it.
    """

    cost: float
    within: float
    without: float


@dataclass(frozen=True, eq=False)
class AxisSums:
    """Several sums along one column: what each takes from blocks with the column, and from those without; one entry
    alone where all keys are alike.

    within: q'G G'q times step^2. without: v'q. rounding: by how much rounding the integers by one moves it: |G'q|_1.
    """

    within: Floats
    without: Floats
    rounding: Floats

    @cached_property
    def worst(self) -> AxisSums:
        """The sums that may have the largest variance, of which no other has more of both numbers, as a variance grows
        with both; and the one that rounding moves most."""
        if self.within.size == 1:
            return self
        squares = self.without**2
        order = np.lexsort((-squares, -self.within))
        before = np.concatenate([[-1.0], np.maximum.accumulate(squares[order])[:-1]])
        kept = np.append(order[squares[order] > before], np.argmax(self.rounding + np.abs(self.without)))
        return AxisSums(self.within[kept], self.without[kept], self.rounding[kept])


class ColumnStrategy(ABC):
    """One column of a set of tables."""

    size: int  # n
    rows: int  # of S: how many integers get noise
    step: int  # by which the integers are larger than counts, for numbers of a common scale
    norm: int  # the largest squared norm of a column of S
    least: int  # the least product of two columns of S
    max_entry: int  # the largest number in S: no integer is larger than this times the sum of the counts

    @property
    @abstractmethod
    def null_vector(self) -> Floats:
        """v."""

    @property
    @abstractmethod
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan."""

    @abstractmethod
    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis. The type stays as it is: doubles (which must hold the result exactly) or Python integers."""

    @abstractmethod
    def restore(self, noisy: Floats, axis: int) -> Floats:
        """G along an axis."""

    @abstractmethod
    def dual(self, factors: Floats) -> Floats:
        """G'q of sums with factors q over the keys, a row a sum; or of one sum."""

    def products(self, one: Floats, other: Floats) -> tuple[float, float, float]:
        """q'G G'q' times step^2, v'q and v'q' of two sums with factors q and q' over the keys."""
        within = float(self.dual(one) @ self.dual(other)) * self.step**2
        return within, float(self.null_vector @ one), float(self.null_vector @ other)

    def rounding_bounds(self, factors: Floats) -> tuple[float, float]:
        """|G'q|_1 and |v'q| of a sum with factors q over the keys: how far rounding by one moves it."""
        return float(np.abs(self.dual(factors)).sum()), abs(float(self.null_vector @ factors))

    def sums(self, which: Sums) -> AxisSums:
        """Every key, or every prefix, along the column."""
        return self._cells if which == "cells" else self._prefixes

    @cached_property
    def _cells(self) -> AxisSums:
        return self._sums(prefixes=False)

    @cached_property
    def _prefixes(self) -> AxisSums:
        return self._sums(prefixes=True)

    @abstractmethod
    def _sums(self, *, prefixes: bool) -> AxisSums:
        """Of every key, or of every prefix."""


class PlainColumn(ColumnStrategy):
    """A column whose counts are published: S = n I - J.

    size: how many keys it has. asked: which sums along it are to be accurate; None: the counts of its keys.
    """

    def __init__(self, size: int, asked: Kind | None = None) -> None:
        self.size = self.rows = self.step = self.max_entry = size
        self.norm, self.least = size * (size - 1), -size
        self.asked = asked

    @property
    def null_vector(self) -> Floats:
        """v: the same for every key."""
        return np.full(self.size, 1 / self.size)

    @property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan."""
        n = self.size
        cost = 1 - 1 / n
        if self.asked is None or n < 2:
            return PlanFactors(cost, 1.0, n**-2.0)
        questions = OrderedQuestions(self.asked, n)
        p, q = questions.factors
        even = float(questions.times(np.full(n, 1 / n)).sum() / n)  # v'G v
        centred = float(p @ q) - n * even  # tr(G C)
        return PlanFactors(cost, centred / (questions.count * cost), even / questions.count)

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """n I - J along an axis."""
        return np.asarray(self.size * table - table.sum(axis=axis, keepdims=True))

    def restore(self, noisy: Floats, axis: int) -> Floats:
        """C/n along an axis."""
        return np.asarray((noisy - noisy.mean(axis=axis, keepdims=True)) / self.size)

    def dual(self, factors: Floats) -> Floats:
        """C q/n."""
        return np.asarray((factors - factors.mean(axis=-1, keepdims=True)) / self.size)

    def products(self, one: Floats, other: Floats) -> tuple[float, float, float]:
        """q'C q', and the means of q and q'."""
        s, t = float(one.sum()), float(other.sum())
        return float(one @ other) - s * t / self.size, s / self.size, t / self.size

    def _sums(self, *, prefixes: bool) -> AxisSums:
        """Of every key, which are all alike, or of every prefix."""
        part = np.arange(1.0, (self.size if prefixes else 1) + 1) / self.size
        return AxisSums(self.size * part * (1 - part), part, 2 * part * (1 - part))
