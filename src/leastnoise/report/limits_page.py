"""The page about proposed limits, all of it in one file: what is proposed and why, what it cost, and how to use it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any

from leastnoise._support.number_format import rounded
from leastnoise.releases.limit_errors import PLAUSIBLE, kept_in_words
from leastnoise.releases.limit_suggestion import RISKY, LimitSuggestion
from leastnoise.report import markup, page_file, promise_sentences
from leastnoise.report.limits_picture import drawn
from leastnoise.report.promise_sentences import Headline, Step, check_file, check_ledger, check_promise
from leastnoise.report.saved_release import Unsaved, saved_file

WORTH_SHOWING = 10  # times the error of the proposed limits: worse ones are in the file
HEADINGS = ("max rows", "in a bin", "rows kept", "left out", "noise", "together")


def write(path: str | os.PathLike[str], of: LimitSuggestion, *, title: str | None = None) -> Path:
    """The page about proposed limits, in a file that appears whole or not at all."""
    return page_file.write(path, lambda: page(of, title=title, file=saved_file(path, of, "limits.parquet")))


def page(of: LimitSuggestion, *, title: str | None = None, file: str = Unsaved("limits.parquet")) -> str:
    """The page as text."""
    return markup.page_of(
        of,
        "limits_middle.html",
        scripts=[],
        skip="Skip to the limits",
        data="{}",
        styles=["limits.css"],
        title=title or _title(of),
        also_warned=_risky(of),
        lead=_lead(of),
        headline=_headline(of),
        facts=_facts(of),
        found_from=" from this look" if of.earlier is None else " from the last look alone",
        explained=of.promise_in_words(),
        proposal="".join(f"<p>{escape(line)}</p>" for line in _proposal(of)),
        picture=drawn(of),
        table=_table(of),
        use=markup.steps(_use(of, file)),
        check=_check(of, file),
        mechanism=of.mechanism,
    )


def _title(of: LimitSuggestion) -> str:
    return f"Limits for {_question(of)}"


def _question(of: LimitSuggestion) -> str:
    return f"rows by {' and '.join(of.by)}" if of.by else "a count of rows"


def _lead(of: LimitSuggestion) -> str:
    bins = f" in {of.layout.bins:,} bins" if of.layout.bins > 1 else ""
    unit = promise_sentences.unit(of)
    looks = "This look is a release of its own, which was paid for"
    if of.earlier is not None:
        looks = f"They are of {len(of.looks)} looks put together, each a release of its own, which was paid for"
    return (
        f"How much of one {unit} should count in {_question(of)}{bins}, proposed from private counts of how many have "
        f"how many rows. {looks}; what is released under these limits is another."
    )


def _headline(of: LimitSuggestion) -> Headline:
    rows, in_bin = of.limits["max_rows"], of.limits.get("max_per_bin")
    at_most = "" if in_bin is None else f", at most {in_bin:,} of them in one bin"
    unit, (least, most) = promise_sentences.unit(of), map(rounded, of.error_interval)
    return Headline(
        f"{rows:,}",
        f"{'row' if rows == 1 else 'rows'} of one {unit}{at_most}: a bin is then off by about {rounded(of.error)} "
        f"({least} to {most}), as predicted, with about {kept_in_words(of.kept, *of.kept_interval)} of the rows kept",
    )


def _risky(of: LimitSuggestion) -> str:
    if of.risk < RISKY:
        return ""
    return (
        f"{_this(of)} which limits are good: with a chance of {100 * of.risk:.0f} % the error under those "
        "proposed is more than half above the least one. See below what would help."
    )


def _this(of: LimitSuggestion) -> str:
    return "This look leaves open" if of.earlier is None else f"These {len(of.looks)} looks leave open"


def _proposal(of: LimitSuggestion) -> list[str]:
    """What `explain` says before it comes to the promise."""
    return of.explain().removesuffix(of.promise_in_words()).splitlines()


def _facts(of: LimitSuggestion) -> list[tuple[str, str]]:
    rows = [*promise_sentences.guarantee_facts(of), ("protects", promise_sentences.protects(of))]
    rows.append(("noise", f"{of.mechanism.capitalize()}, on counts of units: {of.units.spread_in_words()}"))
    best = of.errors.best
    under = f"noise of standard deviation {rounded(of.errors.noise[best])} under these limits"
    rows.append(("meant for", f"{_question(of)} with {under}"))
    if of.earlier is None:
        return rows
    before = ", ".join(
        f"{look.id} ({promise_sentences.short_promise(look).removesuffix('.')})" for look in of.looks[:-1]
    )
    return [
        *rows,
        ("rests on", f"{len(of.looks)} looks; the facts above are of the last, release {of.id}; before: {before}"),
    ]


def _table(of: LimitSuggestion) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in HEADINGS)
    rows = of.to_arrow().to_pylist()
    shown = [row for row in rows if row["error"] <= WORTH_SHOWING * of.error]
    body = "".join(_row(row, chosen=row["max_rows"] == of.limits["max_rows"]) for row in shown)
    more = f"<p>{len(rows) - len(shown)} more, of over {WORTH_SHOWING} times the error proposed, are in the file.</p>"
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Every limit that was weighed">'
        '<table class="weighed"><caption>Every max_rows that was weighed, with the best max_per_bin beside it: the '
        "share of the rows that it keeps, and how far off a bin is by what is left out, by noise, and by both together "
        "(root mean squares over the bins). All are predictions; in brackets the ends between which "
        f"{100 * PLAUSIBLE:.0f} % of the tables are that the counts cannot tell apart.</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more if len(rows) > len(shown) else ''}"
    )


def _row(row: Mapping[str, Any], *, chosen: bool) -> str:
    kept = kept_in_words(row["kept"], row["kept_low"], row["kept_high"]).replace(" %", "\u00a0%")
    cells = [f"{row['max_per_bin']:,}", kept]
    cells += [rounded(row[name]) for name in ("bias", "noise", "error")]
    marked, named = (' class="chosen"', "<small>proposed</small>") if chosen else ("", "")
    numbers = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{marked}><th scope="row">{row["max_rows"]:,}{named}</th>{numbers}</tr>'


def _use(of: LimitSuggestion, file: str) -> list[Step]:
    """What to type to ask the question under these limits: its release then says which look proposed them. How the
    table was opened and what was done to its rows is not known here but in words, so it is not typed."""
    columns = ", ".join(map(_text, of.by))
    ask = f"t.histogram({columns}, keys=keys, **a.limits)" if of.by else "t.count(**a.limits)"
    lines = [f"a = ln.load({_text(file)})", f"q = {ask}"]
    same = f"--by {quote(','.join(of.by))} --keys ..." if of.by else "..."
    command = f"leastnoise {'histogram' if of.by else 'count'} ... {same} --limits {quote(file)} --expect"
    with_keys = " and keys" if of.by else ""
    return [
        Step(
            f"In Python, with the table t{with_keys} as they were for this look; what is released so says on its page "
            "that these limits were proposed:",
            "\n".join(lines),
        ),
        Step(
            f"On the command line, with the table, unit, types, conditions{with_keys} that suggest-limits was given "
            "in place of the dots:",
            command,
        ),
    ]


def _text(name: str) -> str:
    """As Python and JSON both write it."""
    return json.dumps(name, ensure_ascii=False)


def _check(of: LimitSuggestion, file: str) -> list[Step]:
    units = Step(
        "How many units have how many rows, with noise, is a release by itself, to be drawn or put on a page:",
        "print(r.units)",
    )
    return [
        check_file(file),
        units,
        *([] if of.guarantee is None else [check_promise(of)]),
        *(line for look in of.looks for line in check_ledger(look)),
    ]
