"""The page about one release, all of it in one file."""

from __future__ import annotations

import math
import os
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support.number_format import digits_beside, percent, rounded
from leastnoise._support.plain_text import key_words
from leastnoise.domain.product import alike_in_words, differ_by_case
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.other_keys import LABEL
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.report import (
    charts,
    markup,
    page_file,
    place_charts,
    promise_charts,
    promise_sentences,
    quantile_charts,
    sentences,
)
from leastnoise.report.contents import MAX_BINS_SHOWN, MAX_LARGEST, Contents, decimals, gather, plain, thinned
from leastnoise.report.markup import json_text, piece
from leastnoise.report.picture import Picture
from leastnoise.report.promise_sentences import most_found
from leastnoise.report.saved_release import Unsaved, saved_file

if TYPE_CHECKING:
    from leastnoise.domain import Zones
    from leastnoise.graphs import Graph


PUBLISHED = "as published"  # its error is known, the others are estimates


def write(
    path: str | os.PathLike[str],
    of: Published,
    *,
    graph: Graph | None = None,
    zones: Zones | None = None,
    estimate: Estimate | None = None,
    why_no_estimate: str = "",
    title: str | None = None,
) -> Path:
    """The page about a release or an estimate, in a file that appears whole or not at all.

    An `estimate` is shown beside a release; without one, `why_no_estimate` says why.
    """
    return page_file.write(
        path,
        lambda: page(
            of,
            graph=graph,
            zones=zones,
            estimate=estimate,
            why_no_estimate=why_no_estimate,
            title=title,
            name=Path(path).stem,
            file=saved_file(path, of, "release.parquet"),
        ),
    )


def page(
    of: Published,
    *,
    graph: Graph | None = None,
    zones: Zones | None = None,
    estimate: Estimate | None = None,
    why_no_estimate: str = "",
    title: str | None = None,
    name: str = "release",
    file: str = Unsaved("release.parquet"),
) -> str:
    """The page as text."""
    contents = gather(of, estimate=estimate, why_no_estimate=why_no_estimate, graph=graph, zones=zones)
    name_of_page = title or sentences.title(contents)
    headline = sentences.headline(contents)
    pictures = _pictures(contents)
    number, label = (escape(text) for text in headline)
    return markup.page(
        "page_middle.html",
        scripts=[_vega(), piece("numbers_table.js") + piece("page.js")],
        skip="Skip to the values",
        css=piece("page.css"),
        title=escape(name_of_page),
        warning=markup.warnings(of, seeded=_seeded(contents)),
        lead=escape(sentences.lead(contents)),
        number=number,
        label=label,
        left_out=markup.paragraph("left-out", promise_sentences.left_out(of)),
        made=_origin(contents),
        promise=escape(promise_sentences.promise(of)),
        facts=markup.definitions(sentences.facts(contents)),
        tradeoff=_figure("tradeoff", pictures, "What any attack can find at most, against guessing (dashed)."),
        explained=markup.in_full(of.explain()),
        noise=escape(sentences.noise(contents)),
        switch=_switch(contents, pictures),
        chart=_figure("chart", pictures, _chart_caption(contents)),
        denoising=escape(sentences.denoising(contents)),
        estimators=_estimators(contents),
        distribution=_figure("distribution", pictures, "How likely each size of the noise is; 95 % is shaded."),
        note=_note(contents),
        caption=_table_caption(contents),
        cite=escape(sentences.cite(contents, name_of_page)),
        paper=escape(promise_sentences.PAPERS[contents.of.mechanism]),
        check=markup.steps(sentences.check(contents, file)),
        data=json_text({"name": name, "first": _first(pictures),
                    "table": _table(thinned(contents)), "notes": _comments(contents),
                    "pictures": {key: _drawn(picture) for key, picture in pictures.items()}}),
    )  # fmt: skip


def _pictures(contents: Contents) -> dict[str, Picture]:
    made = {"chart": place_charts.main(contents) or quantile_charts.groups(contents) or charts.main(contents)}
    of = contents.of
    if not isinstance(of, Estimate) and of.one_distribution:
        made["distribution"] = promise_charts.noise(of.distribution, of.noise_added_to)
    made["tradeoff"] = None if of.guarantee is None else promise_charts.tradeoff(partial(most_found, of))
    return {name: picture for name, picture in made.items() if picture is not None}


def _drawn(picture: Picture) -> dict[str, Any]:
    columns = {name: [plain(value) for value in values] for name, values in picture.columns.items()}
    return {
        "spec": picture.spec,
        "columns": columns,
        "alt": picture.alt,
        "ratio": picture.ratio,
        "extra": picture.extra,
    }


def _first(pictures: dict[str, Picture]) -> str:
    params = pictures["chart"].spec.get("params", []) if "chart" in pictures else []
    return next((p["value"] for p in params if p["name"] == "column"), "value")


def _table(contents: Contents) -> list[dict[str, Any]]:
    """The columns as they are shown; `head` and `written` are what a file has instead, where that differs."""
    made: list[dict[str, Any]] = []
    below, domain = _others_row(contents), contents.of.domain
    own = {contents.of._words(name): name for name in (() if domain is None else domain.names)}
    for column in (*contents.keys, *contents.numbers):
        values = [plain(value) for value in column.values]
        key = column in contents.keys
        shown = [key_words(value) if key and isinstance(value, str) else value for value in values]
        title = key_words(column.title)
        in_file: dict[str, Any] = {} if shown == values else {"written": values}
        in_file |= {"head": own[title]} if key and own.get(title, title) != title else {}
        text = any(isinstance(value, str) for value in values)
        digits = contents.decimals if column.half_width is None else decimals(column.half_width)
        facts = {"title": title, "key": key, "text": text, "decimals": digits, "missing": column.missing}
        foot = {} if below is None else {"foot": below.get(column.name)}
        made.append({**facts, "end": column.name in ("low", "high"), "values": shown, **foot, **in_file})
    return made


def _others_row(contents: Contents) -> dict[str, Any] | None:
    """The row below all others, by the names of columns: of the keys that do not show."""
    others = contents.others
    if others is None:
        return None
    numbers = {"value": others.value, "low": math.floor(others.low), "high": math.ceil(others.high)}
    return {contents.keys[0].name: LABEL} | {name: plain(number) for name, number in numbers.items()}


def _figure(name: str, pictures: dict[str, Picture], caption: str) -> str:
    if name not in pictures:
        return ""
    picture = pictures[name]
    text = " ".join(part for part in (caption, picture.note) if part)
    alt = escape(picture.alt, quote=True)
    return (
        f'<figure><div class="chart" id="{name}" role="img" aria-label="{alt}"></div>'
        f"<figcaption>{escape(text)}</figcaption></figure>"
    )


def _switch(contents: Contents, pictures: dict[str, Picture]) -> str:
    if "chart" not in pictures or contents.number("estimate") is None:
        return ""
    first = _first(pictures)
    choices = "".join(
        f'<label><input type="radio" name="shown" value="{value}"{" checked" if value == first else ""}> {name}</label>'
        for value, name in (("value", "published"), ("estimate", "denoised"))
    )
    return f'<fieldset class="switch"><legend>Show</legend>{choices}</fieldset>'


def _estimators(contents: Contents) -> str:
    """Every candidate with its estimated error, least first."""
    estimate = contents.estimate
    if estimate is None or estimate.rmse is None or estimate.noise.is_none:
        return ""
    weights = dict(estimate.parameters.get("weights") or {})
    found = dict(estimate.parameters.get("errors") or {})
    rows = [(name, float(error), weights.get(name)) for name, error in found.items() if name != "raw"]
    rows = [*rows, (PUBLISHED, estimate.std, weights.get("raw"))]
    rows.sort(key=lambda row: row[1])
    mixture, passed_over = "the mixture" if weights else estimate.method, estimate.passed_over_in_words()
    every = [(mixture, estimate.rmse, None), *rows]
    most = max(error for _, error, _ in every) or 1.0

    def shown(name: str, error: float) -> str:
        return rounded(error, 4 if name == PUBLISHED else digits_beside(error, estimate.std))

    body = "".join(
        _estimator(name, shown(name, error), (share or 0.0) if weights else None, error / most, name == mixture)
        for name, error, share in every
    )
    return (
        '<div class="scroll"><table class="estimators">'
        "<caption>Estimated error of a value, made without the truth; "
        f"{escape(mixture)}: {escape(estimate.rmse_in_words())}</caption>"
        "<thead><tr>"
        '<th scope="col" class="text">estimator</th><th scope="col">error, about</th>'
        f'{"<th scope=col>weight</th>" if weights else ""}<td class="bar"></td></tr></thead>'
        f"<tbody>{body}</tbody></table></div>" + (f"<p>{escape(passed_over)}</p>" if passed_over else "")
    )


def _estimator(name: str, error: str, share: float | None, part: float, chosen: bool) -> str:
    meaning = sentences.ESTIMATORS.get(name)
    gloss = "" if meaning is None else f"<small>{escape(meaning)}</small>"
    weight = "" if share is None else f"<td>{percent(share)}</td>" if share else "<td></td>"
    return (
        f'<tr{" class=chosen" if chosen else ""}><th scope="row">{escape(name.replace("_", " "))}{gloss}</th>'
        f"<td>{error}</td>{weight}"
        f'<td class="bar" aria-hidden="true"><span style="width:{100 * part:.1f}%"></span></td></tr>'
    )


def _seeded(contents: Contents) -> bool:
    return contents.of.seeded or (contents.estimate is not None and contents.estimate.seeded)


def _origin(contents: Contents) -> str:
    of = contents.of
    if isinstance(of, Estimate):
        return f"Made from release {escape(of.id)}." if of.id else ""
    return markup.origin(of)


def _faintest(contents: Contents) -> str:
    estimate = contents.number("estimate")
    if charts.far_from_zero(contents.numbers[0].values if estimate is None else estimate):
        return "The faintest is the smallest value, far above zero. "
    return "Values at or below zero are the faintest. "


def _chart_caption(contents: Contents) -> str:
    below = _faintest(contents) if contents.shape in ("image", "map", "areas") else ""
    low = contents.number("low") is not None and contents.shape in ("bars", "dots", "line", "groups")
    mark = "Bands" if contents.shape == "line" else "Lines"
    bars = f"{mark} are 95 % intervals of the published values. " if low and _has_intervals(contents) else ""
    none = "The intervals are not of the denoised values. " if contents.estimate is not None and low else ""
    named = contents.shape in ("bars", "dots", "groups")  # in the chart itself
    few = f"Bins without a mark are {TOO_FEW}. " if contents.too_few and not named else ""
    return (below + bars + none + few + _others_in_words(contents)).strip()


def _has_intervals(contents: Contents) -> bool:
    return not isinstance(contents.of, QuantileRelease) or contents.of.has_intervals


def _others_in_words(contents: Contents) -> str:
    if contents.others is None:
        return ""
    return f"Not in the chart: {LABEL}, about {promise_sentences.number(contents.others.value)} rows."


def _note(contents: Contents) -> str:
    alike = [group for column in contents.keys for group in differ_by_case(dict.fromkeys(column.values))]
    said = [_some_bins(contents), escape(alike_in_words(alike)) if alike else ""]
    return "".join(f"<p>{sentence}</p>" for sentence in said if sentence)


def _some_bins(contents: Contents) -> str:
    if contents.size <= MAX_BINS_SHOWN:
        return ""
    kept = len(thinned(contents).bins)
    return (
        f"Of {contents.size:,} bins this table has {kept:,}: the {MAX_LARGEST} largest, of which some are large by "
        "their noise, and others evenly spaced. The file of the release has all."
    )


def _comments(contents: Contents) -> list[str]:
    ends = promise_sentences.intervals(contents.of) if contents.number("low") is not None else ""
    denoised = "" if isinstance(contents.of, Estimate) or contents.estimate is None else sentences.denoising(contents)
    return promise_sentences.comment_lines(contents.of, contents.of.explain(), ends, denoised, _some_bins(contents))


def _table_caption(contents: Contents) -> str:
    low = contents.number("low") is not None
    intervals = f"{markup.intervals(contents.of)} " if low else ""
    return f"{intervals}{markup.SORT}"


@lru_cache(maxsize=1)
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; nothing in it may end the element."""
    try:
        import vl_convert
    except ImportError:
        raise errors.MissingPackage.named("vl-convert-python", "A report", extra="report") from None
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
