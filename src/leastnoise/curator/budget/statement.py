"""A statement of account, for people: what the budget promises, what is spent, what is left."""

from __future__ import annotations

from leastnoise.curator.budget.budget import Budget
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
    lines = [f"{budget.path.name}: {promise} for {whom}{about} ({terms.neighbours})", *_left_lines(budget)]
    lines += [f"  {line}" for line in (promise_in_words(budget), _counted(entries)) if line]
    if budget.closed:
        last = [entry for entry in entries if entry.kind == "close"][-1]
        lines.append(f"  CLOSED since {last.created_at:%Y-%m-%d %H:%M} UTC: {last.query}. See Budget.reopen.")
    return "\n".join(lines)


def promise_in_words(budget: Budget) -> str:
    """What is promised where it is not what the caps do; "" otherwise, and before the first release."""
    instead = promised_instead(budget.terms, budget._first())
    if instead is None:
        return ""
    if isinstance(instead, PureDP):
        return f"It promises epsilon = {instead.epsilon:g} with a delta of 0: every release is of Laplace noise."
    return (
        "It promises (epsilon, delta) and no mu: it began with Laplace noise, and may go on with that alone or within "
        "mu^2."
    )


def _left_lines(budget: Budget) -> list[str]:
    terms, left, spent = budget.terms, budget.remaining, budget._spent()
    capped, alone = terms.keeps_caps(spent) and not terms.laplace_only, terms.is_pure(spent)
    lines = []
    if capped:
        free = f"mu {left.mu:.6g}; one release of epsilon {left.epsilon:.6g} at delta {terms.gaussian_promise[1]:g}"
        lines.append(f"  Gaussian (mu^2)          {_left(left.share)}  {free}")
    if terms.pure_epsilon or alone:
        share = left.pure_epsilon / float(terms.pure_epsilon or terms.epsilon)
        name = "or Laplace alone" if alone and capped else "Laplace (epsilon)"
        lines.append(f"  {name:<23}  {_left(share)}  epsilon {left.pure_epsilon:.6g}")
    if terms.threshold_delta and capped:
        share = left.threshold_delta / float(terms.threshold_delta)
        lines.append(f"  unknown keys (delta)     {_left(share)}  delta {left.threshold_delta:.3g}")
    return lines


def _left(share: float) -> str:
    return f"{100 * share:>8.4g} % left"


def _counted(entries: list[Entry]) -> str:
    voids = sum(entry.kind == "void" for entry in entries)
    releases = [entry for entry in entries if entry.kind == "release"]
    if not releases:
        return "No release yet."
    void = f", {voids} of them void" if voids else ""
    word = "release" if len(releases) == 1 else "releases"
    return f"{len(releases):,} {word}{void}; the last on {releases[-1].created_at:%Y-%m-%d}."
