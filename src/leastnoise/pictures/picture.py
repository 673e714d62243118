"""A picture as a value: marks in the units of two axes, what they are called, and what they say in words.

`svg` draws it for a page, `figure` by matplotlib; whoever makes a picture knows neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leastnoise._support.validation import Floats

Style = str  # a name of the palette: main, second, third, quiet, ink; or any colour


@dataclass(frozen=True, slots=True)
class Line:
    """A line from place to place."""

    x: Any
    y: Any
    style: Style = "main"
    dashes: Literal["", "dashed", "dotted", "dashdot"] = ""
    name: str = ""
    width: float = 2.0


@dataclass(frozen=True, slots=True)
class Band:
    """Everything between two lines."""

    x: Any
    low: Any
    high: Any
    style: Style = "main"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars that lie one below the other, each at its place y from `start` to `end`."""

    y: Any
    start: Any
    end: Any
    style: Style = "bar"
    name: str = ""
    height: float = 0.66
    striped: bool = False


@dataclass(frozen=True, slots=True)
class Ranges:
    """Intervals, each a level line at its place y."""

    y: Any
    low: Any
    high: Any
    style: Style = "ink"


@dataclass(frozen=True, slots=True)
class Points:
    """Dots, in one style or, where there are values, in the shade of each and larger the larger it is."""

    x: Any
    y: Any
    style: Style = "main"
    size: float = 8.0  # pixels across
    values: Any = None
    diamonds: bool = False
    name: str = ""
    shown: str = ""  # which of several layers it belongs to, where a page can switch


@dataclass(frozen=True, slots=True)
class Segments:
    """Straight lines between pairs of places: streets. An array of m x 2 x 2."""

    ends: Any


@dataclass(frozen=True, slots=True)
class Areas:
    """Closed rings, each area in the shade of its value; NaN: no value. What comes later lies above."""

    rings: Sequence[Sequence[Floats]]
    values: Any
    bins: Any = None  # of which bin each is, where a page tells it
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Cells:
    """A rectangle of cells, the first row on top or, on a map, at the bottom; NaN: no value. `marked` are hatched."""

    values: Floats
    extent: tuple[float, float, float, float]  # left, right, bottom, top
    downward: bool = False
    marked: Any = None
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """Texts beside places."""

    x: Any
    y: Any
    texts: Sequence[str]
    anchor: Literal["start", "middle", "end"] = "start"
    style: Style = "ink"
    shift: tuple[float, float] = (6.0, 0.0)  # pixels to the right and upward
    halo: bool = False  # where what lies below may be dark


Mark = Line | Band | Bars | Ranges | Points | Segments | Areas | Cells | Words


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of a picture. names: texts at places, instead of numbers."""

    title: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    names: Sequence[tuple[float, str]] | None = None
    slanted: bool = False
    indented: bool = False  # names begin at the left, so that blanks before them are seen


@dataclass(frozen=True, slots=True)
class Shades:
    """Which shade a value has, as a part of the ramp: from `low` by square roots or evenly, or both ways from zero."""

    low: float
    high: float
    kind: Literal["root", "even", "both"] = "root"
    title: str = ""

    def part(self, values: Any) -> Floats:
        """Between 0 and 1; NaN stays."""
        span = (self.high - self.low) or 1.0
        parts: Floats = np.clip((np.asarray(values, dtype=np.float64) - self.low) / span, 0.0, 1.0)
        return np.sqrt(parts) if self.kind == "root" else parts

    @property
    def ticks(self) -> list[float]:
        """A few round numbers on it."""
        if self.kind != "root" or self.high <= 0:
            return round_numbers(self.low, self.high, 4)
        rough = [float(f"{self.high * part * part:.0e}") for part in (0.35, 0.68)]
        most = one_digit(self.high)
        return [0.0, *(tick for tick in rough if self.part(tick) < self.part(most) - 0.2), most]


def shades_for(values: Sequence[Any], *, signed: bool | None = None, noise: float = 0.0, title: str = "") -> Shades:
    """One scale for several pictures of counts or other values.

    Noise makes counts negative, and a shade for each of them would draw the noise: from zero by square roots, and
    whatever lies below has the faintest. Values that are negative in truth, many standard deviations below zero, get
    two colours that part at zero. Values that all lie far above zero would look alike: they begin at
    the least.
    """
    every = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in values])
    every = every[np.isfinite(every)]
    if not every.size:
        return Shades(0.0, 1.0, title=title)
    low, high = float(every.min()), float(every.max())
    if far_from_zero(every) and signed is None:
        return Shades(low, high, "even", title)
    if signed is None:
        signed = low < -max(6 * noise, 0.3 * max(high, 0.0))
    if signed or high <= 0:
        most = max(abs(low), abs(high)) or 1.0
        return Shades(-most, most, "both", title)
    return Shades(0.0, high, title=title)


def far_from_zero(values: Floats) -> bool:
    """Whether the smallest value is nearer to the largest than to zero, and they differ."""
    known = values[np.isfinite(values)]
    return known.size > 1 and float(known.max()) > float(known.min()) > 0.5 * float(known.max())


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Marks, axes and words. size: width and height in inches, or in hundreds of pixels at most on a page."""

    marks: Sequence[Mark]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    top: Axis | None = None  # a second reading of x, above
    title: str = ""
    caption: str = ""
    alt: str = ""
    size: tuple[float, float] = (6.4, 4.0)
    shades: Shades | None = None
    aspect: float = 0.0  # how long a step upward is beside one to the right; 0: as it comes
    bare: bool = False  # without axes: a map
    scale_bar: tuple[float, str] | None = None  # a length in units of x, and its name
    downward: bool = False  # the first row on top


def extent(picture: Picture, axis: Literal["x", "y"]) -> tuple[float, float]:
    """From the least to the most of all marks, unless the axis says otherwise."""
    given: Axis = getattr(picture, axis)
    if given.low is not None and given.high is not None:
        return given.low, given.high
    every = np.concatenate([np.zeros(0), *(part for mark in picture.marks for part in _places(mark, axis))])
    every = every[np.isfinite(every) & ((every > 0) | (not given.log))]
    low = given.low if given.low is not None else float(every.min(initial=np.inf)) if every.size else 0.0
    high = given.high if given.high is not None else float(every.max(initial=-np.inf)) if every.size else 1.0
    return (low, high) if low < high else (low - 0.5, low + 0.5)


def _places(mark: Mark, axis: str) -> list[Floats]:
    along = axis == "x"
    found: list[Any]
    match mark:
        case Line() | Points():
            found = [mark.x if along else mark.y]
        case Band():
            found = [mark.x] if along else [mark.low, mark.high]
        case Bars():
            ys = np.asarray(mark.y, dtype=float)
            found = [mark.start, mark.end] if along else [ys - mark.height / 2, ys + mark.height / 2]
        case Ranges():
            found = [mark.low, mark.high] if along else [mark.y]
        case Segments():
            found = [np.asarray(mark.ends)[:, :, 0 if along else 1]]
        case Areas():
            found = [ring[:, 0 if along else 1] for rings in mark.rings for ring in rings]
        case Cells():
            found = [mark.extent[:2] if along else mark.extent[2:]]
        case Words():
            found = []
    return [np.asarray(each, dtype=np.float64).ravel() for each in found]


def ticks(low: float, high: float, axis: Axis, most: int = 6) -> list[tuple[float, str]]:
    """Where the axis is named, and how: round numbers, or powers of ten."""
    if axis.names is not None:
        return [(at, name) for at, name in axis.names if low <= at <= high]
    if not axis.log:
        return [(value, short_number(value)) for value in round_numbers(low, high, most)]
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    powers = powers[:: math.ceil(len(powers) / most) or 1]
    return [(value, short_number(value)) for value in (powers if len(powers) > 1 else _between(low, high))]


def _between(low: float, high: float) -> list[float]:
    """Less than a power of ten: some of 1, 2, 3, 5 and 7 times it, or the ends."""
    power = 10.0 ** math.floor(math.log10(low))
    found = [digit * power * ten for ten in (1, 10) for digit in (1, 2, 3, 5, 7)]
    found = [value for value in found if low <= value <= high]
    return found if len(found) > 1 else [float(f"{end:.2g}") for end in (low, high)]


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in between, at most so many."""
    rough = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= rough * 0.999)
    return [round(k * step, 12) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def one_digit(number: float) -> float:
    """Downward to one digit."""
    if number <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(number))
    return float(f"{math.floor(number / power) * power:.12g}")


def short_number(value: float) -> str:
    """A number of a scale.

    >>> short_number(20_000), short_number(2.5), short_number(3e6), short_number(-0.1)
    ('20,000', '2.5', '3 M', '-0.1')
    """
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{round(value, 12):,.12g}"
