"""Wavelets at every shift: the transform that cycle spinning averages over, in one pass (Coifman & Donoho 1995).

With an orthonormal pair of filters g (low) and h (high), divided by sqrt 2, level j convolves with both, their taps
2^(j-1) apart, and hands the low part on. Around a circle of any length |G|^2 + |H|^2 = 1, so

    y = sum over levels and bands of W'W y  +  V'V y:

a tight frame (Percival & Walden 2000, chapter 5). Where 2^levels divides the length, W' f(W y) is the mean over all
shifts of the orthonormal transform, for any f of single coefficients. In several dimensions a level has a band for each
choice of low or high along each axis, but for all low.

A row that is no circle is reflected at both ends, R y = (y_0 ... y_n-1, y_n-1 ... y_0): a circle of twice the length
without a jump. Back is the mean over the copies, R'/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import product

import numpy as np

from leastnoise.denoise.arrays import Floats

LOW_PASS = np.array([1.0, 1.0]) / math.sqrt(2)  # Haar's filter


class Transform:
    """For arrays of (components, *shape); every component by itself."""

    def __init__(self, shape: tuple[int, ...], periodic: bool) -> None:
        self.shape, self.periodic = shape, periodic
        low = LOW_PASS / math.sqrt(2)
        self.filters = low, low[::-1] * (-1.0) ** np.arange(low.size)
        self.axes = tuple(range(1, len(shape) + 1))
        self.levels = max(1, math.ceil(math.log2(max(shape))))
        self.copies = 1 if periodic else 2 ** len(shape)
        self.bands = list(product((0, 1), repeat=len(shape)))  # the first is all low

    def reflected(self, x: Floats) -> Floats:
        """R x."""
        if not self.periodic:
            for axis in self.axes:
                x = np.concatenate([x, np.flip(x, axis)], axis)
        return x

    def folded(self, x: Floats) -> Floats:
        """R'x."""
        if not self.periodic:
            for axis in self.axes:
                first, last = np.split(x, 2, axis)
                x = first + np.flip(last, axis)
        return x

    def run(self, y: Floats, change: Callable[[int, int, Floats], Floats], *, keep_low: bool = True) -> Floats:
        """R'W' applied to the coefficients of R y after `change(level, band, coefficients)` of each but the last low
        part, which is kept or left out; over the number of copies. With nothing changed it is y."""
        low, high = self.reflected(y), []
        for level in range(1, self.levels + 1):
            parts = [self._filtered(low, band, level) for band in self.bands]
            high.append([change(level, k, part) for k, part in enumerate(parts[1:], 1)])
            low = parts[0]
        low = low if keep_low else np.zeros_like(low)
        for level in range(self.levels, 0, -1):
            back = self._adjoint(low, self.bands[0], level)
            for k, part in enumerate(high.pop(), 1):
                back += self._adjoint(part, self.bands[k], level)
            low = back
        return self.folded(low) / self.copies

    def _filtered(self, x: Floats, band: tuple[int, ...], level: int) -> Floats:
        for axis, kind in zip(self.axes, band, strict=True):
            x = _convolved(x, self.filters[kind], 2 ** (level - 1), axis)
        return x

    def _adjoint(self, x: Floats, band: tuple[int, ...], level: int) -> Floats:
        for axis, kind in zip(self.axes, band, strict=True):
            x = _convolved(x, self.filters[kind], -(2 ** (level - 1)), axis)
        return x

    def sizes(self, level: int, band: int) -> Floats:
        """The norm of each row of W R: the standard deviation of a coefficient under unit noise. All components have
        the same, and a band's is a product over the axes."""
        made = np.ones((1,) * (len(self.shape) + 1))
        for axis, (length, kind) in enumerate(zip(self.shape, self.bands[band], strict=True)):
            norms = np.sqrt(self._squares[length][level - 1][kind])
            made = made * norms.reshape([-1 if axis + 1 == k else 1 for k in range(len(self.shape) + 1)])
        return made

    @cached_property
    def _squares(self) -> dict[int, list[list[Floats]]]:
        """Squared norms along one axis, by length, level and kind. With w the response around the circle, the row of
        coefficient t has entries w_(t-i) + w_(t-mirror(i)), i < n, whose squares sum to w'w + (w * w)(2t + 1)."""
        made: dict[int, list[list[Floats]]] = {}
        for length in set(self.shape):
            around = length if self.periodic else 2 * length
            low = np.zeros(around)
            low[0] = 1.0
            made[length] = []
            for level in range(1, self.levels + 1):
                both = [_convolved(low, taps, 2 ** (level - 1), 0) for taps in self.filters]
                made[length].append([self._of_response(w) for w in both])
                low = both[0]
        return made

    def _of_response(self, w: Floats) -> Floats:
        if self.periodic:
            return np.full(w.size, float(w @ w))
        twice = np.fft.irfft(np.fft.rfft(w) ** 2, w.size)
        squares = float(w @ w) + twice[(2 * np.arange(w.size) + 1) % w.size]
        return np.where(squares > 1e-12 * float(w @ w), squares, 0.0)  # an odd filter across the mirror sees nothing


def _convolved(x: Floats, taps: Floats, step: int, axis: int) -> Floats:
    made = np.asarray(taps[0] * x)
    for k in range(1, taps.size):
        made += taps[k] * np.roll(x, k * step, axis)
    return made
