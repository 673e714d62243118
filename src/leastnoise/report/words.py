"""The page's sentences: true for every kind of release, and plain."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.number_format import about, rounded
from leastnoise._support.version import VERSION
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.releases import labels
from leastnoise.report.contents import Contents


class Headline(NamedTuple):
    """One number, and what it is."""

    number: str
    label: str


def title(contents: Contents) -> str:
    """What was released: "Counts by pickup", "Mean age by sex"."""
    kind, column = _kind(contents), getattr(contents.of, "column", None)
    if column is not None:
        kind = f"Mean {column}" if hasattr(contents.of, "centre") else f"{kind} of {column}"
    if contents.domain is not None and contents.domain.axes:
        return f"{kind} by {labels.title(contents.domain)}"
    return kind


def _kind(contents: Contents) -> str:
    of, many = contents.of, contents.size != 1
    word = "quantile" if hasattr(of, "levels") else "mean" if hasattr(of, "centre") else None
    if word is None and contents.release is not None:
        kind = getattr(contents.release, "kind", "value")
        word = {"count": "count", "sum": "sum", "soft": "count", "hard": "count"}.get(kind, "value")
    word = word or "denoised value"
    return (word + "s" if many else word).capitalize()


def headline(contents: Contents) -> Headline:
    """The number that matters most, with how sure it is."""
    of, release = contents.of, contents.release
    if hasattr(of, "indices"):
        return Headline(f"{of.indices.size:,}", f"of {of.domain_size:,} bins show; all others were below the threshold")
    if contents.size == 1:
        low, high = contents.number("low"), contents.number("high")
        sure = "" if low is None or high is None else f"95 % sure to lie between {_n(low[0])} and {_n(high[0])}"
        return Headline(_n(contents.numbers[0].values[0]), sure or "one value")
    if hasattr(of, "levels"):
        place = int(np.argmin(np.abs(np.array(of.levels) - 0.5)))
        name = "the median" if of.levels[place] == 0.5 else f"the quantile at {of.levels[place]:g}"
        low, high = of.interval(0.95)
        return Headline(
            _n(of.values[place]), f"{name}, 95 % sure to lie between {_n(low[place])} and {_n(high[place])}"
        )
    if hasattr(of, "centre") and contents.domain is not None:
        mean = of.overall()
        return Headline(_n(mean.value), f"over all bins, 95 % sure to lie between {_n(mean.low)} and {_n(mean.high)}")
    kind = getattr(release, "kind", "")
    if kind in ("count", "sum") and not hasattr(of, "centre") and contents.size:
        total = release.total()
        what = "counted in all" if kind == "count" else "summed over all bins"
        among = "" if release.threshold is None else " among the bins that show"
        return Headline(
            _n(total.value), f"{what}{among}, 95 % sure to lie between {_n(total.low)} and {_n(total.high)}"
        )
    return Headline(f"{contents.size:,}", _kind(contents).lower())


def lead(contents: Contents) -> str:
    """What was released, in a sentence or two."""
    release = contents.release
    if release is None:
        estimate = contents.estimate
        method = estimate.method if estimate is not None else "unknown"
        what = f"{contents.size:,} noisy values, and an estimate of the truth behind them by {method}"
        if estimate is None or estimate.guarantee is None:
            return (
                f"{what}. What was promised to the people in the data is told by the release that this estimate was "
                "made from."
            )
        return f"{what}. The noise limits what anybody can learn from them about any one {unit(contents)}."
    by = "" if contents.size == 1 else f", one for each {_bins(contents)}"
    distribution = "Gaussian" if getattr(release, "mechanism", "gaussian") == "gaussian" else "Laplace"
    what = f"{contents.size:,} {_kind(contents).lower()}{by}, published with {distribution} noise"
    if release.guarantee is None:
        return f"{what} that was added elsewhere."
    return f"{what}, which limits what anybody can learn from them about any one {unit(contents)}."


def _bins(contents: Contents) -> str:
    if hasattr(contents.of, "levels"):
        return "level"
    if len(contents.keys) == 1:
        return contents.keys[0].title
    return "combination of " + " and ".join(column.title for column in contents.keys)


def unit(contents: Contents) -> str:
    """Whom it protects."""
    column = getattr(contents.promised, "unit", None) or "person"
    return column.removesuffix("_id").replace("_", " ") or column


def promise(contents: Contents) -> str:
    """The guarantee as one sentence."""
    guarantee = getattr(contents.promised, "guarantee", None)
    if guarantee is None:
        return "What is promised is known to whoever added the noise, and is not in this file."
    whom = unit(contents)
    caught = 100 * (1 - float(guarantee.tradeoff(0.05)))
    if guarantee.neighbours == "replace":
        secret, present = f"which of two records a {whom} has", "that have the one"
    else:
        secret, present = f"whether a {whom} is in the data", "that are in it"
    return (
        f"Whoever tries to tell {secret} from these numbers, whatever else they know, and accepts 5 % false alarms, "
        f"finds at most {caught:.3g} % of those {present}. Guessing finds 5 %."
    )


def facts(contents: Contents) -> list[tuple[str, str]]:
    """The guarantee and the noise in numbers."""
    promised, release = contents.promised, contents.release
    whom, column = unit(contents), getattr(promised, "unit", None)
    told = f"one {whom}" if column in (None, whom) else f"one {whom} (the column {column})"
    rows = _guarantee(promised)
    rows += [("protects", told)] if rows or release is not None else []
    rows += [_noise_of_estimate(promised)] if release is None else _noise(contents)
    if promised.limits:
        rows.append(("limits", ", ".join(f"{name} = {value:,}" for name, value in promised.limits.items())))
    return rows


def _noise_of_estimate(estimate: Any) -> tuple[str, str]:
    return ("noise", f"{estimate.mechanism.capitalize()}, standard deviation {estimate.sigma:.6g}")


def _noise(contents: Contents) -> list[tuple[str, str]]:
    of, release = contents.of, contents.release
    distribution = getattr(release, "mechanism", "gaussian")
    spread = f"standard deviation {release.distribution.std:.6g}"
    if hasattr(of, "centre"):
        std = release.distribution.std
        of_sum, of_count = std * math.hypot(1.0, of.centre / of.half_range), std / of.half_range
        spread = f"standard deviation {rounded(of_sum)} of a sum, {rounded(of_count)} of a count"
    if hasattr(of, "levels"):
        spread += f" in each of {release.bins:,} steps"
    rows = [("noise", f"{distribution.capitalize()}, {spread}")]
    norm, hidden = ("L1", release.l1_sensitivity) if distribution == "laplace" else ("L2", release.sensitivity)
    if hidden is not None:
        rows.append((f"{norm} sensitivity", f"{hidden:.6g}"))
    if getattr(release, "grid", 0) and of is release:
        rows.append(("grid", f"values are multiples of {release.grid:g}"))
    if release.threshold is not None:
        least = getattr(release, "at_least", release.threshold)
        rows.append(("threshold", f"only noisy counts of {least:,} or more show"))
    return rows


def _guarantee(release: Any) -> list[tuple[str, str]]:
    promise = release.guarantee
    if promise is None:
        return []
    side = (
        "neighbours",
        "one more or one fewer" if promise.neighbours == "add-remove" else "one exchanged for another",
    )
    if isinstance(promise, GaussianDP):
        at = promise.to_approx(delta=release.delta or 1e-6)
        return [("mu", f"{promise.mu:.6g}"), ("epsilon", f"{at.epsilon:.6g} at delta {at.delta:g}"), side]
    if isinstance(promise, ApproxDP):
        return [("epsilon", f"{promise.epsilon:.6g} at delta {promise.delta:g}"), side]
    return [("epsilon", f"{promise.epsilon:.6g}, with delta 0"), side] if isinstance(promise, PureDP) else [side]


def noise(contents: Contents) -> str:
    """How far off a number is."""
    release = contents.release
    if release is None:
        return ""
    if hasattr(contents.of, "centre"):
        return f"A mean is a noisy sum over a noisy count. {contents.of.errors_in_words()}"
    if hasattr(contents.of, "levels"):
        return str(contents.of.errors_in_words())
    half = release.distribution.half_width(0.95)
    if release.threshold is not None:
        return (
            "Noise was added to every bin, and only bins whose noisy count passed the threshold show, which makes them "
            "too high on average. Their intervals allow for that."
        )
    worst = release.distribution.half_width(0.95, max(1, contents.size))
    all_of = (
        "" if contents.size == 1 else f" All {contents.size:,} together are within {worst:,.4g}, with 95 % confidence."
    )
    return f"A published number is off by at most {half:,.4g}, 95 % of the time.{all_of}"


def noised(contents: Contents) -> str:
    """To what the noise was added."""
    if hasattr(contents.of, "centre"):
        return "a centred sum"
    return "a step of the histogram" if hasattr(contents.of, "levels") else "a value"


def denoising(contents: Contents) -> str:
    """What was done to the noise, or why nothing was."""
    estimate = contents.estimate
    if estimate is None:
        return contents.unmade
    rmse = estimate.rmse
    if rmse is None:
        return f"Denoised by {estimate.method}. How much error is left cannot be told without the truth."
    return (
        f"Denoising costs no privacy: it reads only what is published. The typical error of a value is estimated at "
        f"{about(rmse)}; before, it was {rounded(estimate.sigma, 3)}."
    )


def cite(contents: Contents, name: str) -> str:
    """How to cite the release."""
    release = contents.release
    if release is None:
        made = contents.promised
        source = "" if made.guarantee is None else f" from the differentially private release {made.release}"
        return f"{name}. Denoised with leastnoise {VERSION}{source}. {_short_promise(made)}".strip()
    return (
        f"{name}. Differentially private release {release.id}, made {release.made:%Y-%m-%d} with leastnoise "
        f"{release.version}. {_short_promise(release)}"
    )


ESTIMATORS = {
    "empirical_bayes": "all bins share one prior, fitted to them",
    "empirical_bayes_real": "as empirical bayes, and the truth may be below zero",
    "james_stein": "all bins drawn toward zero by one factor",
    "james_stein_mean": "all bins drawn toward their mean by one factor",
    "neighbour_bayes": "bins whose surroundings look alike share a prior; how far to look is learnt",
    "neighbour_bayes_1": "as neighbour bayes, looking at next neighbours only",
    "neighbour_bayes_departures": "as neighbour bayes, for how far a bin departs from its surroundings",
    "fused_lasso": "neighbours are equal, but for few jumps",
    "laplacian": "every bin drawn toward its neighbours",
    "trend_filter": "smooth over the graph, but for few bends",
    "tree_wavelet": "few pieces of the graph differ",
    "soft_threshold": "small values moved to zero, and all others toward it",
    "soft_threshold_universal": "as soft threshold, with one that hardly any noise passes",
}

PAPER = (
    "B. Balle and Y.-X. Wang. Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and "
    "Optimal Denoising. International Conference on Machine Learning, 2018."
)


def _short_promise(release: Any) -> str:
    told = [f"{name} {value}" for name, value in _guarantee(release) if name != "neighbours"]
    return (", ".join(told) + ".") if told else ""


def check(contents: Contents) -> list[tuple[str, str]]:
    """What to type to check the page: (why, code)."""
    release = contents.release
    steps = [
        (
            "The file behind this page says the same, and is read without anybody's data:",
            'import leastnoise as ln\n\nr = ln.load("release.parquet")\nprint(r.explain())',
        )
    ]
    promise, name = contents.promised.guarantee, getattr(contents.promised, "release", None)
    if release is None and promise is None:
        return steps
    if release is not None:
        name = release.id
    if isinstance(promise, GaussianDP) and release is not None:
        scale = getattr(release, "scale", getattr(release, "sigma", math.nan))
        delta = release.delta or 1e-6
        steps.append(
            (
                "The promise follows from the noise, and is computed anew with proof:",
                (
                    f"g = ln.GaussianDP.of(sigma={scale!r}, sensitivity={release.sensitivity!r})\n"
                    f"print(g.to_approx(delta={delta!r}))"
                ),
            )
        )
    elif promise is not None:
        steps.append(
            (
                "What the promise means, and what any attack can find at most at 5 % false alarms:",
                f"g = ln.{promise!r}\nprint(g.explain())\nprint(1 - g.tradeoff(0.05))",
            )
        )
    steps.append(
        (
            f"If it was paid from a budget, the ledger has its entry under {name}:",
            (
                'book = ln.Budget.open("city.ledger")\nbook.verify()\n'
                f"print([e for e in book.history() if e.release == {name!r}])"
            ),
        )
    )
    return steps


def _n(value: Any) -> str:
    """A number for people."""
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:,.4g}"
