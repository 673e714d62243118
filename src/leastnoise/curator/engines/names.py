"""The names of columns, before an engine sees them.

To engines Taxi and taxi are one name, a name ends at a NUL, and of two that they take for one they rename the second to
something that may be a third column's. A query would then be about another column than the one that was named: with
another unit nobody would be protected.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from leastnoise.errors import UnknownSource


def check_names(names: Iterable[object]) -> None:
    """Refuse columns that an engine cannot tell apart by their names."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise UnknownSource("a column has no name, or one that is no text. Name every column.")
        twin = seen.get(name.casefold())
        if twin is not None:
            raise UnknownSource(
                f'two columns are named "{twin}" and "{name}", which engines take for one: which of them is meant '
                "would not be clear. Rename one."
            )
        seen[name.casefold()] = name


def unique(word: str) -> str:
    """A name that nothing else in a session has."""
    return f"leastnoise_{word}_{uuid.uuid4().hex}"
