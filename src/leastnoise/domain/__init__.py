"""The public set of bins: chosen by the user from public facts, never by looking at the rows.

A Domain is a product of axes, one a column. An axis is a finite ordered set of keys with a bijection
between positions 0, 1, ... and keys; the product counts like an odometer, the last axis turning fastest.
Positions are Python integers, so a domain may have as many as 2^64 bins, far more than memory holds.
"""

from leastnoise.domain.axes import LARGEST, Axis, Edges, IntegerRange, Keys, Listed, OrNull, Steps, is_text
from leastnoise.domain.lattice import Cells, Lattice, pack_cell, unpack_cell
from leastnoise.domain.product import DENSE, Domain, axis, counts_up, entries, listed, product
from leastnoise.domain.times import Days, Hours

__all__ = [
    "DENSE", "LARGEST", "Axis", "Cells", "Days", "Domain", "Edges", "Hours", "IntegerRange", "Keys", "Lattice",
    "Listed", "OrNull", "Steps", "axis", "counts_up", "entries", "is_text", "listed", "pack_cell", "product",
    "unpack_cell",
]  # fmt: skip


def __dir__() -> list[str]:
    return [name for name in __all__ if name[0].isupper() and not name.isupper()]
