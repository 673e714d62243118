"""Which two tables a guarantee makes hard to tell apart.

"add-remove": one unit more or less. "replace": one unit's rows exchanged for another's. The two are never mixed.
"""

from __future__ import annotations

from typing import Literal

from leastnoise import errors

Neighbours = Literal["add-remove", "replace"]
NEIGHBOURS: tuple[Neighbours, ...] = ("add-remove", "replace")


def check_neighbours(word: object) -> Neighbours:
    """`word` if it is one of the two relations."""
    for choice in NEIGHBOURS:
        if isinstance(word, str) and word == choice:
            return choice
    raise errors.InvalidParameter.among("neighbours", word, NEIGHBOURS)
