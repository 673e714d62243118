"""Warnings that nobody should see: those of libraries while rows are read, of which one may quote a value.

`warnings.catch_warnings` sets the filters of the whole process and puts them back. Of two threads that read at once the
first to end would end the silence of the other, and the second would leave it on for good: nobody would be warned of
anything any more, a weak promise included. So one filter stays where it is, and matches only while somebody reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from leastnoise.errors import Wasteful, WeakPromise

_ours_too: ContextVar[bool] = ContextVar("leastnoise_no_warnings", default=False)  # of the thread that asks
_blocks: list[None] = []  # one for each block that has begun; without a lock, which a fork might copy while it is held


class _OfLibraries(type):
    """A filter matches the subclasses of its category, and asks this which they are."""

    def __subclasscheck__(cls, category: type) -> bool:
        return _ours_too.get() if category in (Wasteful, WeakPromise) else bool(_blocks)


class _LibraryWarning(Warning, metaclass=_OfLibraries):
    """While rows are read, every warning but ours, and in some blocks ours too."""


_FILTER = ("ignore", None, _LibraryWarning, None, 0)


@contextmanager
def withheld() -> Iterator[None]:
    """Within the block nobody sees a warning of a library, whichever thread it comes from; ours are seen."""
    _blocks.append(None)
    try:
        if list(warnings.filters[:1]) != [_FILTER]:  # somebody's "error" may come before it
            warnings.simplefilter("ignore", _LibraryWarning)
        yield
    finally:
        _blocks.pop()


@contextmanager
def none_at_all() -> Iterator[None]:
    """Within the block this thread sees no warning of ours either: of noise, say, that is weighed and not drawn."""
    token = _ours_too.set(True)
    try:
        with withheld():
            yield
    finally:
        _ours_too.reset(token)
