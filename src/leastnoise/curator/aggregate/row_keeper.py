"""Which rows of a unit the compiled loops keep: the limits and bits of a question, as `draw_loops` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate.bounding import MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3

MULTIPLIERS = np.array([MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3], np.uint64)
MOST_UNEVEN = 4  # times as many rows as in a part on average, and some: more are counted before they are copied
SOME_ROWS = 2**12
WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class RowKeeper:
    """What runs where the rows are: record batches of `unit` and `code` (int64) in, the kept codes out.

    value_bits: a row's bin is its code without these. low_bits: as many of these as x has no room for. key: of the
    lots.
    """

    max_rows: int
    max_per_bin: int
    value_bits: int
    low_bits: int
    key: int

    @property
    def row_bytes(self) -> int:
        """Of a row that waits."""
        return WORD_BYTES * (3 if self.low_bits else 2)

    @property
    def code_type(self) -> np.dtype[Any]:
        """The narrowest that holds a code."""
        return np.dtype(np.int64 if self.low_bits else np.uint32)

    def drawing(self, factors: tuple[int, int]) -> tuple[object, ...]:
        """What the loops need to draw: limits and bits, the keys of the lots of max_rows and of max_per_bin, the
        multipliers of the hash, what undoes the factors of the mixing, and room for lots."""
        limits = (self.max_rows, min(self.max_per_bin, self.max_rows), self.value_bits, self.low_bits)
        keys = np.array([self.key, self.key ^ MULTIPLIER_2], np.uint64)
        inverses = np.array([pow(factor, -1, 2**64) for factor in factors], np.uint64)
        return limits, keys, MULTIPLIERS, inverses, np.empty((self.max_rows, 2), np.int64)

    def bytes_of(self, rows: int) -> int:
        """What so many rows take that wait at once."""
        return rows * self.row_bytes

    def draw_parts(
        self,
        rows: NDArray[np.int64],
        ends: NDArray[np.int64],
        stops: NDArray[np.int64],
        first: int,
        last: int,
        factors: tuple[int, int],
    ) -> int:
        """Leave of these parts what is drawn; how many rows. A part is copied for that: where one is much larger than
        others, rows that are alike are counted first."""
        from leastnoise.curator.aggregate import draw_loops, unit_list_loops

        odd = np.array(factors, np.uint64)
        sizes = (stops - ends[:, :-1])[:, first:last].sum(axis=0)
        if first == last:  # a thread of more than there are parts
            return 0
        if sizes.max() > MOST_UNEVEN * sizes.mean() + SOME_ROWS:
            unit_list_loops.merge_rows(rows, ends, stops, first, last, odd)
        return int(draw_loops.draw_parts(rows, ends, stops, first, last, odd[0], self.drawing(factors)))
