"""A column of very many ordered keys within a set of tables: the square root of the cumulative sum, in closed form.

S is the lower triangular Toeplitz matrix T of the coefficients f of `toeplitz`, rounded to whole numbers, over the
first n - 1 keys, and zero for the last, which is what the others leave of the total:

    v = (0, ..., 0, 1),    G = (T^-1 above -1'T^-1),    S G = I,    G S = I - v 1'.

The first q < n keys have no part of v, so a cumulative sum has the noise of T alone, and the last that of the total.
Column t of S has the squared norm f_0^2 + ... + f_n-2-t^2, the first the largest; no coefficient is negative and the
last column is zero, so the least product of two columns is zero. Both are exact.

With g the coefficients of T^-1 and h their cumulative sums, the answers to the first q keys weigh the noise by
h_q-1, ..., h_0: variances of all cumulative sums are cumulative sums of squares. Nothing here is an n x n matrix.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.workload.columns import AxisSums, ColumnStrategy, Floats, PlanFactors, Sums
from leastnoise.workload.ordered.questions import OrderedQuestions
from leastnoise.workload.ordered.toeplitz import inverse_coefficients, root_coefficients, whole_convolution


class LongColumn(ColumnStrategy):
    """A column whose S is a Toeplitz matrix of whole numbers, and zero for the last key.

    questions: the sums along the column that are to be accurate. coefficients: f, n - 1 whole numbers that do not rise,
    the first above zero. bits: by what power of two they were scaled before they were rounded.
    """

    least = 0

    def __init__(self, questions: OrderedQuestions, coefficients: NDArray[np.int64], bits: int) -> None:
        self.questions = questions.plain
        self.size, self.rows, self.step = questions.size, questions.size - 1, 2**bits
        self.bits = bits
        self.coefficients = _checked(coefficients, self.rows)

    @functools.cached_property
    def norm(self) -> int:  # type: ignore[override]
        """The largest squared norm of a column of S, the first: exact."""
        return int((self.coefficients**2).sum())

    @property
    def reach(self) -> int:
        """The largest number in S."""
        return int(self.coefficients[0])

    @functools.cached_property
    def spread(self) -> Floats:
        """v: the last key."""
        return np.asarray(np.eye(1, self.size, self.rows)[0])

    @functools.cached_property
    def _inverse(self) -> Floats:
        """g."""
        return inverse_coefficients(self.coefficients)

    @functools.cached_property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan, of S as it is."""
        h, count, cost = np.cumsum(self._inverse), self.questions.count, self.norm / self.step**2
        within, last = float(np.cumsum(h**2).sum()), 1
        if self.questions.kind == "ranges":  # all pairs of rows, and none: (n + 1) sum |row|^2 - |sum of rows|^2
            within = (self.size + 1) * within - float((np.cumsum(h) ** 2).sum())
            last = self.size
        return PlanFactors(cost, within * self.step**2 / (count * cost), last / count)

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis: doubles hold every sum on the way exactly, or they are Python integers."""
        moved = np.moveaxis(table, axis, -1)[..., :-1]
        flat = moved.reshape(-1, self.rows)
        if table.dtype == np.float64:
            f = self.coefficients.astype(np.float64)
            made = np.array([np.convolve(f, row)[: self.rows] for row in flat])
        else:
            made = np.array([whole_convolution(self.coefficients, row) for row in flat], dtype=object)
        return np.asarray(np.moveaxis(made.reshape(moved.shape), -1, axis))

    def restore(self, noisy: Floats, axis: int) -> Floats:
        """G along an axis."""
        made = self._filtered(np.moveaxis(noisy, axis, -1))
        return np.moveaxis(np.concatenate([made, -made.sum(axis=-1, keepdims=True)], axis=-1), -1, axis)

    def _filtered(self, values: Floats) -> Floats:
        """T^-1 along the last axis."""
        from scipy.signal import fftconvolve

        g = self._inverse.reshape([1] * (values.ndim - 1) + [-1])
        return np.asarray(fftconvolve(values, g, axes=-1)[..., : self.rows])

    def _dual(self, factors: Floats) -> Floats:
        """G'q: T' is T with rows and columns reversed."""
        return self._filtered((factors[:-1] - factors[-1])[::-1])[::-1]

    def products(self, one: Floats, other: Floats) -> tuple[float, float, float]:
        """q'G G'q' times step^2, v'q and v'q'."""
        within = float(self._dual(one) @ self._dual(other)) * self.step**2
        return within, float(one[-1]), float(other[-1])

    def rounding(self, factors: Floats) -> float:
        """|G'q|_1 + |v'q|."""
        return float(np.abs(self._dual(factors)).sum()) + abs(float(factors[-1]))

    def sums(self, which: Sums) -> AxisSums:
        """Every key, or every prefix, along the column."""
        return self._cells if which == "cells" else self._prefixes

    @functools.cached_property
    def _cells(self) -> AxisSums:
        h = np.cumsum(self._inverse)
        return self._sums(self._inverse, float((h**2).sum()), float(np.abs(h).sum()))

    @functools.cached_property
    def _prefixes(self) -> AxisSums:
        return self._sums(np.cumsum(self._inverse), 0.0, 0.0)

    def _sums(self, weights: Floats, last: float, reach: float) -> AxisSums:
        """Of sums that weigh the noise by the first 1, 2 ... of these numbers, and of the last sum."""
        within = np.append(np.cumsum(weights**2), last) * float(self.step) ** 2
        return AxisSums(within, self.spread, np.append(np.cumsum(np.abs(weights)), reach))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LongColumn):
            return NotImplemented
        same = self.questions == other.questions and self.bits == other.bits
        return same and np.array_equal(self.coefficients, other.coefficients)

    def __hash__(self) -> int:
        return hash((self.questions, self.bits))


@functools.lru_cache(maxsize=8)
def long_column(questions: OrderedQuestions, bits: int) -> LongColumn:
    """The strategy in closed form for these questions.

    questions: the sums along the column. bits: of the whole numbers.
    """
    return LongColumn(questions, root_coefficients(questions.size - 1, bits), bits)


def _checked(coefficients: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """f; refused where they make no strategy."""
    made = np.array(coefficients, dtype=np.int64)
    if made.shape != (rows,) or made[0] < 1 or made[0] > 2**24 or made.min() < 0 or (np.diff(made) > 0).any():
        raise errors.InvalidParameter("The whole numbers of a strategy for ordered keys are not those of one.")
    return made
