"""For tests and examples only: noise that can be repeated, and so hides nothing.

A release made inside `seeded` says so loudly (`release.seeded`, `explain()`) and refuses to be saved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from leastnoise.noise import entropy


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block, in this thread, all noise comes from `seed`: the same on every machine and every run.

    >>> import numpy as np, leastnoise as ln
    >>> with seeded(1):
    ...     a = ln.release(np.array([10, 20]), sensitivity=1, epsilon=1, delta=1e-6)
    >>> with seeded(1):
    ...     b = ln.release(np.array([10, 20]), sensitivity=1, epsilon=1, delta=1e-6)
    >>> (a.values == b.values).all(), a.seeded
    (np.True_, True)
    """
    with entropy.source(_Stream(seed).read):
        yield


class _Stream:
    """SHAKE-256 of the seed and a block number: uniform bytes as long as anyone needs."""

    def __init__(self, seed: int) -> None:
        self._seed = b"leastnoise testing " + str(int(seed)).encode()
        self._block = 0

    def read(self, size: int) -> bytes:
        self._block += 1
        return hashlib.shake_256(self._seed + b" " + str(self._block).encode()).digest(size)
