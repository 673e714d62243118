"""What a bin is called for people: one line of text each, and where it lies in a picture."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.text import key_words
from leastnoise.domain import Cells, Domain, Keys, Listed, OrNull, OrOther, cell_centres, innermost

MAX_BARS, MAX_NAMED_BARS = 40, 120  # bins that have a bar and a name each; names without an order have no line
MIN_AXIS = 2  # bins; a shorter axis is no side of a picture


class Plane(NamedTuple):
    """A domain that is a rectangle: values.reshape(rows, columns) is its picture."""

    rows: int
    columns: int
    across: str
    along: str
    extent: tuple[float, float, float, float] | None  # left, right, bottom, top; None where keys are only names
    over: Any = None  # where there is no extent: the axis of the columns' keys, and that of the rows'
    down: Any = None
    downward: bool = False  # rows of names are read from the top; numbers, days and ranges rise


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


def plane(domain: Domain | None) -> Plane | None:
    """The rectangle that a lattice, or a domain of two columns, is."""
    if domain is None:
        return None
    if len(domain.axes) == 1 and isinstance(domain.axes[0], Cells):
        cells = domain.axes[0]
        step = cells.lattice.step
        left, bottom = cells.column * step, cells.row * step
        extent = (left, left + cells.width * step, bottom, bottom + cells.height * step)
        return Plane(cells.height, cells.width, cells.lattice.x, cells.lattice.y, extent)
    if len(domain.axes) == 2 and min(axis.size for axis in domain.axes) >= MIN_AXIS:
        rows, columns = (axis.size for axis in domain.axes)
        down, over = domain.axes
        return Plane(rows, columns, domain.names[1], domain.names[0], None, over, down, isinstance(down.key(0), str))
    return None


def with_bars(domain: Domain | None, values: Any) -> Any:
    """The places of the bins that get a bar each, in order; None where a line shows them better.

    Names without an order make no line: of very many the largest get a bar.
    """
    if values.size <= (MAX_NAMED_BARS if named(domain) else MAX_BARS):
        return np.arange(values.size)
    return np.argsort(-np.nan_to_num(values), kind="stable")[:MAX_BARS] if named(domain) else None


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
    listed = isinstance(innermost(axis), Keys | Listed)  # labels of ranges and edges have their order
    return listed and isinstance(axis.key(0) if axis.size else "", str)
