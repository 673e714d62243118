"""The debit of one release, and its refusal where it would overspend the budget or is about other people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Terms, spendable
from leastnoise.privacy.neighbours import Neighbours

NOTHING = Fraction(1, 10**18)  # a share that is left by rounding alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Debit:
    """What one release costs, and what the ledger says about it: public facts alone."""

    cost: Cost
    release: str
    query: str
    noise: str
    neighbours: Neighbours
    unit: str | None = None
    table: str | None = None
    note: str = ""
    file: str = ""

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


def check_same_labels(unit: str | None, table: str | None, label: Callable[[str], str | None]) -> None:
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
