"""The process around the code: threads of BLAS, compiled loops, and the caller's line that a warning is about."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast


def one_thread() -> AbstractContextManager[object]:
    """Inside it, linear algebra runs in the calling thread alone.

    More would mostly wait for each other: on a busy machine two threads make a fit of 10,000 values a hundred times
    slower (12 ms become seconds).
    """
    limited: AbstractContextManager[object] = _switch().limit(limits=1, user_api="blas")
    return limited


@cache
def _switch() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The same loop in machine code by Numba, in one thread, cached on disk where a folder can be written.

    Import modules with such loops where they are called. Numba looks at a loop's own file alone to know whether what it
    kept is of today, so a number or a function of another file is an argument, or stands there.
    """
    import numba  # a second to load

    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor a home to keep it in: compiled once a process
        made = numba.njit(nogil=True)(function)
    return cast(Function, made)


_PACKAGE = str(Path(__file__).resolve().parent.parent)


def user_stacklevel() -> int:
    """The `stacklevel` of `warnings.warn` in our caller that names the nearest line outside the package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
