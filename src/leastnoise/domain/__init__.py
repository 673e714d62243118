"""The public set of bins: chosen by the user from public facts, never by looking at the rows.

A Domain is a product of axes, one a column. An axis is a finite ordered set of keys with a bijection
between positions 0, 1, ... and keys; the product counts like an odometer, the last axis turning fastest.
Positions are Python integers, so a domain may have as many as 2^64 bins, far more than memory holds.
"""

from leastnoise._support.calls import explain_public
from leastnoise.domain.axes import MAX_BINS as MAX_BINS
from leastnoise.domain.axes import Axis, Edges, IntegerRange, Keys, Listed, Ordered, Steps
from leastnoise.domain.axes import is_text as is_text
from leastnoise.domain.key_files import ColumnKind as ColumnKind
from leastnoise.domain.key_files import parse as parse
from leastnoise.domain.key_files import read as read
from leastnoise.domain.key_files import template as template
from leastnoise.domain.key_files import write as write
from leastnoise.domain.lattice import Cells, Lattice
from leastnoise.domain.lattice import cell_centres as cell_centres
from leastnoise.domain.lattice import pack_cell as pack_cell
from leastnoise.domain.lattice import unpack_cell as unpack_cell
from leastnoise.domain.lattice import with_lattices as with_lattices
from leastnoise.domain.product import MAX_DENSE_BINS as MAX_DENSE_BINS
from leastnoise.domain.product import Domain
from leastnoise.domain.product import axis as axis
from leastnoise.domain.product import counts_up as counts_up
from leastnoise.domain.product import entries as entries
from leastnoise.domain.product import is_plain_list as is_plain_list
from leastnoise.domain.product import listed as listed
from leastnoise.domain.product import product as product
from leastnoise.domain.product import with_other as with_other
from leastnoise.domain.public_files import read_public_column as read_public_column
from leastnoise.domain.times import Days, Hours
from leastnoise.domain.tree import Orbits as Orbits
from leastnoise.domain.tree import Tree
from leastnoise.domain.tree import TreeLevel as TreeLevel
from leastnoise.domain.tree import TreeShape as TreeShape
from leastnoise.domain.tree import orbits as orbits
from leastnoise.domain.wrapped import OTHER as OTHER
from leastnoise.domain.wrapped import Labelled, OrNull, OrOther
from leastnoise.domain.wrapped import key_cell as key_cell
from leastnoise.domain.wrapped import ordered_size as ordered_size
from leastnoise.domain.zones import Zones

# What is imported under its own name (`X as X`) is for the package itself, and not part of the public face.
__all__ = [
    "Axis", "Cells", "Days", "Domain", "Edges", "Hours", "IntegerRange", "Keys", "Labelled", "Lattice", "Listed",
    "OrNull", "OrOther", "Ordered", "Steps", "Tree", "Zones", "read", "with_other", "write",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), [*__all__, "read_public_column"])
