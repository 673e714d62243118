"""Positions on many axes, packed into a few integers: what is ordered, moved and counted is as narrow as it may be.

Each column has bits of its own, and none is divided between two words: equal words are equal positions.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

WORD_BITS = 31  # so that a word is an int32 that is not negative
WORD = "word"  # the columns are called word0, word1 ...


@dataclass(frozen=True)
class Packing:
    """sizes: how many positions each axis has, at most 2^31."""

    sizes: tuple[int, ...]

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """That each axis takes; an axis with one position needs none."""
        return tuple((size - 1).bit_length() for size in self.sizes)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The word that each axis is in, and how many of its bits are below."""
        made: list[tuple[int, int]] = []
        word, used = 0, 0
        for bits in self.bits:
            if used + bits > WORD_BITS:
                word, used = word + 1, 0
            made.append((word, used))
            used += bits
        return tuple(made)

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the columns that hold them."""
        return tuple(f"{WORD}{number}" for number in range(self.places[-1][0] + 1))

    def pack(self, rows: ir.Table, positions: Sequence[str]) -> ir.Table:
        """`rows` with the positions of the named columns in words."""
        parts: dict[str, list[ir.IntegerValue]] = {name: [] for name in self.words}
        for name, (word, shift) in zip(positions, self.places, strict=True):
            position = rows[name].cast("int64")
            parts[f"{WORD}{word}"].append(position << shift if shift else position)
        packed = {name: functools.reduce(operator.or_, found) for name, found in parts.items()}
        return rows.mutate(**{name: value.cast("int32") for name, value in packed.items()})
