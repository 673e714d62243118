"""What people read of a ledger: its entries, and a statement of account (what is promised, spent and left)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from leastnoise._support.text import percent
from leastnoise.curator.budget.charge import in_percent
from leastnoise.curator.budget.kinds import plan
from leastnoise.curator.budget.state import Row
from leastnoise.curator.budget.terms import Terms

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget
    from leastnoise.curator.budget.state import Allocation

Kind = Literal["release", "close", "reopen", "allocate", "return", "move", "arrive", "terms"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history. The shares are of the caps, exact; 0 but for release, allocate and return.

    An entry about terms is a budget that was reopened as the other kind, or with another plan, before anything was
    paid. A return, with negative shares, is what an allocation did not use.
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
    allocation: str = ""  # the name of the one that paid; "" is what this is the history of

    @classmethod
    def from_row(cls, row: Row, terms: Terms, allocation: str = "") -> Entry:
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
            allocation=allocation,
        )

    @property
    def share(self) -> float:
        """The largest of its shares."""
        return float(max(self.gaussian, self.pure, self.threshold, key=abs))

    def __str__(self) -> str:
        parts = {"mu^2": self.gaussian, "pure epsilon": self.pure, "threshold delta": self.threshold}
        shares = ", ".join(f"{percent(float(part), 6)} of {name}" for name, part in parts.items() if part)
        cost = f"  {shares}" if shares else ""
        note = f" ({self.note})" if self.note else ""
        start = f"{self.number:>5}  {self.created_at:%Y-%m-%d %H:%M:%S}  {self.kind}  {self.release}"
        return f"{start}{cost}: {self.query}{note}"


def statement(budget: Budget) -> str:
    """A few lines of text."""
    terms, entries = budget.terms, budget.history()
    unit, table = budget.unit, budget.table
    whom = f"one {unit}" if unit else "one unit"
    about = f' in "{table}"' if table else ""
    promise = f"epsilon = {float(terms.epsilon):g}, delta = {float(terms.delta):g}"
    lines = [f"{budget.name}: {promise} for {whom}{about} ({terms.neighbours})"]
    if terms.part is not None:
        lines.append(f"  an allocation of {percent(float(max(terms.part.shares(terms.whole_caps))), 6)} of that")
    lines += [f"  {name:<23}  {share:>15}  {free}" for name, share, free in left_in_words(budget)]
    weak = budget.strength.in_words() if budget.strength.warns else ""
    said = (weak, plan_in_words(budget), changed_in_words(entries), counted_in_words(entries))
    lines += [f"  {line}" for line in said if line]
    lines += _tree(budget.allocations)
    if budget.closed:
        last = [entry for entry in entries if entry.kind == "close"][-1]
        lines.append(f"  CLOSED since {last.created_at:%Y-%m-%d %H:%M} UTC: {last.query}. Mend that; then")
        lines.append(f"  {budget._reopening}")
    return "\n".join(lines)


def plan_in_words(budget: Budget) -> str:
    """What the planned releases have of noise, and would have from a budget of the other kind; "" without a plan."""
    found = plan(budget.terms)
    return "" if found is None else found.in_words(paid=budget._paid())


def changed_in_words(entries: list[Entry]) -> str:
    """The last change of the terms; "" where there was none."""
    changes = [entry for entry in entries if entry.kind == "terms"]
    return f"Reopened on {changes[-1].created_at:%Y-%m-%d} with {changes[-1].query}." if changes else ""


def left_in_words(budget: Budget) -> list[tuple[str, str, str]]:
    """Of each kind of noise that is paid for: its name, what is left of its cap, and what that buys."""
    terms, left = budget.terms, budget.remaining
    _, pure, chance = map(float, terms.shares(terms.left(budget._spent())))  # of an allocation its own
    lines = []
    if not terms.laplace_only:
        free = f"mu {left.mu:.6g}; one release of epsilon {left.epsilon:.6g} at delta {terms.gaussian_promise[1]:g}"
        lines.append(("Gaussian (mu^2)", _left(left.share), free))
    if terms.pure_epsilon:
        lines.append(("Laplace (epsilon)", _left(pure), f"epsilon {left.pure_epsilon:.6g}"))
    if terms.threshold_delta:
        lines.append(("unknown keys (delta)", _left(chance), f"delta {left.threshold_delta:.3g}"))
    return lines


def _left(share: float) -> str:
    return f"{in_percent(share, 4)} % left"


def _tree(allocations: list[Allocation]) -> list[str]:
    """A line for each allocation, further in by how deep it lies."""
    now, depth, lines = datetime.now(UTC), {"": 0}, []
    for each in allocations:
        level = depth[each.id] = depth.get(each.parent, 0) + 1
        used = percent(each.spent_share, 4)
        until = f", until {each.expires_at:%Y-%m-%d}" if each.expires_at is not None else ""
        people = f", for {', '.join(each.people)}" if each.people else ""
        share, state = percent(float(each.share), 6), each.state(now)
        lines.append(f"{'  ' * level}  {each.name}: {share}, {used} of it used{people}{until} ({state})")
    return [f"  {len(allocations)} allocation{'s' * (len(allocations) != 1)}:", *lines] if allocations else []


def counted_in_words(entries: list[Entry]) -> str:
    """How many releases were paid for, and when the last was."""
    releases = [entry for entry in entries if entry.kind == "release"]
    if not releases:
        return "No release yet."
    word = "release" if len(releases) == 1 else "releases"
    return f"{len(releases):,} {word}; the last on {releases[-1].created_at:%Y-%m-%d}."
