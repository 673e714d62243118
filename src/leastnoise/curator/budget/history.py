"""The entries of a ledger as people read them, and which may follow which."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Literal

from leastnoise._support.number_format import percent
from leastnoise.curator.budget.entry_row import Row
from leastnoise.curator.budget.privacy_filter import Cost, Terms, counted_share

Kind = Literal["release", "void", "close", "reopen", "allocate", "return", "reconcile", "move", "arrive", "terms"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history. The shares are of the caps, exact; 0 but for release, allocate, return and void.

    Without a reserve a Laplace release has a share of mu^2 and one of epsilon. It is paid in either: `share` is of the
    one in which the budget counts now, which is epsilon once only Laplace releases fit (`of_epsilon`).

    An entry about terms is a budget that was reopened as the other kind, or with another plan, before anything was
    paid. A return, with negative shares, is what an allocation did not use. A void gave a debit back: none is written
    any more; it is read where a ledger has one.
    """

    number: int
    created_at: datetime
    kind: Kind
    release: str  # the id that the Release carries; of a close, whose rows could not be read; of allocations, theirs
    query: str  # of the other kinds, why, or the allocation's name
    noise: str
    gaussian: Fraction
    pure: Fraction
    threshold: Fraction
    unit: str = ""
    table: str = ""
    who: str = ""  # a user of the machine; with PostgreSQL a role, which the server knows
    note: str = ""
    file: str = ""  # where the command line wrote the release
    of_epsilon: bool = False
    allocation: str = ""  # the name of the one that paid; "" is what this is the history of

    @classmethod
    def from_row(cls, row: Row, terms: Terms, allocation: str = "", *, of_epsilon: bool = False) -> Entry:
        """The entry of a row, its shares being those of the caps of these terms."""
        when, shares, facts = datetime.fromisoformat(row.created_at), terms.shares(row.cost), row.facts
        return cls(
            row.number,
            when,
            row.kind,  # type: ignore[arg-type]
            row.release,
            row.query,
            row.noise,
            *shares,
            unit=row.unit,
            table=row.table,
            who=str(facts.get("who", "")),
            note=str(facts.get("note", "")),
            file=str(facts.get("file", "")),
            of_epsilon=of_epsilon,
            allocation=allocation,
        )

    @property
    def share(self) -> float:
        """The largest of its shares; of mu^2 and of epsilon, where it may be paid in either, the one that counts."""
        return float(counted_share(self.gaussian, self.pure, self.threshold, of_epsilon=self.of_epsilon))

    def __str__(self) -> str:
        parts = {"mu^2": self.gaussian, "pure epsilon": self.pure, "threshold delta": self.threshold}
        word = " or " if self.gaussian and self.pure else ", "
        shares = word.join(f"{percent(float(part), 6)} of {name}" for name, part in parts.items() if part)
        cost = f"  {shares}" if shares else ""
        note = f" ({self.note})" if self.note else ""
        start = f"{self.number:>5}  {self.created_at:%Y-%m-%d %H:%M:%S}  {self.kind}  {self.release}"
        return f"{start}{cost}: {self.query}{note}"


@dataclass(slots=True)
class _Account:
    """The budget itself, or an allocation: what it may spend, and what it has."""

    terms: Terms
    parent: str | None = None
    spent: Cost = field(default_factory=Cost)
    own_file: bool = False  # spent from in a file of its own, so never here
    returned: bool = False


class EntryOrder:
    """Which entry may stand where, read from the first one on; and that no account is overspent."""

    def __init__(self, terms: Terms) -> None:
        self.accounts = {"": _Account(terms)}
        self.open_costs: dict[str, Cost] = {}  # of the releases that are not void
        self.closing: str | None = None  # the release whose reading closed the budget, "" for none
        self.paid = False
        self.moved = ""  # the id of a move that has not arrived

    def accepts(self, row: Row) -> bool:
        """Whether the entry may follow those before it; then it is one of them."""
        account = self.accounts.get(row.account)
        rule = getattr(self, f"_{row.kind}", None) if row.kind in _KINDS else None
        if account is None or rule is None or account.own_file or account.returned:
            return False
        if self.moved and row.kind != "arrive":
            return False
        account.spent = account.spent + row.cost
        return row.spent == account.spent and account.terms.allows(account.spent) and bool(rule(row))

    def _release(self, row: Row) -> bool:
        new = row.release not in self.open_costs and self.closing is None
        self.paid = True
        self.open_costs[row.release] = row.cost
        return new and min(row.cost.parts) >= 0 and self.accounts[row.account].terms.can_count(row.cost)

    def _void(self, row: Row) -> bool:
        return self.open_costs.pop(row.release, None) == Cost() - row.cost

    def _close(self, row: Row) -> bool:
        self.closing = row.release
        return row.cost == Cost() and (not row.release or row.release in self.open_costs)

    def _reopen(self, row: Row) -> bool:
        closed, self.closing = self.closing, None
        return row.cost == Cost() and row.release == closed

    def _allocate(self, row: Row) -> bool:
        new = bool(row.release) and row.release not in self.accounts and self.closing is None
        self.paid = True
        own_file = bool(row.facts.get("root"))
        above = self.accounts[row.account].terms
        terms = above.part_of(above.part_in(row.cost))
        self.accounts[row.release] = _Account(terms, parent=row.account, own_file=own_file)
        return new and min(row.cost.parts) >= 0

    def _return(self, row: Row) -> bool:
        ended = self.accounts.get(row.release)
        if ended is None or ended.parent != row.account or ended.own_file or ended.returned:
            return False
        ended.returned = True
        below = any(each.parent == row.release and not each.returned and not each.own_file for each in self._all())
        return not below and Cost() - row.cost == ended.terms.caps - ended.spent

    def _reconcile(self, row: Row) -> bool:
        shown = self.accounts.get(row.release)
        return row.cost == Cost() and shown is not None and shown.own_file

    def _move(self, row: Row) -> bool:
        self.moved = row.release
        return row.cost == Cost() and bool(row.release)

    def _arrive(self, row: Row) -> bool:
        moved, self.moved = self.moved, ""
        return row.cost == Cost() and bool(moved) and row.release == moved

    def _terms(self, row: Row) -> bool:
        """Other terms of the same budget, before anything is paid: nobody has relied on those before."""
        whole, before = self.accounts[""], self.accounts[""].terms
        try:
            whole.terms = Terms.from_texts(row.facts["terms"])
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            return False
        free = not self.paid and self.closing is None and not row.account and row.cost == Cost()
        return free and whole.terms.may_follow(before) and whole.terms.is_proved()

    def _all(self) -> list[_Account]:
        return list(self.accounts.values())


_KINDS = ("release", "void", "close", "reopen", "allocate", "return", "reconcile", "move", "arrive", "terms")
