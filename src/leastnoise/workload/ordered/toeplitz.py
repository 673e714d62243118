"""The square root of the cumulative sum, for more ordered keys than a matrix can hold.

The lower triangular Toeplitz matrix L with the coefficients f_k = C(2k, k)/4^k (those of (1 - z)^-1/2) has L L = the
matrix of all prefix sums. Published as L x plus noise, a row costs f_0^2 + ... + f_n-1^2 at most, and the first q keys
have the variance f_0^2 + ... + f_q-1^2. Its error is some 5 % above the least (Henzinger, Upadhyay & Upadhyay
2023 analyse it), and that of ranges some 9 %; `gap` computes how much at most, of variances.

Here S is 2^bits L with rounded coefficients, and everything is computed from these: products by convolution of whole
numbers, which is exact, and the inverse by forward substitution.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.workload.ordered import key_weights
from leastnoise.workload.ordered.integer_strategy import CLAMP, IntegerStrategy, whole_numbers
from leastnoise.workload.ordered.questions import Floats, OrderedQuestions

MAX_TOEPLITZ_KEYS = 2**16
_LIMB = 22
_MASK = 2**_LIMB - 1


class ToeplitzStrategy(IntegerStrategy):
    """S as a lower triangular Toeplitz matrix.

    questions: the sums that it is for. bits: after the binary point of its coefficients before they were made whole.
    """

    def __init__(self, questions: OrderedQuestions, bits: int) -> None:
        super().__init__(questions)
        self._coefficients = root_coefficients(questions.size, bits)

    @property
    def matrix(self) -> NDArray[np.int64]:
        """S, a row a sum that gets noise and a column a key: made on demand, n^2 numbers."""
        from scipy.linalg import toeplitz

        return np.asarray(toeplitz(self._coefficients, np.zeros_like(self._coefficients)))

    @property
    def squared_sensitivity(self) -> int:
        """The most that one row which comes or goes moves S x: the first column is the longest."""
        return int((self._coefficients**2).sum())

    @functools.cached_property
    def squared_distance(self) -> int:
        """The most that one row which changes its key moves S x.

        No coefficient is negative, so the product of two columns is not either, and their squared distance is at most
        the sum of their squared norms, of which the first two are the largest: safe, though nothing attains it.
        """
        squares = self._coefficients**2
        return int(squares.sum() + squares[:-1].sum())

    @functools.cached_property
    def mean_variance(self) -> float:
        """The mean variance of the sums that it is for, with noise of variance 1 on S x."""
        # W S^-1 is Toeplitz, too, with the coefficients h; its rows b have the squares of the first b of them.
        h = np.cumsum(self._solve(np.eye(1, self.keys)[0]))
        rows = np.cumsum(h**2)
        if self.questions.kind == "prefix":
            return float(rows.mean())
        # All pairs of rows, and none: sum |row_b - row_a|^2 = (n + 1) sum |row|^2 - |sum of rows|^2.
        together = float((np.cumsum(h) ** 2).sum())
        return ((self.keys + 1) * float(rows.sum()) - together) / self.questions.count

    @functools.cached_property
    def bound(self) -> float:
        """The mean variance of these sums that no Gaussian linear mechanism is below at mu = 1, under add-remove."""
        return key_weights.lower_bound(self.questions) / self.questions.count

    def apply(self, counts: ArrayLike, axis: int = -1) -> NDArray[np.int64]:
        """S x, exact."""
        moved = np.moveaxis(whole_numbers(counts, axis, self.keys), axis, -1)
        flat = moved.reshape(-1, self.keys)
        made = np.array([self._convolved(row) for row in flat], dtype=np.int64).reshape(moved.shape)
        return np.moveaxis(made, -1, axis)

    def _convolved(self, row: NDArray[Any]) -> NDArray[np.int64]:
        reach = float(self._coefficients[0]) * float(np.abs(row.astype(np.float64)).sum())
        if reach < 0.99 * CLAMP:
            return np.convolve(self._coefficients, row.astype(np.int64))[: self.keys]
        large = whole_convolution(self._coefficients, row.astype(object))
        return np.asarray(np.clip(large, -CLAMP, CLAMP), dtype=np.int64)

    def estimate(self, noisy: ArrayLike, axis: int = -1) -> Floats:
        """The counts x from S x plus noise."""
        moved = np.moveaxis(np.asarray(noisy, dtype=np.float64), axis, -1)
        return np.asarray(np.moveaxis(self._solve(moved), -1, axis))

    def dual(self, queries: ArrayLike) -> Floats:
        """S^-T q of each query q: S^T is S with rows and columns reversed."""
        return self._solve(np.asarray(queries, dtype=np.float64)[..., ::-1])[..., ::-1]

    def _solve(self, values: Floats) -> Floats:
        """S^-1 along the last axis, by forward substitution."""
        from scipy.signal import lfilter

        scale = float(self._coefficients[0])
        return np.asarray(lfilter([1 / scale], self._coefficients / scale, values, axis=-1))


def root_coefficients(count: int, bits: int) -> NDArray[np.int64]:
    """The first coefficients of (1 - z)^-1/2, times 2^bits, rounded.

    count: how many. bits: by what power of two.
    """
    steps = np.arange(1, count)
    exact = np.cumprod(np.concatenate([[1.0], (2 * steps - 1) / (2 * steps)]))
    return np.rint(np.ldexp(exact, bits)).astype(np.int64)


def inverse_coefficients(coefficients: NDArray[np.int64]) -> Floats:
    """Those of the inverse: convolved with these they are 1, 0, 0 ...

    coefficients: whole numbers, the first above zero.

    By Newton's steps g <- g (2 - f g), each of which doubles how many are right; to some 1e-15 of the first.
    """
    from scipy.signal import fftconvolve

    scale = float(coefficients[0])
    f, made = coefficients / scale, np.ones(1)
    while made.size < f.size:
        size = min(2 * made.size, f.size)
        made = np.append(made, np.zeros(size - made.size))
        left = -fftconvolve(f[:size], made)[:size]
        left[0] += 2
        made = fftconvolve(made, left)[:size]
    return np.asarray(made / scale)


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
