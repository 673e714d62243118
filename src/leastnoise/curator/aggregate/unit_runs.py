"""Which rows of a unit are kept, where no unit comes after a larger one: they are drawn while rows are read.

The rows of a unit then follow each other. Those of a unit that is neither the first nor the last of a block are all in
that block: rows before it are of its first unit or of smaller ones, rows after it of its last one or of larger ones. So
they are drawn from at once, and nothing of them waits. The rows of the first and of the last unit of a block wait as
those of a table in any order do (`unit_lists.Waiting`), until a larger unit has come.

Where a unit does come after a larger one, something may have been drawn of less than all of its rows. Nothing of what
was kept then counts, and all rows go the way of a table in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from leastnoise.curator.aggregate.row_keeper import RowKeeper
    from leastnoise.curator.aggregate.unit_lists import Waiting

FEWEST_ROWS = 2**16  # in a block, but for the last: those of its first and last unit are to be few of them


class Runs:
    """The codes that are kept of rows in ascending order of their units.

    waiting: makes a place where the rows of units wait that are in several blocks. room: for so many codes.
    """

    def __init__(
        self, keeper: RowKeeper, factors: tuple[int, int], waiting: Callable[[], Waiting], *, room: int, threads: int
    ) -> None:
        self._keeper, self._factors, self._waiting, self._threads = keeper, factors, waiting, threads
        self._edges = waiting()
        self._codes, self._count = np.empty(room, keeper.code_type), 0  # memory is taken where it is written to
        self._last = -(2**63)
        self._workers = ThreadPoolExecutor(threads)
        self._drawing: list[Future[NDArray[np.int64]]] = []

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._edges.close()
        self._workers.shutdown()

    def add(self, units: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
        """A block: whether it is in order, and there is room. If not, nothing of what was kept counts."""
        from leastnoise.curator.aggregate.draw_loops import ascend

        if len(units) == 0:
            return True
        if units[0] < self._last or not ascend(units):
            return False
        self._last = int(units[-1])
        begin = int(np.searchsorted(units, units[0], "right"))
        end = max(begin, int(np.searchsorted(units, units[-1], "left")))
        self._edges.add(units[:begin], codes[:begin])
        if begin < len(units):
            if self._edges.crowded and not self._take_edges():
                return False
            self._edges.add(units[end:], codes[end:])
        self._drawing.append(self._workers.submit(self._drawn, units[begin:end], codes[begin:end]))
        return self._edges.whole and (len(self._drawing) <= self._threads or self._take())

    def codes(self) -> NDArray[np.unsignedinteger] | NDArray[np.int64] | None:
        """Of all rows that are kept; None where there is no room for them."""
        while self._drawing:
            if not self._take():
                return None
        return self._codes[: self._count] if self._take_edges() else None

    def _take_edges(self) -> bool:
        """The codes that are kept of units of which no row is still to come: whether there was room for all."""
        with self._edges as edges:
            self._edges = self._waiting()
            return edges.whole and self._write(edges.codes())

    def _take(self) -> bool:
        """The codes of the block that was first to come: whether there is room for them."""
        return self._write(self._drawing.pop(0).result())

    def _write(self, codes: NDArray[np.int64]) -> bool:
        begin, self._count = self._count, self._count + len(codes)
        if self._count > len(self._codes):
            return False
        self._codes[begin : self._count] = codes
        return True

    def _drawn(self, units: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        from leastnoise.curator.aggregate.draw_loops import draw_runs

        kept, factor = np.empty(len(units), np.int64), np.uint64(self._factors[0])
        return kept[: draw_runs(units, codes, factor, self._keeper.drawing(self._factors), kept)]
