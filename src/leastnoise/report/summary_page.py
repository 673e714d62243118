"""The page about a summary, all of it in one file: the promise, a picture of each statistic, and a table of all."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

import numpy as np

from leastnoise._support.number_format import rounded
from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.summary import SummaryRelease
from leastnoise.report import markup, page_file, promise_sentences
from leastnoise.report.promise_sentences import (
    Headline,
    Step,
    between,
    check_file,
    check_ledger,
    check_promise,
    number,
)
from leastnoise.report.saved_release import Unsaved, saved_file
from leastnoise.report.summary_picture import MAX_BINS, dots

MAX_ROWS = 2_000  # of the table; the file of the release has all


def write(path: str | os.PathLike[str], of: SummaryRelease, *, title: str | None = None) -> Path:
    """The page about a summary, in a file that appears whole or not at all."""
    return page_file.write(path, lambda: page(of, title=title, file=saved_file(path, of, "summary.parquet")))


def page(of: SummaryRelease, *, title: str | None = None, file: str = Unsaved("summary.parquet")) -> str:
    """The page as text."""
    keys = labels.of(of.domain, range(min(of.bins, MAX_ROWS)))
    return markup.page_of(
        of,
        "summary_middle.html",
        scripts=[],
        skip="Skip to the statistics",
        data="{}",
        styles=["summary.css"],
        title=title or _title(of),
        lead=_lead(of),
        headline=_headline(of),
        facts=_facts(of),
        explained=of.explain(),
        noise=escape(of.errors_in_words()),
        pictures=_pictures(of, keys),
        table=_table(of, keys),
        note=escape(f"{of.note} {_ratios(of)} {of.why_not_denoised}".strip()),
        check=_check(of, file),
        mechanism=of.mechanism,
    )


def _ratios(of: SummaryRelease) -> str:
    kinds = {figure.kind for figure in of.figures}
    told = []
    if kinds & {"mean", "rate"}:
        told.append("A mean or a rate is a noisy sum over a noisy count; its interval allows for both.")
    if "ratio" in kinds:
        told.append(
            "A ratio is a noisy sum over another, both of the rows in which neither column is missing; its interval "
            "allows for both."
        )
    return " ".join(told)


def _title(of: SummaryRelease) -> str:
    names = list(of)
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    by = f" by {labels.title(of._shown_domain)}" if of.domain.axes else ""
    return f"{listed[:1].upper()}{listed[1:]}{by}"


def _lead(of: SummaryRelease) -> str:
    each = "combination of " if len(of.domain.axes) > 1 else ""
    bins = "" if of.bins == 1 else f" for each {each}{labels.title(of._shown_domain)}"
    many = "1 statistic" if len(of) == 1 else f"{len(of)} statistics"
    together = "" if len(of) == 1 else " together"
    what = f"{many}{bins}, published{together} with {of.mechanism.capitalize()} noise"
    if of.guarantee is None or promise_sentences.too_weak(of):
        return f"{what}."
    them = "it" if len(of) == 1 else "them"
    return f"{what}, which limits what anybody can learn from {them} about any one {promise_sentences.unit(of)}."


def _headline(of: SummaryRelease) -> Headline:
    """All rows, where they are counted; else how many bins."""
    counted = next((figure.name for figure in of.figures if figure.kind == "count"), None)
    if counted is None:
        return Headline(f"{of.bins:,}", "bins" if of.bins != 1 else "bin")
    total = of[counted].total()  # type: ignore[union-attr]
    label = f"counted {promise_sentences.scope(of)}, {between(total.low, total.high)}"
    return Headline(number(total.value), label)


def _facts(of: SummaryRelease) -> list[tuple[str, str]]:
    rows = [*promise_sentences.guarantee_facts(of), ("protects", promise_sentences.protects(of))]
    rows += [("statistics", "; ".join(f"{figure.name}: {of.meaning(figure)}" for figure in of.figures))]
    return [*rows, ("limits", promise_sentences.limits(of))] if of.limits else rows


def _pictures(of: SummaryRelease, keys: list[str]) -> str:
    """A drawing of each statistic, of the first bins where there are many."""
    shown = min(of.bins, MAX_BINS)
    drawn = []
    for figure in of.figures:
        one = of[figure.name]
        values, low, high = (np.asarray(column, dtype=float)[:shown] for column in (one.values, *one.interval(0.95)))
        picture = dots(figure.name, values, low, high, keys[:shown])
        drawn.append(f"<figure><h3>{escape(figure.name)}</h3><p>{escape(of.meaning(figure))}</p>{picture}</figure>")
    more = f"<p>The first {shown} of {of.bins:,} bins are drawn.</p>" if of.bins > shown else ""
    return f'<div class="multiples">{"".join(drawn)}</div>{more}'


def _table(of: SummaryRelease, keys: list[str]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in of)
    columns = []
    for name in of:
        one = of[name]
        low, high = one.interval(0.95)
        columns.append(list(zip(one.values[:MAX_ROWS], low[:MAX_ROWS], high[:MAX_ROWS], strict=True)))
    body = "".join(
        f'<tr><th scope="row" class="text">{escape(key)}</th>{"".join(map(_cell, of, cells))}</tr>'
        for key, *cells in zip(keys, *columns, strict=True)
    )
    more = "" if of.bins <= MAX_ROWS else f"<p>{of.bins - MAX_ROWS:,} more bins are in the file of the release.</p>"
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="All statistics"><table class="statistics">'
        "<caption>Each value with its 95 % interval</caption>"
        f'<thead><tr><th scope="col" class="text">{escape(labels.title(of._shown_domain))}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{more}"
    )


def _cell(name: str, cell: tuple[float, float, float]) -> str:
    """One value; its name is for a narrow screen, where the values of a bin stand below one another."""
    value, low, high = cell
    named = f'<td data-name="{escape(name, quote=True)}">'
    if np.isnan(value):
        return f"{named}{TOO_FEW}</td>"
    return f"{named}<span>{rounded(value, 5)}<small>{rounded(low, 5)} to {rounded(high, 5)}</small></span></td>"


def _check(of: SummaryRelease, file: str) -> list[Step]:
    promise = of.guarantee
    first = next(iter(of))
    steps = [
        check_file(file),
        Step(
            f"Every statistic is in it with every digit, {first} for example, and intervals that hold together:",
            f'print(r["{first}"].interval(0.95))\nprint(r.interval(0.95, simultaneous=True))\nprint(r.to_pandas())',
        ),
    ]
    return [*steps, *([] if promise is None else [check_promise(of)]), *check_ledger(of)]
