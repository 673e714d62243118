"""Are the tables asked for too large? Found from the sizes of their columns, before anything is made of them.

A table of k columns has 2^k tables within it, and these have prod (n_i + 1) cells: each column is either one of its
n_i keys, or summed over. All tables of k of the columns have as many cells as the elementary symmetric polynomial of
their sizes says, which a pass over the columns finds exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from leastnoise.errors import BadDomain
from leastnoise.releases.table_set import table_name
from leastnoise.workload import Workload

MAX_CELLS = 2**28  # of all tables that are counted, and of all blocks: two gigabytes of integers


def check_tables(sizes: Mapping[str, int], tables: Iterable[Sequence[str]]) -> None:
    """Refuse tables of which one alone is too large.

    sizes: how many keys each column has. tables: the columns of each.
    """
    own = [tuple(dict.fromkeys(table)) for table in tables]
    largest = max(own, key=lambda table: _cells(sizes, table))
    _check_counted(_cells(sizes, largest), largest, _cells(sizes, largest))
    widest = max(own, key=lambda table: _cells_within(sizes, table))
    _check_noise(_cells_within(sizes, widest), widest)


def check_ways(sizes: Mapping[str, int], ways: int) -> None:
    """Refuse all tables of at most so many columns where they are too large.

    sizes: how many keys each column has. ways: how many columns the largest tables have.
    """
    by_order = cells_by_order(sizes.values(), ways)
    largest = set(sorted(sizes, key=sizes.__getitem__)[-ways:]) if ways else set()
    shown = tuple(column for column in sizes if column in largest)
    _check_counted(by_order[-1], shown, _cells(sizes, shown))
    _check_noise(sum(by_order), shown)


def check_workload(workload: Workload) -> None:
    """Refuse tables that are too large together.

    workload: the tables; none of them is too large alone.
    """
    cells = {table: workload.cells_of(table) for table in workload.maximal}
    largest = max(cells, key=cells.__getitem__)
    _check_counted(sum(cells.values()), largest, cells[largest])
    _check_noise(workload.block_cells, max(workload.maximal, key=len))


def cells_by_order(sizes: Iterable[int], most: int) -> list[int]:
    """How many cells all tables of 0, 1, ... `most` of these columns have."""
    made = [1, *[0] * most]
    for size in sizes:
        for order in range(most, 0, -1):
            made[order] += size * made[order - 1]
    return made


def _cells(sizes: Mapping[str, int], table: Iterable[str]) -> int:
    return math.prod(sizes[column] for column in table)


def _cells_within(sizes: Mapping[str, int], table: Iterable[str]) -> int:
    return math.prod(sizes[column] + 1 for column in table)


def _check_counted(cells: int, largest: tuple[str, ...], own: int) -> None:
    if cells > MAX_CELLS:
        raise BadDomain(
            f"The tables have {cells:,} cells, of which {table_name(largest)} has {own:,}, and at most {MAX_CELLS:,} "
            "can be counted. Use coarser keys, or tables of fewer columns.",
            parameter="keys",
            value=largest,
        )


def _check_noise(cells: int, longest: tuple[str, ...]) -> None:
    if cells > MAX_CELLS:
        raise BadDomain(
            f"The tables are put together from all tables within them, and these have {cells:,} cells, of which at "
            f"most {MAX_CELLS:,} can get noise. {table_name(longest)} has {len(longest)} columns: use tables of fewer.",
            parameter="tables",
            value=longest,
        )
