"""Where the truth lies: bin by bin, or of a sum of bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64] | NDArray[np.float64]


class Interval(NamedTuple):
    """Where the truth lies, bin by bin."""

    low: Values
    high: Values


class Credible(NamedTuple):
    """Where the truth lies under the stated prior, bin by bin."""

    low: Any
    high: Any


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
