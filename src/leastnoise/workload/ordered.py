"""Columns of ordered keys: cumulative sums and ranges from noise on triangular sums of whole numbers.

S is an integer matrix with a row per number that gets noise and a column per key. For counts x of people the answers
S x are whole numbers, so noise on them is the ordinary exact mechanism: a row that comes or goes moves them by a column
of S, and one that changes its key by the difference of two. S is 2^bits times a triangular root of the optimal
information matrix X (`optimal_weights`), rounded, and it is this S that is inverted afterwards, not the root before
rounding, which would be off by 2^-bits of the counts. Rounding costs some 1e-5 of the error, and errors are those of S
as it is.

S = (T, u): a triangle T, and within a set of tables a column u for the last key. G is what `columns` calls so, with
S G = I and

    v = (-T^-1 u, 1), scaled to sum to one,    G = (T^-1, 0) - v 1'(T^-1, 0),    G'q = T^-1'(q - v'q).

**A column alone** (`IntegerStrategy`) has no u: S = T is square, with T'T near X, so nothing is left for a null vector:
v = 0, G = T^-1, and all else is as within a set.

**A column within a set of tables**, apart from the total. With kappa = 1/(1'X^-1 1) and v = kappa X^-1 1 the part
R = X - kappa J has R v = 0 and is what is known beyond the total. S is the rounded (n - 1) x n root of R. (A rounded
root with n rows would have no null vector left.) From here on S alone counts.

**Very many keys** (`LongColumn`): T is the square root of the cumulative sum, the lower triangular Toeplitz matrix with
the coefficients f_k = C(2k, k)/4^k (those of (1 - z)^-1/2), rounded: L L is the matrix of all prefix sums. Alone a row
costs f_0^2 + ... + f_n-1^2 at most, and the first q keys have the variance f_0^2 + ... + f_q-1^2: some 5 % above the
least (Henzinger, Upadhyay & Upadhyay 2023 analyse it), and ranges some 9 %. Within a set u = 0, so the last key is what
the others leave of the total: v = (0, ..., 0, 1). No coefficient is negative, so the product of two columns is not
either, and with a column of zeros the least is zero. With g the coefficients of T^-1 and h their cumulative sums, the
answers to the first q keys weigh the noise by h_q-1, ..., h_0: variances of all cumulative sums are cumulative sums of
squares. Nothing there is an n x n matrix.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats
from leastnoise.workload.columns import AxisSums, ColumnStrategy, PlanFactors
from leastnoise.workload.optimal_weights import (
    Kind,
    OrderedQuestions,
    check_keys,
    information,
    lower_bound,
    optimal_weights,
)
from leastnoise.workload.residuals import block_integers

BITS = 16
MAX_KEYS = 4096  # as a matrix; beyond, the square root of the cumulative sum
_LIMB = 22
_MASK = 2**_LIMB - 1


class TriangularColumn(ColumnStrategy):
    """A column whose S is a triangle T over the first keys, and within a set of tables a column u for the last one.

    questions: the sums along the column that are to be accurate. rows: of S, as many as there are keys, or one less.
    bits: by what power of two S was scaled before it was rounded.
    """

    numbers: NDArray[Any]  # that make S

    def __init__(self, questions: OrderedQuestions, rows: int, bits: int) -> None:
        self.questions, self.rows, self.bits = questions.plain, rows, bits
        self.size, self.step = questions.size, 2**bits

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.int64]:
        """S."""

    @abstractmethod
    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis."""

    @abstractmethod
    def solve_transposed(self, values: Floats) -> Floats:
        """T^-1' along the last axis."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The sum of the variances of the sums that are to be accurate, with noise of variance 1 on S x."""

    def restore(self, noisy: Floats, axis: int) -> Floats:
        """G along an axis."""
        solved = self.solve(np.moveaxis(noisy, axis, -1))
        values = -solved.sum(axis=-1, keepdims=True) * self.null_vector
        values[..., : self.rows] += solved
        return np.moveaxis(values, -1, axis)

    def dual(self, factors: Floats) -> Floats:
        """G'q."""
        return self.solve_transposed(factors[..., : self.rows] - np.asarray(factors @ self.null_vector)[..., None])

    @functools.cached_property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan, of S as it is."""
        count, cost = self.questions.count, self.norm / self.step**2
        without = float(self.null_vector @ self.questions.times(self.null_vector))
        return PlanFactors(cost, self.variance * self.step**2 / (count * cost), without / count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TriangularColumn):
            return NotImplemented
        same = (self.questions, self.rows, self.bits) == (other.questions, other.rows, other.bits)
        return same and np.array_equal(self.numbers, other.numbers)

    def __hash__(self) -> int:
        return hash((self.questions, self.rows, self.bits))


class OrderedColumn(TriangularColumn):
    """A column whose S is a matrix of whole numbers.

    matrix: S: n - 1 rows and n columns, upper triangular but for the last column; or n x n, lower triangular.
    """

    def __init__(self, questions: OrderedQuestions, matrix: NDArray[Any], bits: int) -> None:
        self.numbers = _checked_matrix(matrix, questions.size)
        super().__init__(questions, len(self.numbers), bits)

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S."""
        return self.numbers.astype(np.int64)

    @functools.cached_property
    def null_vector(self) -> Floats:
        """v."""
        if self.rows == self.size:
            return np.zeros(self.size)
        found = np.append(-self.solve(self.numbers[:, -1]), 1.0)
        return np.asarray(found / found.sum())

    @functools.cached_property
    def max_entry(self) -> int:  # type: ignore[override]
        """The largest number in S."""
        return int(np.abs(self.numbers).max())

    @functools.cached_property
    def norm(self) -> int:  # type: ignore[override]
        """The largest squared norm of a column of S: exact."""
        return int((self.numbers**2).sum(axis=0).max())

    @functools.cached_property
    def least(self) -> int:  # type: ignore[override]
        """The least product of two columns of S: exact, as every sum on the way is at most a squared norm."""
        return int((self.numbers.T @ self.numbers).min())

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis: doubles, of which products are exact, and fast; or Python integers."""
        exact = self.numbers if table.dtype == np.float64 else self.matrix.astype(object)
        return np.asarray(np.moveaxis(np.tensordot(exact, table, axes=(1, axis)), 0, axis))

    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis, by substitution: as exact as doubles are, for counts of any size."""
        return self._solved(values, "N")

    def solve_transposed(self, values: Floats) -> Floats:
        """T^-1' along the last axis."""
        return self._solved(values, "T")

    def _solved(self, values: Floats, trans: Literal["N", "T"]) -> Floats:
        from scipy.linalg import solve_triangular

        lower, flat = self.rows == self.size, values.reshape(-1, self.rows).T
        found = solve_triangular(self.numbers[:, : self.rows], flat, lower=lower, trans=trans, check_finite=False)
        return np.asarray(found.T.reshape(values.shape))

    @functools.cached_property
    def inverse(self) -> Floats:
        """G: a row per key, a column per integer that gets noise."""
        return _generalized_inverse(self.solve(np.eye(self.rows)).T, self.null_vector)

    @property
    def variance(self) -> float:
        """The sum of the variances of these sums, with noise of variance 1 on S x."""
        return self.questions.trace(self.inverse)

    def _sums(self, *, prefixes: bool) -> AxisSums:
        inverse = np.cumsum(self.inverse, axis=0) if prefixes else self.inverse
        within = np.einsum("ij,ij->i", inverse, inverse) * float(self.step) ** 2
        without = np.cumsum(self.null_vector) if prefixes else self.null_vector
        return AxisSums(within, without, np.abs(inverse).sum(axis=1))


class LongColumn(TriangularColumn):
    """A column whose S is a lower triangular Toeplitz matrix of whole numbers; within a set zero for the last key.

    coefficients: f, whole numbers that do not rise, the first above zero: as many as S has rows.
    """

    least = 0

    def __init__(self, questions: OrderedQuestions, coefficients: NDArray[np.int64], bits: int) -> None:
        self.numbers = _checked_coefficients(coefficients, questions.size)
        self.max_entry, self.norm = int(self.numbers[0]), int((self.numbers**2).sum())
        super().__init__(questions, len(self.numbers), bits)

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S: made on demand, n^2 numbers."""
        from scipy.linalg import toeplitz

        return np.asarray(toeplitz(self.numbers, np.zeros(self.size, dtype=np.int64)))

    @functools.cached_property
    def null_vector(self) -> Floats:
        """v."""
        return np.append(np.zeros(self.size - 1), 1.0 * (self.rows < self.size))

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis."""
        moved, f = np.moveaxis(table, axis, -1)[..., : self.rows], self.numbers
        flat = moved.reshape(-1, self.rows)
        if table.dtype == np.float64:
            found = np.array([np.convolve(f.astype(np.float64), row)[: self.rows] for row in flat])
        else:
            found = np.array([whole_convolution(f, row) for row in flat], dtype=object)
        return np.asarray(np.moveaxis(found.reshape(moved.shape), -1, axis))

    @functools.cached_property
    def inverse_coefficients(self) -> Floats:
        """g, the coefficients of T^-1: convolved with f they are 1, 0, 0 ...

        By Newton's steps g <- g (2 - f g), each of which doubles how many are right; to some 1e-15 of the first.
        """
        from scipy.signal import fftconvolve

        scale = float(self.numbers[0])
        f, g = self.numbers / scale, np.ones(1)
        while g.size < f.size:
            size = min(2 * g.size, f.size)
            g = np.append(g, np.zeros(size - g.size))
            left = -fftconvolve(f[:size], g)[:size]
            left[0] += 2
            g = fftconvolve(g, left)[:size]
        return np.asarray(g / scale)

    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis."""
        from scipy.signal import fftconvolve

        g = self.inverse_coefficients.reshape([1] * (values.ndim - 1) + [-1])
        return np.asarray(fftconvolve(values, g, axes=-1)[..., : self.rows])

    def solve_transposed(self, values: Floats) -> Floats:
        """T^-1' along the last axis: T' is T with rows and columns reversed."""
        return self.solve(values[..., ::-1])[..., ::-1]

    @property
    def variance(self) -> float:
        """The sum of the variances of these sums: the rows b of W G have the squares of the first b of h."""
        h = np.cumsum(self.inverse_coefficients)
        rows = float(np.cumsum(h**2).sum())
        if self.questions.kind == "prefix":
            return rows
        # All pairs of rows, and none: sum |row_b - row_a|^2 = (n + 1) sum |row|^2 - |sum of rows|^2.
        return (self.size + 1) * rows - float((np.cumsum(h) ** 2).sum())

    def _sums(self, *, prefixes: bool) -> AxisSums:
        """The first keys weigh the noise by the first of g, or of h; the last key by h, the last prefix by nothing."""
        g = self.inverse_coefficients
        h = np.cumsum(g)
        weights, last = (h, np.zeros(1)) if prefixes else (g, h)
        within = np.append(np.cumsum(weights**2), (last**2).sum()) * float(self.step) ** 2
        return AxisSums(within, self.null_vector, np.append(np.cumsum(np.abs(weights)), np.abs(last).sum()))


# Within a set of tables


@functools.lru_cache(maxsize=8)
def ordered_column(questions: OrderedQuestions, bits: int) -> OrderedColumn:
    """The best strategy for these questions, apart from the total, in whole numbers.

    questions: the sums along the column, with the emphasis on the total. bits: of the whole numbers.
    """
    x, kappa, _ = _parts(questions)
    return OrderedColumn(questions, _rounded(np.ldexp(_root(x - kappa), bits), 4.0**bits * (1 - kappa)), bits)


@functools.lru_cache(maxsize=8)
def long_column(questions: OrderedQuestions, bits: int) -> LongColumn:
    """The strategy in closed form for these questions.

    questions: the sums along the column. bits: of the whole numbers.
    """
    return LongColumn(questions, root_coefficients(questions.size - 1, bits), bits)


@functools.lru_cache(maxsize=256)
def real_factors(questions: OrderedQuestions) -> PlanFactors:
    """What the column would multiply in a plan before rounding.

    questions: the sums along the column, with the emphasis on the total.
    """
    from scipy.linalg import solve_triangular

    x, kappa, v = _parts(questions)
    upper = _root(x - kappa)[:, :-1]
    inverse = _generalized_inverse(solve_triangular(upper, np.eye(len(upper)), check_finite=False), v)
    asked, cost = questions.plain, 1 - kappa
    within, without = asked.trace(inverse), float(v @ asked.times(v))
    return PlanFactors(cost, within / (asked.count * cost), without / asked.count)


def _parts(questions: OrderedQuestions) -> tuple[Floats, float, Floats]:
    """X, kappa and v."""
    from scipy.linalg import solve

    x = information(questions, optimal_weights(questions).weights)
    v = np.asarray(solve(x, np.ones(questions.size), assume_a="pos", check_finite=False))
    return x, 1 / float(v.sum()), v / v.sum()


def _generalized_inverse(inverse: Floats, v: Floats) -> Floats:
    """G, from T^-1."""
    made = np.zeros((v.size, len(inverse)))
    made[: len(inverse)] = inverse
    return np.asarray(made - np.outer(v, made.sum(axis=0)))


def _root(r: Floats) -> Floats:
    """The (n - 1) x n matrix S with S'S = R, upper triangular but for its last column."""
    from scipy.linalg import cholesky, solve_triangular

    upper = cholesky(r[:-1, :-1], check_finite=False)
    return np.column_stack([upper, solve_triangular(upper, r[:-1, -1], trans="T", check_finite=False)])


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


# Alone


class IntegerStrategy:
    """A square integer matrix S for sums over ordered keys. Made by `prefix_strategy` and `range_strategy`.

    column: that of S, which also says what sums it is for.

    >>> s = prefix_strategy(128)
    >>> round(s.rmse, 3), s.gap < 1e-4
    (2.311, True)
    >>> noisy = s.apply(np.arange(128))  # plus noise of standard deviation sigma on each of these whole numbers
    >>> np.allclose(s.estimate(noisy), np.arange(128))
    True
    """

    def __init__(self, column: TriangularColumn) -> None:
        self.column, self.questions = column, column.questions

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return self.questions.size

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S, a row a sum that gets noise and a column a key."""
        return self.column.matrix

    @property
    def squared_sensitivity(self) -> int:
        """The most that one row which comes or goes moves S x, in squared L2 distance: exact."""
        return self.column.norm

    @functools.cached_property
    def mean_variance(self) -> float:
        """The mean variance of the sums that it is for, with noise of variance 1 on S x."""
        return self.column.variance / self.questions.count

    @functools.cached_property
    def bound(self) -> float:
        """The mean variance of these sums that no Gaussian linear mechanism is below at mu = 1, under add-remove."""
        return lower_bound(self.questions) / self.questions.count

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of the sums that it is for, where one row costs mu = 1."""
        return math.sqrt(self.mean_variance * self.squared_sensitivity)

    @property
    def gap(self) -> float:
        """How far the mean variance may be above the least of all Gaussian linear mechanisms under add-remove, as a
        part of that: certified, rounding to whole numbers included."""
        return max(0.0, self.mean_variance * self.squared_sensitivity / self.bound - 1)

    def apply(self, counts: ArrayLike, axis: int = -1) -> NDArray[np.int64]:
        """S x, exact: what noise is added to.

        counts: whole numbers, with an axis of the keys; every other axis is a case of its own.
        axis: which axis the keys are on.

        Numbers beyond +-2^62 are set to +-2^62, as noise could not be added to them; that brings two neighbours only
        nearer to each other.
        """
        given = np.asarray(counts)
        if given.dtype.kind not in "biu" or given.ndim == 0:
            raise errors.WrongType("counts must be whole numbers, with an axis of the keys.", parameter="counts")
        if given.shape[axis] != self.keys:
            raise errors.InvalidParameter(
                f"There are {self.keys:,} keys, and the counts have {given.shape[axis]:,} along that axis.",
                parameter="counts",
            )
        return block_integers(given, {axis: self.column})

    def estimate(self, noisy: ArrayLike, axis: int = -1) -> Floats:
        """The counts x from S x plus noise: unbiased. Cumulative sums and ranges are sums of these.

        noisy: what was published. axis: which axis the sums are on.
        """
        return self.column.restore(np.asarray(noisy, dtype=np.float64), axis)

    def dual(self, queries: ArrayLike) -> Floats:
        """S^-T q of each query q: by these numbers its answer weighs the noise on S x.

        queries: a row a query, with a factor a key (1 for a key that is summed); or one query.
        """
        return self.column.dual(np.asarray(queries, dtype=np.float64))

    def variance(self, queries: ArrayLike) -> Any:
        """The variance of the answers q x to linear queries, with noise of variance 1 on S x.

        queries: as for `dual`.
        """
        return np.asarray((self.dual(queries) ** 2).sum(axis=-1))[()]

    def covariance(self, queries: ArrayLike) -> Floats:
        """The covariance matrix of the answers to linear queries, with noise of variance 1 on S x.

        queries: a row a query, with a factor a key.
        """
        weights = self.dual(queries)
        return np.asarray(weights @ weights.T)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.questions.kind} of {self.keys:,} keys, rmse {self.rmse:.4g} at mu = 1>"


def prefix_strategy(keys: int, *, bits: int = BITS) -> IntegerStrategy:
    """The best whole-number strategy for cumulative sums over so many ordered keys.

    keys: how many, at least 2. Up to 4,096 its error is within 1e-4 of the least there is; beyond, the square root of
    the cumulative sum itself is used, whose loss is its `gap`.
    bits: after the binary point of S before it was made whole.
    """
    return _strategy("prefix", validation.integer("keys", keys, least=2), validation.integer("bits", bits))


def range_strategy(keys: int, *, bits: int = BITS) -> IntegerStrategy:
    """The best whole-number strategy for all ranges of so many ordered keys.

    keys: how many, at least 2. Up to 4,096 its error is within 1e-4 of the least there is; beyond, the square root of
    the cumulative sum is used, whose loss is its `gap`.
    bits: after the binary point of S before it was made whole.
    """
    return _strategy("ranges", validation.integer("keys", keys, least=2), validation.integer("bits", bits))


@functools.lru_cache(maxsize=4)  # a matrix of 4,096 keys takes 130 MB
def _strategy(kind: Kind, keys: int, bits: int) -> IntegerStrategy:
    if not 4 <= bits <= 24:
        raise errors.InvalidParameter("bits must be from 4 to 24.", parameter="bits", value=bits)
    check_keys("A strategy", keys, "keys", keys)
    questions = OrderedQuestions(kind, keys)
    if keys > MAX_KEYS:
        return IntegerStrategy(LongColumn(questions, root_coefficients(keys, bits), bits))
    x = information(questions, optimal_weights(questions).weights)
    return IntegerStrategy(OrderedColumn(questions, np.rint(np.ldexp(_lower_root(x), bits)), bits))


def _lower_root(x: Floats) -> Floats:
    """The lower triangular T with T'T = X: of the matrix with rows and columns reversed the usual root is upper."""
    from scipy.linalg import cholesky

    return np.asarray(cholesky(x[::-1, ::-1], check_finite=False)[::-1, ::-1])


# Numbers


def _checked_matrix(matrix: NDArray[Any], size: int) -> Floats:
    """S as doubles, which hold it and the products of its columns exactly; refused where it is no strategy."""
    made = np.array(matrix, dtype=np.float64, order="C")  # so that equal numbers give equal answers to the last bit
    usable = made.shape in ((size - 1, size), (size, size)) and bool((np.rint(made) == made).all())
    usable = usable and float((made**2).sum(axis=0).max()) < 2**52
    usable = usable and not (np.triu(made, 1) if len(made) == size else np.tril(made, -1)).any()
    if not (usable and bool((made.diagonal() > 0).all())):
        raise _no_strategy()
    return made


def _checked_coefficients(coefficients: NDArray[Any], size: int) -> NDArray[np.int64]:
    """f; refused where they make no strategy."""
    made = np.array(coefficients, dtype=np.int64)
    usable = made.ndim == 1 and made.size in (size - 1, size) and 1 <= made[0] <= 2**24
    if not usable or made.min() < 0 or (np.diff(made) > 0).any():
        raise _no_strategy()
    return made


def _no_strategy() -> errors.InvalidParameter:
    return errors.InvalidParameter("The whole numbers of a strategy for ordered keys are not those of one.")


def root_coefficients(count: int, bits: int) -> NDArray[np.int64]:
    """The first coefficients of (1 - z)^-1/2, times 2^bits, rounded.

    count: how many. bits: by what power of two.
    """
    steps = np.arange(1, count)
    exact = np.cumprod(np.concatenate([[1.0], (2 * steps - 1) / (2 * steps)]))
    return np.rint(np.ldexp(exact, bits)).astype(np.int64)


def whole_convolution(coefficients: NDArray[np.int64], row: NDArray[Any]) -> NDArray[Any]:
    """The convolution of Python integers with whole numbers that add up to less than 2^33: exact.

    coefficients: as many as the row has numbers. row: Python integers of any size.

    In parts of 22 bits no sum of products reaches 2^63; the last part has the sign.
    """
    total: Any = np.zeros(row.size, dtype=object)
    place, left = 0, row
    while (np.abs(left) > _MASK).any():
        total = total + np.convolve(coefficients, (left & _MASK).astype(np.int64))[: row.size].astype(object) * 2**place
        place, left = place + _LIMB, left >> _LIMB
    return np.asarray(total + np.convolve(coefficients, left.astype(np.int64))[: row.size].astype(object) * 2**place)
