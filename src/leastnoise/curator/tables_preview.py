"""What to expect of a set of tables: free, from public facts alone. No row is read and nothing is debited."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from leastnoise._support.number_format import rounded
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.kinds import OtherKind
from leastnoise.domain import OrOther
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.strength import Strength
from leastnoise.releases.column_labels import column_words, labelled_in_words, reader_unit
from leastnoise.releases.crosstab_errors import cell_half_width, noisy_tables
from leastnoise.releases.left_out import LeftOut, unknown_in_words
from leastnoise.releases.table_set import table_name
from leastnoise.workload.table_errors import NoisyTables
from leastnoise.workload.tables_noise import TablesNoise

MAX_TABLES_SHOWN = 24


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


@dataclass(frozen=True, slots=True)
class TablesExpectation:
    """What a release of several tables will be like. It costs nothing and reads no row.

    `std["age", "sex"]` is the standard deviation of one cell of a table; `total` the line of the total, whether or not
    it was asked for.
    """

    mechanism: str
    tables: tuple[TableExpectation, ...]
    total: TableExpectation
    rmse: float
    guarantee: GaussianDP | PureDP
    strength: Strength
    note: str
    limits: dict[str, int]
    unit: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    other_kind: OtherKind | None = None  # of budget, where that would have less noise
    other: OtherKey | None = None
    closed: tuple[str, ...] = ()  # the columns whose missing and unlisted values other=True would give a key
    labels: Mapping[str, str] = field(default_factory=dict)  # what readers call columns

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

    def __str__(self) -> str:
        many = f"{len(self.tables):,} tables" if len(self.tables) != 1 else "1 table"
        lines = [
            f"{self.mechanism.capitalize()} noise on {many} of {self.bins:,} cells, released together.",
            labelled_in_words(self.left_out, self.unit, self.labels),
            *self._lines(),
            ""
            if self.other is None
            else replace(self.other, columns=self._named(self.other.columns)).in_words(self.rmse),
            f"other=True (--other) gives missing and unlisted values of {_listed(self._named(self.closed))} a key."
            if self.closed
            else "",
            unknown_in_words(self.left_out, reader_unit(self.unit, self.labels), bins=None),
            self.note,
            "" if self.other_kind is None else self.other_kind.in_words(),
            self.strength.in_words(),
        ]
        return "\n".join(line for line in lines if line)

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
    noise = decided.noise
    errors = _errors(noise, grid)
    label = next((axis.label for axis in keyed.values()), "")
    rmse = None if without_other is None else _errors(without_other.noise, grid).rmse

    def line(table: tuple[str, ...]) -> TableExpectation:
        cells = noise.workload.cells_of(table)
        half, every = (cell_half_width(errors, table, 0.95, bins) for bins in (1, cells))
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


def _errors(noise: TablesNoise, grid: float) -> NoisyTables:
    return noisy_tables(noise.mechanism, noise.workload, noise.scales, grid)
