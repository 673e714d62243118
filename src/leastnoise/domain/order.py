"""Which axes have an order, so that their keys can be added up from the first."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

from leastnoise.domain.axes import Axis, Edges, IntegerRange, Keys, Ordered, OrNull, Steps
from leastnoise.domain.times import Days, Hours
from leastnoise.domain.wrapped import OrOther, innermost


def has_order(axis: Axis) -> bool:
    """Whether the keys of an axis have an order that everybody knows (ranges, edges, steps, days, hours, and lists of
    numbers or dates that rise), or one that was declared (`Ordered`). A bin for nulls or others, which is the last, is
    not part of it."""
    inner = innermost(axis)
    if isinstance(inner, IntegerRange | Edges | Steps | Days | Hours | Ordered):
        return True
    if not isinstance(inner, Keys) or not (type(inner.values[0]) is int or isinstance(inner.values[0], date)):
        return False
    return all(a < b for a, b in pairwise(inner.values))  # type: ignore[operator]


def ordered_size(axis: Axis) -> int:
    """How many keys have the order: all but the bin for nulls or others."""
    return axis.size - isinstance(axis, OrNull | OrOther)
