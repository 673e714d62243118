"""The debit of one release, and its refusal where it would overspend the budget or is about other people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.entry_row import Row, written_details
from leastnoise.curator.budget.privacy_filter import Cost, Terms
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

    def entry(
        self, number: int, at: str, before: Cost, terms: Terms, budget: str, *, account: str = "", who: str = ""
    ) -> Row:
        """The entry that follows those which have spent `before`; BudgetExhausted where both are more than is allowed.

        It is made under the writer's lock, so that no other entry comes between.
        """
        if not terms.can_count(self.cost):
            raise errors.NotProved(
                "The cost of this release does not tell what it takes of epsilon, so the budget cannot count it. "
                "Nothing was debited and nothing released."
            )
        spent = before + self.cost
        if not terms.allows(spent):
            raise exhausted(self.cost, before, terms, budget)
        return Row(
            number=number,
            created_at=at,
            kind="release",
            release=self.release,
            query=self.query,
            noise=self.noise,
            unit=self.unit or "",
            table=self.table or "",
            cost=self.cost,
            spent=spent,
            account=account,
            details=written_details({"who": who, "note": self.note, "file": self.file}),
        )


def check_same_neighbours(neighbours: Neighbours, terms: Terms) -> None:
    """Refuse a release under other neighbours than the budget's."""
    _check_same("neighbours", neighbours, terms.neighbours)


def check_same_labels(unit: str | None, table: str | None, label: Callable[[str], str | None]) -> None:
    """Refuse a release about another unit or table; `label` says the budget's, None before its first release."""
    for name, value in (("unit", unit), ("table", table)):
        _check_same(name, value, label(name) if value else None)


def exhausted(cost: Cost, before: Cost, terms: Terms, name: str) -> errors.BudgetExhausted:
    """The error for a release that costs more than is left in the budget of this name after those of `before`."""
    fits = terms.largest_share(cost, before)
    largest = privacy_filter.spendable(fits) if fits >= privacy_filter.LEAST_SHARE else 0.0
    left, shares = terms.left(before), terms.shares(cost)
    rests = left.shares(terms.caps)
    asked, rest = (_percent(part, shares, terms, 10) for part in (shares, rests))
    if asked == rest:
        asked, rest = (_percent(part, shares, terms, 17) for part in (shares, rests))
    refusal = errors.BudgetExhausted(
        f"This release asks for {asked}; the budget {name!r} has {rest} left. "
        + (f"The largest share that fits is {largest!r}. " if largest else _nothing_fits(cost, left, terms))
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


def _nothing_fits(cost: Cost, left: Cost, terms: Terms) -> str:
    if terms.pure_instead and left.pure and not terms.is_pure(cost):
        return (
            "Its releases so far are all of Laplace noise, and more than Gaussian ones may be added to: only Laplace "
            "noise on keys that are listed can be released from it. "
        )
    return "Nothing more can be released. "


def _percent(shares: tuple[Fraction, ...], drawn: tuple[Fraction, ...], terms: Terms, digits: int) -> str:
    """The shares of what is drawn on; a release that Laplace releases alone could pay for has two ways to."""
    named = zip(("mu^2", "pure epsilon", "threshold delta"), shares, drawn, strict=True)
    word = " or " if terms.pure_instead and drawn[1] else " and "
    return word.join(f"{in_percent(share, digits)} % of {name}" for name, share, asked in named if asked)


def in_percent(share: Fraction | float, digits: int) -> str:
    """A share in percent; 0 for one so small that nothing costs as little (what 52 times 1/52 leaves, rounded down)."""
    return f"{100 * float(share) if share > NOTHING else 0:.{digits}g}"
