"""The page's sentences: true for every kind of release, and plain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats
from leastnoise._support.version import VERSION
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.ratio import RatioRelease
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease
from leastnoise.report import promise_sentences
from leastnoise.report.contents import Contents
from leastnoise.report.promise_sentences import (
    Headline,
    Step,
    between,
    check_file,
    check_ledger,
    check_promise,
    guarantee_facts,
    limits,
    limits_learning,
    number,
    protects,
    scope,
    short_promise,
    too_weak,
)


def title(contents: Contents) -> str:
    """What was released: "Counts by pickup", "Mean age by sex"."""
    of, column = contents.of, contents.of.column
    kind = "Median" if isinstance(of, QuantileRelease) and of.levels == (0.5,) else _kind(contents)
    if column is not None:
        words = of._words(column)
        kind = f"Mean {words}" if contents.of.kind == "mean" else f"{kind} of {words}"
    if contents.domain is not None and contents.domain.axes:
        return f"{kind} by {labels.title(contents.domain)}"
    return kind


def _kind(contents: Contents) -> str:
    noun = contents.of.noun
    return (noun if contents.size == 1 else noun + "s").capitalize()


MAX_GROUPS = 12  # whose quantiles the headline tells the least and the largest of


def headline(contents: Contents) -> Headline:
    """The number that matters most, with how sure it is."""
    if contents.size == 1 and not isinstance(contents.of, SparseRelease):
        if contents.too_few:
            return _too_few(contents.of, "count of rows")
        low, high = contents.number("low"), contents.number("high")
        sure = "one value" if low is None or high is None else between(low[0], high[0])
        counted = f"counted {scope(contents.of)}" if contents.of.kind == "count" else scope(contents.of)
        return Headline(number(contents.numbers[0].values[0]), f"{counted}, {sure}" if contents.of.left_out else sure)
    return _headline(contents.of) or Headline(f"{contents.size:,}", _kind(contents).lower())


def _too_few(of: Published, counted: str) -> Headline:
    """Where no number can be told, and why."""
    if isinstance(of, QuantileRelease):
        return Headline(TOO_FEW.capitalize(), f"the 95 % interval is the whole clip, {_from_to(of.clip)}")
    divided_by = of.divided_by if isinstance(of, RatioRelease) else counted
    return Headline(TOO_FEW.capitalize(), f"the noisy {divided_by} is within its noise")


@singledispatch
def _headline(of: Published) -> Headline | None:
    """Of many values; None where no one number stands for them."""
    return None


@_headline.register
def _(of: SparseRelease) -> Headline | None:
    return Headline(f"{of.bins:,}", f"of {of.domain_size:,} bins show; all others were below the threshold")


def _from_to(ends: Iterable[float]) -> str:
    return " to ".join(dict.fromkeys(number(float(end)) for end in ends))


@_headline.register
def _(of: QuantileRelease) -> Headline | None:
    place = int(np.argmin(np.abs(np.array(of.levels) - 0.5)))
    name = "the median" if of.levels[place] == 0.5 else f"the quantile at {of.levels[place]:g}"
    low, high = of.interval(0.95)
    if of.domain is not None:
        return _headline_of_groups(of, name, of.values[:, place], low[:, place], high[:, place])
    if np.isnan(of.values[place]):
        return _too_few(of, "")
    among = f" {scope(of)}" if of.left_out else ""
    return Headline(number(of.values[place]), f"{name}{among}, {between(low[place], high[place])}")


def _headline_of_groups(of: QuantileRelease, name: str, values: Floats, low: Any, high: Any) -> Headline | None:
    """From the least to the largest that can be told, and how far their intervals reach; of many groups, or where
    nothing is known of how far they are off, noise would choose these two."""
    told, groups = ~np.isnan(values), len(values)
    if groups > MAX_GROUPS or not of.has_intervals:
        return None
    if not told.any():
        return _too_few(of, "")
    each = f"each of {groups} groups" if told.all() else f"{told.sum()} of {groups} groups (the others are {TOO_FEW})"
    reach = f"their 95 % intervals reach from {_from_to((low[told].min(), high[told].max()))}"
    ends = _from_to((values[told].min(), values[told].max()))
    return Headline(ends, f"{name} in {each}, from the least to the largest; {reach}")


@_headline.register(MeanRelease)
@_headline.register(RatioRelease)
def _(of: MeanRelease | RatioRelease) -> Headline | None:
    if of.domain is None:
        return None
    mean = of.overall()
    if math.isnan(mean.value):
        return _too_few(of, "count of all rows")
    among = f" {scope(of)}" if of.left_out else ""
    return Headline(number(mean.value), f"over all bins{among}, {between(mean.low, mean.high)}")


@_headline.register
def _(of: Release) -> Headline | None:
    if of.kind not in ("count", "sum") or not of.bins:
        return None
    total = of.total()
    what = "counted" if of.kind == "count" else "summed over all bins"
    among = "" if of.threshold is None else " among the bins that show"
    return Headline(number(total.value), f"{what} {scope(of)}{among}, {between(total.low, total.high)}")


def lead(contents: Contents) -> str:
    """What was released, in a sentence or two."""
    of = contents.of
    if isinstance(of, Estimate):
        what = f"{contents.size:,} noisy values, and an estimate of the truth behind them by {of.method}"
        if of.guarantee is None:
            return f"{what}. What was promised to the people in the data is in the release that it was made from."
        return f"{what}." if too_weak(of) else f"{what}. The noise {limits_learning(of)}."
    by = "" if contents.size == 1 else f", one for each {_bins(contents)}"
    median = isinstance(of, QuantileRelease) and of.levels == (0.5,)
    many = f"{contents.size:,} {_kind(contents).lower()}"
    what = f"{'1 median' if median and contents.size == 1 else many}{by}, published with {of.mechanism_in_words}"
    if of.guarantee is None:
        return f"{what} that was added elsewhere."
    return f"{what}." if too_weak(of) else f"{what}, which {limits_learning(of)}."


def _bins(contents: Contents) -> str:
    if isinstance(contents.of, QuantileRelease):
        domain = contents.of._shown_domain
        names = () if domain is None else domain.names
        return " and ".join([*names, "level"])
    domain = contents.of._shown_domain  # whose column of intervals is two of the table, low and high
    shown = tuple(column.title for column in contents.keys) if domain is None else domain.names
    return shown[0] if len(shown) == 1 else f"combination of {' and '.join(shown)}"


def facts(contents: Contents) -> list[tuple[str, str]]:
    """The guarantee and the noise in numbers."""
    of = contents.of
    rows = guarantee_facts(of)
    rows += [("protects", protects(of))] if rows or not isinstance(of, Estimate) else []
    rows += _noise(of)
    return [*rows, ("limits", limits(of))] if of.limits else rows


def _noise(of: Published) -> list[tuple[str, str]]:
    rows = [("noise", f"{of.mechanism.capitalize()}, {of.spread_in_words()}")]
    if isinstance(of, Estimate):
        return rows
    norm, hidden = ("L1", of.l1_sensitivity) if of.mechanism == "laplace" else ("L2", of.sensitivity)
    if hidden is not None:
        rows.append((f"{norm} sensitivity", f"{hidden:.6g}"))
    if of.grid and isinstance(of, Release):
        rows.append(("grid", f"values are multiples of {of.grid:g}"))
    if of.at_least is not None:
        rows.append(("threshold", f"only noisy counts of {of.at_least:,} or more show"))
    return rows


def noise(contents: Contents) -> str:
    """How far off a number is."""
    if isinstance(contents.of, Estimate):
        return ""
    return _divided(contents.of) + contents.of.errors_in_words()


def _divided(of: Published) -> str:
    if isinstance(of, MeanRelease):
        return f"A {of.kind} is a noisy sum over a noisy count. "
    if isinstance(of, RatioRelease):
        above, below = of.names_in_words
        return (
            f"A ratio is a noisy sum of {above} over a noisy sum of {below}, of the rows in which neither is missing. "
        )
    return ""


def denoising(contents: Contents) -> str:
    """What was done to the noise, or why nothing was."""
    estimate = contents.estimate
    if estimate is None:
        return contents.why_no_estimate
    if estimate.rmse is None:
        return (
            f"Denoised by {estimate.method}. How much error is left cannot be told without the truth, so nobody knows "
            "whether the denoised values are better, and the published ones are shown first."
        )
    if estimate.noise.is_none:
        return estimate.errors_in_words()
    if estimate.kept:
        return "Nothing that was tried is better than the published values beyond chance, so they are kept as they are."
    return (
        f"Denoising costs no privacy: it reads only what is published. The typical error of a value is estimated, "
        f"without the truth, at {estimate.rmse_in_words()}; before, it was {rounded(estimate.std)}."
        f"{estimate.advice_in_words()}"
    )


def cite(contents: Contents, name: str) -> str:
    """How to cite the release."""
    of = contents.of
    if isinstance(of, Estimate):
        source = "" if of.guarantee is None else f" from the differentially private release {of.id}"
        return f"{name}. Denoised with leastnoise {VERSION}{source}. {short_promise(of)}".strip()
    return promise_sentences.cite(of, name)


ESTIMATORS = {
    "additive": "the effects of rows and columns, and the rest, each drawn toward zero by its own factor",
    "empirical_bayes": "all bins share one prior, fitted to them",
    "flat": "one value for all bins, their mean drawn toward zero, but for the few that stand out",
    "james_stein": "all bins drawn toward zero by one factor",
    "james_stein_mean": "all bins drawn toward their mean by one factor",
    "neighbour_bayes": "bins whose surroundings look alike share a prior; how far to look is learnt",
    "neighbour_bayes_1": "as neighbour bayes, looking at next neighbours only",
    "neighbour_bayes_departures": "as neighbour bayes, for how far a bin departs from its surroundings",
    "fused_lasso": "neighbours are equal, but for few jumps",
    "laplacian": "every bin drawn toward its neighbours",
    "wavelet": "few pieces of any size and place differ from what surrounds them",
}


def _check_shown(of: Published) -> list[Step]:
    """What to type to see what the noise of keys that nobody listed hides: all but the chance that a key of one unit's
    own shows, which is part of delta."""
    if isinstance(of, Estimate) or of.at_least is None or of.sensitivity is None or of.l1_sensitivity is None:
        return []
    if of.mechanism == "laplace":
        typed = f"print({of.l1_sensitivity!r} / {of.scale!r})  # epsilon: the L1 sensitivity over the scale"
    else:
        typed = f"print(ln.GaussianDP.of(sigma={of.scale!r}, sensitivity={of.sensitivity!r}))  # in L2"
    counts = "What the noise of the counts promises, but for the chance that a key of one unit's own shows"
    return [Step(f"{counts}{_beside_total(of)}:", typed)]


def _beside_total(of: Published) -> str:
    """That the counts are one part of the promise, where a total of all keys is the other."""
    if not isinstance(of, Release) or of.all_keys is None:
        return ""
    total = f"the total of all keys, whose noise has standard deviation {rounded(of.all_keys.noise.std)}"
    return f". This is the counts' part of the promise above; the rest of it is for {total}"


def check(contents: Contents, file: str) -> list[Step]:
    """What to type to check the page, whose release is in this file."""
    of, promise = contents.of, contents.of.guarantee
    steps = [check_file(file)]
    if isinstance(of, Estimate) and promise is None:
        return steps
    if isinstance(promise, GaussianDP) and not isinstance(of, Estimate) and of.sensitivity is not None:
        steps.append(
            Step(
                "The promise follows from the noise, and is computed anew with proof:",
                f"g = ln.GaussianDP.of(sigma={of.scale!r}, sensitivity={of.sensitivity!r})\n"
                f"print(g.to_approx(delta={of.delta or 1e-6!r}))",
            )
        )
    elif promise is not None:
        steps += [*_check_shown(of), check_promise(contents.of)]
    return [*steps, *check_ledger(of)]
