"""Budget: limits in a file, what was spent of them, and what is left."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.renamed import RenamedAttribute, renamed_arguments
from leastnoise._support.validation import Number
from leastnoise.curator.budget.debit import Debit, check_same_labels, check_same_neighbours
from leastnoise.curator.budget.history import Entry, EntryOrder
from leastnoise.curator.budget.ledger import Head, Ledger, Row
from leastnoise.curator.budget.opening import AskedTerms, open_ledger
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.budget.remaining import Remaining
from leastnoise.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from leastnoise.curator.budget.charge import BudgetExpectation

MAX_REASON_CHARACTERS = 500


class Budget:
    """A privacy budget in a file: debited durably before any noise is drawn, by many processes at once.

    >>> import tempfile, numpy as np, leastnoise as ln
    >>> folder = tempfile.TemporaryDirectory()
    >>> b = ln.Budget.open(f"{folder.name}/city.ledger", epsilon=1, delta=1e-6)
    >>> r = ln.release(np.array([120, 0, 45]), sensitivity=1, budget=b, share=0.25)
    >>> round(r.sigma, 3), b.remaining.share
    (8.449, 0.75)
    >>> folder.cleanup()
    """

    __slots__ = ("_ledger", "_seen", "terms")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        try:
            self.terms = Terms.from_texts(ledger.terms)
        except (KeyError, ValueError, ZeroDivisionError):
            raise ledger.broken("its terms are not as they were written") from None
        self._seen = Head(0, ledger.root)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        pure_epsilon: Number = 0,
        threshold_delta: Number = 0,
        unit: str | None = None,
        table: str | None = None,
        neighbours: Neighbours | None = None,
    ) -> Budget:
        """The budget in this ledger; with limits, a new one where there is no file yet.

        An existing budget needs no limits, and refuses different ones. A new one that promises little is warned
        of (`errors.WeakPromise`).

        - `path`: the ledger, one file. It holds limits, times, costs and descriptions of queries, and no data.
        - `epsilon`, `delta`: the most that all releases together may promise away about one unit. A budget for Laplace
          releases only has no delta.
        - `pure_epsilon`: the part of epsilon that is set aside for Laplace releases beside others; all of it makes a
          budget for nothing else. Without one, Laplace releases alone may spend all of epsilon.
        - `threshold_delta`: the part of delta that is set aside for histograms over unknown keys.
        - `unit`, `table`: whom the budget protects and in which table: names, never content. By default those of the
          first release that is paid from it; a release about others is refused.
        - `neighbours`: "add-remove" (the default), one unit more or less, or "replace", one instead of another.
        """
        asked = AskedTerms(
            epsilon=epsilon,
            delta=delta,
            pure_epsilon=pure_epsilon,
            threshold_delta=threshold_delta,
            unit=unit,
            table=table,
            neighbours=neighbours,
        )
        budget = cls(open_ledger(path, asked))
        with budget._ledger.reading() as db:
            budget._look(db)
            asked.check(budget.path, budget.terms, lambda name: budget._label(name, db))
        return budget

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self._ledger.path

    @property
    def remaining(self) -> Remaining:
        """What is left."""
        return Remaining.of(self._spent(), self.terms)

    @property
    def unit(self) -> str | None:
        """Whom the budget protects: as opened, or as its first release named it; None before either."""
        return self._named("unit")

    @property
    def table(self) -> str | None:
        """The table that the budget is about: as opened, or as its first release named it; None before either."""
        return self._named("table")

    @property
    def closed(self) -> bool:
        """Whether nothing is released until `reopen`: rows could not be read."""
        with self._ledger.reading() as db:
            self._look(db)
            return self._closing(db) is not None

    def reopen(self, *, reason: str) -> None:
        """Allow releases again after rows could not be read, once it is known why.

        - `reason`: one line about what was wrong and is mended; the ledger keeps it.

        A failure may have told something about a row, and the next one may tell as much again.
        """
        words = _reason(reason)

        def make(db: sqlite3.Connection, head: Head, last: Row | None) -> Row:
            self._advance(db, head)
            closing = self._closing(db)
            if closing is None or last is None:
                raise errors.InvalidParameter(
                    f"The budget {self.path.name!r} is not closed. Nothing has to be reopened."
                )
            return Row(head.number + 1, _now(), "reopen", closing.release, words, "", "", "", Cost(), last.spent)

        _, self._seen = self._ledger.append(make)

    def history(self) -> list[Entry]:
        """Every entry: when, what, how much, by which query, under which release id."""
        with self._ledger.reading() as db:
            self._look(db)
            return [Entry.from_row(row, self.terms) for row, _ in self._ledger.rows(db)]

    def verify(self) -> str:
        """Check the whole file: pages, terms, the chain of hashes, all sums and caps. LedgerBroken says which entry.

        Returns the hash of the last entry. Written down elsewhere, it shows later whether an old copy was put back.
        """
        ledger = self._ledger
        with ledger.reading() as db:
            ledger.check_pages(db)
            head, _ = self._look(db)
            if not self.terms.is_proved():
                raise ledger.broken("its limit is more than its terms allow")
            previous, spent, order = ledger.root, Cost(), EntryOrder()
            for number, (row, stored) in enumerate(ledger.rows(db), start=1):
                previous, spent = row.hash_after(previous), spent + row.cost
                intact = row.number == number and stored == previous and row.spent == spent
                if not intact or not self.terms.allows(spent) or not order.accepts(row):
                    raise ledger.broken(f"entry {number} is not as it was written")
            if previous != head.hash:
                raise ledger.broken("its end was cut off or added to by hand")
        return head.hash

    @renamed_arguments(whole="integers")
    def expect(
        self,
        *,
        sensitivity: Number = 1,
        l1_sensitivity: Number | None = None,
        bins: int = 1,
        integers: bool = True,
        share: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Literal["auto", "gaussian", "laplace"] = "auto",
    ) -> BudgetExpectation:
        """The noise and cost of such a release, whether it fits, and what would be left. Nothing is debited.

        - `sensitivity`, `l1_sensitivity`: how far one unit moves the published numbers, in L2 and in L1. Laplace noise
          needs the L1 one.
        - `bins`: how many numbers are published.
        - `integers`: whether they are whole numbers; others are rounded to a grid, which costs a little.
        - `share`: how much of mu^2 the release takes, 0 < share <= 1; or `epsilon` and `delta`, what it promises by
          itself; or `sigma`, its noise.
        - `mechanism`: "gaussian", "laplace", or "auto": Gaussian, or Laplace where that has less noise and takes
          nothing from later releases.
        """
        from leastnoise.curator.budget import charge
        from leastnoise.curator.request import PrivacyRequest

        size = validation.integer("bins", bins)
        decided = charge.decide(
            PrivacyRequest(epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=self, share=share),
            bins=size,
            integers=integers,
            sensitivity=sensitivity,
            l1_sensitivity=l1_sensitivity,
            neighbours=self.terms.neighbours,
        )
        spent = self._spent() + decided.cost
        left = Remaining.of(spent, self.terms) if self.terms.allows(spent) else None
        return charge.BudgetExpectation(decided.noise, float(self.terms.share(decided.cost)), left)

    preview = RenamedAttribute("expect")

    def _check_same(self, *, neighbours: Neighbours, unit: str | None, table: str | None) -> None:
        """Refuse what a debit would be refused for, whatever it costs: nothing is debited."""
        check_same_neighbours(neighbours, self.terms)
        check_same_labels(unit, table, self._named)

    def _debit(self, debit: Debit) -> Cost:
        """Write one release into the ledger; on disk when this returns. What the first one cost. Only `charge` calls
        it."""
        check_same_neighbours(debit.neighbours, self.terms)
        first = debit.cost

        def make(db: sqlite3.Connection, head: Head, last: Row | None) -> Row:
            nonlocal first
            self._advance(db, head)
            first = first if (known := self._ledger.first_cost(db)) is None else known
            closing = self._closing(db)
            if closing is not None:
                raise self._is_closed(closing)
            check_same_labels(debit.unit, debit.table, lambda name: self._label(name, db))
            return debit.entry(head.number + 1, _now(), last.spent if last else Cost(), self.terms, self.path.name)

        _, self._seen = self._ledger.append(make)
        return first

    def _close(self, release: str, why: str) -> None:
        """Refuse every debit from now on, until `reopen`. Only `charge.Receipt` calls it."""

        def make(db: sqlite3.Connection, head: Head, last: Row | None) -> Row:
            self._advance(db, head)
            spent = last.spent if last else Cost()
            return Row(head.number + 1, _now(), "close", release, why, "", "", "", Cost(), spent)

        _, self._seen = self._ledger.append(make)

    def _closing(self, db: sqlite3.Connection) -> Row | None:
        """The entry that closed the budget, while it is closed. Until a reopening only voids and closings follow it."""
        row = self._ledger.last_but_voids(db)
        return row if row is not None and row.kind == "close" else None

    def _is_closed(self, closing: Row) -> errors.BudgetClosed:
        when = datetime.fromisoformat(closing.created_at)
        what = f"The budget {self.path.name!r} was closed on {when:%Y-%m-%d %H:%M} UTC: {closing.query}"
        return errors.BudgetClosed(self._how_to_reopen(f"{what} (release {closing.release})"))

    def _how_to_reopen(self, closed: str) -> str:
        return (
            f"{closed}, so nothing more is released from it. Find out why the rows could not be read and mend it; then "
            f'say budget.reopen(reason="...") or type: leastnoise budget reopen {self.path.name} --reason "..."'
        )

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<Budget {self.path.name!r}: {100 * self.remaining.share:.4g} % left{closed}>"

    def plot(self, **options: Any) -> Any:
        """What was spent, and when, as a picture: `leastnoise.plot.budget`."""
        from leastnoise import plot

        return plot.budget(self, **options)

    def __str__(self) -> str:
        from leastnoise.curator.budget.statement import statement

        return statement(self)

    def _first(self) -> Cost | None:
        """What the first release cost, which decides what is promised; None before it."""
        with self._ledger.reading() as db:
            self._look(db)
            return self._ledger.first_cost(db)

    def _spent(self) -> Cost:
        with self._ledger.reading() as db:
            _, last = self._look(db)
        return last.spent if last else Cost()

    def _look(self, db: sqlite3.Connection) -> tuple[Head, Row | None]:
        head, last = self._ledger.head(db)
        self._seen = self._advance(db, head)
        return head, last

    def _advance(self, db: sqlite3.Connection, head: Head) -> Head:
        """Refuse a ledger that has gone back behind what this object saw: an old copy, or another budget."""
        known = db.execute("SELECT hash FROM entries WHERE number = ?", [self._seen.number]).fetchone()
        here = (self._ledger.root,) if self._seen.number == 0 else known
        if here != (self._seen.hash,):
            raise self._ledger.replaced()
        return head

    def _named(self, name: str) -> str | None:
        with self._ledger.reading() as db:
            self._look(db)
            return self._label(name, db)

    def _label(self, name: str, db: sqlite3.Connection) -> str | None:
        """The unit or table of the budget: as opened, or as the first release that named one."""
        own: str | None = getattr(self.terms, name)
        if own is not None:
            return own
        first = db.execute(f"""SELECT "{name}" FROM entries WHERE "{name}" <> '' ORDER BY number LIMIT 1""").fetchone()
        return first[0] if first else None


def _reason(reason: str) -> str:
    if not isinstance(reason, str):
        raise errors.WrongType(f"reason must be a sentence. Got {type(reason).__name__} instead.", parameter="reason")
    words = reason.strip()
    if not words or len(words) > MAX_REASON_CHARACTERS or not words.isprintable():
        raise errors.InvalidParameter(
            f"reason must be one line of 1 to {MAX_REASON_CHARACTERS} characters: the ledger keeps it for whoever asks "
            "later.",
            parameter="reason",
            example={"reason": "the disk was full; it has room now"},
        )
    return words


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
