"""Warnings of libraries, withheld while rows are read: one may quote a value.

`warnings.catch_warnings` sets the filters of the whole process and puts them back. Of two threads that read at once the
first to end would end the silence of the other, and the second would leave it on for good: nobody would be warned of
anything any more, a weak promise included. So one filter stays where it is, and matches only while somebody reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from leastnoise.errors import Wasteful, WeakPromise

_blocks: list[None] = []  # one for each block that has begun; without a lock, which a fork might copy while it is held


class _OfLibraries(type):
    """A filter matches the subclasses of its category, and asks this which they are."""

    def __subclasscheck__(cls, category: type) -> bool:
        return bool(_blocks) and category not in (Wasteful, WeakPromise)


class _LibraryWarning(Warning, metaclass=_OfLibraries):
    """While rows are read, every warning but ours."""


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
