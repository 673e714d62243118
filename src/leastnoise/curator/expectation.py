"""What to expect of a release: free, from public facts alone. No row is read and nothing is debited.

What one number says is told of its noise; what is computed from several, of a release of made-up integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leastnoise._support.text import rounded
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.kinds import OtherKind
from leastnoise.domain import OrOther
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.noise_plan import NoisePlan
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.strength import Strength
from leastnoise.privacy.summary_noise import noise_in_words
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.columns import column_words, labelled_in_words, reader_unit
from leastnoise.releases.left_out import LeftOut, unknown_in_words
from leastnoise.releases.mean import centred as centred_note
from leastnoise.releases.mean import half_widths
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.summary import PLAIN, SummaryRelease
from leastnoise.releases.table_set import table_name
from leastnoise.workload import NoisyTables
from leastnoise.workload.tables_noise import TablesNoise

if TYPE_CHECKING:
    from leastnoise.curator.budget.deciding import KeysPlan

MAX_TABLES_SHOWN = 24
SOME_ROWS = (100, 1_000, 10_000)  # of a bin, at which what depends on it is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(ABC):
    """What every release is told of before: which noise, which guarantee, and which rows it can leave out."""

    mechanism: str
    guarantee: PureDP | ApproxDP | GaussianDP
    limits: dict[str, int]
    note: str
    strength: Strength | None = None  # how strong the promise is; with a budget, of all of it
    unit: str | None = None  # who is protected
    left_out: tuple[LeftOut, ...] = ()  # which rows can be missing from the numbers, and which values are changed
    other_kind: OtherKind | None = None  # of budget, where that would have less noise
    labels: Mapping[str, str] = field(default_factory=dict)  # what readers call columns

    @abstractmethod
    def _head(self) -> str:
        """The first line: what noise on what."""

    def _body(self) -> Sequence[str]:
        """What follows the rows that can be left out."""
        return ()

    def _tail(self) -> Sequence[str]:
        """What comes before the note."""
        return ()

    @property
    def _shown_bins(self) -> int | None:
        """How many bins there are, where a sentence about rows of unknown bins says so."""
        return None

    def __str__(self) -> str:
        lines = [
            self._head(),
            labelled_in_words(self.left_out, self.unit, self.labels),
            *self._body(),
            unknown_in_words(self.left_out, reader_unit(self.unit, self.labels), self._shown_bins),
            *self._tail(),
            self.note,
            "" if self.other_kind is None else self.other_kind.in_words(),
            "" if self.strength is None else self.strength.in_words(),
        ]
        return "\n".join(line for line in lines if line)


# One number per bin, or what is computed from several


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation(Expected):
    """What a release will be like. It costs nothing and reads no row."""

    sigma: float
    std: float
    half_width: float | None  # None: what is published is computed from several numbers; `half_widths` has it
    half_width_all: float | None  # None: as above, or the number of bins is private
    threshold: int | None
    bins: int | None
    half_widths: Mapping[str, float] = field(default_factory=dict)  # of a mean: sum, count, mean_times_rows; of ranks
    description: str = ""  # what they say

    def _head(self) -> str:
        if self.half_width is None:
            kind = "mechanism" if self.mechanism == "exponential" else "noise"
            return f"{self.mechanism.capitalize()} {kind}. {self.description}"
        noise = f"{self.mechanism.capitalize()} noise of standard deviation {self.std:.4g}"
        if self.bins == 1:
            return f"{noise} on the one number: with 95 % confidence it is off by at most {self.half_width:.4g}."
        every = f", and all {self.bins:,} at once by at most {self.half_width_all:.4g}" if self.half_width_all else ""
        return f"{noise} on each number: 95 % are off by at most {self.half_width:.4g}{every}."

    @property
    def _shown_bins(self) -> int | None:
        return self.bins

    def _tail(self) -> Sequence[str]:
        kept = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        return (
            f"Bins show when their noisy count reaches {self.threshold}." if self.threshold else "",
            f"Of each unit at most this is used: {kept}." if kept and not self.left_out else "",
        )


def of_vector(
    decided: Charge[VectorPlan],
    *,
    size: int | None,
    limits: Limits | None,
    threshold: int | None = None,
    centred: Mapping[str, float] | None = None,
) -> Expectation:
    """Of noise on each of `size` numbers.

    limits: of a question about a table; None for a vector. centred: these are centred sums and counts that means are
    computed from, and their `centre` and `half_range`.
    """
    plan, law = decided.plan, decided.plan.distribution
    computed = _of_means(law, **centred) if centred else {}
    return Expectation(
        mechanism=plan.mechanism,
        sigma=plan.scale if plan.mechanism == "gaussian" else plan.scale * 2**0.5,
        std=law.std,
        half_width=None if computed else law.half_width(0.95),
        half_width_all=None if computed or size is None else law.half_width(0.95, size),
        threshold=threshold,
        limits={} if limits is None else limits.numbers,
        bins=size,
        guarantee=plan.guarantee,
        note=centred_note(plan.reason, plan.note) if computed else plan.note,
        strength=decided.strength,
        **computed,
    )


def of_unknown_keys(decided: Charge[KeysPlan], *, spread: float, limits: Limits, note: str = "") -> Expectation:
    """Of noise and a threshold on keys that nobody listed. spread: how much noisier counts are beside others."""
    cut = decided.plan.cut.wider(spread)
    law, first = cut.distribution, "Bins that nobody listed: their chance to show is part of delta."
    return Expectation(
        mechanism=cut.mechanism,
        sigma=cut.sigma,
        std=law.std,
        half_width=law.half_width(0.95),
        half_width_all=None,
        threshold=cut.at_least,
        limits=limits.numbers,
        bins=None,
        guarantee=decided.plan.guarantee,
        strength=decided.strength,
        note=f"{first} {note}".rstrip(),
    )


def _of_means(law: Distribution, *, centre: float, half_range: float) -> dict[str, Any]:
    """The errors of sums, counts and means, and what they say."""
    off = half_widths(law, centre=centre, half_range=half_range)
    # From so many rows on that half of the clip's half is left, at most.
    first = math.ceil(math.log10(max(1.0, 2 * off.mean_times_rows / half_range)))
    some = ", ".join(f"{rounded(off.mean_times_rows / n, 3)} for {n:,}" for n in (10 ** (first + i) for i in range(3)))
    words = (
        f"95 % of the time a sum is off by at most {rounded(off.sum)} and a count by at most {rounded(off.count)}; a "
        f"mean over n rows is off by at most {rounded(off.mean_times_rows)}/n: {some} rows."
    )
    return {"half_widths": asdict(off), "description": words}


# Several statistics


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryExpectation(Expected):
    """What a release of several statistics will be like. It costs nothing and reads no row."""

    statistics: tuple[FigureExpectation, ...]
    bins: int

    def _head(self) -> str:
        many = "1 bin" if self.bins == 1 else f"{self.bins:,} bins"
        asked = "1 statistic" if len(self.statistics) == 1 else f"{len(self.statistics)} statistics"
        return f"{self.mechanism.capitalize()} noise on {asked} in {many}, released together."

    def _body(self) -> Sequence[str]:
        wide = max(len(line.name) for line in self.statistics)
        return [f"  {line.name:<{wide}}  {line.what}: {_errors(line)}" for line in self.statistics]

    @property
    def _shown_bins(self) -> int | None:
        return self.bins


def _errors(line: FigureExpectation) -> str:
    if line.half_width is not None:
        return f"95 % within ±{rounded(line.half_width)}"
    told = [f"{n:,} rows: {_some(half)}" for n, half in line.half_width_at.items()]
    return f"95 % within, where {'every' if line.of_all_bins else 'a'} bin has {'; '.join(told)}"


def _some(half: float) -> str:
    return "too few to tell" if math.isnan(half) else f"±{rounded(half, 3)}"


def of_summary(
    decided: Charge[NoisePlan],
    typical: Mapping[int, SummaryRelease],
    *,
    bins: int,
    limits: dict[str, int],
    labels: Mapping[str, str],
) -> SummaryExpectation:
    """Of noise on every part. typical: releases of made-up bins that all have so many rows."""
    plan, lines = decided.plan, []
    first = replace(next(iter(typical.values())), provenance=Provenance(labels=labels))
    for figure in first.figures:
        halves = {rows: _half(made, figure.name) for rows, made in typical.items()}
        varies, share = figure.kind not in PLAIN, figure.kind == "share"  # with the rows; with those of all bins
        fixed = None if varies else float(halves[SOME_ROWS[0]])
        lines.append(FigureExpectation(figure.name, first.meaning(figure), fixed, halves if varies else {}, share))
    return SummaryExpectation(
        mechanism=plan.mechanism,
        statistics=tuple(lines),
        bins=bins,
        guarantee=plan.guarantee,
        strength=decided.strength,
        note=noise_in_words(plan.mechanism, [figure.weight for figure in first.figures], plan.compared),
        limits=limits,
    )


def _half(made: SummaryRelease, name: str) -> float:
    one = made[name]
    low, high = one.interval(0.95)
    return float(high[0] - low[0]) / 2 if one.enough[0] else math.nan


# A set of tables


@dataclass(frozen=True, slots=True)
class TableExpectation:
    """What one table will be like."""

    table: tuple[str, ...]
    cells: int
    std: float  # of one cell
    half_width: float  # 95 % of the cells are off by at most this
    half_width_all: float  # all cells of the table together are, with 95 % confidence
    # With cumulative sums or ranges the three above are of its least accurate cell, and this is the root of the mean
    # variance of the sums that were asked for.
    sums_std: float | None = None


@dataclass(frozen=True, slots=True)
class OtherKey:
    """The key for missing and unlisted values that some columns have, and what it costs.

    label: what it is called. rmse: the error of a cell without it, over all tables; None: not known.
    """

    columns: tuple[str, ...]
    label: str
    rmse: float | None = None

    def in_words(self, rmse: float) -> str:
        """The key, and the error of a cell with it beside that without.

        >>> print(OtherKey(("sex", "job"), "none", 12.34).in_words(14.1))
        "none" is one more key of sex and job: 14.1 per cell; 12.3 with other=False (--no-other), if every row ...
        """
        cost = f"{rounded(rmse, 3)} per cell"
        if self.rmse is not None:
            cost += f"; {rounded(self.rmse, 3)} with other=False (--no-other), if every row has a listed value"
        return f'"{self.label}" is one more key of {_listed(self.columns)}: {cost}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesExpectation(Expected):
    """What a release of several tables will be like. It costs nothing and reads no row.

    `std["age", "sex"]` is the standard deviation of one cell of a table; `total` the line of the total, whether or not
    it was asked for.
    """

    tables: tuple[TableExpectation, ...]
    total: TableExpectation
    rmse: float
    other: OtherKey | None = None
    closed: tuple[str, ...] = ()  # the columns whose missing and unlisted values other=True would give a key

    @property
    def std(self) -> dict[tuple[str, ...], float]:
        """The standard deviation of one cell of each table."""
        return {line.table: line.std for line in self.tables}

    @property
    def bins(self) -> int:
        """How many cells all tables have."""
        return sum(line.cells for line in self.tables)

    def _named(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns as readers call them."""
        return tuple(column_words(column, self.labels) for column in columns)

    def _head(self) -> str:
        many = f"{len(self.tables):,} tables" if len(self.tables) != 1 else "1 table"
        return f"{self.mechanism.capitalize()} noise on {many} of {self.bins:,} cells, released together."

    def _body(self) -> Sequence[str]:
        lines = self._lines()
        if self.other is not None:
            lines.append(replace(self.other, columns=self._named(self.other.columns)).in_words(self.rmse))
        if self.closed:
            named = _listed(self._named(self.closed))
            lines.append(f"other=True (--other) gives missing and unlisted values of {named} a key.")
        return lines

    def _lines(self) -> list[str]:
        """A line a table; of many, the most and the least accurate."""
        every = [*([] if any(not line.table for line in self.tables) else [self.total]), *self.tables]
        if len(every) > MAX_TABLES_SHOWN:
            half = MAX_TABLES_SHOWN // 2
            ranked = sorted(every, key=lambda line: line.std)
            shown, left = [*ranked[:half], *ranked[-half:]], len(every) - 2 * half
        else:
            shown, left = every, 0
        names = [table_name(line.table, self.labels) for line in shown]
        wide = max(map(len, ["table", *names]))
        sums = any(line.sums_std is not None for line in every)
        rows = [f"  {'table':<{wide}}  {'cells':>9}  {'std':>8}  {'95 % within':>11}  {'all within':>10}"]
        rows[0] += f"  {'sums: std':>9}" if sums else ""
        rows += [
            f"  {name:<{wide}}  {line.cells:>9,}  {rounded(line.std):>8}  {rounded(line.half_width):>11}  "
            f"{rounded(line.half_width_all):>10}" + (f"  {_sums(line):>9}".rstrip() if sums else "")
            for name, line in zip(names, shown, strict=True)
        ]
        if left:
            rows.insert(1 + MAX_TABLES_SHOWN // 2, f"  ... {left:,} tables in between ...")
        return rows


def _listed(columns: Sequence[str]) -> str:
    return " and ".join([", ".join(columns[:-1]), columns[-1]] if len(columns) > 1 else columns)


def _sums(line: TableExpectation) -> str:
    return "" if line.sums_std is None else rounded(line.sums_std)


def of_tables(
    decided: Charge[TablesNoise],
    *,
    grid: float,
    limits: dict[str, int],
    keyed: Mapping[str, OrOther],
    closed: Sequence[str],
    without_other: Charge[TablesNoise] | None,
) -> TablesExpectation:
    """Of noise on every block.

    grid: what one of the integers that are counted is worth.
    keyed: the columns that `other` gave a key. without_other: the noise if they had none. closed: the columns that it
        could give one.
    """
    noise = decided.plan
    errors = _tables_errors(noise, grid)
    label = next((axis.label for axis in keyed.values()), "")
    rmse = None if without_other is None else _tables_errors(without_other.plan, grid).rmse

    def line(table: tuple[str, ...]) -> TableExpectation:
        cells = noise.workload.cells_of(table)
        half, every = (errors.cell_half_width(table, confidence=0.95, bins=bins) for bins in (1, cells))
        asked = any(column in noise.workload.asked for column in table)
        sums = math.sqrt(errors.mean_variance(table)) if asked else None
        return TableExpectation(table, cells, errors.std[table], half, every, sums)

    return TablesExpectation(
        mechanism=noise.mechanism,
        tables=tuple(map(line, noise.workload.tables)),
        total=line(()),
        rmse=errors.rmse,
        guarantee=noise.guarantee,
        strength=decided.strength,
        note=noise.note,
        limits=limits,
        other=OtherKey(tuple(keyed), label, rmse) if keyed else None,
        closed=tuple(closed),
    )


def _tables_errors(noise: TablesNoise, grid: float) -> NoisyTables:
    with_noise = noise.workload.with_noise if noise.mechanism == "gaussian" else noise.workload.with_laplace
    return with_noise(noise.scales, unit=1 / grid)


Preview = Expectation | SummaryExpectation | TablesExpectation
