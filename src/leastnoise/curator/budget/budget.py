"""Budget: a book of limits in a file, what was spent of it, and what is left."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_down
from leastnoise._support.validation import Number
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.ledger import Head, Ledger, Row
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.privacy import calibration
from leastnoise.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from leastnoise.curator.budget.charge import Preview


_CURES = {
    "table": "If they are one table under two names, say ln.table(..., name={own}).",
    "unit": "If they are one unit under two names, rename the column.",
    "neighbours": "Say neighbours={own} to pay from this book.",
}
LONGEST_REASON = 500


class Remaining(NamedTuple):
    """What is left, rounded down: each number can be spent as it is printed, down to a millionth of its cap."""

    share: float  # of mu^2; in a book of Laplace releases only, of epsilon
    mu: float
    epsilon: float  # one release of this epsilon at the book's delta would take all that share
    pure_epsilon: float  # of the reserve for Laplace releases
    threshold_delta: float  # of the reserve for unknown keys


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history. The shares are of the three caps, exact: 0 for close and reopen.

    A void, with negative shares, gave a debit back. None is written any more; it is read where a ledger has one.
    """

    number: int
    made: datetime
    kind: Literal["release", "void", "close", "reopen"]
    release: str  # the id that the Release carries; of a close, whose rows could not be read
    query: str  # of the other kinds, why
    noise: str
    gaussian: Fraction
    pure: Fraction
    threshold: Fraction

    @property
    def share(self) -> float:
        """The largest of its shares."""
        return float(max(self.gaussian, self.pure, self.threshold, key=abs))

    def __str__(self) -> str:
        parts = {"mu^2": self.gaussian, "pure epsilon": self.pure, "threshold delta": self.threshold}
        shares = ", ".join(f"{100 * float(part):.6g} % of {name}" for name, part in parts.items() if part)
        cost = f"  {shares}" if shares else ""
        return f"{self.number:>5}  {self.made:%Y-%m-%d %H:%M:%S}  {self.kind}  {self.release}{cost}: {self.query}"


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
        """The book in this file; with limits, a new one where there is no file yet.

        An existing book needs no limits, and refuses different ones. `pure_epsilon` is set aside for Laplace releases
        (all of epsilon makes a book for nothing else) and `threshold_delta` for unknown keys. `unit`, `table` and
        `neighbours` say whom the book protects: names, never content.
        """
        place = _place(path)
        asked = {"unit": unit, "table": table, "neighbours": neighbours}
        limits = {
            "epsilon": epsilon,
            "delta": delta,
            "pure_epsilon": pure_epsilon,
            "threshold_delta": threshold_delta,
        }
        if (epsilon is not None or delta is not None) and not os.path.lexists(place):
            terms = Terms.of(**limits, **asked)  # type: ignore[arg-type]
            with suppress(FileExistsError):  # another process was faster; what its book says is compared below
                Ledger.create(place, terms.to_texts())
        book = cls(Ledger(place))
        with book._ledger.reading() as db:
            book._look(db)
            book._compare(limits, asked, db)
        return book

    @property
    def path(self) -> Path:
        """Where the book lies."""
        return self._ledger.path

    @property
    def remaining(self) -> Remaining:
        """What is left."""
        return self._remaining(self.terms.caps - self._spent())

    @property
    def unit(self) -> str | None:
        """Whom the book protects: as opened, or as its first release named it; None before either."""
        return self._named("unit")

    @property
    def table(self) -> str | None:
        """The table that the book is about: as opened, or as its first release named it; None before either."""
        return self._named("table")

    @property
    def closed(self) -> bool:
        """Whether nothing is released until `reopen`: rows could not be read."""
        with self._ledger.reading() as db:
            self._look(db)
            return self._closing(db) is not None

    def reopen(self, *, reason: str) -> None:
        """Allow releases again after rows could not be read, once it is known why. The ledger keeps the reason.

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
            return [self._entry(row) for row, _ in self._ledger.rows(db)]

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
            caps, previous, spent, may_follow = self.terms.caps, ledger.root, Cost(), _Order()
            for number, (row, stored) in enumerate(ledger.rows(db), start=1):
                previous, spent = row.hash_after(previous), spent + row.cost
                whole = row.number == number and stored == previous and row.spent == spent and spent.within(caps)
                if not whole or not may_follow.accepts(row):
                    raise ledger.broken(f"entry {number} is not as it was written")
            if previous != head.hash:
                raise ledger.broken("its end was cut off or added to by hand")
        return head.hash

    def preview(
        self,
        *,
        sensitivity: Number = 1,
        l1_sensitivity: Number | None = None,
        bins: int = 1,
        whole: bool = True,
        share: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Literal["auto", "gaussian", "laplace"] = "auto",
    ) -> Preview:
        """The noise and cost of such a release, whether it fits, and what would be left. Nothing is debited."""
        from leastnoise.curator.budget import charge
        from leastnoise.curator.request import PrivacyRequest

        size = validation.whole("bins", bins)
        decided = charge.decide(
            PrivacyRequest(epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=self, share=share),
            bins=size,
            whole=whole,
            sensitivity=sensitivity,
            l1_sensitivity=l1_sensitivity,
            neighbours=self.terms.neighbours,
        )
        caps, spent = self.terms.caps, self._spent() + decided.cost
        left = self._remaining(caps - spent) if spent.within(caps) else None
        return charge.Preview(decided.noise, float(max(decided.cost.shares(caps))), left)

    def _debit(
        self,
        cost: Cost,
        *,
        release: str,
        query: str,
        noise: str,
        neighbours: Neighbours,
        unit: str | None = None,
        table: str | None = None,
    ) -> int:
        """Write one release into the book; on disk when this returns. Only `charge` calls it."""
        self._agree("neighbours", neighbours, self.terms.neighbours)

        def make(db: sqlite3.Connection, head: Head, last: Row | None) -> Row:
            self._advance(db, head)
            closing = self._closing(db)
            if closing is not None:
                raise self._is_closed(closing)
            for name, value in (("unit", unit), ("table", table)):
                self._agree(name, value, self._label(name, db) if value else None)
            spent = (last.spent if last else Cost()) + cost
            if not spent.within(self.terms.caps):
                raise self._exhausted(cost, self.terms.caps - spent + cost)
            return Row(head.number + 1, _now(), "release", release, query, noise, unit or "", table or "", cost, spent)

        row, self._seen = self._ledger.append(make)
        return row.number

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
        when = datetime.fromisoformat(closing.made)
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

    def _spent(self) -> Cost:
        with self._ledger.reading() as db:
            _, last = self._look(db)
        return last.spent if last else Cost()

    def _look(self, db: sqlite3.Connection) -> tuple[Head, Row | None]:
        head, last = self._ledger.head(db)
        self._seen = self._advance(db, head)
        return head, last

    def _advance(self, db: sqlite3.Connection, head: Head) -> Head:
        """Refuse a ledger that has gone back behind what this object saw: an old copy, or another book."""
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
        """The unit or table of the book: as opened, or as the first release that named one."""
        own: str | None = getattr(self.terms, name)
        if own is not None:
            return own
        first = db.execute(f"""SELECT "{name}" FROM entries WHERE "{name}" <> '' ORDER BY number LIMIT 1""").fetchone()
        return first[0] if first else None

    def _agree(self, name: str, value: object, own: object) -> None:
        if value is not None and own is not None and value != own:
            raise errors.BudgetMismatch(
                f"This book is about the {name} {own!r} and the release about {value!r}. One sum over both would "
                f"promise neither. {_CURES[name].format(own=_quoted(own))} Otherwise pay from another book; "
                "what two books tell about one person adds up."
            )

    def _compare(self, limits: dict[str, Number | None], asked: dict[str, Any], db: sqlite3.Connection) -> None:
        """Refuse limits or names that are not this book's. A reserve of 0 counts when limits are given."""
        given = limits["epsilon"] is not None or limits["delta"] is not None
        for name, value in limits.items():
            if value is None or (value == 0 and not given):
                continue
            own: Fraction = getattr(self.terms, name)
            if (Fraction(0) if value == 0 else privacy_filter.typed(name, value)) != own:
                raise self._differs(name, float(own), value)
        for name, word in asked.items():
            own_word = self.terms.neighbours if name == "neighbours" else self._label(name, db)
            if word is not None and word != own_word:
                raise self._differs(name, own_word, word)

    def _differs(self, name: str, own: object, value: object) -> errors.BudgetMismatch:
        return errors.BudgetMismatch(
            f"The book {str(self.path)!r} was opened with {name}={own!r}, and that is fixed. Got {name}={value!r} "
            "instead. Open it without limits, or begin another book."
        )

    def _entry(self, row: Row) -> Entry:
        made, shares = datetime.fromisoformat(row.made), row.cost.shares(self.terms.caps)
        return Entry(row.number, made, row.kind, row.release, row.query, row.noise, *shares)  # type: ignore[arg-type]

    def _remaining(self, left: Cost) -> Remaining:
        terms = self.terms
        gaussian, pure, _ = (privacy_filter.spendable(share) for share in left.shares(terms.caps))
        epsilon, chance = terms.epsilon_for(Cost(pure=left.pure)) if left.pure else 0.0, terms.chance_for(left)
        if terms.laplace_only:
            return Remaining(pure, 0.0, epsilon, epsilon, chance)
        mu = sqrt_down(terms.mu_squared_for(left))
        return Remaining(gaussian, mu, self._epsilon(left, mu), epsilon, chance)

    def _epsilon(self, left: Cost, mu: float) -> float:
        """The epsilon of mu, rounded down: the least proved one is within 1e-12, so 2e-12 less costs less than mu^2."""
        epsilon, delta = self.terms.gaussian_promise
        if left.gaussian == self.terms.caps.gaussian:
            return epsilon
        return calibration.epsilon(sigma=1.0, delta=delta, sensitivity=mu) * (1 - 2e-12) if mu > 0 else 0.0

    def _exhausted(self, cost: Cost, left: Cost) -> errors.BudgetExhausted:
        caps = self.terms.caps
        fits = cost.largest_share(left, caps)
        largest = privacy_filter.spendable(fits) if fits >= privacy_filter.LEAST_SHARE else 0.0
        asked, rest = (_percent(part.shares(caps), cost) for part in (cost, left))
        refusal = errors.BudgetExhausted(
            f"This release asks for {asked}; the book {self.path.name!r} has {rest} left. "
            + (f"The largest share that fits: share={largest!r}. " if largest else "Nothing more can be released. ")
            + "Another book would not undo this one's losses: what both tell about a person adds up."
        )
        refusal.largest_share = largest
        return refusal


def _quoted(name: object) -> str:
    return f'"{name}"'


def _place(path: str | os.PathLike[str]) -> Path:
    """The path, whole, so that it still means the same file after a change of directory."""
    try:
        return Path(path).resolve()
    except TypeError:
        raise errors.WrongType(f"path must be a path. Got {type(path).__name__} instead.") from None
    except (OSError, RuntimeError, ValueError):
        raise errors.FileProblem(f"{path!r} is no path that leads anywhere. Check it.") from None


def _percent(shares: tuple[Fraction, ...], drawn: Cost) -> str:
    named = zip(("mu^2", "pure epsilon", "threshold delta"), shares, drawn.parts, strict=True)
    return " and ".join(f"{100 * float(share):.10g} % of {name}" for name, share, asked in named if asked)


class _Order:
    """Which entry may stand where."""

    def __init__(self) -> None:
        self.open_costs: dict[str, Cost] = {}  # of the releases that are not void
        self.closing: str | None = None  # the release whose reading closed the budget

    def accepts(self, row: Row) -> bool:
        """Whether the entry may follow those before it; then it is one of them."""
        if row.kind == "release":
            new = row.release not in self.open_costs and self.closing is None
            self.open_costs[row.release] = row.cost
            return new and min(row.cost.parts) >= 0
        if row.kind == "void":
            return self.open_costs.pop(row.release, None) == Cost() - row.cost
        if row.kind == "close":
            self.closing = row.release
            return row.cost == Cost() and row.release in self.open_costs
        closed, self.closing = self.closing, None
        return row.kind == "reopen" and row.cost == Cost() and row.release == closed


def _reason(reason: str) -> str:
    if not isinstance(reason, str):
        raise errors.WrongType(f"reason must be a sentence. Got {type(reason).__name__} instead.")
    words = reason.strip()
    if not words or len(words) > LONGEST_REASON or not words.isprintable():
        raise errors.InvalidParameter(
            f"reason must be one line of 1 to {LONGEST_REASON} characters: the ledger keeps it for whoever asks later. "
            'Say reason="the disk was full; it has room now".'
        )
    return words


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
