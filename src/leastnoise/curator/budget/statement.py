"""A statement of account, for people: what the budget promises, what is spent, what is left."""

from __future__ import annotations

from datetime import UTC, datetime

from leastnoise._support.number_format import percent
from leastnoise.curator.budget.allocation import Allocation
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.debit import in_percent
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.promise import promised_instead
from leastnoise.privacy.guarantee import PureDP


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
    said = (promise_in_words(budget), weak, plan_in_words(budget), changed_in_words(entries), counted_in_words(entries))
    lines += [f"  {line}" for line in said if line]
    lines += _tree(budget.allocations)
    if budget.closed:
        last = [entry for entry in entries if entry.kind == "close"][-1]
        lines.append(f"  CLOSED since {last.created_at:%Y-%m-%d %H:%M} UTC: {last.query}. Mend that; then")
        lines.append(f"  {budget._account.reopening}")
    return "\n".join(lines)


def promise_in_words(budget: Budget) -> str:
    """What is promised where it is not what the caps do; "" otherwise, and before the first release."""
    instead = promised_instead(budget._account.whole, budget._first())
    if instead is None:
        return ""
    if isinstance(instead, PureDP):
        return f"It promises epsilon = {instead.epsilon:g} with a delta of 0: every release is of Laplace noise."
    return (
        "It promises (epsilon, delta) and no mu: it began with Laplace noise, and may go on with that alone or within "
        "mu^2."
    )


def plan_in_words(budget: Budget) -> str:
    """What the planned releases have of noise, and would have from a budget of the other kind; "" without a plan."""
    from leastnoise.curator.budget.kinds import plan

    found = plan(budget.terms)
    return "" if found is None else found.in_words(paid=budget._first() is not None)


def changed_in_words(entries: list[Entry]) -> str:
    """The last change of the terms; "" where there was none."""
    changes = [entry for entry in entries if entry.kind == "terms"]
    return f"Reopened on {changes[-1].created_at:%Y-%m-%d} with {changes[-1].query}." if changes else ""


def left_in_words(budget: Budget) -> list[tuple[str, str, str]]:
    """Of each kind of noise that can still be paid for: its name, what is left of its cap, and what that buys."""
    terms, left, spent = budget.terms, budget.remaining, budget._spent()
    capped, alone = terms.keeps_caps(spent) and not terms.laplace_only, terms.is_pure(spent)
    _, pure, chance = (float(share) for share in terms.left(spent).shares(terms.caps))  # of an allocation its own
    lines = []
    if capped:
        free = f"mu {left.mu:.6g}; one release of epsilon {left.epsilon:.6g} at delta {terms.gaussian_promise[1]:g}"
        lines.append(("Gaussian (mu^2)", _left(left.share), free))
    if terms.pure_epsilon or alone:
        name = "or Laplace alone" if alone and capped else "Laplace (epsilon)"
        lines.append((name, _left(pure), f"epsilon {left.pure_epsilon:.6g}"))
    if terms.threshold_delta and capped:
        lines.append(("unknown keys (delta)", _left(chance), f"delta {left.threshold_delta:.3g}"))
    return lines


def _left(share: float) -> str:
    return f"{in_percent(share, 4)} % left"


def _tree(allocations: list[Allocation]) -> list[str]:
    """A line for each allocation, further in by how deep it lies."""
    now, depth, lines = datetime.now(UTC), {"": 0}, []
    for each in allocations:
        level = depth[each.id] = depth.get(each.parent, 0) + 1
        used = "" if each.own_file else f", {percent(each.spent_share, 4)} of it used"
        until = f", until {each.expires_at:%Y-%m-%d}" if each.expires_at is not None else ""
        people = f", for {', '.join(each.people)}" if each.people else ""
        share, state = percent(float(each.share), 6), each.state(now)
        lines.append(f"{'  ' * level}  {each.name}: {share}{used}{people}{until} ({state})")
    return [f"  {len(allocations)} allocation{'s' * (len(allocations) != 1)}:", *lines] if allocations else []


def counted_in_words(entries: list[Entry]) -> str:
    """How many releases were paid for, and when the last was."""
    voids = sum(entry.kind == "void" for entry in entries)
    releases = [entry for entry in entries if entry.kind == "release"]
    if not releases:
        return "No release yet."
    void = f", {voids} of them void" if voids else ""
    word = "release" if len(releases) == 1 else "releases"
    return f"{len(releases):,} {word}{void}; the last on {releases[-1].created_at:%Y-%m-%d}."
