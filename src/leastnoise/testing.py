"""For tests and examples only: noise that can be repeated, and so hides nothing.

A release made inside `seeded` says so loudly (`release.seeded`, `explain()`) and refuses to be saved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.noise import entropy

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.rows.totals import Aggregate


def aggregate(query: Query) -> Aggregate:
    """The exact integers of a query, without noise. PRIVATE: never publish them."""
    return query._aggregate()


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


def neighbouring_vectors(*, sensitivity: int = 1, integers: bool = True, bins: int = 8) -> Any:
    """A Hypothesis strategy of pairs (x, x') of vectors, at most `sensitivity` apart in L2 (and in L1)."""
    from hypothesis import strategies as st

    @st.composite
    def pairs(draw: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        size = draw(st.integers(1, bins))
        cells: Any = st.integers(-(2**61), 2**61) | st.integers(-5, 5)
        if not integers:
            cells = st.floats(-1e300, 1e300) | st.floats(-5, 5) | st.sampled_from([0.0, -0.0, 5e-324, 0.5])
        x = np.array(draw(st.lists(cells, min_size=size, max_size=size)), dtype=np.int64 if integers else np.float64)
        y = x.copy()
        y[draw(st.integers(0, size - 1))] += draw(st.integers(-sensitivity, sensitivity))
        return x, y

    return pairs()
