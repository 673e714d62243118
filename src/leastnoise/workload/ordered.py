"""Columns of ordered keys: cumulative sums and ranges from noise on triangular sums of whole numbers.

S is an integer matrix with a column a key. For counts x of people the answers S x are whole numbers, so noise on them
is the ordinary exact mechanism: a row that comes or goes moves them by a column of S, and one that changes its key by
the difference of two. S is 2^bits times a triangular root of the optimal information matrix X (`optimal_weights`),
rounded, and it is this S that is inverted afterwards, not the root before rounding, which would be off by 2^-bits of
the counts. Rounding costs some 1e-5 of the error, and errors are those of S as it is.

**A column alone** (`IntegerStrategy`): S = T is square and triangular, with T'T near X.

**A column within a set of tables** (`OrderedColumn`), apart from the total. With kappa = 1/(1'X^-1 1) and
v = kappa X^-1 1 the part R = X - kappa J has R v = 0 and is what is known beyond the total. S = (T, u) is the rounded
(n - 1) x n root of R: a triangle over the first n - 1 keys, and a column for the last. (A rounded root with n rows
would have no null vector left.) From here on S alone counts:

    v = (-T^-1 u, 1), scaled to sum to one,    G = (T^-1, 0) - v 1'(T^-1, 0),    S G = I,    G'q = T^-1'(q - v'q).

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
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.workload.columns import AxisSums, ColumnStrategy, Floats, PlanFactors, Sums
from leastnoise.workload.optimal_weights import (
    MAX_ORDERED_KEYS,
    Kind,
    OrderedQuestions,
    information,
    lower_bound,
    optimal_weights,
)
from leastnoise.workload.residuals import block_integers

BITS = 16
MAX_KEYS = 4096  # as a matrix; beyond, the square root of the cumulative sum
_LIMB = 22
_MASK = 2**_LIMB - 1


class Triangle(ABC):
    """A triangular matrix T of whole numbers with a positive diagonal."""

    numbers: NDArray[Any]  # those that make T
    matrix: NDArray[np.int64]  # T
    reach: int  # its largest number
    norm: int  # the largest squared norm of a column: exact
    inverse: Floats  # the numbers that make T^-1

    @abstractmethod
    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """T along an axis, exact: of doubles, which must hold every sum on the way, or of Python integers."""

    @abstractmethod
    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis."""

    @abstractmethod
    def dual(self, factors: Floats) -> Floats:
        """T^-1' along the last axis."""

    @abstractmethod
    def variance(self, questions: OrderedQuestions) -> float:
        """The sum of the variances of these sums, with noise of variance 1; a last key beyond those of T has none."""


class DenseTriangle(Triangle):
    """T as it stands.

    numbers: T, whole numbers below 2^53 as doubles: products of them are exact, and fast. lower: which triangle.
    """

    def __init__(self, numbers: Floats, *, lower: bool) -> None:
        self.numbers, self.lower = numbers, lower

    @property
    def matrix(self) -> NDArray[np.int64]:  # type: ignore[override]
        """T."""
        return self.numbers.astype(np.int64)

    @functools.cached_property
    def reach(self) -> int:  # type: ignore[override]
        """Its largest number."""
        return int(np.abs(self.numbers).max())

    @functools.cached_property
    def norm(self) -> int:  # type: ignore[override]
        """The largest squared norm of a column."""
        return int((self.numbers**2).sum(axis=0).max())

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """T along an axis."""
        return times(self.numbers, table, axis)

    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis, by substitution: as exact as doubles are, for counts of any size."""
        return self._solved(values, "N")

    def dual(self, factors: Floats) -> Floats:
        """T^-1' along the last axis."""
        return self._solved(factors, "T")

    def _solved(self, values: Floats, trans: Literal["N", "T"]) -> Floats:
        from scipy.linalg import solve_triangular

        flat = values.reshape(-1, len(self.numbers)).T
        made = solve_triangular(self.numbers, flat, lower=self.lower, trans=trans, check_finite=False)
        return np.asarray(made.T.reshape(values.shape))

    @functools.cached_property
    def inverse(self) -> Floats:  # type: ignore[override]
        """T^-1."""
        return self.solve(np.eye(len(self.numbers))).T

    def variance(self, questions: OrderedQuestions) -> float:
        """The sum of the variances of these sums."""
        return questions.trace(self.inverse)


class ToeplitzTriangle(Triangle):
    """T with the same coefficients f along every diagonal, from the first down: none is negative, and they do not rise.

    numbers: f, whole numbers, the first above zero.
    """

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.numbers, self.reach, self.norm = numbers, int(numbers[0]), int((numbers**2).sum())

    @property
    def matrix(self) -> NDArray[np.int64]:  # type: ignore[override]
        """T: made on demand, n^2 numbers."""
        from scipy.linalg import toeplitz

        return np.asarray(toeplitz(self.numbers, np.zeros_like(self.numbers)))

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """T along an axis."""
        moved = np.moveaxis(table, axis, -1)
        flat, f = moved.reshape(-1, moved.shape[-1]), self.numbers
        if table.dtype == np.float64:
            made = np.array([np.convolve(f.astype(np.float64), row)[: f.size] for row in flat])
        else:
            made = np.array([whole_convolution(f, row) for row in flat], dtype=object)
        return np.asarray(np.moveaxis(made.reshape(moved.shape), -1, axis))

    @functools.cached_property
    def inverse(self) -> Floats:  # type: ignore[override]
        """g, the coefficients of T^-1: convolved with f they are 1, 0, 0 ...

        By Newton's steps g <- g (2 - f g), each of which doubles how many are right; to some 1e-15 of the first.
        """
        from scipy.signal import fftconvolve

        scale = float(self.numbers[0])
        f, made = self.numbers / scale, np.ones(1)
        while made.size < f.size:
            size = min(2 * made.size, f.size)
            made = np.append(made, np.zeros(size - made.size))
            left = -fftconvolve(f[:size], made)[:size]
            left[0] += 2
            made = fftconvolve(made, left)[:size]
        return np.asarray(made / scale)

    def solve(self, values: Floats) -> Floats:
        """T^-1 along the last axis."""
        from scipy.signal import fftconvolve

        g = self.inverse.reshape([1] * (values.ndim - 1) + [-1])
        return np.asarray(fftconvolve(values, g, axes=-1)[..., : self.numbers.size])

    def dual(self, factors: Floats) -> Floats:
        """T^-1' along the last axis: T' is T with rows and columns reversed."""
        return self.solve(factors[..., ::-1])[..., ::-1]

    def variance(self, questions: OrderedQuestions) -> float:
        """The sum of the variances of these sums: the rows b of W T^-1 have the squares of the first b of h."""
        h = np.cumsum(self.inverse)
        rows = float(np.cumsum(h**2).sum())
        if questions.kind == "prefix":
            return rows
        # All pairs of rows, and none: sum |row_b - row_a|^2 = (n + 1) sum |row|^2 - |sum of rows|^2.
        return (questions.size + 1) * rows - float((np.cumsum(h) ** 2).sum())


class IntegerStrategy:
    """A square integer matrix S for sums over ordered keys. Made by `prefix_strategy` and `range_strategy`.

    questions: the sums that it is for. triangle: S.

    >>> s = prefix_strategy(128)
    >>> round(s.rmse, 3), s.gap < 1e-4
    (2.311, True)
    >>> noisy = s.apply(np.arange(128))  # plus noise of standard deviation sigma on each of these whole numbers
    >>> np.allclose(s.estimate(noisy), np.arange(128))
    True
    """

    def __init__(self, questions: OrderedQuestions, triangle: Triangle) -> None:
        self.questions, self.triangle = questions, triangle

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return self.questions.size

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S, a row a sum that gets noise and a column a key."""
        return self.triangle.matrix

    @property
    def squared_sensitivity(self) -> int:
        """The most that one row which comes or goes moves S x, in squared L2 distance: exact."""
        return self.triangle.norm

    @functools.cached_property
    def mean_variance(self) -> float:
        """The mean variance of the sums that it is for, with noise of variance 1 on S x."""
        return self.triangle.variance(self.questions) / self.questions.count

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
        return block_integers(given, {axis: self.triangle})

    def estimate(self, noisy: ArrayLike, axis: int = -1) -> Floats:
        """The counts x from S x plus noise: unbiased. Cumulative sums and ranges are sums of these.

        noisy: what was published. axis: which axis the sums are on.
        """
        values = np.moveaxis(np.asarray(noisy, dtype=np.float64), axis, -1)
        return np.moveaxis(self.triangle.solve(values), -1, axis)

    def dual(self, queries: ArrayLike) -> Floats:
        """S^-T q of each query q: by these numbers its answer weighs the noise on S x.

        queries: a row a query, with a factor a key (1 for a key that is summed); or one query.
        """
        return self.triangle.dual(np.asarray(queries, dtype=np.float64))

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
    if keys > MAX_ORDERED_KEYS:
        raise errors.BadDomain(
            f"There are {keys:,} ordered keys; cumulative sums and ranges go up to {MAX_ORDERED_KEYS:,}. Use coarser "
            "keys.",
            parameter="keys",
            value=keys,
        )
    questions = OrderedQuestions(kind, keys)
    if keys > MAX_KEYS:
        return IntegerStrategy(questions, ToeplitzTriangle(root_coefficients(keys, bits)))
    x = information(questions, optimal_weights(questions).weights)
    return IntegerStrategy(questions, DenseTriangle(np.rint(np.ldexp(_lower_root(x), bits)), lower=True))


def _lower_root(x: Floats) -> Floats:
    """The lower triangular T with T'T = X: of the matrix with rows and columns reversed the usual root is upper."""
    from scipy.linalg import cholesky

    return np.asarray(cholesky(x[::-1, ::-1], check_finite=False)[::-1, ::-1])


# Within a set of tables


class TriangularColumn(ColumnStrategy):
    """A column whose S is a triangle over all keys but the last, and a column u for that.

    questions: the sums along the column that are to be accurate. triangle: T. last: u.
    bits: by what power of two S was scaled before it was rounded.
    """

    def __init__(self, questions: OrderedQuestions, triangle: Triangle, last: Floats, bits: int) -> None:
        self.questions, self.triangle, self.last, self.bits = questions.plain, triangle, last, bits
        self.size, self.rows, self.step = questions.size, questions.size - 1, 2**bits

    @functools.cached_property
    def spread(self) -> Floats:
        """v."""
        made = np.append(-self.triangle.solve(self.last), 1.0)
        return np.asarray(made / made.sum())

    @property
    def reach(self) -> int:
        """The largest number in S."""
        return max(self.triangle.reach, int(np.abs(self.last).max()))

    def restore(self, noisy: Floats, axis: int) -> Floats:
        """G along an axis."""
        made = self.triangle.solve(np.moveaxis(noisy, axis, -1))
        total = made.sum(axis=-1, keepdims=True)
        whole = np.concatenate([made, np.zeros_like(total)], axis=-1) - total * self.spread
        return np.moveaxis(whole, -1, axis)

    def dual(self, factors: Floats) -> Floats:
        """G'q."""
        return self.triangle.dual(factors[..., :-1] - np.asarray(factors @ self.spread)[..., None])

    def sums(self, which: Sums) -> AxisSums:
        """Every key, or every prefix, along the column."""
        return self._cells if which == "cells" else self._prefixes

    @functools.cached_property
    def _cells(self) -> AxisSums:
        return self._sums(prefixes=False)

    @functools.cached_property
    def _prefixes(self) -> AxisSums:
        return self._sums(prefixes=True)

    @abstractmethod
    def _sums(self, *, prefixes: bool) -> AxisSums:
        """Of every key, or of every prefix."""

    def _factors(self, variance: float) -> PlanFactors:
        """Of S as it is, where the sums that are to be accurate have this variance in all."""
        count, cost = self.questions.count, self.norm / self.step**2
        without = float(self.spread @ self.questions.times(self.spread))
        return PlanFactors(cost, variance * self.step**2 / (count * cost), without / count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TriangularColumn):
            return NotImplemented
        same = self.questions == other.questions and self.bits == other.bits
        return same and np.array_equal(self._all_numbers, other._all_numbers)

    @property
    def _all_numbers(self) -> NDArray[Any]:
        return np.append(self.triangle.numbers, self.last)

    def __hash__(self) -> int:
        return hash((self.questions, self.bits))


class OrderedColumn(TriangularColumn):
    """A column whose S is a matrix of whole numbers.

    matrix: S, n - 1 rows and n columns: upper triangular but for the last column.
    """

    def __init__(self, questions: OrderedQuestions, matrix: NDArray[np.int64], bits: int) -> None:
        self._matrix = _checked_matrix(matrix, questions.size)
        triangle = DenseTriangle(np.ascontiguousarray(self._matrix[:, :-1]), lower=False)
        super().__init__(questions, triangle, self._matrix[:, -1].copy(), bits)

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

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis."""
        return times(self._matrix, table, axis)

    @functools.cached_property
    def inverse(self) -> Floats:
        """G: a row a key, a column an integer that gets noise."""
        made = np.append(self.triangle.inverse, np.zeros((1, self.rows)), axis=0)
        return np.asarray(made - np.outer(self.spread, made.sum(axis=0)))

    @functools.cached_property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan."""
        return self._factors(self.questions.trace(self.inverse))

    def _sums(self, *, prefixes: bool) -> AxisSums:
        inverse = np.cumsum(self.inverse, axis=0) if prefixes else self.inverse
        within = np.einsum("ij,ij->i", inverse, inverse) * float(self.step) ** 2
        without = np.cumsum(self.spread) if prefixes else self.spread
        return AxisSums(within, without, np.abs(inverse).sum(axis=1))


class LongColumn(TriangularColumn):
    """A column whose S is a Toeplitz matrix of whole numbers, and zero for the last key.

    coefficients: f, n - 1 whole numbers that do not rise, the first above zero.
    """

    least = 0

    def __init__(self, questions: OrderedQuestions, coefficients: NDArray[np.int64], bits: int) -> None:
        triangle = ToeplitzTriangle(_checked_coefficients(coefficients, questions.size - 1))
        super().__init__(questions, triangle, np.zeros(questions.size - 1), bits)
        self.coefficients, self.norm = triangle.numbers, triangle.norm

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """S along an axis."""
        return self.triangle.apply(np.delete(table, -1, axis), axis)

    @functools.cached_property
    def factors(self) -> PlanFactors:
        """What the column multiplies in a plan."""
        return self._factors(self.triangle.variance(self.questions))

    def _sums(self, *, prefixes: bool) -> AxisSums:
        """The first keys weigh the noise by the first of g, or of h; the last key by h, the last prefix by nothing."""
        h = np.cumsum(self.triangle.inverse)
        weights, last = (h, np.zeros(1)) if prefixes else (self.triangle.inverse, h)
        within = np.append(np.cumsum(weights**2), (last**2).sum()) * float(self.step) ** 2
        return AxisSums(within, self.spread, np.append(np.cumsum(np.abs(weights)), np.abs(last).sum()))


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
    x, kappa, v = _parts(questions)
    root = _root(x - kappa)
    inverse = np.zeros((questions.size, questions.size - 1))
    inverse[:-1] = DenseTriangle(root[:, :-1], lower=False).inverse
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
    return np.column_stack([upper, DenseTriangle(upper, lower=False).dual(r[:-1, -1])])


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


def _checked_matrix(matrix: NDArray[Any], size: int) -> Floats:
    """S as doubles, which hold it and the products of its columns exactly; refused where it is no strategy."""
    made = np.array(matrix, dtype=np.float64, order="C")  # so that equal numbers give equal answers to the last bit
    usable = made.shape == (size - 1, size) and bool((np.rint(made) == made).all())
    usable = usable and float((made**2).sum(axis=0).max()) < 2**52 and not np.tril(made, -1).any()
    usable = usable and bool((made.diagonal() > 0).all())
    if not usable:
        raise errors.InvalidParameter("The whole numbers of a strategy for ordered keys are not those of one.")
    return made


def _checked_coefficients(coefficients: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """f; refused where they make no strategy."""
    made = np.array(coefficients, dtype=np.int64)
    if made.shape != (rows,) or made[0] < 1 or made[0] > 2**24 or made.min() < 0 or (np.diff(made) > 0).any():
        raise errors.InvalidParameter("The whole numbers of a strategy for ordered keys are not those of one.")
    return made


def times(matrix: Floats, table: NDArray[Any], axis: int) -> NDArray[Any]:
    """A matrix of whole numbers along an axis: of doubles, or of Python integers."""
    exact = matrix if table.dtype == np.float64 else matrix.astype(np.int64).astype(object)
    return np.asarray(np.moveaxis(np.tensordot(exact, table, axes=(1, axis)), 0, axis))


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
