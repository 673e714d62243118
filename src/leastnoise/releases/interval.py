"""Where the truth of what was counted lies: bin by bin, or of a sum of bins."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

BinPromise = Literal["every bin", "share of the bins", "prior"]
Values = NDArray[np.int64] | NDArray[np.float64]


class Interval(NamedTuple):
    """Where the truth lies, bin by bin."""

    low: Values
    high: Values


class _Ends(NamedTuple):
    low: Any
    high: Any


class EstimateInterval(_Ends):
    """Where the truth lies after denoising, bin by bin: low and high.

    `promise` says what holds with the confidence: each bin by itself ("every bin"), that share of the bins on average
    ("share of the bins"), or the belief under the prior that was stated ("prior")."""

    promise: BinPromise

    def __new__(cls, low: Any, high: Any, promise: BinPromise) -> EstimateInterval:
        """Two ends, and what they promise."""
        made = super().__new__(cls, low, high)
        made.promise = promise
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return EstimateInterval, (self.low, self.high, self.promise)


class Total(NamedTuple):
    """A sum of bins, with its error bar."""

    value: float
    std: float
    low: float
    high: float


class Overall(NamedTuple):
    """A mean over all bins, and where it lies."""

    value: float
    low: float
    high: float
