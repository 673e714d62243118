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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Domain
from leastnoise.privacy.noise_plan import Mechanism
from leastnoise.privacy.summary_noise import noise_in_words
from leastnoise.releases import display, views
from leastnoise.releases.block import Block, Blocks, Interval, Plain, Reading
from leastnoise.releases.columns import key_columns
from leastnoise.releases.mean import Mean, MeanRelease
from leastnoise.releases.measure import Measure
from leastnoise.releases.measured import ROWS, Figure, Measured, paired_name, part_name
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Binned, typed
from leastnoise.releases.ratio import Ratio, RatioRelease, Share, public_ends
from leastnoise.releases.release import Release, plain
from leastnoise.releases.selected import Selected
from leastnoise.releases.spread import Variance

if TYPE_CHECKING:
    import pyarrow as pa


INTEGERS = "integers: "  # what the columns of noisy whole numbers begin with
Statistic = Release | Measure
PLAIN = ("count", "sum")  # statistics that are what was published
MEASURES: dict[str, type[Measure]] = {"mean": MeanRelease, "rate": MeanRelease, "ratio": RatioRelease}


@explained
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SummaryRelease(Binned):
    """Several statistics, one row a bin. `release["delay"]` is one of them, with everything that such a release has.

    figures: the statistics. columns: the values they are of. blocks: what was published, by part.
    """

    domain: Domain
    figures: tuple[Figure, ...]
    columns: tuple[Measured, ...]
    blocks: Blocks
    counted: tuple[int, ...]  # the columns whose missing values were counted; of others, rows without one were left out
    provenance: Provenance
    compared: float | None = None  # its error over that of the other mechanism; None: they were not compared
    threshold: int | None = None  # unknown keys: only those with at least so many noisy rows were published

    kind: ClassVar[str] = "summary"
    _what = "summary release"

    @classmethod
    def of(
        cls,
        *,
        domain: Domain,
        figures: tuple[Figure, ...],
        columns: tuple[Measured, ...],
        integers: Mapping[str, NDArray[np.int64]],
        scales: Mapping[str, float],
        mechanism: Mechanism,
        **facts: Any,
    ) -> SummaryRelease:
        """Of the noisy whole numbers of every part, and the scales of their noise.

        facts: the other fields.
        """
        units = part_units(columns)
        blocks = {
            part: Block(whole, domain.names, Noise(mechanism, scales[part], 1.0), units.get(part, 1.0))
            for part, whole in integers.items()
        }
        counted = tuple(place for place in range(len(columns)) if part_name("missing", place) in blocks)
        return cls(domain=domain, figures=figures, columns=columns, blocks=blocks, counted=counted, **facts)

    def _fits(self) -> dict[str, bool]:
        known, figures = len(self.columns), self.figures
        placed = all(0 <= place < known for figure in figures for place in figure.places)
        below = [self.columns[figure.over] for figure in figures if placed and figure.over is not None]
        units = part_units(self.columns)
        return {
            "figures": placed and 0 < len(figures) == len({figure.name for figure in figures}),
            "columns": all(column.lowest >= 0 for column in below),
            "blocks": placed
            and len({block.number_noise.mechanism for block in self.blocks.values()}) == 1
            and all(block.unit == units.get(name, 1.0) for name, block in self.blocks.items())
            and all(self._reading(figure).fits(self.blocks) for figure in figures),
            "domain": all(block.numbers.shape == (self.bins,) for block in self.blocks.values()),
            "id": self.id != "",
        }

    @property
    def mechanism(self) -> Mechanism:
        """gaussian or laplace."""
        return next(iter(self.blocks.values())).number_noise.mechanism

    @property
    def scales(self) -> Mapping[str, float]:
        """The scale of the noise on the whole numbers of each part."""
        return {name: block.number_noise.scale for name, block in self.blocks.items()}

    @property
    def _array_columns(self) -> Mapping[str, str]:
        return {f"blocks/{part}/numbers": f"{INTEGERS}{part}" for part in self.blocks}

    def _file_table(self) -> pa.Table:
        """What people read, and the whole numbers that all of it is computed from."""
        import pyarrow as pa

        table = self.to_arrow()
        for part, block in self.blocks.items():
            table = table.append_column(f"{INTEGERS}{part}", pa.array(block.numbers))
        return table

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
        if figure.kind in PLAIN:
            return plain(
                self.blocks[self._plain_part(figure)],
                kind=figure.kind,
                domain=self.domain,
                provenance=self.provenance,
                threshold=self.threshold if figure.kind == "count" else None,
            )
        kind = MEASURES.get(figure.kind, Measure)
        reading = self._reading(figure)
        blocks = {name: self.blocks[name] for name in reading.needs}
        return kind(blocks=blocks, reading=reading, domain=self.domain, provenance=self.provenance)

    def _plain_part(self, figure: Figure) -> str:
        """The block of counts or sums."""
        return ROWS if figure.values is None else part_name("plain", figure.values)

    def _reading(self, figure: Figure) -> Reading:
        """How a statistic is computed."""
        if figure.kind == "count" and self.threshold is not None:
            return Selected(kind=figure.kind, block=ROWS, threshold=self.threshold)
        if figure.kind in PLAIN:
            return Plain(kind=figure.kind, block=self._plain_part(figure))
        if figure.kind == "share" and figure.values is None:
            return Share(shared=ROWS)
        column, place = self.columns[figure.values or 0], figure.values or 0
        if figure.kind == "share":
            return Share(
                shared=self._plain_part(figure),
                column=column.label,
                one_sign=column.one_sign,
                negative=column.highest <= 0,
            )
        if figure.over is not None:
            (above, below), other = figure.paired, self.columns[figure.over]
            return Ratio(above=above, below=below, names=(column.label, other.label), within=public_ends(column, other))
        rows = (ROWS, part_name("missing", place)) if place in self.counted else (ROWS,)
        if figure.kind in ("mean", "rate"):
            return Mean(
                sum=part_name("sum", place),
                rows=rows,
                centre=column.centre,
                half_range=column.half_range,
                within=(column.low, column.high),
                column=column.label,
                rate=figure.kind == "rate",
                threshold=self.threshold,
            )
        return Variance(
            squares=part_name("squares", place),
            sum=part_name("sum", place),
            rows=rows,
            span=column.span,
            half_range=column.half_range,
            rounding=2 * part_units(self.columns)[part_name("squares", place)] if column.square_shift else 0.0,
            root=figure.kind == "std",
            column=column.label,
        )

    def _column(self, figure: Figure) -> Measured:
        return self.columns[figure.values or 0]

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> dict[str, Interval]:
        """Where the truth lies, by statistic: low and high of every bin.

        confidence: of each by itself; or, with `simultaneous`, of all statistics in all bins at once. Then the chance
        to miss is divided among them (Bonferroni), which holds however they depend on each other.
        """
        confidence = validation.number("confidence", confidence)
        if simultaneous:
            confidence = 1 - (1 - confidence) / (self.bins * len(self.figures))
        return {name: Interval(*self[name].interval(confidence)) for name in self}

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
        words = {"std": "standard deviation of", "rate": "share of rows with"}
        if figure.values is None:
            return "rows" if figure.kind == "count" else "share of all rows"
        label = self._words(self._column(figure).label)
        if figure.kind == "share":
            return f"share of the sum of {label}"
        if figure.over is not None:
            return f"sum of {label} over sum of {self._words(self.columns[figure.over].label)}, of rows with both"
        return f"{words.get(figure.kind, f'{figure.kind} of')} {label}"

    def errors_in_words(self) -> str:
        """How far off the statistics are."""
        return f"With 95% confidence each, a value is off by at most: {'; '.join(map(self._error_in_words, self))}."

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

    def _columns(self) -> dict[str, Any]:
        """Key columns; of each statistic its value, low and high (95%)."""
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

    def plot(self, **options: Any) -> Any:
        """Every statistic as a picture: `leastnoise.plot.release`. The options `confidence` and `ax` are passed on."""
        return views.plot(self, **options)

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
        return views.report(path, self, title=title, allow_seeded=allow_seeded)

    def __repr__(self) -> str:
        return f"<SummaryRelease of {', '.join(self)} in {self.bins:,} bins{self._seeded_mark}>"


def _cell(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return display.TOO_FEW
    return f"{rounded(value, 5)} [{rounded(low, 5)}, {rounded(high, 5)}]"


def part_units(columns: tuple[Measured, ...]) -> dict[str, float]:
    """What one of the whole numbers of each part is worth: of centred sums half a step of the grid, of sums a step, and
    of centred squares what makes the largest 1. One of all others is worth 1."""
    units = {}
    for place, column in enumerate(columns):
        units[part_name("sum", place)] = column.grid / 2
        units[part_name("squares", place)] = 2.0**column.square_shift / column.span**2
        units[part_name("plain", place)] = column.grid
        units |= {paired_name(place, other): column.grid for other in range(len(columns))}
    return units
