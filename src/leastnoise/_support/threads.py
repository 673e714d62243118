"""One BLAS thread for many small matrices: more would mostly wait for each other.

On a busy machine two threads make a fit of 10,000 values a hundred times slower (12 ms become seconds).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[object]:
    """Inside it, linear algebra runs in the calling thread alone."""
    limited: AbstractContextManager[object] = _switch().limit(limits=1, user_api="blas")
    return limited


@cache
def _switch() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
