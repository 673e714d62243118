"""Blocks: what was published, named arrays of noisy numbers; and readings, which compute a statistic from them. An
interval is where the truth of what was counted lies: bin by bin, or of a sum of bins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.rounding import next_up
from leastnoise.releases.noise import Noise

BinPromise = Literal["every bin", "share of the bins", "prior"]
Values = NDArray[np.int64] | NDArray[np.float64]
ENOUGH_CONFIDENCE = 0.95  # of the interval that must tell something, so that a value is told: see `Reading.reliable`


class Interval(NamedTuple):
    """Where the truth lies, bin by bin."""

    low: Values
    high: Values


class _Ends(NamedTuple):
    low: Any
    high: Any


class EstimateInterval(_Ends):
    """Where the truth lies after denoising, bin by bin: low and high.

    `promise` says what holds with the confidence: each bin by itself ("every bin"), that share of the bins on average
    ("share of the bins"), or the belief under the prior that was stated ("prior")."""

    promise: BinPromise

    def __new__(cls, low: Any, high: Any, promise: BinPromise) -> EstimateInterval:
        """Two ends, and what they promise."""
        made = super().__new__(cls, low, high)
        made.promise = promise
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return EstimateInterval, (self.low, self.high, self.promise)


class Total(NamedTuple):
    """A sum of bins, with its error bar."""

    value: float
    std: float
    low: float
    high: float


class Overall(NamedTuple):
    """A mean over all bins, and where it lies."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Noisy numbers over some axes, each with noise of its own.

    noise: of one of the numbers; None: they were drawn, and nothing was added. unit: what one of them is worth.
    """

    numbers: Values
    axes: tuple[str, ...]
    noise: Noise | None
    unit: float = 1.0

    def __post_init__(self) -> None:
        self.numbers.flags.writeable = False

    def _fits(self) -> dict[str, bool]:
        return {"numbers": self.numbers.ndim == 1, "unit": self.unit > 0}

    @property
    def values(self) -> Values:
        """The numbers in the unit that people read."""
        return self.numbers if self.unit == 1 else np.asarray(self.numbers * self.unit)

    @property
    def number_noise(self) -> Noise:
        """The noise of one number."""
        if self.noise is None:
            raise TypeError("these numbers were drawn: no noise was added to them")
        return self.noise

    @property
    def value_noise(self) -> Noise:
        """The noise of one value."""
        return self.number_noise.times(self.unit)


Blocks = Mapping[str, Block]
Words = Callable[[str], str]  # what readers call a column


class ReadingText(NamedTuple):
    """What is said of a statistic.

    noun: what one of the values is called. label: of what it is the statistic; None where the question names it.
    first_sentence: how it was computed, after how many there are. noisy_number: what the noise of the main block was
    added to. divisor: the noisy number that may be too small.
    """

    noun: str
    label: str | None
    first_sentence: str
    noisy_number: str = "a value"
    divisor: str = ""
    why_not_denoised: str = ""


class Reading(ABC):
    """How one statistic is computed from published blocks and public facts alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, in a word, which is also the name of its column."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The blocks that it is computed from; the first has a number for each of its values."""

    @abstractmethod
    def values(self, blocks: Blocks) -> Values:
        """The statistic, bin by bin; not a number (NaN) where it is not `reliable`."""

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether it can be told, bin by bin. The rule reads nothing that is not published."""
        return np.ones(blocks[self.needs[0]].numbers.size, dtype=bool)

    @abstractmethod
    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """Where the truth lies with this confidence, each bin by itself."""

    def value_noise(self, blocks: Blocks) -> Noise:
        """The noise of what each value is mostly made of."""
        return blocks[self.needs[0]].value_noise

    def columns(self, blocks: Blocks) -> dict[str, Any]:
        """What stands beside value, low and high in a frame."""
        return {}

    @abstractmethod
    def text(self, words: Words, noise: str) -> ReadingText:
        """What is said of it; `words` of columns, and which `noise` there is."""

    def fits(self, blocks: Blocks) -> bool:
        """Whether the blocks that it is computed from are there, and its facts make sense."""
        return set(self.needs) <= set(blocks)


def difference(blocks: Blocks, names: tuple[str, ...]) -> NDArray[np.float64]:
    """The first of some blocks less the others: rows less those without a value."""
    first, *others = (blocks[name].values.astype(np.float64) for name in names)
    for one in others:
        first = first - one
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain(Reading):
    """A truth plus noise of one known law. kind: count, sum, vector or another. block: where it is."""

    kind: str = "vector"
    block: str = "value"

    @property
    def needs(self) -> tuple[str, ...]:
        """The block."""
        return (self.block,)

    @property
    def at_least(self) -> int | None:
        """What a noisy count had to reach to be shown; None where all bins show."""
        return None

    def values(self, blocks: Blocks) -> Values:
        """Its numbers, in their unit."""
        return blocks[self.block].values

    def interval(self, blocks: Blocks, confidence: float, *, together: int = 1) -> Interval:
        """Intervals that cover the noise with this confidence; those of so many bins `together`.

        By the exact distribution on the grid. Real numbers were rounded to the grid before the noise, by half a step at
        most, which widens their interval by as much.
        """
        noise, values = blocks[self.block].value_noise, self.values(blocks)
        half = noise.distribution.half_width(confidence, together)
        if values.dtype == np.int64:
            step = np.int64(half)
            limits = np.iinfo(np.int64)
            low: Any = np.where(values < limits.min + step, limits.min, values - step)
            high: Any = np.where(values > limits.max - step, limits.max, values + step)
            return Interval(low, high)
        half, real = next_up(half + noise.grid / 2), values.astype(np.float64)
        return Interval(real - half, real + half)

    def total(self, blocks: Blocks, positions: Any, confidence: float) -> Total:
        """The sum of the values at some positions, with its standard deviation and interval."""
        noise, chosen = blocks[self.block].value_noise, self.values(blocks)[positions]
        half = noise.distribution.sum_half_width(chosen.size, confidence)
        if chosen.dtype != np.int64:
            half += chosen.size * noise.grid / 2
        value = sum_of(chosen)
        return Total(value, noise.std * math.sqrt(chosen.size), value - half, value + half)

    def text(self, words: Words, noise: str) -> ReadingText:
        """It can be denoised."""
        noun = self.kind if self.kind in ("count", "sum") else "value"
        return ReadingText(noun=noun, label=None, first_sentence=f"with {noise}.")


def sum_of(values: Values) -> float:
    """Their sum: of whole numbers exactly, of others rounded once."""
    return float(sum(values.tolist())) if values.dtype == np.int64 else math.fsum(values.tolist())
