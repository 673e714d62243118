"""A strategy for ordered keys in whole numbers: publish S x with noise, and the counts x come back from S itself.

S is an integer matrix with a column a key. For counts x of people the answers S x are whole numbers, so noise on them
is the ordinary exact mechanism, and a row that comes or goes moves them by a column of S: the squared sensitivity is
the largest squared norm of a column, a whole number. Where a row moves from one key to another it is the largest
squared distance of two columns.

S is 2^bits times a triangular root of the optimal information matrix X (`key_weights`), rounded. It is this S that is
inverted afterwards, not the root before rounding, which would be off by 2^-bits of the counts. Rounding costs some 1e-5
of the error, and the gap is that of S as it is.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.workload.ordered.key_weights import information, optimal_weights
from leastnoise.workload.ordered.questions import Floats, Kind, OrderedQuestions

BITS = 16
MAX_KEYS = 4096  # as a matrix; beyond, `toeplitz`
CLAMP = 2**62


class IntegerStrategy(ABC):
    """A square integer matrix S for sums over ordered keys. Made by `prefix_strategy` and `range_strategy`.

    >>> s = prefix_strategy(128)
    >>> round(s.rmse, 3), s.gap < 1e-4
    (2.311, True)
    >>> noisy = s.apply(np.arange(128))  # plus noise of standard deviation sigma on each of these whole numbers
    >>> np.allclose(s.estimate(noisy), np.arange(128))
    True
    """

    def __init__(self, questions: OrderedQuestions) -> None:
        self._questions = questions

    @property
    def questions(self) -> OrderedQuestions:
        """The sums that it is for."""
        return self._questions

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return self._questions.size

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.int64]:
        """S, a row a sum that gets noise and a column a key."""

    @property
    @abstractmethod
    def squared_sensitivity(self) -> int:
        """The most that one row which comes or goes moves S x, in squared L2 distance: exact."""

    @property
    @abstractmethod
    def squared_distance(self) -> int:
        """The most that one row which changes its key moves S x, in squared L2 distance: exact."""

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """The mean variance of the sums that it is for, with noise of variance 1 on S x."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The mean variance of these sums that no Gaussian linear mechanism is below at mu = 1, under add-remove."""

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of the sums that it is for, where one row costs mu = 1."""
        return math.sqrt(self.mean_variance * self.squared_sensitivity)

    @property
    def gap(self) -> float:
        """How far the mean variance may be above the least of all Gaussian linear mechanisms under add-remove, as a
        part of that: certified, rounding to whole numbers included."""
        return max(0.0, self.mean_variance * self.squared_sensitivity / self.bound - 1)

    @abstractmethod
    def apply(self, counts: ArrayLike, axis: int = -1) -> NDArray[np.int64]:
        """S x, exact: what noise is added to.

        counts: whole numbers, with an axis of the keys; every other axis is a case of its own.
        axis: which axis the keys are on.

        Numbers beyond +-2^62 are set to +-2^62, as noise could not be added to them; that brings two neighbours only
        nearer to each other.
        """

    @abstractmethod
    def estimate(self, noisy: ArrayLike, axis: int = -1) -> Floats:
        """The counts x from S x plus noise: unbiased. Cumulative sums and ranges are sums of these.

        noisy: what was published. axis: which axis the sums are on.
        """

    @abstractmethod
    def dual(self, queries: ArrayLike) -> Floats:
        """S^-T q of each query q: by these numbers its answer weighs the noise on S x.

        queries: a row a query, with a factor a key; or one query.
        """

    def variance(self, queries: ArrayLike) -> Any:
        """The variance of the answers q x to linear queries, with noise of variance 1 on S x.

        queries: a row a query, with a factor a key (1 for a key that is summed); or one query.
        """
        return np.asarray((self.dual(queries) ** 2).sum(axis=-1))[()]

    def covariance(self, queries: ArrayLike) -> Floats:
        """The covariance matrix of the answers to linear queries, with noise of variance 1 on S x.

        queries: a row a query, with a factor a key.
        """
        weights = self.dual(queries)
        return np.asarray(weights @ weights.T)

    def prefix_variances(self) -> Floats:
        """The variance of the sum of the first 1, 2, ... n keys, with noise of variance 1 on S x."""
        return np.concatenate(
            [
                self.variance(_prefixes(range(start, min(start + 512, self.keys)), self.keys))
                for start in range(0, self.keys, 512)
            ]
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._questions.kind} of {self.keys:,} keys, rmse {self.rmse:.4g} at mu = 1>"


class MatrixStrategy(IntegerStrategy):
    """S as a lower triangular matrix.

    questions: the sums that it is for. matrix: S, whole numbers. bound: of the sum of variances at mu = 1.
    """

    def __init__(self, questions: OrderedQuestions, matrix: Floats, bound: float) -> None:
        super().__init__(questions)
        self._matrix = matrix  # whole numbers below 2^53, as doubles: products of them are exact, and fast
        self._bound = bound / questions.count

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S, a row a sum that gets noise and a column a key."""
        return self._matrix.astype(np.int64)

    @property
    def squared_sensitivity(self) -> int:
        """The most that one row which comes or goes moves S x, in squared L2 distance: exact."""
        return int(np.einsum("ij,ij->j", self._matrix, self._matrix).max())

    @functools.cached_property
    def squared_distance(self) -> int:
        """The most that one row which changes its key moves S x, in squared L2 distance: exact."""
        return largest_distance(self._matrix)

    @functools.cached_property
    def mean_variance(self) -> float:
        """The mean variance of the sums that it is for, with noise of variance 1 on S x."""
        from scipy.linalg.lapack import dtrtri

        inverse, failed = dtrtri(self._matrix, lower=1)
        assert not failed
        return self._questions.plain.trace(inverse) / self._questions.count

    @property
    def bound(self) -> float:
        """The mean variance of these sums that no Gaussian linear mechanism is below at mu = 1, under add-remove."""
        return self._bound

    def apply(self, counts: ArrayLike, axis: int = -1) -> NDArray[np.int64]:
        """S x, exact."""
        return exact_product(self._matrix, whole_numbers(counts, axis, self.keys), axis)

    def estimate(self, noisy: ArrayLike, axis: int = -1) -> Floats:
        """The counts x from S x plus noise."""
        from scipy.linalg import solve_triangular

        values = np.moveaxis(np.asarray(noisy, dtype=np.float64), axis, 0)
        solved = solve_triangular(self._matrix, values.reshape(self.keys, -1), lower=True, check_finite=False)
        return np.asarray(np.moveaxis(solved.reshape(values.shape), 0, axis))

    def dual(self, queries: ArrayLike) -> Floats:
        """S^-T q of each query q."""
        from scipy.linalg import solve_triangular

        asked = np.asarray(queries, dtype=np.float64)
        return np.asarray(solve_triangular(self._matrix, asked.T, lower=True, trans="T", check_finite=False).T)


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
    from leastnoise.workload.ordered.toeplitz import MAX_TOEPLITZ_KEYS, ToeplitzStrategy

    if not 4 <= bits <= 24:
        raise errors.InvalidParameter("bits must be from 4 to 24.", parameter="bits", value=bits)
    if keys > MAX_TOEPLITZ_KEYS:
        raise errors.BadDomain(
            f"There are {keys:,} ordered keys; cumulative sums and ranges go up to {MAX_TOEPLITZ_KEYS:,}. Use coarser "
            "keys.",
            parameter="keys",
            value=keys,
        )
    questions = OrderedQuestions(kind, keys)
    if keys > MAX_KEYS:
        return ToeplitzStrategy(questions, bits)
    found = optimal_weights(questions)
    return MatrixStrategy(questions, _rounded_root(information(questions, found.weights), bits), found.bound)


def _rounded_root(x: Floats, bits: int) -> Floats:
    """2^bits L, rounded, with L lower triangular and L'L = X: of the matrix with rows and columns reversed the usual
    root is upper triangular."""
    from scipy.linalg import cholesky

    return np.rint(np.ldexp(cholesky(x[::-1, ::-1], check_finite=False)[::-1, ::-1], bits))


def largest_distance(matrix: Floats) -> int:
    """The largest squared distance of two columns of a matrix of whole numbers: exact."""
    products = matrix.T @ matrix  # exact: every sum on the way is at most a squared norm, far below 2^53
    squares = products.diagonal()
    return max(int((squares + squares[i] - 2 * products[i]).max()) for i in range(len(squares)))


def exact_product(matrix: Floats, counts: NDArray[Any], axis: int) -> NDArray[np.int64]:
    """`matrix`, whole numbers as doubles, times the counts along an axis: exact, and within +-2^62.

    Every sum on the way is at most the largest number of the matrix times the sum of the counts: below 2^53 doubles
    hold it, beyond Python's integers do. Which of the two was taken is not seen in the result.
    """
    moved = np.moveaxis(counts, axis, 0)
    flat = moved.reshape(len(moved), -1)
    reach = float(np.abs(matrix).max()) * float(np.abs(flat.astype(np.float64)).sum(axis=0).max(initial=0.0))
    if reach < 0.99 * 2**53:
        made = (matrix @ flat.astype(np.float64)).astype(np.int64)
    else:
        large = matrix.astype(np.int64).astype(object) @ flat.astype(object)
        made = np.clip(large, -CLAMP, CLAMP).astype(np.int64)
    return np.moveaxis(made.reshape(len(matrix), *moved.shape[1:]), 0, axis)


def whole_numbers(counts: ArrayLike, axis: int, keys: int) -> NDArray[Any]:
    """Counts as an array of integers with this many along the axis, checked."""
    given = np.asarray(counts)
    if given.dtype.kind not in "biu" or given.ndim == 0:
        raise errors.WrongType("counts must be whole numbers, with an axis of the keys.", parameter="counts")
    if given.shape[axis] != keys:
        raise errors.InvalidParameter(
            f"There are {keys:,} keys, and the counts have {given.shape[axis]:,} along that axis.", parameter="counts"
        )
    return given


def _prefixes(lasts: range, keys: int) -> Floats:
    return (np.arange(keys) <= np.array(lasts)[:, None]).astype(np.float64)
