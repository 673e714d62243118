"""Series: the same question every period, about the same people, paid for once.

Each period's integers are kept by the curator, and what is published of them is (C x)_t with noise that is drawn at t
(`workload.series` has the mechanism and its proof). The first publication debits the budget for all periods.

**Which periods of a unit count.** Rows of a unit count in the first `max_periods` periods in which it has rows that the
question could count. Whether period t is one of them depends on the unit's own rows up to t, and on nobody else's: so
the rows that one unit adds are in at most `max_periods` periods, and no other unit's rows change. To know it, the
curator keeps how many periods each unit has been in, and writes that down before anything of the period is published: a
crash in between cannot give a unit one period too many. Units must have the same name in every period; a unit's type
(`rows.priorities.word` refuses others) is one whose values are equal where their texts are.

**A period is answered once.** On disk, in this order: the debit (first period); the exact integers of the period and
the units in it, in one folder that appears whole; the noisy integers, in one file that appears whole; the releases,
which follow from these. A run that ended early goes on where it stopped: integers that are there are not read again,
and where noisy integers are there no noise is drawn again. Noise that was drawn and not written was seen by nobody.

    visits.series/
      series.json          the terms: public
      numbers/0001.parquet the noisy integers of a period: public
      releases/0001-to-date.parquet ...  a release for each sum: public
      private/0001/        exact integers, and how many periods each unit has been in: PRIVATE
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import files, outputs
from leastnoise._support.text import rounded
from leastnoise.curator import release as loop
from leastnoise.curator.budget import Budget
from leastnoise.curator.budget.charge import Receipt
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.terms import Share
from leastnoise.curator.description import counted
from leastnoise.curator.noise import entropy
from leastnoise.curator.queries.query import Query
from leastnoise.curator.release import Answer, Batch
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.series_files import (
    NUMBERS,
    PRIVATE,
    RELEASES,
    TERMS,
    Paid,
    Terms,
    combined,
    make_folder,
    read_integers,
    read_terms,
    stored,
    write_integers,
)
from leastnoise.privacy.noise_plan import NoisePlan
from leastnoise.privacy.strength import judge
from leastnoise.releases.file_format import load, refuse_seeded_noise
from leastnoise.releases.left_out import LeftOut
from leastnoise.workload.series import WEIGHT_BITS, SeriesStrategy, best_strategy, sums_matrix
from leastnoise.workload.series_noise import SeriesPlanner

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PeriodReleases(Mapping[str, Answer]):
    """What one period published: a release for each sum, by its name.

    number: of the period, from 1 on. label: what it was called.
    """

    number: int
    label: str
    releases: Mapping[str, Answer]

    def __getitem__(self, name: str) -> Answer:
        return self.releases[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)


@dataclass(frozen=True, slots=True)
class SeriesExpectation:
    """The noise of each sum, from public facts: as a multiple of `one`, that of a single release for the same cost.

    sums: by name, at the first period, at the last one, and the root mean square over all. alone: the last of these if
    each period had noise of its own. at_the_end: of one release of all rows when the last period is over.
    """

    periods: int
    max_periods: int
    one: float
    sums: Mapping[str, tuple[float, float, float]]
    alone: Mapping[str, float]

    @property
    def at_the_end(self) -> float:
        """A unit's rows of all its periods are in it, so its noise is as many times as large."""
        return float(self.max_periods)

    def __str__(self) -> str:
        each = "every period" if self.max_periods == self.periods else f"at most {counted(self.max_periods, 'period')}"
        lines = [f"{self.periods} periods; rows of one unit count in {each}. Standard deviation of the noise:"]
        for name, (first, last, mean) in self.sums.items():
            first, last, mean, alone = (self.one * each for each in (first, last, mean, self.alone[name]))
            lines.append(
                f"  {name}: {rounded(mean)} on average ({rounded(first)} at first, {rounded(last)} at the end); "
                f"{rounded(alone)} if each period had noise of its own"
            )
        lines.append(f"  one release of all rows at the end: {rounded(self.one * self.at_the_end)}")
        return "\n".join(lines)


class Series:
    """Numbers that are published every period, about the same people, for one debit: opened by `ln.Series.open`."""

    def __init__(self, folder: Path, terms: Terms, asked: Mapping[str, Any]) -> None:
        self.folder, self.terms, self._asked = folder, terms, asked
        self.strategy = terms.strategy

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        periods: int | None = None,
        sums: Iterable[str] = ("period", "to date"),
        max_periods: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        budget: Budget | None = None,
        share: Share | None = None,
        note: str = "",
    ) -> Series:
        """A new series in a new folder; or, without `periods`, the one that is there.

        path: a folder, such as "visits.series". It holds private numbers: keep it where the rows are kept.
        periods: how many there will be. sums: which are wanted: of "period", "to date" and "last N" periods.
        max_periods: in how many periods rows of one unit count, the first ones it has; None: in all.
        epsilon, delta: how private all periods together are; or a `budget` and a `share` of it. Give the budget
            whenever the series is opened: it is debited once, and closed if rows cannot be read.
        note: a line for the budget's history.
        """
        folder = outputs.path_of(path)
        asked = {"epsilon": epsilon, "delta": delta, "budget": budget, "share": share, "note": note}
        if periods is None:
            return cls(folder, read_terms(folder), asked)
        if folder.exists():
            raise errors.BadOutput(
                f"{str(folder)!r} is there already. To go on with that series, leave periods out; for a new one, give "
                "another path."
            )
        strategy = best_strategy(periods, sums, max_periods)
        terms = Terms(
            id=secrets.token_hex(6),
            sums=list(strategy.sums),
            max_periods=strategy.max_periods,
            bits=strategy.bits,
            matrix=[row[: number + 1].tolist() for number, row in enumerate(strategy.matrix)],
        )
        make_folder(folder)
        made = cls(folder, terms, asked)
        made._write_terms(terms)
        return made

    @property
    def published(self) -> int:
        """How many periods have been published."""
        return len(list((self.folder / NUMBERS).glob("[0-9]*.parquet")))

    def __len__(self) -> int:
        return self.strategy.periods

    def __repr__(self) -> str:
        return f"Series({str(self.folder)!r}: {self.published} of {len(self)} periods published)"

    def expect(self, query: Query) -> SeriesExpectation:
        """The noise that the question would have in this series: free, and no row is read."""
        self._check_question(query)
        plan, strategy = self._charge(query).plan, self.strategy
        roots = {name: strategy.factors(name) for name in strategy.sums}
        unit = SeriesPlanner(query.planner, strategy).ratio
        scale = 1 / float(unit) ** 0.5  # of one release for the same cost, over one period's noise
        one = plan.error * scale
        sums = {
            name: tuple(float(each) / scale for each in (root[0], root[-1], np.sqrt(np.mean(root**2))))
            for name, root in roots.items()
        }
        alone = {name: float(np.sqrt(strategy.max_periods * _mean_window(strategy, name))) for name in strategy.sums}
        return SeriesExpectation(len(self), strategy.max_periods, one, sums, alone)

    def publish(self, query: Query, *, period: str | None = None, allow_seeded: bool = False) -> PeriodReleases:
        """The next period's releases; of a period that was published before, those releases again.

        query: the question of the first period, asked of the new rows. Open their table with the name of the first.
        period: what the period is called, such as "2026-W47". A name that was published before gives what was published
        then, so a job may run twice. Without a name it is the next period, called by its number.
        """
        self._check_question(query)
        refuse_seeded_noise(entropy.is_seeded(), allow_seeded)
        with self._alone(), np.errstate(all="ignore"):
            labels = self._labels()
            if period in labels:
                return self._releases(labels.index(period) + 1, query)
            number = len(labels) + 1
            if number > len(self):
                raise errors.BudgetExhausted(
                    f"All {len(self)} periods of this series are published. Open a new one for those that follow."
                )
            self._check_source(query)
            receipt = self._pay(query)
            plan = self._plan(query)
            self._measure(number, query, plan, receipt)
            self._draw(number, plan, label=str(number) if period is None else period)
            return self._releases(number, query)

    # The question

    def _check_question(self, query: Query) -> None:
        loop.check_question(query)
        if not query._in_series:
            raise errors.InvalidParameter(
                f"A {query.kind} cannot be asked in a series: count, histogram, summarize (counts, sums, means) and "
                "crosstabs over listed keys can.",
                parameter="query",
            )
        if query.neighbours != "add-remove":
            raise errors.InvalidParameter(
                "In a series, neighbours are add-remove: a unit that replaces another may be in other periods.",
                parameter="neighbours",
                example={"neighbours": "add-remove"},
            )
        if self.terms.paid is not None and self.terms.paid.query != self._question(query):
            raise errors.BudgetMismatch(
                f"This series is of another question: {self.terms.paid.query}. Ask the same one, of a table with the "
                "same name; for another question open another series.",
                parameter="query",
                value=query.describe(),
            )

    def _check_source(self, query: Query) -> None:
        """Integers and units are read one after the other, so nobody may change the rows in between."""
        source = query._data.source
        if self._counts_periods and not (source.fixed or source.files):
            raise errors.InvalidParameter(
                "Where rows of one unit count in some periods only, its periods are read beside the numbers, and both "
                "must be of one state of the table. Write the rows to a Parquet file first, or open the series without "
                "max_periods.",
                parameter="max_periods",
            )

    def _question(self, query: Query) -> str:
        """What the ledger says of it."""
        return f"series {self.terms.id} of {len(self)} periods: {query.describe()}"

    # Paying

    def _charge(self, query: Query) -> Any:
        request = PrivacyRequest(**self._asked, mechanism="gaussian")
        return decide(request, SeriesPlanner(query.planner, self.strategy))

    def _pay(self, query: Query) -> Receipt:
        """The debit of all periods: on disk when this returns.

        The terms are written first, and the ledger's entry names the series: so whatever stops a run in between, the
        next one finds in the ledger whether the debit was made.
        """
        budget, paid = self._asked["budget"], self.terms.paid
        if paid is not None and paid.ledger is not None and budget is None:
            raise errors.MissingParameter(
                f"This series was paid from {paid.ledger}: open the series with that budget.", parameter="budget"
            )
        if paid is not None and (budget is None or self._is_debited(budget, paid)):
            strength = judge(self._plan(query).guarantee) if budget is None else budget.strength
            return Receipt(self.terms.id, budget, strength)
        if any((self.folder / PRIVATE).glob("[0-9]*")):  # rows were read, so it was paid: elsewhere
            raise errors.BudgetMismatch(
                f"This series was {'paid from ' + paid.ledger if paid and paid.ledger else 'opened without a budget'}, "
                "and its noise cannot change any more. Open it as it was opened at first.",
                parameter="budget",
            )
        charge, data = self._charge(query), query._data
        facts = {"query": self._question(query), "unit": data.unit_name, "table": data.source.name}
        period = charge.plan.cost / SeriesPlanner(query.planner, self.strategy).ratio
        paid = Paid(
            **facts,
            mu_squared=str(period),
            scales=[[stored(name), scale] for name, scale in charge.plan.scales.items()],
            guarantee=charge.plan.guarantee.mu,
            ledger=None if budget is None else budget._ledger.store.name,
        )
        data.engine.check_ready(query.rows, in_python=query._in_python)
        self._write_paid(paid)
        receipt: Receipt = charge.pay(**facts, note=self._asked["note"], public_units=data.public_units)
        return receipt

    def _is_debited(self, budget: Budget, paid: Paid) -> bool:
        """Whether the ledger has the debit, and the budget is open."""
        found = any(entry.kind == "release" and entry.query == paid.query for entry in budget.history())
        if found and budget.closed:
            raise errors.BudgetClosed(budget._how_to_reopen(f"The budget {budget.name!r} is closed"))
        return found

    def _plan(self, query: Query) -> NoisePlan:
        """The plan of one period with the guarantee of all, as it was paid for."""
        paid = self.terms.paid
        assert paid is not None
        planner = SeriesPlanner(query.planner, self.strategy)
        plan = planner.gaussian(Fraction(paid.mu_squared) * planner.ratio)
        scales = dict(zip(plan.scales, (scale for _, scale in paid.scales), strict=False))
        same = [stored(name) for name in plan.scales] == [name for name, _ in paid.scales]
        if not same or not all(abs(scales[name] / scale - 1) < 1e-9 for name, scale in plan.scales.items()):
            raise errors.NotOurs(
                f"The noise in {str(self.folder / TERMS)!r} is not what this question costs: the file was edited, or "
                "written by another version. Go on with the version that began the series."
            )
        return replace(plan, scales=scales)

    # Reading

    def _measure(self, number: int, query: Query, plan: NoisePlan, receipt: Receipt) -> None:
        """The exact integers of a period, and the units in it: PRIVATE, on disk when this returns."""
        place = self.folder / PRIVATE / f"{number:04d}"
        if place.exists():
            return
        kept = self._of_units_with_periods_left(query, number)

        def read() -> tuple[Batch, pa.Table | None]:
            return kept._answering(plan).measure(plan), self._units(kept) if self._counts_periods else None

        with query._data.source.exclusive():
            batch, units = loop.read_rows(kept, read, receipt)
        unfinished = place.with_name(f".{place.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        write_integers(unfinished / "integers.parquet", batch.blocks)
        if units is not None:
            pq.write_table(self._with_periods(units, number), unfinished / "units.parquet")
        for written in (*unfinished.iterdir(), unfinished):
            files.sync(written)
        unfinished.rename(place)
        files.sync(place.parent)

    @property
    def _counts_periods(self) -> bool:
        """Whether a unit may have rows in more periods than count."""
        return self.strategy.max_periods < self.strategy.periods

    def _of_units_with_periods_left(self, query: Query, number: int) -> Query:
        """The question, of units that were in fewer than `max_periods` periods before this one."""
        if not self._counts_periods or number == 1:
            return query
        memory = self._memory(number - 1)
        full = memory.filter(pa.compute.greater_equal(memory["periods"], self.strategy.max_periods))
        rows, names = query.rows, [f"unit{place}" for place in range(len(query.unit))]
        over = ibis.memtable(full.select(names))
        same = [rows[column].cast("string") == over[name] for column, name in zip(query.unit, names, strict=True)]
        left = CleanRows(rows.anti_join(over, same), already_clean=True)
        return replace(query, _data=replace(query._data, clean=left))

    def _units(self, query: Query) -> pa.Table:
        """The units that have rows that the question could count, each once."""
        rows, unit = query._countable()
        named = {f"unit{place}": rows[column].cast("string") for place, column in enumerate(unit)}
        return query._data.engine.fetch(rows.select(**named).distinct())

    def _memory(self, number: int) -> pa.Table:
        """In how many of the first periods each unit was."""
        return pq.read_table(self.folder / PRIVATE / f"{number:04d}" / "units.parquet")

    def _with_periods(self, units: pa.Table, number: int) -> pa.Table:
        """The same after this period."""
        now = pa.table({name: units[name].cast(pa.string()) for name in units.column_names})
        now = now.append_column("periods", pa.array(np.ones(len(now), dtype=np.int32)))
        both = now if number == 1 else pa.concat_tables([self._memory(number - 1), now])
        names = [name for name in now.column_names if name != "periods"]
        counted = both.group_by(names).aggregate([("periods", "sum")])
        return pa.table({**{name: counted[name] for name in names}, "periods": counted["periods_sum"].cast(pa.int32())})

    # Drawing

    def _draw(self, number: int, plan: NoisePlan, *, label: str) -> None:
        """The noisy integers of a period: on disk when this returns."""
        place = self.folder / PRIVATE
        exact = [
            read_integers(place / f"{each:04d}" / "integers.parquet", plan.scales) for each in range(1, number + 1)
        ]
        weights = self.strategy.matrix[number - 1, :number].tolist()
        noise = replace(plan, scales={name: scale * self.strategy.step for name, scale in plan.scales.items()})
        batch = Batch({name: combined(weights, [each[name] for each in exact]) for name in plan.scales})
        noisy = loop.add_noise(noise, batch)
        write_integers(self.folder / NUMBERS / f"{number:04d}.parquet", noisy.blocks, label=label)

    def _labels(self) -> list[str]:
        """What the published periods are called."""
        written = sorted((self.folder / NUMBERS).glob("[0-9]*.parquet"))
        return [(pq.read_schema(path).metadata or {})[b"period"].decode() for path in written]

    # Publishing

    def _releases(self, number: int, query: Query) -> PeriodReleases:
        """The releases of a period, from files if these are there, else made of the noisy integers and written."""
        label = self._labels()[number - 1]
        paths = {
            name: self.folder / RELEASES / f"{number:04d}-{name.replace(' ', '-')}.parquet" for name in self.terms.sums
        }
        if not all(path.exists() for path in paths.values()):
            plan = self._plan(query)
            for name, path in paths.items():
                self._release(number, name, query, plan, label).save(path, allow_seeded=True)
        return PeriodReleases(number, label, {name: load(path) for name, path in paths.items()})

    def _release(self, number: int, name: str, query: Query, plan: NoisePlan, label: str) -> Any:
        """One sum at one period, as the release of the question that it is.

        The sum of noisy integers is rounded to an integer. The exact sum is one, so that rounds the noise alone: what
        is left is normal noise, rounded, as in any other release.
        """
        paid = self.terms.paid
        assert paid is not None
        path = self.folder / NUMBERS
        noisy = [read_integers(path / f"{each:04d}.parquet", plan.scales) for each in range(1, number + 1)]
        weights, bits = self.strategy.weights(name, number), WEIGHT_BITS + self.strategy.bits
        sums = {block: combined(weights, [each[block] for each in noisy], bits=bits) for block in plan.scales}
        factor = float(self.strategy.factors(name)[number - 1])
        plan = replace(plan, scales={block: scale * factor for block, scale in plan.scales.items()})
        budget = self._asked["budget"]
        receipt = Receipt(
            hashlib.sha256(f"{self.terms.id} {number} {name}".encode()).hexdigest()[:16],
            budget,
            judge(plan.guarantee) if budget is None else budget.strength,
        )
        left_out = query.left_out
        if self._counts_periods:
            left_out = (*left_out, LeftOut("max_periods", numbers=(self.strategy.max_periods,)))
        data = query._data
        provenance = loop.provenance_of(
            replace(plan, sensitivity=None, l1_sensitivity=None),
            receipt,
            unit=data.unit_name,
            labels=query._labels(),
            limits=query.limits_used,
            left_out=left_out,
            query=f"{paid.query}; {name}, period {label}" + ("" if label == str(number) else f" (number {number})"),
            table=paid.table,
        )
        return query._answering(plan).read(plan, Batch(sums), replace(provenance, ledger=paid.ledger))

    # Files

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process publishes meanwhile."""
        with open(self.folder / PRIVATE / "lock", "ab") as file:  # the terms are replaced, so they cannot be locked
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise errors.FileProblem(f"Somebody else is publishing {str(self.folder)!r}. Wait for it.") from None
            yield

    def _write_paid(self, paid: Paid) -> None:
        self._write_terms(replace(self.terms, paid=paid))

    def _write_terms(self, terms: Terms) -> None:
        if terms != self.terms or not (self.folder / TERMS).exists():  # what stays the same is not written again
            terms.write(self.folder)
        self.terms = terms


def _mean_window(strategy: SeriesStrategy, name: str) -> float:
    """Of how many periods a sum is, on average."""
    return float(sums_matrix(name, strategy.periods).sum(axis=1).mean())
