"""The sentences that are true of one release and of a set of tables alike: the promise, and whom it protects."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from leastnoise._support import csv_text
from leastnoise._support.number_format import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.releases.promised import Promised
from leastnoise.report.saved_release import Unsaved

PAPERS = {
    "gaussian": "B. Balle and Y.-X. Wang. Improving the Gaussian Mechanism for Differential Privacy: Analytical "
    "Calibration and Optimal Denoising. International Conference on Machine Learning, 2018.",
    "laplace": "C. Dwork, F. McSherry, K. Nissim and A. Smith. Calibrating Noise to Sensitivity in Private Data "
    "Analysis. Theory of Cryptography Conference, 2006.",
    "exponential": "F. McSherry and K. Talwar. Mechanism Design via Differential Privacy. Symposium on Foundations of "
    "Computer Science, 2007.",
}


class Step(NamedTuple):
    """One thing to check: why, and what to type."""

    why: str
    code: str


class Headline(NamedTuple):
    """One number, and what it is."""

    number: str
    label: str


def left_out(of: Promised) -> str:
    """Which rows are not in the numbers, and what chose the bins that show, to stand beside the headline; nothing where
    all are in them."""
    return " ".join(said for said in (of.provenance.left_out_in_words(), of._selection_in_words()) if said)


def too_weak(of: Promised) -> str:
    """The loud line about a promise that protects nobody; nothing about others."""
    strength = of.strength
    return strength.in_words() if strength is not None and strength.protects_nobody else ""


def unit(of: Promised) -> str:
    """Whom it protects."""
    column = of.provenance.whom or "person"
    if column != of.unit:  # it has a label
        return column
    return column.removesuffix("_id").replace("_", " ") or column


def limits_learning(of: Promised) -> str:
    """What the noise does, after "which"."""
    return f"limits what anybody can learn from them about any one {unit(of)}"


def promise(of: Promised) -> str:
    """The guarantee as one sentence."""
    guarantee = of.guarantee
    if guarantee is None:
        return "What is promised is known to whoever added the noise, and is not in this file."
    whom = unit(of)
    caught = percent_at_most(float(most_found(of, 0.05)))
    if guarantee.neighbours == "replace":
        secret, present = f"which of two records any one {whom} has", "that have the one"
    else:
        secret, present = f"whether any one {whom} is in the data", "that are in it"
    return (
        f"Whoever tries to tell {secret} from these numbers, whatever else they know, and accepts 5 % false alarms, "
        f"finds at most {caught} % of those {present}. Guessing finds 5 %."
    )


def most_found(of: Promised, false_alarms: ArrayLike) -> Floats:
    """The part of those present that any attack with these false alarms finds at most."""
    assert of.guarantee is not None
    if of.strength is None:
        return 1 - of.guarantee.tradeoff(false_alarms)
    return of.strength.most_found(of.guarantee, false_alarms)


def protects(of: Promised) -> str:
    """Whom the promise is about, and which column names them."""
    whom, column = unit(of), of.unit
    return f"one {whom}" if column in (None, whom) else f"one {whom} (the column {column})"


def limits(of: Promised) -> str:
    """How much of one unit was used; nothing where no limit is known."""
    return ", ".join(f"{name} = {value:,}" for name, value in of.limits.items())


def guarantee_facts(of: Promised) -> list[tuple[str, str]]:
    """The guarantee in numbers, and how strong it is."""
    rows = _guarantee(of)
    strength = of.strength
    if strength is None:
        return rows
    whose = " (the whole budget)" if strength.of_budget else ""
    other = "" if strength.gaussian is None else f". {strength.gaussian.in_words(of_budget=strength.of_budget)}"
    return [*rows, ("strength", f"{strength.band}{whose}{other}")]


def _guarantee(of: Promised) -> list[tuple[str, str]]:
    promise = of.guarantee
    if promise is None:
        return []
    side = (
        "neighbours",
        "one more or one fewer" if promise.neighbours == "add-remove" else "one exchanged for another",
    )
    if isinstance(promise, GaussianDP):
        at = promise.to_approx(delta=of.delta or 1e-6)
        return [("mu", f"{promise.mu:.6g}"), ("epsilon", f"{at.epsilon:.6g} at delta {at.delta:g}"), side]
    if isinstance(promise, ApproxDP):
        return [("epsilon", f"{promise.epsilon:.6g} at delta {promise.delta:g}"), side]
    return [("epsilon", f"{promise.epsilon:.6g}, with delta 0"), side] if isinstance(promise, PureDP) else [side]


def cite(of: Promised, name: str) -> str:
    """How to cite a release of this name."""
    return (
        f"{name}. Differentially private release {of.id}, made {of.created_at:%Y-%m-%d} with leastnoise "
        f"{of.version}. {short_promise(of)}"
    )


def check_file(name: str) -> Step:
    """What to type to read the file of this name."""
    which = f"The file that was saved of it, here {name},"
    if isinstance(name, Unsaved):
        which = f"No file of it lay beside this page when it was written. Once it is saved, say as {name}, that file"
    return Step(
        f"{which} says the same, and is read without anybody's data:",
        f'import leastnoise as ln\n\nr = ln.load("{name}")\nprint(r.explain())',
    )


def check_promise(of: Promised) -> Step:
    """What to type to see what the promise means."""
    promise, strength = of.guarantee, of.strength
    found = "1 - g.tradeoff(0.05)"
    if strength is not None and strength.mu is not None:
        mu, chance = f"ln.{GaussianDP(strength.mu, promise.neighbours)!r}", strength.chance  # type: ignore[union-attr]
        found = f"min({found}, 1 - {mu}.tradeoff(0.05 + {chance!r}) + {chance!r})"
    return Step(
        "What the promise means, and what any attack can find at most at 5 % false alarms:",
        f"g = ln.{promise!r}\nprint(g.explain())\nprint({found})",
    )


def check_ledger(of: Promised) -> list[Step]:
    """What to type to find what was paid, where a budget paid: the ledger by its name, without its folder."""
    if of.strength is None or not of.strength.of_budget:
        return []
    name = "city.ledger" if of.ledger is None else of.ledger  # files of earlier versions lack it
    return [
        Step(
            f"It was paid from a budget, whose ledger has its entry under {of.id}:",
            f"budget = ln.Budget.open({name!r})\nbudget.verify()\n"
            f"print([e for e in budget.history() if e.release == {of.id!r}])",
        )
    ]


def comment_lines(of: Promised, explained: str, *more: str) -> list[str]:
    """What stands above the numbers in a CSV file from the page: where they come from, and what is promised."""
    source = f"From the page about release {of.id}, made {of.created_at:%Y-%m-%d} with leastnoise {of.version}."
    return [csv_text.comment(line) for line in (source, *explained.splitlines(), *more) if line]


def short_promise(of: Promised) -> str:
    """The guarantee in a clause."""
    clauses = [f"{name} {value}" for name, value in _guarantee(of) if name != "neighbours"]
    return (", ".join(clauses) + ".") if clauses else ""


def scope(of: Promised) -> str:
    """What a total is of: hardly ever of all rows of the table."""
    return "within these limits" if of.left_out else "in all"


def intervals(of: Promised) -> str:
    """What low and high are."""
    return f"Low and high are the ends of 95 % intervals. {of.provenance.covered_in_words('They')}"


def between(low: Any, high: Any) -> str:
    """An interval of 95 %."""
    return f"95 % sure to lie between {number(low)} and {number(high)}"


def number(value: Any) -> str:
    """A number for people."""
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:,.4g}"
