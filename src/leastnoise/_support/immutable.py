"""A dictionary that cannot be changed, nor can its copies and pickles."""

from __future__ import annotations

from typing import Any, NoReturn


class Frozen(dict[str, Any]):
    """A dictionary whose methods that would change it are refused.

    >>> Frozen(max_rows=5)["max_rows"]
    5
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("these facts are what they were; copy them into a dict of your own to change them")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[Frozen], tuple[dict[str, Any]]]:
        return Frozen, (dict(self),)
