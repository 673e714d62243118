"""About where the answer lies, in floats: epsilon to some per cent, and the tilt. No proof depends on it.

With K(t) = sum n_i log E e^(t L_i), the saddle point of delta(epsilon) is the t with K'(t) = epsilon, and there
log delta = K - t K' - log(1 + t) - log(1 + 2 pi t^2 K'')/2, nearly, which is solved for t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from leastnoise.privacy.accounting.composing import LARGEST_TILT
from leastnoise.privacy.accounting.loss_pairs import LossPair, Samples

_TILTS = (1e-4, LARGEST_TILT)


class SaddlePoint:
    """Of a composition, in one direction."""

    def __init__(self, parts: Sequence[tuple[LossPair, int]]) -> None:
        self.parts: list[tuple[Samples, int]] = [(pair.samples(), times) for pair, times in parts]

    def at_delta(self, delta: float) -> tuple[float, float]:
        """(epsilon, tilt) at which delta is about this."""
        return self._solve(lambda tilt: self._log_delta(tilt)[0] > math.log(delta))

    def at_epsilon(self, epsilon: float) -> tuple[float, float]:
        """(log delta, tilt) at which epsilon is about this."""
        reached, tilt = self._solve(lambda tilt: self._log_delta(tilt)[1] < epsilon)
        possible = reached >= 0.9 * epsilon or tilt < _TILTS[1] / 2  # else no losses add up to so much
        return (self._log_delta(tilt)[0], tilt) if possible else (-math.inf, 1.0)

    def _solve(self, before: Callable[[float], bool]) -> tuple[float, float]:
        low, high = (math.log(edge) for edge in _TILTS)
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if before(math.exp(middle)) else (low, middle)
        tilt = math.exp(low)
        return self._log_delta(tilt)[1], tilt

    def _log_delta(self, tilt: float) -> tuple[float, float]:
        value = slope = bend = 0.0
        for (losses, logs), times in self.parts:
            exponents = logs + tilt * losses
            top = exponents.max()
            weights = np.exp(exponents - top)
            total = weights.sum()
            mean = (weights * losses).sum() / total
            value += times * (top + math.log(total))
            slope += times * mean
            with np.errstate(over="ignore", invalid="ignore"):  # losses beyond 1e154
                bend += times * (weights * (losses - mean) ** 2).sum() / total
        spread = 0.5 * math.log1p(2 * math.pi * bend * tilt * tilt)
        return value - tilt * slope - math.log1p(tilt) - spread, slope
