"""One BLAS thread for many small matrices: more would mostly wait for each other.

On a busy machine two threads make a fit of 10,000 values a hundred times slower (12 ms become seconds). NumPy and
SciPy have no switch of their own, so this works where the package threadpoolctl is installed, and does nothing
elsewhere.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[object]:
    """Inside it, linear algebra runs in the calling thread alone."""
    switch = _switch()
    limited: AbstractContextManager[object] = (
        nullcontext() if switch is None else switch.limit(limits=1, user_api="blas")
    )
    return limited


@cache
def _switch() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
