"""What a bin is called for people: one line of text each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from leastnoise._support.text import key_words
from leastnoise.domain import Domain, Keys, Listed, OrNull, OrOther, cell_centres

MAX_BARS, MAX_NAMED_BARS = 40, 120  # bins that have a bar and a name each; names without an order have no line


def text(key: Any) -> str:
    """One key in words: the one place where a key becomes text, so that whoever chose it decides nothing else.

    >>> text((0.0, 1_000_000.0)), text(None), text(("a", 3))
    ('0 to 1000000', 'none', 'a, 3')
    """
    if key is None:
        return "none"
    if isinstance(key, tuple):
        if len(key) == 2 and all(isinstance(end, float) for end in key):
            return f"{key[0]:.12g} to {key[1]:.12g}"
        return ", ".join(text(part) for part in key)
    if isinstance(key, datetime):
        return moment(key)
    return f"{key:g}" if isinstance(key, float) else key_words(key)


def moment(time: datetime) -> str:
    """A time to the minute; to the second or below only where it needs it.

    >>> moment(datetime(2013, 1, 1, 0, 30)), moment(datetime(2013, 1, 1, 0, 30, 5))
    ('2013-01-01 00:30', '2013-01-01 00:30:05')
    """
    return time.isoformat(sep=" ", timespec="auto" if time.second or time.microsecond else "minutes")


def of(domain: Domain | None, places: Iterable[int]) -> list[str]:
    """The labels of some bins; their numbers where nothing names them."""
    if domain is None:
        return [str(place) for place in places]
    if not domain.axes:
        return ["all" for _ in places]
    if len(domain.axes) == 1:
        return [key_text(domain.axes[0], domain.key(place)) for place in places]
    return [text(domain.key(place)) for place in places]


def key_text(axis: Any, key: Any) -> str:
    """A key in words; of a cell of a lattice, its middle: a packed number says nothing."""
    lattice = axis.lattices[0] if isinstance(axis, Listed) and len(axis.lattices) == 1 else axis
    centre = cell_centres(lattice, [key])
    places = [values[0] for values in centre.values()]
    return ", ".join(f"{place:.12g}" for place in places) if places and None not in places else text(key)


def title(domain: Domain | None) -> str:
    """What the bins are by."""
    return "bin" if domain is None else " and ".join(map(key_words, domain.names))


def largest_in_words(shown: int, size: int) -> str:
    """That only the largest are shown, and what that does to them; nothing where all are."""
    if shown >= size:
        return ""
    return f"The {shown} largest of {size:,}: chosen by their noisy values, they are a little too high on average."


def named(domain: Domain | None) -> bool:
    """Whether bins are names without an order, such as occupations, and not numbers, days or ranges."""
    if domain is None or len(domain.axes) != 1:
        return domain is not None and len(domain.axes) > 1
    axis = domain.axes[0]
    axis = axis.axis if isinstance(axis, OrNull | OrOther) else axis
    listed = isinstance(axis.inner, Keys | Listed)  # labels of ranges and edges have their order
    return listed and isinstance(axis.key(0) if axis.size else "", str)
