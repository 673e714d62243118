"""What to expect of a summary: free, from public facts alone. No row is read and nothing is debited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from leastnoise._support.number_format import rounded
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.kinds import OtherKind
from leastnoise.domain import Domain, IntegerRange
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.strength import Strength
from leastnoise.privacy.summary_noise import SummaryNoise, noise_in_words
from leastnoise.releases.column_labels import labelled_in_words, reader_unit
from leastnoise.releases.left_out import LeftOut, unknown_in_words
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.measured import Figure, Measured
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.share import ShareRelease
from leastnoise.releases.summary import SummaryRelease
from leastnoise.releases.summary_part import SummaryPart

MAX_BINS = 4_096  # that are made up, of which the share of one is told
SOME_ROWS = (100, 1_000, 10_000)  # of a bin, at which what depends on it is told


@dataclass(frozen=True, slots=True)
class FigureExpectation:
    """What one statistic will be like.

    half_width: 95 % are off by at most this; None where that depends on how many rows a bin has.
    half_width_at: then, for some numbers of rows, half the length of the interval, values spread over the clip.
    of_all_bins: whether it depends on all bins, as a share does; then all of them have so many rows.
    """

    name: str
    what: str
    half_width: float | None
    half_width_at: dict[int, float]
    of_all_bins: bool = False


@dataclass(frozen=True, slots=True)
class SummaryExpectation:
    """What a release of several statistics will be like. It costs nothing and reads no row."""

    mechanism: str
    statistics: tuple[FigureExpectation, ...]
    bins: int
    guarantee: GaussianDP | PureDP
    strength: Strength
    note: str
    limits: dict[str, int]
    unit: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    other_kind: OtherKind | None = None  # of budget, where that would have less noise
    labels: Mapping[str, str] = field(default_factory=dict)  # what readers call columns

    def __str__(self) -> str:
        many = "1 bin" if self.bins == 1 else f"{self.bins:,} bins"
        asked = "1 statistic" if len(self.statistics) == 1 else f"{len(self.statistics)} statistics"
        wide = max(len(line.name) for line in self.statistics)
        lines = [
            f"{self.mechanism.capitalize()} noise on {asked} in {many}, released together.",
            labelled_in_words(self.left_out, self.unit, self.labels),
            *(f"  {line.name:<{wide}}  {line.what}: {_errors(line)}" for line in self.statistics),
            unknown_in_words(self.left_out, reader_unit(self.unit, self.labels), self.bins),
            self.note,
            "" if self.other_kind is None else self.other_kind.in_words(),
            self.strength.in_words(),
        ]
        return "\n".join(line for line in lines if line)


def _errors(line: FigureExpectation) -> str:
    if line.half_width is not None:
        return f"95 % within ±{rounded(line.half_width)}"
    told = [f"{n:,} rows: {_some(half)}" for n, half in line.half_width_at.items()]
    return f"95 % within, where {'every' if line.of_all_bins else 'a'} bin has {'; '.join(told)}"


def _some(half: float) -> str:
    return "too few to tell" if math.isnan(half) else f"±{rounded(half, 3)}"


def of_summary(
    decided: Charge[SummaryNoise],
    *,
    figures: tuple[Figure, ...],
    columns: tuple[Measured, ...],
    domain: Domain,
    limits: dict[str, int],
    labels: Mapping[str, str],
) -> SummaryExpectation:
    """Of noise on every part: the intervals of a summary whose bins all have so many rows."""
    noise = decided.noise
    some = {rows: _even(noise, figures, columns, rows, min(domain.size, MAX_BINS)) for rows in SOME_ROWS}
    first = replace(next(iter(some.values())), provenance=Provenance(labels=labels))
    lines = []
    for figure in figures:
        one, halves = first[figure.name], {rows: _half(made, figure.name) for rows, made in some.items()}
        varies = isinstance(one, MeanRelease | SummaryPart)  # with the rows
        fixed, share = None if varies else float(halves[SOME_ROWS[0]]), isinstance(one, ShareRelease)
        lines.append(FigureExpectation(figure.name, first.meaning(figure), fixed, halves if varies else {}, share))
    return SummaryExpectation(
        mechanism=noise.mechanism,
        statistics=tuple(lines),
        bins=domain.size,
        guarantee=noise.guarantee,
        strength=decided.strength,
        note=noise_in_words(noise.mechanism, [figure.weight for figure in figures], noise.compared),
        limits=limits,
    )


def _even(
    noise: SummaryNoise, figures: tuple[Figure, ...], columns: tuple[Measured, ...], rows: int, bins: int
) -> SummaryRelease:
    """Made-up bins with so many rows each, no value missing, values spread evenly over the clip, and no noise."""
    integers = {}
    paired = {name for figure in figures for name in figure.paired}
    for part in noise.parts:
        middle = 0 if part.column is None else columns[part.column]
        size = {"rows": rows, "missing": 0, "one sign": rows * part.largest, "signed": 0}[part.kind]
        if part.name.startswith("squares") and isinstance(middle, Measured):
            size = -rows * middle.square_centre // 3  # the mean of 2 t^2 - 1 for t spread evenly over [-1, 1]
        if part.name in paired and isinstance(middle, Measured):  # of a ratio, whose error depends on its sums
            size = rows * (middle.lowest + middle.highest) // 2
        integers[part.name] = np.full(bins, size, dtype=np.int64)
    return SummaryRelease(
        domain=Domain(("bin",), (IntegerRange(0, bins),)),
        figures=figures,
        columns=columns,
        integers=integers,
        scales=noise.scales,
        mechanism=noise.mechanism,
        provenance=Provenance(),
    )


def _half(made: SummaryRelease, name: str) -> float:
    one = made[name]
    low, high = one.interval(0.95)
    enough = np.asarray(getattr(one, "enough", np.ones(made.bins, dtype=bool)))
    return float(high[0] - low[0]) / 2 if enough[0] else math.nan
