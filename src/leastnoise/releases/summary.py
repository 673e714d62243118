"""Several statistics of the same rows, bin by bin, released together: noisy whole numbers, and what follows from them.

What was published are whole numbers of every bin, each with noise of its own scale: how many rows, how many of them
without a value, centred sums, centred squares. Counts and sums are these themselves; means, rates, variances, standard
deviations, shares and ratios are computed from them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Domain
from leastnoise.privacy.summary_noise import noise_in_words
from leastnoise.releases import display, labels, views
from leastnoise.releases.column_labels import labelled_domain
from leastnoise.releases.columns import key_columns
from leastnoise.releases.frames import typed
from leastnoise.releases.interval import Interval
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.measured import COUNTED, ROWS, Figure, Measured, part_name
from leastnoise.releases.noise import Noise
from leastnoise.releases.promised import Promised
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.ratio import RatioRelease, public_ends
from leastnoise.releases.release import Release
from leastnoise.releases.share import ShareRelease
from leastnoise.releases.spread import SpreadRelease
from leastnoise.releases.spreadsheets import Spreadsheets

if TYPE_CHECKING:
    from rich.console import Group

    from leastnoise.privacy.noise_choice import Mechanism

Statistic = Release | MeanRelease | SpreadRelease | ShareRelease | RatioRelease


@explained
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SummaryRelease(Promised, Spreadsheets):
    """Several statistics, one row a bin. `release["delay"]` is one of them, with everything that such a release has.

    figures: the statistics. columns: the values they are of.
    integers, scales: what was published, by part: whole numbers with noise, and the scale of the noise.
    """

    domain: Domain
    figures: tuple[Figure, ...]
    columns: tuple[Measured, ...]
    integers: Mapping[str, NDArray[np.int64]]
    scales: Mapping[str, float]
    mechanism: Mechanism
    provenance: Provenance
    compared: float | None = None  # its error over that of the other mechanism; None: they were not compared
    threshold: int | None = None  # unknown keys: only those with at least so many noisy rows were published

    def __post_init__(self) -> None:
        for values in self.integers.values():
            values.flags.writeable = False

    @property
    def kind(self) -> str:
        """A summary."""
        return "summary"

    @property
    def bins(self) -> int:
        """How many bins."""
        return self.domain.size

    @property
    def note(self) -> str:
        """How the noise was divided."""
        return noise_in_words(self.mechanism, [figure.weight for figure in self.figures], self.compared)

    def __iter__(self) -> Iterator[str]:
        return (figure.name for figure in self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __getitem__(self, name: str) -> Statistic:
        """The statistic of this name."""
        figure = next((figure for figure in self.figures if figure.name == name), None)
        if figure is None:
            raise errors.UnknownColumn(f"There is no statistic {name!r}. There are {', '.join(self)}.", value=name)
        if figure.kind == "count":
            return self._counts()
        if figure.kind == "sum":
            return self._sums(figure)
        if figure.kind == "share":
            return self._shares(figure)
        if figure.kind == "ratio":
            return self._ratios(figure)
        return self._means(figure) if figure.kind in ("mean", "rate") else self._spreads(figure)

    def _noise(self, part: str, step: float = 1.0) -> Noise:
        """The noise of one part, in units of which one of its whole numbers is `step`, a power of two."""
        return Noise(self.mechanism, self.scales[part] * step, step)

    def _counts(self) -> Release:
        return Release(
            values=self.integers[ROWS].copy(),
            noise=self._noise(ROWS),
            provenance=self.provenance,
            domain=self.domain,
            kind="count",
            threshold=self.threshold,
        )

    def _sums(self, figure: Figure) -> Release:
        return self._sum_of(part_name("plain", figure.values or 0), self._column(figure))

    def _sum_of(self, part: str, column: Measured) -> Release:
        whole: Any = self.integers[part]
        return Release(
            values=whole.copy() if column.grid == 1 else whole * column.grid,
            noise=self._noise(part, column.grid),
            provenance=self.provenance,
            domain=self.domain,
            kind="sum",
        )

    def _shares(self, figure: Figure) -> ShareRelease:
        if figure.values is None:
            return ShareRelease(components=self._counts())
        column = self._column(figure)
        return ShareRelease(
            components=self._sums(figure),
            one_sign=column.one_sign,
            negative=column.highest <= 0,
            column=column.label,
        )

    def _ratios(self, figure: Figure) -> RatioRelease:
        above, below = self._column(figure), self.columns[figure.over or 0]
        return RatioRelease(
            above=self._sum_of(figure.paired[0], above),
            below=self._sum_of(figure.paired[1], below),
            names=(above.label, below.label),
            within=public_ends(above, below),
        )

    def _means(self, figure: Figure) -> MeanRelease:
        """Sums in the unit of the values, and counts times half the clip's width."""
        column = self._column(figure)
        step, (counts, noises) = column.grid / 2, self._valued(figure)
        part = part_name("sum", figure.values or 0)
        sums: Any = self.integers[part] * step
        components = Release(
            values=np.concatenate([sums, counts * column.half_range]),
            noise=self._noise(part, step),
            provenance=self.provenance,
            kind="mean",
        )
        return MeanRelease(
            components=components,
            centre=column.centre,
            half_range=column.half_range,
            within=(column.low, column.high),
            domain=self.domain,
            column=column.label,
            count_noise=noises,
            rate=figure.kind == "rate",
            rows=None if self.threshold is None else self._counts(),
        )

    def _spreads(self, figure: Figure) -> SpreadRelease:
        """Everything over half the clip's width, as `spread` has it."""
        column, place = self._column(figure), figure.values or 0
        counts, noises = self._valued(figure)
        size = 2.0**column.square_shift / column.span**2
        squares, sums = part_name("squares", place), part_name("sum", place)
        return SpreadRelease(
            sums=self.integers[sums] / column.span,
            squares=self.integers[squares].astype(np.float64) * size,
            counts=counts,
            noise=Noise(self.mechanism, self.scales[squares] * size, size),
            sum_noise=Noise(self.mechanism, self.scales[sums] / column.span, 1 / column.span),
            count_noise=noises,
            half_range=column.half_range,
            rounding=2 * size if column.square_shift else 0.0,
            root=figure.kind == "std",
            domain=self.domain,
            column=column.label,
            provenance=self.provenance,
        )

    def _column(self, figure: Figure) -> Measured:
        return self.columns[figure.values or 0]

    def _valued(self, figure: Figure) -> tuple[NDArray[np.float64], tuple[Noise, ...]]:
        """How many rows have a value, and the noises of that: of all rows less those without one."""
        missing = part_name("missing", figure.values or 0)
        counts = self.integers[ROWS].astype(np.float64)
        if missing not in self.integers:  # rows without a value were left out
            return counts, (self._noise(ROWS),)
        return counts - self.integers[missing], (self._noise(ROWS), self._noise(missing))

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> dict[str, Interval]:
        """Where the truth lies, by statistic: low and high of every bin.

        confidence: of each by itself; or, with `simultaneous`, of all statistics in all bins at once. Then the chance
        to miss is divided among them (Bonferroni), which holds however they depend on each other.
        """
        confidence = validation.number("confidence", confidence)
        if simultaneous:
            confidence = 1 - (1 - confidence) / (self.bins * len(self.figures))
        return {name: Interval(*self[name].interval(confidence)) for name in self}

    def denoise(self, method: str = "auto", **options: Any) -> Any:
        """Refused: each statistic has a law of its own.

        method, options: those of other releases.
        """
        raise errors.InvalidParameter(self.why_not_denoised, parameter="method", value=method)

    @property
    def why_not_denoised(self) -> str:
        """Each statistic has a law of its own, and means, rates, spreads, shares and ratios have none that is known."""
        able = [f.name for f in self.figures if f.kind in ("count", "sum")]
        one = f', release["{able[0]}"].denoise(), where they are counts or sums.' if able else "; of these none can be."
        return f"Nothing here is denoised. The statistics of a summary are denoised one by one{one}"

    def _selection_in_words(self) -> str:
        if self.threshold is None:
            return ""
        return (
            f"Keys were not listed in advance: only those with {self.threshold} noisy rows or more show, which makes "
            "counts too high on average. Intervals of counts, means and rates allow for that; sums and ratios have "
            "noise of their own, which did not decide what shows."
        )

    def explain(self) -> str:
        """What was published, what it promises and how far off it is, in plain words."""
        many = "1 bin" if self.bins == 1 else f"{self.bins:,} bins"
        first = f"{self._listed()}, in {many}, released together under one guarantee."
        return f"{first}\n{self.promise_in_words(self.errors_in_words())}"

    def _listed(self) -> str:
        names = [f"{figure.name} ({self.meaning(figure)})" for figure in self.figures]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def meaning(self, figure: Figure) -> str:
        """What a statistic is, in words."""
        words = {"count": "rows", "std": "standard deviation", "rate": "share of rows with"}
        if figure.values is None:
            return "rows" if figure.kind == "count" else "share of all rows"
        label = self._words(self._column(figure).label)
        if figure.kind == "share":
            return f"share of the sum of {label}"
        if figure.over is not None:
            return f"sum of {label} over sum of {self._words(self.columns[figure.over].label)}, of rows with both"
        return (
            f"{words.get(figure.kind, figure.kind)} {label}"
            if figure.kind == "rate"
            else (f"{words.get(figure.kind, figure.kind)} of {label}")
        )

    def errors_in_words(self) -> str:
        """How far off the statistics are."""
        return f"With 95 % confidence each, a value is off by at most: {'; '.join(map(self._error_in_words, self))}."

    def _error_in_words(self, name: str) -> str:
        """Of one statistic; where bins differ, that of the one in the middle and of the least accurate."""
        one = self[name]
        value, low, high = (np.asarray(part, dtype=float) for part in (one.values, *one.interval(0.95)))
        enough = np.asarray(getattr(one, "enough", np.ones(self.bins, dtype=bool)))
        few = int((~enough).sum())
        missing = f" ({few:,} of {self.bins:,} {display.TOO_FEW})" if few else ""
        if not enough.any():
            return f"{name}{missing}"
        far = np.maximum(value - low, high - value)[enough]
        typical, most = rounded(float(np.median(far)), 3), rounded(float(far.max()), 3)
        if rounded(float(far.min()), 3) == most:
            return f"{name} ±{most}{missing}"
        return f"{name} ±{typical} in a typical bin, ±{most} in the least accurate{missing}"

    @property
    def _shown_domain(self) -> Domain:
        """The domain by what readers call its columns."""
        return labelled_domain(self.domain, self.provenance.labels)

    def bin_names(self, most: int) -> tuple[str, list[str]]:
        """What the bins are by, and what the first are called, at most `most` of them."""
        return labels.title(self._shown_domain), labels.of(self.domain, range(min(self.bins, most)))

    def _columns(self) -> dict[str, Any]:
        """Key columns; of each statistic its value, low and high (95 %)."""
        return self._shown_columns()

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        if estimate is not None:
            raise errors.InvalidParameter("A summary is not denoised as a whole: denoise its parts, release[name].")
        keys: dict[str, Any] = dict(key_columns(self.domain, self.bins, for_people=for_people))
        for name in self:
            one = self[name]
            low, high = one.interval(confidence)
            keys.update({name: one.values, f"{name}_low": low, f"{name}_high": high})
        return keys

    def _first_columns(self, rows: int) -> dict[str, Any]:
        """For people: of each statistic its value and interval in one cell."""
        columns = self._columns()
        shown = {name: column[:rows] for name, column in columns.items() if name in key_columns(self.domain, 1)}
        for name in self:
            parts = zip(*(columns[key][:rows] for key in (name, f"{name}_low", f"{name}_high")), strict=True)
            shown[name] = [_cell(*part) for part in parts]
        return shown

    def _arrow(self, columns: dict[str, Any]) -> Any:
        """What cannot be told is null."""
        import pyarrow as pa

        values = {name: columns[name] for name in self}
        masked = {name: pa.array(v, mask=np.isnan(v.astype(np.float64))) for name, v in values.items()}
        return pa.table(typed(columns) | masked)

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path` with everything. `allow_seeded` lets a test write what a seed made."""
        from leastnoise.releases import summary_files

        summary_files.save(self, path, allow_seeded=allow_seeded)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Any = None,
        title: str | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One HTML page for people, with nothing to fetch: what was promised, a picture and a table of all statistics.

        path: where it is written. estimate: None or "auto": nothing is denoised on it.
        title: the page's heading. allow_seeded: lets a test write what a seed made.
        """
        if estimate is not None:
            validation.word("estimate", estimate, ["auto"])
        return views.report_summary(path, self, title=title, allow_seeded=allow_seeded)

    def __repr__(self) -> str:
        return f"<SummaryRelease of {', '.join(self)} in {self.bins:,} bins{self._seeded_mark}>"

    def __str__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)

    def __rich__(self) -> Group:
        return display.as_rich(self)


def _cell(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return display.TOO_FEW
    return f"{rounded(value, 5)} [{rounded(low, 5)}, {rounded(high, 5)}]"


def check_parts(figures: tuple[Figure, ...], parts: Mapping[str, Any]) -> bool:
    """Whether every statistic has the parts that it is computed from."""
    for figure in figures:
        needed = [ROWS] if figure.values is None or figure.kind in COUNTED else []
        if figure.values is not None:
            needed += _sums_needed(figure.values, figure)
        if any(part not in parts for part in needed):
            return False
    return True


def _sums_needed(place: int, figure: Figure) -> list[str]:
    if figure.over is not None:
        return [*figure.paired]
    squares = [part_name("squares", place)] if figure.kind in ("variance", "std") else []
    return [part_name("sum" if figure.kind in COUNTED else "plain", place), *squares]
