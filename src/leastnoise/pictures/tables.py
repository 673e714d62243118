"""A table of numbers as pages and pictures show it: its keys, its numbers with their intervals, and how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats, Number, as_host
from leastnoise.pictures.picture import Shades
from leastnoise.pictures.places import lattice_cells
from leastnoise.releases import labels
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease, levels_drawn
from leastnoise.releases.release import Release
from leastnoise.releases.summary import SummaryRelease

BESIDE = {"sum": "Sum", "count": "Rows", "over": "Over"}  # what a statistic was computed from
ROUNDED_FROM = 1_000.0  # half-widths from which whole numbers are rounded, too
PARTS = ("rate", "share")  # statistics that are told in percent

Layout = Literal["one", "bars", "dots", "spread", "line", "heat", "map"]


class Column(NamedTuple):
    """A column of keys: those of an axis, or, in a flat table, the key of each cell."""

    name: str
    title: str
    keys: Sequence[Any]

    @property
    def named(self) -> bool:
        """Whether its keys are names, which are read, and not numbers or ranges."""
        return bool(self.keys) and isinstance(self.keys[0], str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A statistic of a table: a value for each cell, with the ends of its interval."""

    title: str
    values: Any
    low: Any = None
    high: Any = None
    half: float | None = None  # of all intervals, where it is one
    percent: bool = False
    missing: str = ""
    drawn: bool = True

    @classmethod
    def of(cls, title: str, values: Any, ends: Any, **more: Any) -> Numbers:
        """With the ends of intervals, or half their width where every end follows from it; where there is no interval,
        no number."""
        values = np.asarray(values)
        if ends is None:
            return cls(title=title, values=values, **more)
        low, high = map(_finite, ends)
        half = _one_half(low, high)
        if half is not None and np.array_equal(values - half, low) and np.array_equal(values + half, high):
            return cls(title=title, values=values, half=half, **more)
        return cls(title=title, values=values, low=low, high=high, **more)

    @property
    def ends(self) -> tuple[Floats, Floats] | None:
        """The ends of every interval; None where there are none."""
        if self.half is None and self.low is None:
            return None
        values = np.asarray(self.values, dtype=float)
        low, high = (self.low, self.high) if self.half is None else (values - self.half, values + self.half)
        return np.asarray(low, dtype=float), np.asarray(high, dtype=float)

    @property
    def decimals(self) -> int:
        """To the second digit of the half-width of an interval; whole numbers of a small one have none."""
        whole, half = np.asarray(self.values).dtype.kind in "iu", self.half
        if half is None and self.low is not None:
            halves = (np.asarray(self.high, float) - np.asarray(self.low, float)) / 2
            halves = halves[np.isfinite(halves) & (halves > 0)]
            half = float(np.median(halves)) if halves.size else None
        if not half:
            return 0 if whole else 2
        found = decimals((100 if self.percent else 1) * half)
        return min(found, 0) if whole and float(half).is_integer() else found


def decimals(half: float) -> int:
    """The place of the second digit; none before the point but of thousands.

    >>> decimals(0.0123), decimals(120.0), decimals(599_146.0)
    (3, 0, -4)
    """
    place = 1 - math.floor(math.log10(half)) if half else 2
    return min(20, place if half >= ROUNDED_FROM else max(0, place))


def written(value: float, places: int) -> str:
    """A number to so many decimals; of fewer than none, in tens, hundreds, thousands.

    >>> written(124_594_782, -4), written(2.5, 2)
    ('124,590,000', '2.50')
    """
    return f"{round(value, places):,.{max(0, places)}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """One table. `numbers` is empty where a page has no room for it; the file of the release has it."""

    columns: tuple[Column, ...]
    cells: int
    numbers: tuple[Numbers, ...] = ()
    flat: bool = False
    layout: Layout = "bars"
    sorted: bool = False  # names without an order: the largest first
    counts: bool = False  # never below zero in truth
    half: float | None = None
    std: float | None = None
    denoised: Floats | None = None
    estimate: Any = None  # what knows the error of the denoised values
    shades: Shades | None = None
    foot: Mapping[str, Any] | None = None  # one more row, below all others
    note: str = ""

    @property
    def title(self) -> str:
        """What its cells are by."""
        return " and ".join(column.title for column in self.columns)

    @property
    def better(self) -> bool | None:
        """Whether denoising helped beyond chance; None where nobody knows."""
        if self.estimate is None or self.estimate.kept:
            return None if self.estimate is None else False
        found: bool | None = self.estimate.better_than_raw
        return found

    @property
    def drawn(self) -> list[Numbers]:
        """The numbers that a picture has."""
        return [numbers for numbers in self.numbers if numbers.drawn]

    def rows(self) -> Any:
        """The cells that have a row each in a picture: the largest first where keys have no order, and of very many
        those alone."""
        values = np.asarray(self.numbers[0].values, float)
        places = (
            np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable") if self.sorted else np.arange(self.cells)
        )
        return places if self.cells <= labels.MAX_NAMED_BARS else places[: labels.MAX_BARS]

    def names(self, cells: Iterable[int]) -> list[str]:
        """What cells are called."""
        sizes = [len(column.keys) for column in self.columns]
        made = []
        for cell in cells:
            at: Any = [cell] * len(sizes) if self.flat else np.unravel_index(cell, sizes)
            made.append(", ".join(labels.text(c.keys[int(i)]) for c, i in zip(self.columns, at, strict=True)))
        return made


def table(of: Published | SummaryRelease, confidence: Number = 0.95) -> ShownTable:
    """One table of one statistic, and of what stands beside it; of quantiles, of each level; of a summary, of each
    statistic. Of an estimate the published values, with the denoised ones beside."""
    if isinstance(of, SummaryRelease):
        return _summary(of, confidence)
    if isinstance(of, QuantileRelease):
        return _quantiles(of, confidence)
    if isinstance(of, Estimate):
        values, ends, beside = as_host(of.noisy).ravel(), None, {}
        keys: dict[str, Any] = {} if of.domain is None else key_columns(of.domain, of.bins, for_people=True)
    else:
        shown = of._shown_columns(confidence, for_people=True)
        keys = {name: column[: of.bins] for name, column in shown.items()}  # without the row of all other keys
        values, ends = keys.pop("value" if "value" in keys else of.kind), (keys.pop("low"), keys.pop("high"))
        named = () if of.domain is None else of.domain.names
        own = {f"{name}{end}" for name in named for end in ("", "_low", "_high")}
        beside = {name: keys.pop(name) for name in BESIDE if name in keys and name not in own}
        keys.pop("enough", None)
    columns, flat = _keys(of, keys)
    unordered = flat or labels.named(of.domain)
    layout = _layout(of, () if flat else columns, unordered)
    first = Numbers.of(
        "Published",
        values,
        ends,
        percent=of.noun in PARTS,
        missing="" if of.kind in ("count", "sum", "vector") else TOO_FEW,
    )
    return ShownTable(
        columns=columns,
        cells=of.bins,
        numbers=(first, *(Numbers.of(BESIDE[name], column, None, drawn=False) for name, column in beside.items())),
        flat=flat,
        layout=layout,
        sorted=unordered and layout != "heat",
        counts=of.kind == "count",
        half=None if ends is None else _one_half(*ends),
        denoised=as_host(of.values).ravel().astype(float) if isinstance(of, Estimate) else None,
        foot=_others(of),
    )


def _others(of: Published) -> Mapping[str, Any] | None:
    """The row below all others: what the keys that do not show have together, where that is known."""
    if not isinstance(of, Release) or of.all_keys is None:
        return None
    others = of.others()
    return {"value": others.value, "low": math.floor(others.low), "high": math.ceil(others.high)}


def _summary(of: SummaryRelease, confidence: Number) -> ShownTable:
    """A row for each bin, with a column for each statistic."""
    numbers = [
        Numbers.of(each.name, of[each.name].values, of[each.name].interval(confidence), percent=each.kind in PARTS,
                   missing=TOO_FEW)
        for each in of.figures
    ]  # fmt: skip
    return ShownTable(
        columns=_axes(of),
        cells=of.bins,
        numbers=tuple(numbers),
        layout="one" if of.bins == 1 else "dots",
        sorted=labels.named(of.domain),
    )


def _quantiles(of: QuantileRelease, confidence: Number) -> ShownTable:
    """A row for each group, with a column for each level; every level is in the table, some are drawn."""
    values, low, high = (np.atleast_2d(end) for end in (of.values, *of.interval(confidence)))
    drawn = levels_drawn(of.levels) if of.domain is not None else range(len(of.levels))
    keys = {name: list(column) for name, column in of.key_columns(for_people=True).items() if name != "level"}
    numbers = tuple(
        Numbers.of(
            "median" if level == 0.5 else f"{100 * level:g}% quantile",
            values[:, place],
            (low[:, place], high[:, place]) if of.has_intervals else None,
            missing=TOO_FEW,
            drawn=place in drawn,
        )
        for place, level in enumerate(of.levels)
    )
    return ShownTable(
        columns=tuple(Column(name, of._words(name), column[:: len(of.levels)]) for name, column in keys.items()),
        cells=len(values),
        numbers=numbers,
        flat=True,
        layout="one" if len(values) == 1 else "spread",
    )


def _axes(of: Any) -> tuple[Column, ...]:
    domain = of.domain
    if domain is None:
        return ()
    return tuple(column(of, name, axis) for name, axis in zip(domain.names, domain.axes, strict=True))


def column(of: Promised, name: str, axis: Any) -> Column:
    """An axis by what readers call it."""
    return Column(name, of._words(name), [axis.key(position) for position in range(axis.size)])


def _keys(of: Published, columns: Mapping[str, Any]) -> tuple[tuple[Column, ...], bool]:
    """The keys of each axis; or those of each cell, where a lattice's places say more, or not every bin shows."""
    cells = lattice_cells(of)
    if cells is not None or not of.covers_domain:
        own = columns if cells is None else (cells.lattice.x, cells.lattice.y)
        return tuple(Column(name, of._words(name), list(columns[name])) for name in own if name in columns), True
    if of.domain is None:
        shape = np.shape(of.values)
        names = ("row", "column") if len(shape) == 2 else ("bin",)
        return tuple(map(Column, names, names, map(range, shape if len(shape) == 2 else (of.bins,)))), False
    return _axes(of), False


def _layout(of: Published, columns: tuple[Column, ...], named: bool) -> Layout:
    if of.bins == 1:
        return "one"
    if len(columns) > 1 and min(len(column.keys) for column in columns) > 1:
        return "heat"
    return "line" if not named else "bars" if of.kind in ("count", "sum", "estimate") else "dots"


def _finite(ends: Any) -> Any:
    ends = np.asarray(ends)
    return ends if ends.dtype.kind != "f" else np.where(np.isinf(ends), np.nan, ends)


def _one_half(low: Any, high: Any) -> float | None:
    """Half the width of all intervals, where it is one."""
    if not len(low):
        return None
    wide = (np.asarray(high, float) - np.asarray(low, float)) / 2
    half = float(wide[0])
    return half if math.isfinite(half) and np.allclose(wide, half, rtol=1e-9, atol=0) else None
