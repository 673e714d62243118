"""Counts of units from which limits are proposed: which numbers they are, and in which order they are released.

Every unit with a row in the bins is counted once in each of these histograms:

    rows        by how many rows it has
    octaves     the same in wider classes: where noise hides the finer ones, these may still be seen
    wide        the same in classes of four octaves, for the same reason
    spread      by the octave of its rows, and of how many of them are in the bin of one of its rows, drawn at random
    depths      by the latter octave alone
    shared      by the latter number, in finer classes
    bins        by the bin of that row

Where there is one bin, spread, depths, shared and bins are left out.

A unit moves one number in each by that histogram's weight, and no other. So with weights w adding or removing a unit
moves the whole vector by at most sum(w) in L1, sqrt(sum(w^2)) in L2 and max(w) in Linf; replacing one takes a weight
out of one number and puts it into another: 2 sum(w), sqrt(2 sum(w^2)) and max(w). All numbers get the same noise, so
that of a histogram, in units, is the noise divided by its weight: the weights split what is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, WIDE

WEIGHTS = {"rows": 2, "octaves": 4, "wide": 2, "spread": 1, "depths": 2, "shared": 1, "bins": 1}
PAIRS = len(OCTAVES) * (len(OCTAVES) + 1) // 2  # of octaves, the second at most the first


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each histogram is in the vector of all of them."""

    bins: int

    @property
    def histograms(self) -> tuple[tuple[str, int, int], ...]:
        """The histograms in order: kind, how many numbers, and the weight of a unit."""
        rows, octaves = len(ROW_STARTS), len(OCTAVES)
        sizes = [("rows", rows), ("octaves", octaves), ("wide", len(WIDE))]
        spread = [("spread", PAIRS), ("depths", octaves), ("shared", len(BIN_STARTS)), ("bins", self.bins)]
        listed = [*sizes, *(spread if self.bins > 1 else [])]
        return tuple((kind, size, WEIGHTS[kind]) for kind, size in listed)

    @property
    def size(self) -> int:
        """How many numbers in all."""
        return sum(size for _, size, _ in self.histograms)

    @property
    def weights(self) -> tuple[int, ...]:
        """What a unit adds to each histogram."""
        return tuple(weight for _, _, weight in self.histograms)

    def start(self, kind: str) -> int:
        """Where a histogram begins."""
        return self._place(kind)[0]

    def part(self, values: NDArray[Any], kind: str) -> Floats:
        """One histogram out of the vector, in units."""
        start, size, weight = self._place(kind)
        return np.asarray(values[start : start + size], dtype=np.float64) / weight

    def _place(self, kind: str) -> tuple[int, int, int]:
        start = 0
        for name, size, weight in self.histograms:
            if name == kind:
                return start, size, weight
            start += size
        raise KeyError(kind)
