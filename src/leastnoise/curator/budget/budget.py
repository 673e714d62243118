"""Budget: limits in a ledger, what was spent of them, and what is left."""

from __future__ import annotations

import os
import warnings
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.runtime import user_stacklevel
from leastnoise._support.text import percent
from leastnoise._support.validation import Number
from leastnoise.curator.budget import allocations, kinds
from leastnoise.curator.budget.charge import BudgetExpectation, Debit, check_same_labels, check_same_neighbours
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.history import Entry, statement
from leastnoise.curator.budget.ledger import Ledger, Make, Reader, next_entry
from leastnoise.curator.budget.opening import AskedTerms, open_ledger
from leastnoise.curator.budget.state import Allocation, Row, State, checked_line
from leastnoise.curator.budget.terms import Cost, Remaining, Share, Terms
from leastnoise.curator.budget.terms import strength as strength_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.strength import Strength
from leastnoise.privacy.vector_noise import VectorPlanner

CLOCK = timedelta(minutes=5)  # by which two clocks may differ


class Budget:
    """A privacy budget: debited durably before any noise is drawn, by many processes and people at once.

    >>> import tempfile, numpy as np, leastnoise as ln
    >>> folder = tempfile.TemporaryDirectory()
    >>> b = ln.Budget.open(f"{folder.name}/city.ledger", epsilon=1, delta=1e-6)
    >>> r = ln.release(np.array([120, 0, 45]), sensitivity=1, budget=b, share=0.25)
    >>> round(r.sigma, 3), b.remaining.share
    (8.449, 0.75)
    >>> folder.cleanup()
    """

    __slots__ = ("_file", "_id", "_ledger", "_name", "_terms", "_whole")

    def __init__(self, ledger: Ledger, allocation: Allocation | None = None) -> None:
        self._ledger = ledger
        self._whole = ledger.state().terms
        self._id, self._name, self._terms = "", ledger.store.name, self._whole
        if allocation is not None:
            self._id, self._name, self._terms = allocation.id, allocation.name, self._whole.part_of(allocation.caps)
        self._file = ""  # where the command line writes what is released next

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
        allocation: str | None = None,
        releases: int | None = None,
    ) -> Budget:
        """The budget in this ledger; with limits, a new one where there is none yet.

        An existing budget needs no limits, and refuses different ones; but while nothing is paid from it, it may be
        reopened as the other kind (with a delta of 0, or one above) or with another plan. A new one that promises
        little is warned of (`errors.WeakPromise`), and so is one whose plan has less noise as the other kind
        (`errors.Wasteful`).

        - `path`: the ledger, one file, or the address of a PostgreSQL database: "postgresql://host/db?budget=city". It
          holds limits, times, costs and descriptions of queries, and no data.
        - `epsilon`, `delta`: the most that all releases together may promise away about one unit. With a delta above 0
          the mu^2 of releases adds up, with a delta of 0 their epsilon: a budget for Laplace releases only.
        - `pure_epsilon`: the part of epsilon that is set aside for Laplace releases beside others; all of it makes a
          budget for nothing else. Without one they pay in mu^2.
        - `threshold_delta`: the part of delta that is set aside for histograms over unknown keys.
        - `unit`, `table`: whom the budget protects and in which table: names, never content. By default those of the
          first release that is paid from it; a release about others is refused.
        - `neighbours`: "add-remove" (the default), one unit more or less, or "replace", one instead of another.
        - `allocation`: the name of a part of the budget, to spend from that alone.
        - `releases`: how many are planned, to say which kind has less noise for them; it limits nothing.
        """
        asked = AskedTerms(
            epsilon=epsilon,
            delta=delta,
            pure_epsilon=pure_epsilon,
            threshold_delta=threshold_delta,
            unit=unit,
            table=table,
            neighbours=neighbours,
            releases=releases,
        )
        opened = cls(open_ledger(path, asked))._reopened(asked)
        asked.check(opened.location, opened.terms, opened._state())
        if releases is not None:
            opened._warn_if_wasteful()
        return opened if allocation is None else opened.allocation(allocation)

    @property
    def terms(self) -> Terms:
        """The limits, and whom they protect."""
        return self._terms

    @property
    def path(self) -> Path:
        """Where the ledger lies, if it is a file."""
        path: Path | None = getattr(self._ledger.store, "path", None)
        if path is None:
            raise AttributeError(f"The budget {self.name!r} is in no file; its `location` says where it is.")
        return path

    @property
    def location(self) -> str:
        """Where the ledger is, a path or an address; without a password."""
        return self._ledger.store.location

    @property
    def name(self) -> str:
        """What the budget is called: by its file, by its name on the server, or as an allocation."""
        return self._name

    @property
    def remaining(self) -> Remaining:
        """What is left."""
        return Remaining.of(self._spent(), self.terms)

    @property
    def unit(self) -> str | None:
        """Whom the budget protects: as opened, or as its first release named it; None before either."""
        return self._state().unit

    @property
    def table(self) -> str | None:
        """The table that the budget is about: as opened, or as its first release named it; None before either."""
        return self._state().table

    @property
    def closed(self) -> bool:
        """Whether nothing is released until `reopen`."""
        return self._state().closing is not None

    def close(self, *, reason: str) -> None:
        """Refuse every release from now on, allocations' too, until `reopen`.

        - `reason`: one line; the ledger keeps it.
        """
        words = checked_line("reason", reason)

        def make(state: State, reader: Reader) -> Row:
            if state.closing is not None:
                raise errors.InvalidParameter(f"The budget {self.name!r} is closed already.")
            return next_entry(state, reader, "close", "", words)

        self._append(make)

    def reopen(self, *, reason: str) -> None:
        """Allow releases again after rows could not be read, once it is known why, or after `close`.

        - `reason`: one line about what was wrong and is mended; the ledger keeps it.

        A failure may have told something about a row, and the next one may tell as much again.
        """
        words = checked_line("reason", reason)

        def make(state: State, reader: Reader) -> Row:
            if state.closing is None:
                raise errors.InvalidParameter(f"The budget {self.name!r} is not closed. Nothing has to be reopened.")
            return next_entry(state, reader, "reopen", state.closing.release, words)

        self._append(make)

    def allocate(
        self,
        name: str,
        *,
        share: Share,
        people: list[str] | tuple[str, ...] | str = (),
        expires: Any = None,
        note: str = "",
    ) -> Budget:
        """A part of this budget with limits of its own, debited here in full; what it does not use may return.

        - `name`: what it is called; one line, not that of another allocation that is still open.
        - `share`: the part, of this budget, 0 < share <= 1: the same of mu^2 and of each reserve.
        - `people`: who may spend from it: users of this machine, with PostgreSQL roles. Nobody named: whoever may spend
          from the budget. (A file cannot enforce that; a server does.)
        - `expires`: a day, or a moment, from whose end on nothing is paid from it.
        - `note`: a line for the history.
        """
        return allocations.allocate(self, name, share=share, people=people, expires=expires, note=note)

    @property
    def allocations(self) -> list[Allocation]:
        """The parts of this budget, and theirs, in the order in which they were made."""
        within, found = {self._id}, []
        for each in self._state().allocations:
            if each.parent in within:
                within.add(each.id)
                found.append(each)
        return found

    def allocation(self, name: str) -> Budget:
        """The allocation of this name, to spend from.

        - `name`: as it was given to `allocate`.
        """
        return Budget(self._ledger, allocations.named(self.allocations, name, self.name))

    def return_unused(self, *, note: str = "") -> None:
        """End this allocation: what it has not spent goes back to what it was a part of.

        - `note`: a line for the history.
        """
        allocations.return_unused(self, note=note)

    def history(self) -> list[Entry]:
        """Every entry: when, who, what, how much, by which query, under which release id, with which note.

        Of a budget with allocations theirs too, by their names; of an allocation its own, in parts of the allocation.
        """
        state, rows = self._ledger.checked()
        self._same_terms(state)
        if self._id:
            return [Entry.from_row(row, self.terms) for row in rows if row.account == self._id]
        names = {"": ""} | {each.id: each.name for each in state.allocations}
        return [Entry.from_row(row, self.terms, names[row.account]) for row in rows]

    def verify(self) -> str:
        """Check the whole ledger: pages, terms, the chain of hashes, all sums and caps. LedgerBroken says which entry.

        Returns the hash of the last entry. Written down elsewhere, it shows later whether an old copy was put back.
        """
        ledger = self._ledger
        if not ledger.store.check_pages():
            raise ledger.broken("its pages do not fit together")
        state, _ = ledger.checked()
        if not state.terms.is_proved():
            raise ledger.broken("its limit is more than its terms allow")
        return state.head.hash

    def expect(
        self,
        *,
        sensitivity: Number = 1,
        l1_sensitivity: Number | None = None,
        bins: int = 1,
        integers: bool = True,
        share: Share | None = None,
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
        planner = VectorPlanner.of(
            bins=validation.integer("bins", bins),
            integers=integers,
            sensitivity=sensitivity,
            l1_sensitivity=l1_sensitivity,
            neighbours=self.terms.neighbours,
        )
        request = PrivacyRequest(
            epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=self, share=share
        )
        decided = decide(request, planner)
        spent = self._spent() + decided.cost
        left = Remaining.of(spent, self.terms) if self.terms.allows(spent) else None
        own = decided.plan.error
        other = kinds.beside(request, decided.cost, own, lambda asked: decide(asked, planner).plan.error)
        return BudgetExpectation(decided.plan, float(self.terms.share(decided.cost)), left, other)

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<Budget {self.name!r}: {percent(self.remaining.share, 4)} left{closed}>"

    def plot(self, **options: Any) -> Any:
        """What was spent, and when, as a picture: `leastnoise.plot.budget`."""
        from leastnoise import plot

        return plot.budget(self, **options)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """A page about the budget: what it promises, what is left, the picture, the allocations and the history.

        - `path`: the .html file to write.
        - `title`: its heading; the budget's name by default.
        """
        from leastnoise.report import budget_page

        return budget_page.write(path, self, title=title)

    def __str__(self) -> str:
        return statement(self)

    @property
    def strength(self) -> Strength:
        """How strong the promise is of all that it allows together, allocations included."""
        return strength_of(self._whole)

    def _warn_if_wasteful(self) -> None:
        """Warn of a plan that has less noise with the other kind of budget, while that can be chosen."""
        found = kinds.plan(self.terms)
        if found is not None and found.other_is_less and not self._paid():
            warnings.warn(found.in_words(paid=False), errors.Wasteful, stacklevel=user_stacklevel())

    # What the ledger says

    def _state(self) -> State:
        """What it says now, of the terms that this was opened with."""
        return self._same_terms(self._ledger.state())

    def _same_terms(self, state: State) -> State:
        if state.terms != self._whole:
            raise errors.BudgetMismatch(
                f"The budget {self.location!r} was reopened with other terms since it was opened here, by which noise "
                "and costs are others. Nothing was debited and nothing released. Open it again."
            )
        return state

    def _spent(self) -> Cost:
        return self._state().spent[self._id]

    def _paid(self) -> bool:
        """Whether something was paid or allocated, so that the kind is settled."""
        return self._state().paid

    # What is written to it. Every entry is made under the writer's lock, from what the ledger says at that moment.

    def _append(self, make: Make) -> State:
        """Write the entry that `make` returns; committed when this returns."""
        return self._ledger.append(lambda state, reader: make(self._same_terms(state), reader))

    def _debit(self, debit: Debit) -> None:
        """Write one release into the ledger; committed when this returns. Only `charge` calls it."""
        check_same_neighbours(debit.neighbours, self.terms)
        self._append(partial(self._release, debit))

    def _check(self, debit: Debit) -> None:
        """Refuse what `_debit` would, by the ledger as it is now; nothing is debited."""
        check_same_neighbours(debit.neighbours, self.terms)
        self._ledger.check(lambda state, reader: self._release(debit, self._same_terms(state), reader))

    def _release(self, debit: Debit, state: State, reader: Reader) -> Row:
        """The entry of one release, where it may follow the last one."""
        self._check_open(state, reader)
        check_same_labels(debit.unit, debit.table, {"unit": state.unit, "table": state.table}.get)
        debit.check(state.spent[self._id], self.terms, self.name)
        facts = {"note": debit.note, "file": self._file}
        row = next_entry(state, reader, "release", debit.release, debit.query, debit.cost, self._id, **facts)
        return row._replace(noise=debit.noise, unit=debit.unit, table=debit.table)

    def _close(self, release: str, why: str) -> None:
        """Refuse every debit from now on, until `reopen`. Only `charge.Receipt` calls it."""
        self._append(lambda state, reader: next_entry(state, reader, "close", release, why))

    def _reopened(self, asked: AskedTerms) -> Budget:
        """The budget as it is asked for: as the other kind, or with another plan, where nothing was paid yet.

        The terms that it was begun with stay, and an entry says which ones hold from then on.
        """
        terms = asked.revised(self._whole)
        if terms == self._whole or self._paid():
            return self

        def make(state: State, reader: Reader) -> Row:
            asked.check(self.location, terms, state)
            self._check_open(state, reader)
            if state.paid:
                raise errors.BudgetMismatch(f"Something was just paid from {self.location!r}, so its terms are fixed.")
            words = f"{terms.in_words()} (before: {self._whole.in_words()})"
            return next_entry(state, reader, "terms", "", words, terms=terms.to_texts())

        self._append(make)
        return Budget(self._ledger)

    # When nothing may be paid

    def _check_open(self, state: State, reader: Reader) -> None:
        """Refuse a debit whatever it costs: the ledger is closed or moved, its clock is wrong, the allocation ended."""
        if state.closing is not None:
            raise self._closed(state.closing)
        if state.moving is not None:
            raise errors.BudgetClosed(
                f"The budget {self.name!r} was moved to {state.moving.query}, and this ledger is sealed. Pay from that "
                "one."
            )
        if state.last is not None and reader.now < datetime.fromisoformat(state.last.created_at) - CLOCK:
            raise errors.BudgetClosed(
                f"The clock behind {self.location!r} says {reader.now:%Y-%m-%d %H:%M} UTC, which is before the last "
                "entry of the ledger. Nothing was debited and nothing released. Set the clock right; if that entry was "
                "dated wrongly, close and reopen the budget with that as the reason."
            )
        if self._id:
            allocations.check_spendable(state.allocation(self._id), reader)

    def _closed(self, closing: Row) -> errors.BudgetClosed:
        when = datetime.fromisoformat(closing.created_at)
        what = f"The budget {self.name!r} was closed on {when:%Y-%m-%d %H:%M} UTC: {closing.query}"
        if closing.release:
            return errors.BudgetClosed(self._how_to_reopen(f"{what} (release {closing.release})"))
        return errors.BudgetClosed(f"{what}. Nothing is released from it until its owner reopens it.")

    def _how_to_reopen(self, closed: str) -> str:
        return (
            f"{closed}, so nothing more is released from it. Find out why the rows could not be read and mend it; then "
            f"{self._reopening}"
        )

    @property
    def _reopening(self) -> str:
        """What to say or type, once its cause is mended."""
        store = self._ledger.store
        typed = f"'{store.location}'" if "://" in store.location else store.name
        return f'say budget.reopen(reason="...") or type: leastnoise budget reopen {typed} --reason "..."'
