"""What is public about the statistics of a summary: which there are, and clip and grid of every column of values.

A value is a whole number of grid steps between `lowest` and `highest`. It is added up as 2 value - lowest - highest, a
whole number between -span and span, so that the middle of the clip is 0 exactly whatever the ends are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

FigureKind = Literal["count", "sum", "mean", "rate", "variance", "std", "share", "ratio"]
FIGURE_KINDS: tuple[FigureKind, ...] = get_args(FigureKind)
COUNTED: tuple[FigureKind, ...] = ("mean", "rate", "variance", "std")  # those that are divided by the rows with a value
SQUARE_BITS = 30  # of a centred square: beyond, it is rounded down

ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic by name. `values`: which of the columns of values it is of; None: of rows. `over`: which column's
    sum a ratio is divided by; None: it is no ratio."""

    name: str
    kind: FigureKind
    values: int | None = None
    weight: float = 1.0
    over: int | None = None

    def _fits(self) -> dict[str, bool]:
        rows_alone = self.values is None and self.kind in ("count", "share")
        return {
            "kind": (rows_alone or self.values is not None) and (self.over is not None) == (self.kind == "ratio"),
            "over": self.over is None or self.over != self.values,
            "weight": self.weight > 0,
        }

    @property
    def places(self) -> frozenset[int]:
        """The columns of values that it is of: it is of the rows in which none of them is missing."""
        return frozenset(place for place in (self.values, self.over) if place is not None)

    @property
    def paired(self) -> tuple[str, ...]:
        """The noisy whole numbers of a ratio: those above, and those below."""
        if self.values is None or self.over is None:
            return ()
        return paired_name(self.values, self.over), paired_name(self.over, self.values)


@dataclass(frozen=True, slots=True)
class Measured:
    """A column of values, or a condition (which counts as 0 or 1)."""

    label: str
    low: float
    high: float
    grid: float
    lowest: int
    highest: int

    def _fits(self) -> dict[str, bool]:
        return {"grid": self.grid > 0, "lowest": 0 < self.span < 2**62 and self.largest < 2**63}

    @property
    def span(self) -> int:
        """The most that a centred value is, in half steps of the grid."""
        return self.highest - self.lowest

    @property
    def centre(self) -> float:
        """The middle of the clip."""
        return (self.lowest + self.highest) * (self.grid / 2)

    @property
    def half_range(self) -> float:
        """Half the width of the clip."""
        return self.span * (self.grid / 2)

    @property
    def square_shift(self) -> int:
        """Twice a centred square is divided by two to this power, and rounded down."""
        return max(0, (self.span**2).bit_length() - SQUARE_BITS)

    @property
    def square_centre(self) -> int:
        """What is taken from it then, so that squares are centred, too."""
        return self.span**2 >> self.square_shift

    @property
    def largest_square(self) -> int:
        """The most, in size, that a centred square is: twice the largest, rounded down, is at most one more."""
        return ((2 * self.span**2) >> self.square_shift) - self.square_centre

    @property
    def largest(self) -> int:
        """The most, in size, that a value is, in steps of the grid."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def one_sign(self) -> bool:
        """Whether no two values have different signs."""
        return self.lowest >= 0 or self.highest <= 0


def part_name(part: Literal["missing", "sum", "squares", "plain"], column: int) -> str:
    """What the noisy whole numbers are called: of the missing values of a column, of centred values, of centred
    squares, of values as they are."""
    return f"{part} {column}"


def paired_name(column: int, other: int) -> str:
    """What those are called of the values of a column as they are, in rows in which another has a value, too."""
    return f"plain {column} with {other}"
