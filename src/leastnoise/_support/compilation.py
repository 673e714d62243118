"""Loops that NumPy cannot express, compiled by Numba and cached on disk where a folder can be written.

Import modules that use it where they are called: Numba takes a second to load. It looks at a loop's own file alone to
know whether what it kept is of today, so a number or a function of another file is an argument, or stands there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The same function in machine code, in one thread."""
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor a home to keep it in: compiled once a process
        made = numba.njit(nogil=True)(function)
    return cast(Function, made)
