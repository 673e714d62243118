"""The noise of cumulative sums of a noisy histogram, and the strategy that its sums were made with, in a file.

A release is read by the strategy that it was made with, whatever another version or another machine would find, so the
whole numbers of the strategy are in its file. What they protect is computed from them when they are read.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.workload.ordered.integer_strategy import BITS, IntegerStrategy, MatrixStrategy
from leastnoise.workload.ordered.questions import OrderedQuestions


class Moments(NamedTuple):
    """Of the noise of the sum of the first 0, 1, ... n counts, in variances of one draw: its variance, and its
    covariance with the sum of all. `independent`: the noises of the counts are."""

    variance: Floats
    with_total: Floats
    independent: bool

    def of_gap(self, level: float) -> Floats:
        """The variance of C_j - q T at every edge j: what decides on which side of it the quantile lies."""
        return np.asarray(np.maximum(self.variance - 2 * level * self.with_total + level**2 * self.variance[-1], 0.0))

    @property
    def largest(self) -> float:
        """The largest standard deviation of a cumulative sum."""
        return float(np.sqrt(self.variance.max()))


@lru_cache(maxsize=16)
def moments(strategy: IntegerStrategy | int) -> Moments:
    """Of noise on so many counts; or on the sums of a strategy."""
    if isinstance(strategy, int):
        return Moments(np.arange(strategy + 1.0), np.arange(strategy + 1.0), True)
    weights = strategy.dual(np.tril(np.ones((strategy.keys, strategy.keys))))
    variance, with_total = (weights**2).sum(axis=1), weights @ weights[-1]
    return Moments(np.concatenate([[0.0], variance]), np.concatenate([[0.0], with_total]), False)


def strategy_to_text(strategy: IntegerStrategy) -> str:
    """The numbers on and below the diagonal, row by row, as differences of 32 bits, compressed."""
    numbers = strategy.matrix[np.tril_indices(strategy.keys)]
    return base64.b64encode(zlib.compress(np.diff(numbers, prepend=0).astype("<i4").tobytes())).decode()


def strategy_from_text(text: str, keys: int) -> IntegerStrategy:
    """What `strategy_to_text` wrote of a strategy for cumulative sums over so many keys; ValueError for all else."""
    try:
        stream = zlib.decompressobj()
        found = stream.decompress(base64.b64decode(text, validate=True), 2 * keys * (keys + 1) + 1)
    except (binascii.Error, zlib.error):
        raise ValueError("no strategy") from None
    if len(found) != 2 * keys * (keys + 1):
        raise ValueError("a strategy of another size")
    matrix = np.zeros((keys, keys))
    matrix[np.tril_indices(keys)] = np.cumsum(np.frombuffer(found, dtype="<i4"), dtype=np.int64)
    if matrix.min() < 0 or matrix.max() > 2 ** (BITS + 8) or matrix.diagonal().min() <= 0:
        raise ValueError("a strategy with numbers that none has")
    return MatrixStrategy(OrderedQuestions("prefix", keys), matrix, float("nan"))  # its gap is not asked for
