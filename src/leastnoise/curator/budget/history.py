"""The entries of a ledger as people read them, and which may follow which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from leastnoise._support.renamed import RenamedAttribute
from leastnoise.curator.budget.ledger import Row
from leastnoise.curator.budget.privacy_filter import Cost, Terms, lesser_share


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history. The shares are of the three caps, exact: 0 for close and reopen.

    Without a reserve a Laplace release has a share of mu^2 and one of epsilon: it is paid in either, as the others are.

    A void, with negative shares, gave a debit back. None is written any more; it is read where a ledger has one.
    """

    number: int
    created_at: datetime
    kind: Literal["release", "void", "close", "reopen"]
    release: str  # the id that the Release carries; of a close, whose rows could not be read
    query: str  # of the other kinds, why
    noise: str
    gaussian: Fraction
    pure: Fraction
    threshold: Fraction

    made = RenamedAttribute("created_at")

    @classmethod
    def from_row(cls, row: Row, terms: Terms) -> Entry:
        """The entry of a row in a ledger with these terms."""
        when, shares = datetime.fromisoformat(row.created_at), terms.shares(row.cost)
        return cls(row.number, when, row.kind, row.release, row.query, row.noise, *shares)  # type: ignore[arg-type]

    @property
    def share(self) -> float:
        """The largest of its shares; of mu^2 and of epsilon, where it may be paid in either, the lesser."""
        return float(lesser_share(self.gaussian, self.pure, self.threshold))

    def __str__(self) -> str:
        parts = {"mu^2": self.gaussian, "pure epsilon": self.pure, "threshold delta": self.threshold}
        word = " or " if self.gaussian and self.pure else ", "
        shares = word.join(f"{100 * float(part):.6g} % of {name}" for name, part in parts.items() if part)
        cost = f"  {shares}" if shares else ""
        return f"{self.number:>5}  {self.created_at:%Y-%m-%d %H:%M:%S}  {self.kind}  {self.release}{cost}: {self.query}"


class EntryOrder:
    """Which entry may stand where, read from the first one on."""

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
