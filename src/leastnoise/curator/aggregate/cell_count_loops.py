"""The loop of `cell_counts`: every row of a block is counted in every table."""

from __future__ import annotations

from typing import Any

import numpy as np


def count_cells(
    words: Any, layout: Any, weights: Any, members: Any, ends: Any, sizes: Any, starts: Any, block: int, total: Any
) -> None:
    """Add one, or its weight, for every row to its cell of every table.

    layout: the word of each column, its place in there and its width, in bits.
    """
    rows = words.shape[1]
    positions = np.empty((sizes.size, block), np.int32)
    cells = np.empty(block, np.int64)
    for begin in range(0, rows, block):
        count = min(block, rows - begin)
        for column in range(sizes.size):
            word, shift = layout[column, 0], np.int32(layout[column, 1])
            mask = np.int32((1 << layout[column, 2]) - 1)
            for row in range(count):
                positions[column, row] = (words[word, begin + row] >> shift) & mask
        first = 0
        for table in range(ends.size):
            for row in range(count):
                cells[row] = positions[members[first], row]
            for member in range(first + 1, ends[table]):
                column = members[member]
                size = sizes[column]
                for row in range(count):
                    cells[row] = cells[row] * size + positions[column, row]
            first = ends[table]
            start = starts[table]
            if weights.size:
                for row in range(count):
                    total[start + cells[row]] += weights[begin + row]
            else:
                for row in range(count):
                    total[start + cells[row]] += 1
