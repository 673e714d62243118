"""What a release costs, and the one way by which it is paid: before any row is read.

    decided = deciding.decide(PrivacyRequest(budget=budget, share=0.25), planner)   # free
    ...                                                     # every other public check belongs here
    receipt = decided.pay(query="...", unit="taxi")         # on disk when this returns
    ...                                                     # rows are read, noise is drawn
    Release(..., id=receipt.id)

Without a budget the same lines decide and pay nothing, so a releasing call has one path, not two. What is paid is never
given back. A failure that a row can cause tells about that row, and no cost makes up for it, so `receipt.close(...)`
closes the budget until its curator reopens it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from leastnoise import errors
from leastnoise._support.text import percent
from leastnoise.curator.budget.debit import Debit
from leastnoise.curator.budget.terms import Cost, Remaining
from leastnoise.privacy.noise_plan import Plan
from leastnoise.privacy.strength import Strength, judge, warn_if_weak
from leastnoise.privacy.vector_noise import VectorPlan

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget
    from leastnoise.curator.budget.kinds import OtherKind


@dataclass(frozen=True, slots=True)
class Receipt:
    """A debit that is on disk (or none, without a budget). `id` and `strength` are for the Release."""

    id: str
    budget: Budget | None
    strength: Strength

    @property
    def ledger(self) -> str | None:
        """The name of the ledger that has the debit: of its file alone, since folders are nobody's business."""
        return None if self.budget is None else self.budget._account.ledger.store.name

    def close(self, failed: errors.ReadingFailed) -> errors.ReadingFailed:
        """Close the budget because rows could not be read; what to raise, which is `failed` and what became of it."""
        if self.budget is None:
            return failed
        try:
            self.budget._close(self.id, "rows could not be read")
        except Exception:
            return errors.ReadingFailed(f"{failed} The budget should be closed now, and its ledger cannot be written.")
        return errors.ReadingFailed(f"{failed} {self.budget._how_to_reopen('The budget is closed')}")


@dataclass(frozen=True, slots=True)
class Charge(Generic[Plan]):
    """Noise, and what it costs; nothing is paid yet."""

    plan: Plan
    cost: Cost
    budget: Budget | None
    own_strength: Strength | None = None  # of the guarantee, where more is known than that says

    @property
    def strength(self) -> Strength:
        """How strong the promise is; with a budget that of all of it, since other releases will follow."""
        if self.budget is None:
            return self.own_strength or judge(self.plan.guarantee)
        return self.budget.strength

    def pay(
        self,
        *,
        query: str,
        unit: str | None = None,
        table: str | None = None,
        note: str = "",
        public_units: int | None = None,
    ) -> Receipt:
        """Debit the cost. When this returns the entry is on disk; BudgetExhausted leaves the ledger as it was.

        A weak promise is warned of first: from public facts, and before anything is paid.

        `query` describes what is released by public facts alone: it is written into the ledger as it is,
        and so is the note. `public_units`: how many units there are, where that is public.
        """
        strength, release = self.strength.with_units(public_units), secrets.token_hex(8)
        warn_if_weak(strength)
        if self.budget is None:
            return Receipt(release, None, strength)
        self.budget._debit(self._debit(query, unit, table, note, release))
        return Receipt(release, self.budget, strength)

    def check(self, *, query: str, unit: str | None = None, table: str | None = None, note: str = "") -> None:
        """Refuse what `pay` with the same arguments would, by the ledger as it is now. Nothing is paid."""
        if self.budget is not None:
            self.budget._check(self._debit(query, unit, table, note, release=""))

    def _debit(self, query: str, unit: str | None, table: str | None, note: str, release: str) -> Debit:
        return Debit(
            cost=self.cost,
            release=release,
            query=query,
            noise=self.plan.described,
            neighbours=self.plan.guarantee.neighbours,
            unit=unit,
            table=table,
            note=note.strip(),
        )


@dataclass(frozen=True, slots=True)
class BudgetExpectation:
    """What a release would be: its noise, the share it takes, and what would be left (None: it does not fit)."""

    noise: VectorPlan
    share: float
    remaining: Remaining | None
    other_kind: OtherKind | None = None  # where a budget of the other kind would have less noise

    @property
    def fits(self) -> bool:
        """Whether the budget has that much left."""
        return self.remaining is not None

    def __str__(self) -> str:
        left = f"{percent(self.remaining.share, 6)} would be left" if self.remaining else "it does not fit"
        other = "" if self.other_kind is None else f" {self.other_kind.in_words()}"
        return f"{self.noise.described} for {percent(self.share, 6)} of the budget; {left}.{other}"
