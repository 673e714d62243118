"""Public cuts around numbers that were published: dense near them, ever wider apart, and never past the next one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_MOST_CELLS = 64


def edges_around(found: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The edges of cells of the steps 0 ... count - 1: each step that was found by itself, and from it on in both
    directions cells whose widths grow by a constant factor, 2 for one step, more for many.

    >>> edges_around(np.array([6]), 16).tolist()
    [0, 2, 4, 5, 6, 7, 8, 9, 11, 15, 16]
    """
    places = np.unique(found)
    reach = math.log2(max(2, count))
    factor = 2.0 ** max(1, math.ceil(2 * len(places) * reach / _MOST_CELLS))
    sizes = factor ** np.arange(math.ceil(reach / math.log2(factor)) + 1)
    away = np.concatenate([[0], np.floor(sizes)]).astype(np.int64)
    middles = (places[:-1] + places[1:] + 1) // 2
    lows, highs = np.concatenate([[0], middles]), np.concatenate([middles, [count]])
    edges = [np.array([0, count])]
    for place, low, high in zip(places, lows, highs, strict=True):
        both = np.concatenate([place - away, place + 1 + away])
        edges.append(both[(both >= low) & (both <= high)])
    return np.unique(np.concatenate(edges))
