"""What a release costs, and the one way by which it is paid, before any row is read; or the refusal, where it would
overspend the budget or is about other people.

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
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Required, TypedDict, Unpack

from leastnoise import errors
from leastnoise._support.text import percent
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Remaining, Terms, spendable
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Plan
from leastnoise.privacy.strength import Strength, judge, warn_if_weak
from leastnoise.privacy.vector_noise import VectorPlan

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget
    from leastnoise.curator.budget.kinds import OtherKind


NOTHING = Fraction(1, 10**18)  # a share that is left by rounding alone


class Facts(TypedDict, total=False):
    """What a ledger says about a release: public, and written as it is."""

    query: Required[str]
    unit: str
    table: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Debit:
    """What one release costs, and what the ledger says about it."""

    cost: Cost
    release: str
    noise: str
    neighbours: Neighbours
    query: str
    unit: str = ""
    table: str = ""
    note: str = ""

    def check(self, before: Cost, terms: Terms, budget: str) -> None:
        """Refuse what costs more than is left after those which have spent `before`, or too little of a part.

        Asked under the writer's lock, so that no other entry comes between.
        """
        if terms.part is not None and self.cost.draws_less(LEAST_SHARE, terms.whole_caps):
            raise errors.InvalidParameter(
                f"This share of the allocation {budget!r} is less than {float(LEAST_SHARE):g} of the "
                "whole budget, which every release takes at least: that bounds how often the rows are read for one "
                "budget. Nothing was debited and nothing released. Take a larger share, or pay from a larger part.",
                parameter="share",
            )
        check_fits(self.cost, before, terms, budget)


def check_same_neighbours(neighbours: Neighbours, terms: Terms) -> None:
    """Refuse a release under other neighbours than the budget's."""
    _check_same("neighbours", neighbours, terms.neighbours)


def check_same_labels(unit: str, table: str, label: Callable[[str], str | None]) -> None:
    """Refuse a release about another unit or table; `label` says the budget's, None before its first release."""
    for name, value in (("unit", unit), ("table", table)):
        _check_same(name, value, label(name) if value else None)


def check_fits(cost: Cost, before: Cost, terms: Terms, budget: str) -> None:
    """BudgetExhausted where a cost and those before it are more than is allowed."""
    if not terms.allows(before + cost):
        raise _exhausted(cost, before, terms, budget)


def _exhausted(cost: Cost, before: Cost, terms: Terms, name: str) -> errors.BudgetExhausted:
    """The error for a release that costs more than is left in the budget of this name after those of `before`."""
    left = terms.left(before)
    fits = cost.largest_share(left, terms.caps)
    largest = spendable(fits) if fits >= LEAST_SHARE else 0.0
    shares, rests = terms.shares(cost), terms.shares(left)
    asked, rest = (_percent(part, shares, 10) for part in (shares, rests))
    if asked == rest:
        asked, rest = (_percent(part, shares, 17) for part in (shares, rests))
    refusal = errors.BudgetExhausted(
        f"This release asks for {asked}; the budget {name!r} has {rest} left. "
        + (f"The largest share that fits is {largest!r}. " if largest else "Nothing more can be released. ")
        + "Another budget would not undo the losses of this one: what both tell about a person adds up.",
        parameter="share",
        example={"share": largest} if largest else (),
    )
    refusal.largest_share = largest
    return refusal


def _check_same(name: str, value: object, own: object) -> None:
    if value is not None and own is not None and value != own:
        cure, example = _CURES[name]
        raise errors.BudgetMismatch(
            f"This budget is about the {name} {own!r} and the release about {value!r}. One sum over both would "
            f"promise neither. {cure} Otherwise pay from another budget; what two budgets tell about one person "
            "adds up.",
            parameter=name,
            value=value,
            example=example(str(own)),
        )


_CURES: dict[str, tuple[str, Callable[[str], errors.Example | tuple[()]]]] = {
    "table": (
        "If they are one table under two names, give it the budget's.",
        lambda own: {"table": errors.Code(f'ln.table(..., name="{own}")', own)},
    ),
    "unit": ("If they are one unit under two names, rename the column.", lambda own: ()),
    "neighbours": ("To pay from this budget, release under its neighbours.", lambda own: {"neighbours": own}),
}


def _percent(shares: tuple[Fraction, ...], drawn: tuple[Fraction, ...], digits: int) -> str:
    """The shares of what is drawn on."""
    named = zip(("mu^2", "pure epsilon", "threshold delta"), shares, drawn, strict=True)
    return " and ".join(f"{in_percent(share, digits)} % of {name}" for name, share, asked in named if asked)


def in_percent(share: Fraction | float, digits: int) -> str:
    """A share in percent; 0 for one so small that nothing costs as little (what 52 times 1/52 leaves, rounded down)."""
    return f"{100 * float(share) if share > NOTHING else 0:.{digits}g}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A debit that is on disk (or none, without a budget). `id` and `strength` are for the Release."""

    id: str
    budget: Budget | None
    strength: Strength

    @property
    def ledger(self) -> str | None:
        """The name of the ledger that has the debit: of its file alone, since folders are nobody's business."""
        return None if self.budget is None else self.budget._ledger.store.name

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

    def pay(self, *, public_units: int | None = None, **facts: Unpack[Facts]) -> Receipt:
        """Debit the cost. When this returns the entry is on disk; BudgetExhausted leaves the ledger as it was.

        A weak promise is warned of first: from public facts, and before anything is paid.

        `public_units`: how many units there are, where that is public.
        """
        strength, release = self.strength.with_units(public_units), secrets.token_hex(8)
        warn_if_weak(strength)
        if self.budget is None:
            return Receipt(release, None, strength)
        self.budget._debit(self._debit(release, facts))
        return Receipt(release, self.budget, strength)

    def check(self, **facts: Unpack[Facts]) -> None:
        """Refuse what `pay` with the same arguments would, by the ledger as it is now. Nothing is paid."""
        if self.budget is not None:
            self.budget._check(self._debit("", facts))

    def _debit(self, release: str, facts: Facts) -> Debit:
        neighbours = self.plan.guarantee.neighbours
        return Debit(cost=self.cost, release=release, noise=self.plan.described, neighbours=neighbours, **facts)


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
