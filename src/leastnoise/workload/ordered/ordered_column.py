"""A column of ordered keys within a set of tables: cumulative sums or ranges, apart from the total.

With X the optimal information matrix of one column (`key_weights`), kappa = 1/(1'X^-1 1) and v = kappa X^-1 1, the part
R = X - kappa J has R v = 0 and is what is known beyond the total. S is 2^bits times the (n - 1) x n triangular root of
R, rounded: its first n - 1 columns are an upper triangular matrix U, its last is u. (A rounded root with n rows would
have no null vector left.) From here on S alone counts, as it is:

    v = (-U^-1 u, 1), scaled to sum to one,    G = (U^-1, 0) - v 1'(U^-1, 0),    S G = I.

Which X is best depends on how much the total is worth beside the column's own sums, in tables without the column, too:
the optimum is taken for the questions with an `emphasis` on the total, which is chosen by trying (`chosen_columns`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.workload.columns import AxisSums, ColumnStrategy, Floats, PlanFactors, Sums
from leastnoise.workload.ordered.key_weights import information, optimal_weights
from leastnoise.workload.ordered.questions import OrderedQuestions


class OrderedColumn(ColumnStrategy):
    """A column whose S is a matrix of whole numbers.

    questions: the sums along the column that are to be accurate. matrix: S, n - 1 rows and n columns: upper triangular
    but for the last column. bits: by what power of two it was scaled before it was rounded.
    """

    def __init__(self, questions: OrderedQuestions, matrix: NDArray[np.int64], bits: int) -> None:
        self.questions = questions.plain
        self.size, self.rows, self.step = questions.size, questions.size - 1, 2**bits
        self.bits = bits
        self._matrix = _checked(matrix, questions.size)

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S."""
        return self._matrix.astype(np.int64)

    @functools.cached_property
    def norm(self) -> int:  # type: ignore[override]
        """The largest squared norm of a column of S: exact."""
        return int((self._matrix**2).sum(axis=0).max())

    @functools.cached_property
    def least(self) -> int:  # type: ignore[override]
        """The least product of two columns of S: exact, as every sum on the way is at most a squared norm."""
        return int((self._matrix.T @ self._matrix).min())

    @property
    def reach(self) -> int:
        """The largest number in S."""
        return int(np.abs(self._matrix).max())

    @functools.cached_property
    def spread(self) -> Floats:
        """v."""
        made = np.append(-_solved(self._matrix[:, :-1], self._matrix[:, -1]), 1.0)
        return np.asarray(made / made.sum())

    @functools.cached_property
    def inverse(self) -> Floats:
        """G: a row a key, a column an integer that gets noise."""
        made = np.zeros((self.size, self.rows))
        made[:-1] = _solved(self._matrix[:, :-1], np.eye(self.rows))
        made -= np.outer(self.spread, made.sum(axis=0))
        return made

    @functools.cached_property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan, of S as it is."""
        asked, count, cost = self.questions, self.questions.count, self.norm / self.step**2
        within = asked.trace(self.inverse) * self.step**2
        without = float(self.spread @ asked.times(self.spread))
        return PlanFactors(cost, within / (count * cost), without / count)

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis."""
        matrix = self._matrix if table.dtype == np.float64 else self.matrix.astype(object)
        return np.asarray(np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis))

    def restore(self, noisy: Floats, axis: int) -> Floats:
        """G along an axis, by substitution: as exact as doubles are, for counts of any size."""
        moved = np.moveaxis(noisy, axis, 0)
        flat = _solved(self._matrix[:, :-1], moved.reshape(self.rows, -1))
        made = np.vstack([flat, np.zeros(flat.shape[1])]) - np.outer(self.spread, flat.sum(axis=0))
        return np.asarray(np.moveaxis(made.reshape(self.size, *moved.shape[1:]), 0, axis))

    def _dual(self, factors: Floats) -> Floats:
        """G'q."""
        return _solved(self._matrix[:, :-1], (factors - self.spread @ factors)[:-1], transposed=True)

    def products(self, one: Floats, other: Floats) -> tuple[float, float, float]:
        """q'G G'q' times step^2, v'q and v'q'."""
        within = float(self._dual(one) @ self._dual(other)) * self.step**2
        return within, float(self.spread @ one), float(self.spread @ other)

    def rounding(self, factors: Floats) -> float:
        """|G'q|_1 + |v'q|."""
        return float(np.abs(self._dual(factors)).sum()) + abs(float(self.spread @ factors))

    def sums(self, which: Sums) -> AxisSums:
        """Every key, or every prefix, along the column."""
        return self._cells if which == "cells" else self._prefixes

    @functools.cached_property
    def _cells(self) -> AxisSums:
        return self._sums(self.inverse, self.spread)

    @functools.cached_property
    def _prefixes(self) -> AxisSums:
        return self._sums(np.cumsum(self.inverse, axis=0), np.cumsum(self.spread))

    def _sums(self, inverse: Floats, without: Floats) -> AxisSums:
        within = np.einsum("ij,ij->i", inverse, inverse) * float(self.step) ** 2
        return AxisSums(within, without, np.abs(inverse).sum(axis=1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OrderedColumn):
            return NotImplemented
        same = self.questions == other.questions and self.bits == other.bits
        return same and bool((self._matrix == other._matrix).all())

    def __hash__(self) -> int:
        return hash((self.questions, self.bits))


@functools.lru_cache(maxsize=8)
def ordered_column(questions: OrderedQuestions, bits: int) -> OrderedColumn:
    """The best strategy for these questions, apart from the total, in whole numbers.

    questions: the sums along the column, with the emphasis on the total. bits: of the whole numbers.
    """
    x, kappa, _ = _parts(questions)
    return OrderedColumn(questions, _rounded(np.ldexp(_root(x - kappa), bits), 4.0**bits * (1 - kappa)), bits)


@functools.lru_cache(maxsize=256)
def real_factors(questions: OrderedQuestions) -> PlanFactors:
    """What the column would multiply in a plan before rounding.

    questions: the sums along the column, with the emphasis on the total.
    """
    x, kappa, v = _parts(questions)
    root = _root(x - kappa)
    inverse = np.zeros((questions.size, questions.size - 1))
    inverse[:-1] = _solved(root[:, :-1], np.eye(questions.size - 1))
    inverse -= np.outer(v, inverse.sum(axis=0))
    asked, cost = questions.plain, 1 - kappa
    within, without = asked.trace(inverse), float(v @ asked.times(v))
    return PlanFactors(cost, within / (asked.count * cost), without / asked.count)


def _parts(questions: OrderedQuestions) -> tuple[Floats, float, Floats]:
    """X, kappa and v."""
    from scipy.linalg import solve

    x = information(questions, optimal_weights(questions).weights)
    v = np.asarray(solve(x, np.ones(questions.size), assume_a="pos", check_finite=False))
    return x, 1 / float(v.sum()), v / v.sum()


def _root(r: Floats) -> Floats:
    """The (n - 1) x n matrix S with S'S = R, upper triangular but for its last column."""
    from scipy.linalg import cholesky

    upper = cholesky(r[:-1, :-1], check_finite=False)
    return np.column_stack([upper, _solved(upper, r[:-1, -1], transposed=True)])


def _rounded(root: Floats, target: float) -> NDArray[np.int64]:
    """Whole numbers near these, the squared norm of every column hardly above the target.

    Rounded by themselves, columns become longer or shorter at random, and a row costs as much as the longest. So in
    each column two numbers are moved by one: those whose squares make up most nearly for the difference.
    """
    made = np.rint(root)
    for column, values in enumerate(made.T):
        sizes = np.abs(values[: column + 1])  # the others are zero
        for _ in range(2):
            excess = float((sizes**2).sum()) - target
            change = 2 * sizes - 1 if excess > 0 else 2 * sizes + 1
            usable = (sizes > 1) & ((excess > 0) | (change <= -excess))
            if not usable.any():
                break
            best = int(np.argmin(np.where(usable, np.abs(change - abs(excess)), np.inf)))
            if abs(change[best] - abs(excess)) < abs(excess):
                sizes[best] += -1 if excess > 0 else 1
        values[: column + 1] = np.copysign(sizes, values[: column + 1])
    return made.astype(np.int64)


def _solved(upper: Floats, values: Floats, *, transposed: bool = False) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(upper, values, trans="T" if transposed else "N", check_finite=False))


def _checked(matrix: NDArray[Any], size: int) -> Floats:
    """S as doubles, which hold it and the products of its columns exactly; refused where it is no strategy."""
    made = np.array(matrix, dtype=np.float64, order="C")  # so that equal numbers give equal answers to the last bit
    usable = made.shape == (size - 1, size) and bool((np.rint(made) == made).all())
    usable = usable and float((made**2).sum(axis=0).max()) < 2**52 and not np.tril(made, -1).any()
    usable = usable and bool((made.diagonal() > 0).all())
    if not usable:
        raise errors.InvalidParameter("The whole numbers of a strategy for ordered keys are not those of one.")
    return made
