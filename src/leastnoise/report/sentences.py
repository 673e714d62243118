"""The page's sentences: plain, and true of every kind of release."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from leastnoise._support import csv_text
from leastnoise._support.text import about, digits_beside, percent_at_most, rounded
from leastnoise._support.validation import Floats
from leastnoise.domain.product import alike_in_words, differ_by_case
from leastnoise.pictures import captions
from leastnoise.pictures.captions import in_percent
from leastnoise.pictures.tables import ShownTable, written
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP
from leastnoise.releases import labels
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.releases.summary import SummaryRelease
from leastnoise.releases.table_set import table_name
from leastnoise.report.shown import MAX_CELLS_SHOWN, Shown

MAX_COLUMNS_IN_TITLE = 6
MAX_TABLES_IN_ERRORS = 1_000
MAX_DOTS = 60  # of a line; more are a line of steps in a band
PAPERS = {
    "gaussian": "B. Balle and Y.-X. Wang. Improving the Gaussian Mechanism for Differential Privacy: Analytical "
    "Calibration and Optimal Denoising. International Conference on Machine Learning, 2018.",
    "laplace": "C. Dwork, F. McSherry, K. Nissim and A. Smith. Calibrating Noise to Sensitivity in Private Data "
    "Analysis. Theory of Cryptography Conference, 2006.",
    "exponential": "F. McSherry and K. Talwar. Mechanism Design via Differential Privacy. Symposium on Foundations of "
    "Computer Science, 2007.",
}
ESTIMATORS = {
    "additive": "the effects of rows and columns, and the rest, each drawn toward zero by its own factor",
    "empirical_bayes": "all bins share one prior, fitted to them",
    "flat": "one value for all bins, their mean drawn toward zero, but for the few that stand out",
    "james_stein": "all bins drawn toward zero by one factor",
    "james_stein_mean": "all bins drawn toward their mean by one factor",
    "neighbour_bayes": "bins whose surroundings look alike share a prior; how far to look is learnt",
    "fused_lasso": "neighbours are equal, but for few jumps",
    "laplacian": "every bin drawn toward its neighbours",
    "wavelet": "few pieces of any size and place differ from what surrounds them",
}


# ── What was released


def title(of: Promised) -> str:
    """What was released, by what readers call its columns: "Counts by pickup", "Mean age by sex"."""
    if isinstance(of, SummaryRelease):
        return f"Statistics by {labels.title(of._shown_domain)}" if of.domain.axes else "Statistics"
    if isinstance(of, CrosstabsRelease):
        names = [of._words(column) for column in of.axes]
        more = len(names) - MAX_COLUMNS_IN_TITLE
        listed = names if more <= 1 else [*names[:MAX_COLUMNS_IN_TITLE], f"{more:,} more columns"]
        noun = "counts" if of.weight is None else f"the sums of {of._words(of.weight)}"
        one = noun.removeprefix("the ").capitalize()
        return f"{one} by {_and(listed)}" if len(of.tables) == 1 else f"Tables of {noun} by {_and(listed)}"
    assert isinstance(of, Published)
    what = _nouns(of, of.bins).capitalize()
    if of.column is not None:
        words = of._words(of.column)
        what = f"Mean {words}" if of.kind == "mean" else f"{what} of {words}"
    domain = of._shown_domain
    return f"{what} by {labels.title(domain)}" if domain is not None and domain.axes else what


def _nouns(of: Published, many: int) -> str:
    noun = "median" if isinstance(of, QuantileRelease) and of.levels == (0.5,) else of.noun
    return noun if many == 1 else f"{noun}s"


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def lead(shown: Shown) -> str:
    """What was released, whom it protects and how far off it is, in a sentence or two."""
    of = shown.of
    return f"{_what(shown)}. {_protected(of)}{_accuracy(shown)}{_shared_weight(of)}"


def _what(shown: Shown) -> str:
    of = shown.of
    if isinstance(of, CrosstabsRelease):
        tables = "One table" if shown.tables_in_all == 1 else f"{shown.tables_in_all:,} tables"
        return f"{tables} with {shown.cells_in_all:,} numbers, published together"
    if isinstance(of, SummaryRelease):
        many = "1 statistic" if len(of) == 1 else f"{len(of)} statistics"
        return f"{many} for each {_combination(of._shown_domain)}" if of.domain.axes else f"{many} of all rows"
    assert isinstance(of, Published)
    many = f"{'One' if of.bins == 1 else format(of.bins, ',')} {_nouns(of, of.bins)}"
    if isinstance(of, Estimate):
        return f"{of.bins:,} noisy values, and an estimate of the truth behind them by {of.method}"
    if isinstance(of, QuantileRelease):
        levels = len(of.levels)
        each = f"{levels} {_nouns(of, levels)}"
        return f"{each} of all rows" if of.domain is None else f"{each} for each {_combination(of._shown_domain)}"
    if of.bins == 1:
        return many
    return f"{many}, one for each {_combination(of._shown_domain)}"


def _combination(domain: Any) -> str:
    if domain is None:
        return "bin"
    names = labels.title(domain)
    return f"combination of {names}" if len(domain.axes) > 1 else names


def _protected(of: Promised) -> str:
    if of.guarantee is None:
        return "The noise was added elsewhere"
    return "Noise was added to them" if too_weak(of) else f"Noise protects every {unit(of)}"


def _accuracy(shown: Shown) -> str:
    """How far off, where that is one number for all."""
    of, first = shown.of, shown.tables[0]
    if isinstance(of, Estimate | SummaryRelease | CrosstabsRelease) or not first.numbers or first.half is None:
        return "."
    half = written(first.half, first.numbers[0].decimals)
    each = "it" if first.cells == 1 else f"each {of.noun}"  # type: ignore[attr-defined]
    where = "what was counted" if first.counts else "the exact one"
    return f": {each} is within ±\u00a0{half} of {where}, 95% of the time."


def _shared_weight(of: Promised) -> str:
    if not isinstance(of, CrosstabsRelease) or not of.rows_share_weight:
        return ""
    return f" Each {unit(of)} counts once, divided over the cells that the rows of the {unit(of)} are in."


def caption(shown: Shown) -> str:
    """What marks are, and what is not in the numbers."""
    of, said = shown.of, []
    if _has_intervals(shown):
        marks = "Brackets and bands" if len(shown.tables) > 1 else _marks(shown.tables[0])
        said.append(f"{marks}: 95% margin of error.")
    if len(shown.tables) > 1:
        said.append("The tables are consistent: adding up one gives exactly the totals in the others.")
    if shown.estimate is not None and _has_intervals(shown) and shown.tables[0].better is not False:
        said.append("Margins are those of the published numbers.")
    return " ".join([*said, left_out(of)]).strip()


def _marks(table: ShownTable) -> str:
    """How the drawings show an interval."""
    if table.layout == "line":
        return "Bars" if table.cells <= MAX_DOTS else "Band"
    return {"one": "±", "spread": "Bands"}.get(table.layout, "Brackets")


def _has_intervals(shown: Shown) -> bool:
    first = shown.tables[0].numbers[:1]
    return any(n.low is not None or n.half is not None for n in first) and shown.tables[0].layout not in ("map", "heat")


def left_out(of: Promised) -> str:
    """Which rows are not in the numbers, and what chose the bins that show; nothing where all are in them."""
    return " ".join(said for said in (of.provenance.left_out_in_words(), of._selection_in_words()) if said)


def notes(shown: Shown) -> list[str]:
    """What else a reader must know of the numbers below."""
    first = shown.tables[0]
    alike = [group for column in first.columns for group in differ_by_case(dict.fromkeys(column.keys))]
    said = [first.note, alike_in_words(alike) if alike and len(shown.tables) == 1 else "", _not_held(shown)]
    if first.sorted and first.layout in ("bars", "dots") and len(first.numbers) and first.cells > labels.MAX_NAMED_BARS:
        said.append(f"The chart: {labels.largest_in_words(labels.MAX_BARS, first.cells)}")
    if undrawn := sum(not n.drawn for n in first.numbers) if first.layout == "spread" else 0:
        drawn = len(first.numbers) - undrawn
        said.append(f"Of {len(first.numbers)} levels the chart shows {drawn}; the table has all.")
    return [sentence for sentence in said if sentence]


def _not_held(shown: Shown) -> str:
    """Which tables the page does not hold; nothing where it has all."""
    held = [table for table in shown.tables if table.numbers]
    missing = shown.tables_in_all - len(held)
    if not missing or shown.tables_in_all == 1:
        return ""
    cells = shown.cells_in_all - sum(table.cells for table in held)
    unlisted = shown.tables_in_all - len(shown.tables)
    names = f" {unlisted:,} of them are not in the list either." if unlisted else ""
    return (
        f"This page has room for {MAX_CELLS_SHOWN:,} numbers. {missing:,} of the {shown.tables_in_all:,} tables, with "
        f"{cells:,} numbers, are in the file of the release only.{names}"
    )


# ── The guarantee


class Protection(NamedTuple):
    """How well people are protected: a few words, and a sentence."""

    badge: str
    question: str
    answer: str


def protection(of: Promised) -> Protection:
    """The guarantee in plain words: what an attack finds at most."""
    guarantee = of.guarantee
    if guarantee is None:
        unknown = "What is guaranteed is known to whoever added the noise, and is not in this file."
        return Protection("not known", "", unknown)
    caught = percent_at_most(float(most_found(of, 0.05)))
    if guarantee.neighbours == "replace":
        question = f"Can anyone tell from these numbers which of two records one {unit(of)} has?"
        who = "An attacker who accepts being wrong about 5 in 100 of those that have the one"
        whom = "of those that have the other"
    else:
        question = f"Can anyone tell from these numbers whether one {unit(of)} is in the data?"
        who = "An attacker who is willing to wrongly accuse 5 in 100 of those who are not in it"
        whom = "of those who are"
    answer = (
        f"{who} would correctly spot at most {caught} in 100 {whom}, whatever else they know. Blind guessing spots 5."
    )
    band = "" if of.strength is None else of.strength.band
    return Protection(" · ".join(part for part in (band, _short_epsilon(of)) if part), question, answer)


def _short_epsilon(of: Promised) -> str:
    """Epsilon to three digits, rounded up."""
    assert of.guarantee is not None
    epsilon = Decimal(captions.approx(of.guarantee, of.delta).epsilon)
    return f"ε = {Context(prec=3, rounding=ROUND_CEILING).plus(epsilon).normalize():f}"


def most_found(of: Promised, false_alarms: ArrayLike) -> Floats:
    """The part of those present that any attack with these false alarms finds at most."""
    assert of.guarantee is not None
    if of.strength is None:
        return 1 - of.guarantee.tradeoff(false_alarms)
    return of.strength.most_found(of.guarantee, false_alarms)


def warnings(of: Promised, *, seeded: bool) -> list[str]:
    """What must not be overlooked: noise from a seed, a guarantee that protects nobody."""
    hides = "The noise came from a test's seed, so it hides nothing. Never publish this." if seeded else ""
    return [text for text in (hides, too_weak(of)) if text]


def too_weak(of: Promised) -> str:
    """The loud line about a guarantee that protects nobody; nothing about others."""
    strength = of.strength
    return strength.in_words() if strength is not None and strength.protects_nobody else ""


def unit(of: Promised) -> str:
    """Whom it protects."""
    column = of.provenance.whom or "person"
    if column != of.unit:  # it has a label
        return column
    return column.removesuffix("_id").replace("_", " ") or column


def guarantee_facts(of: Promised) -> list[tuple[str, str]]:
    """The guarantee in numbers, and how strong it is."""
    rows, strength = _guarantee(of), of.strength
    if strength is not None:
        whose = " (the whole budget)" if strength.of_budget else ""
        other = "" if strength.gaussian is None else f". {strength.gaussian.in_words(of_budget=strength.of_budget)}"
        rows.append(("strength", f"{strength.band}{whose}{other}"))
    if rows or not isinstance(of, Estimate):
        whom, column = unit(of), of.unit
        rows.append(("protects", f"one {whom}" if column in (None, whom) else f"one {whom} (the column {column})"))
    return rows


def _guarantee(of: Promised) -> list[tuple[str, str]]:
    guarantee = of.guarantee
    if guarantee is None:
        return []
    side = "one more or one fewer" if guarantee.neighbours == "add-remove" else "one exchanged for another"
    at = captions.approx(guarantee, of.delta)
    delta = f" at delta {at.delta:g}" if isinstance(at, ApproxDP) else ", with delta 0"
    mu = [("mu", f"{guarantee.mu:.6g}")] if isinstance(guarantee, GaussianDP) else []
    return [("epsilon", f"{at.epsilon:.6g}{delta}"), *mu, ("neighbours", side)]


def short_guarantee(of: Promised) -> str:
    """The guarantee in a clause."""
    clauses = [f"{name} {value}" for name, value in _guarantee(of) if name != "neighbours"]
    return (", ".join(clauses) + ".") if clauses else ""


# ── How it was made


def facts(shown: Shown) -> list[tuple[str, str]]:
    """All parameters."""
    of = shown.of
    rows = [*guarantee_facts(of), *_noise(shown)]
    if isinstance(of, SummaryRelease):
        rows.append(("statistics", "; ".join(f"{figure.name}: {of.meaning(figure)}" for figure in of.figures)))
    if of.limits:
        rows.append(("limits", ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in of.limits.items())))
    told: list[tuple[str, str]] = []
    if not isinstance(of, Estimate):
        told = [("errors", of.errors_in_words()), ("why this noise", of.note)]  # type: ignore[attr-defined]
    return [*rows, *((name, words) for name, words in [*told, ("question", of.query)] if words)]


def _noise(shown: Shown) -> list[tuple[str, str]]:
    of = shown.of
    if isinstance(of, CrosstabsRelease):
        return [("noise", f"{of.mechanism.capitalize()}, {_spread(shown)}")]
    if not isinstance(of, Published):
        return []
    rows = [("noise", f"{of.mechanism.capitalize()}, {of.spread_in_words()}")]
    if isinstance(of, Estimate):
        return rows
    norm, hidden = ("L1", of.l1_sensitivity) if of.mechanism == "laplace" else ("L2", of.sensitivity)
    if hidden is not None:
        rows.append((f"{norm} sensitivity", f"{hidden:.6g}"))
    if of.grid and isinstance(of, Release):
        rows.append(("grid", f"multiples of {of.grid:g}"))
    if of.at_least is not None:
        rows.append(("threshold", f"only noisy counts of {of.at_least:,} or more show"))
    return rows


def noise(shown: Shown) -> list[str]:
    """What the noise is, and how far off all numbers together are."""
    of = shown.of
    if isinstance(of, Estimate):
        return []
    if isinstance(of, QuantileRelease):
        chosen = "Quantiles were chosen at random near the true ones, by the exponential mechanism."
        return [chosen, f"A rank is typically off by {rounded(of.std, 2)} rows where rows lie densely."]
    drawn = [f"{of.mechanism.capitalize()} noise, {_spread(shown)}, drawn once.", _divided(of)]  # type: ignore[attr-defined]
    if isinstance(of, Release) and of.threshold is None and of.bins > 1:
        every = of.distribution.half_width(0.95, of.bins)
        drawn.append(f"All {of.bins:,} numbers together are within ±\u00a0{rounded(every, 3)}, 95% of the time.")
    return [sentence for sentence in drawn if sentence]


def _spread(shown: Shown) -> str:
    of = shown.of
    if isinstance(of, SummaryRelease):
        return "divided among the statistics"
    if isinstance(of, CrosstabsRelease):
        stds = [table.std for table in shown.tables if table.std is not None]
        ends = dict.fromkeys(rounded(std, 3) for std in (min(stds), max(stds)))
        return f"standard deviation of a number {' to '.join(ends)}"
    return of.spread_in_words(3)  # type: ignore[attr-defined, no-any-return]


def _divided(of: Any) -> str:
    """What a number is computed from, where it is a noisy one over another."""
    kinds = {figure.kind for figure in of.figures} if isinstance(of, SummaryRelease) else {of.kind}
    told = []
    if found := sorted(kinds & {"mean", "rate"}):
        told.append(f"A {' or a '.join(found)} is a noisy sum over a noisy count; its interval allows for both.")
    if "ratio" in kinds:
        told.append("A ratio is a noisy sum over another, both of the rows in which neither column is missing.")
    return " ".join(told)


def curves(of: CrosstabsRelease) -> str:
    """What the noise of cumulative sums is."""
    if of.mechanism == "gaussian":
        return (
            "The noise was chosen so that such sums, and the differences between two of them, are accurate: they are "
            "far nearer to the truth than the errors of as many cells would add up to."
        )
    return "The noise is on the cells, and adds up in such sums."


ZERO = (
    "A number whose 95% interval reaches down to zero is marked: it may be zero. At most about 1 in 40 truly empty "
    "cells escapes the mark."
)


def denoising(shown: Shown) -> str:
    """What was done to the noise, or why nothing was."""
    estimate = shown.estimate
    if estimate is None:
        return shown.why_no_estimate
    if isinstance(estimate, CrosstabsEstimate):
        known = ", ".join(table_name(table, estimate.provenance.labels) for table in estimate.known)
        held = f" Public tables were matched: {known}." if known else ""
        return (
            "Denoising costs no privacy: it reads only what is published. No denoised number is below zero, and the "
            f"tables agree with each other.{held} {estimate.errors_in_words()}"
        )
    if estimate.rmse is None:
        return (
            f"Denoised by {estimate.method}. How much error is left cannot be told without the truth, so nobody knows "
            "whether the denoised values are better, and the published ones are shown first."
        )
    if estimate.noise.is_none:
        return str(estimate.errors_in_words())
    if estimate.kept:
        return "Nothing that was tried is better than the published values beyond chance, so they are kept as they are."
    return (
        f"Denoising costs no privacy: it reads only what is published. The typical error of a value is estimated, "
        f"without the truth, at {estimate.rmse_in_words()}; before, it was {rounded(estimate.std)}."
        f"{estimate.advice_in_words()}"
    )


class Estimator(NamedTuple):
    """One way to denoise: its estimated error, and its weight in a mixture."""

    name: str
    meaning: str
    error: str
    weight: str
    chosen: bool


def estimators(shown: Shown) -> list[Estimator]:
    """Every candidate with its estimated error, least first."""
    estimate = shown.estimate
    if not isinstance(estimate, Estimate) or estimate.rmse is None or estimate.noise.is_none:
        return []
    weights = dict(estimate.parameters.get("weights") or {})
    found = dict(estimate.parameters.get("errors") or {})
    rows = [(name, float(error), weights.get(name)) for name, error in found.items() if name != "raw"]
    rows = sorted([*rows, ("as published", estimate.std, weights.get("raw"))], key=lambda row: row[1])
    mixture = "the mixture" if weights else estimate.method
    made = []
    for name, error, share in [(mixture, estimate.rmse, None), *rows]:
        digits = 4 if name == "as published" else digits_beside(error, estimate.std)
        weight = in_percent(share, 3) if share else ""
        words = name.replace("_", " ")
        made.append(Estimator(words, ESTIMATORS.get(name, ""), rounded(error, digits), weight, name == mixture))
    return made


def denoised_error(table: ShownTable) -> str:
    """How far off a denoised table is; nothing of one that is not held."""
    if table.estimate is None:
        return ""
    return "no clear improvement" if table.better is False else error_in_words(table)


def error_in_words(table: ShownTable) -> str:
    """An estimated error and its upper limit, beside what it was: "about 9.1, at most 12 (95%)"."""
    rmse, most = table.estimate.rmse, table.estimate.rmse_at_most(0.95).value
    before = table.std or 0.0
    return f"{about(rmse, beside=before)}, at most {rounded(most, digits_beside(rmse, before))} (95%)"


def origin(of: Promised) -> str:
    """When and by what it was released."""
    if isinstance(of, Estimate):
        return f"Made from release {of.id}." if of.id else ""
    paid = f"Paid from {of.ledger}. " if of.ledger else ""
    return f"{paid}Release {of.id}, made {of.created_at:%Y-%m-%d}, leastnoise {of.version}."


def comment_lines(shown: Shown) -> list[str]:
    """What stands above the numbers in a CSV file from the page: where they come from, and what is guaranteed."""
    of = shown.of
    source = f"From the page about release {of.id}, made {of.created_at:%Y-%m-%d} with leastnoise {of.version}."
    more = "" if isinstance(of, Estimate) or shown.estimate is None else denoising(shown)
    lines = (source, *of.explain().splitlines(), intervals(of), more, shown.tables[0].note)  # type: ignore[attr-defined]
    return [csv_text.comment(line) for line in lines if line]


def intervals(of: Promised) -> str:
    """What low and high of a table are."""
    if isinstance(of, Estimate):
        return ""
    return f"Low and high are the ends of 95% intervals. {of.provenance.covered_in_words('They')}"
