"""For tests only: what the library never shows in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastnoise.query import Aggregate, Query


def aggregate(query: Query) -> Aggregate:
    """The exact integers of a query, without noise. PRIVATE: never publish them."""
    from leastnoise.query import aggregate as run

    return run(query)
