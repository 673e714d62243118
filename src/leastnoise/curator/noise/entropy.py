"""Random words, from the operating system only.

Nothing is kept between calls: there is no pool that a fork could copy, no state to steal, no seed to guess. A
seeded source exists for `leastnoise.testing` alone. It lives in a context variable, so it holds in the `with`
block that set it and in contexts copied from there (`asyncio` tasks, `asyncio.to_thread`); a plain new thread
starts outside it and draws from the operating system. Whichever it is, `is_seeded()` says what the next
`words()` in the *same* context will use: ask it where the noise is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import EntropyFailure

_source: ContextVar[Callable[[int], bytes] | None] = ContextVar("leastnoise_entropy", default=None)


def words(n: int) -> NDArray[np.uint64]:
    """`n` fresh independent uniform 64-bit words, each to be used once (the array is read-only)."""
    read = _source.get() or os.urandom
    try:
        block = read(8 * n)
    except (OSError, NotImplementedError) as error:
        raise EntropyFailure(
            f"The operating system gave no randomness ({error}). Noise from anywhere else could be guessed, "
            "so nothing was drawn. Let this process reach getrandom() or /dev/urandom and try again."
        ) from error
    if len(block) != 8 * n:
        raise EntropyFailure(
            f"Asked for {8 * n} random bytes and got {len(block)}. Noise made of missing bytes hides nobody, "
            "so nothing was drawn. Let this process reach getrandom() or /dev/urandom and try again."
        )
    # A fixed byte order, so that a seeded source draws the same noise on every machine.
    return np.frombuffer(block, dtype="<u8").astype(np.uint64, copy=False)


def is_seeded() -> bool:
    """Whether noise drawn now, in this context, comes from a test's source."""
    return _source.get() is not None


@contextmanager
def source(read: Callable[[int], bytes]) -> Iterator[None]:
    """For `leastnoise.testing` only: within the block, words come from `read(number of bytes)`."""
    token = _source.set(read)
    try:
        yield
    finally:
        _source.reset(token)
