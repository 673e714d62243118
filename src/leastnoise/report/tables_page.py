"""The page about a set of tables, all of it in one file: the promise, and every table to choose from."""

from __future__ import annotations

import os
from functools import partial
from html import escape
from pathlib import Path

from leastnoise._support import atomic_files
from leastnoise._support.number_format import rounded
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report import markup, promise_sentences, tables_data, tables_sentences
from leastnoise.report.curve_picture import curve
from leastnoise.report.markup import json_text, piece
from leastnoise.report.promise_sentences import most_found
from leastnoise.report.saved_release import saved_file
from leastnoise.report.tables_contents import ShownTable, TablesContents, gather
from leastnoise.report.tradeoff_picture import tradeoff
from leastnoise.report.tree_section import tree_section

SCRIPTS = (
    "numbers_table.js",
    "table_drawings.js",
    "table_heat_map.js",
    "table_pointer.js",
    "table_list.js",
    "tables_page.js",
)
MAX_TABLES_IN_ERRORS = 1_000


def write(
    path: str | os.PathLike[str],
    of: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | None = None,
    title: str | None = None,
) -> Path:
    """The page about a set of tables, in a file that appears whole or not at all. An `estimate` is shown beside it."""
    atomic_files.check_writable(path, "page")
    file = saved_file(path, of, "tables.parquet")
    made = page(of, estimate=estimate, title=title, name=Path(path).stem, file=file)
    with atomic_files.replacing(path, "page") as unfinished:
        Path(unfinished).write_text(made, encoding="utf-8", errors="xmlcharrefreplace")  # half a surrogate pair
    return Path(path)


def page(
    of: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | None = None,
    title: str | None = None,
    name: str = "tables",
    file: str = "tables.parquet",
) -> str:
    """The page as text."""
    contents = gather(of, estimate)
    name_of_page = title or tables_sentences.title(contents)
    headline = tables_sentences.headline(contents)
    return markup.page(
        "tables_middle.html",
        scripts=["".join(map(piece, SCRIPTS))],
        skip="Skip to the tables",
        css=piece("page.css") + piece("tables.css"),
        title=escape(name_of_page),
        warning=markup.warnings(of, seeded=of.seeded),
        lead=escape(tables_sentences.lead(contents)),
        number=escape(headline.number),
        label=escape(headline.label),
        left_out=markup.paragraph("left-out", promise_sentences.left_out(of)),
        made=markup.origin(of),
        promise=escape(promise_sentences.promise(of)),
        facts=markup.definitions(tables_sentences.facts(contents)),
        tradeoff=_tradeoff(of),
        explained=markup.in_full(of.explain()),
        noise=escape(of.errors_in_words()),
        zero=escape(tables_sentences.ZERO),
        not_held=markup.paragraph("not-held", tables_sentences.not_held(contents)),
        denoising=escape(tables_sentences.denoising(contents)),
        errors=_errors(contents),
        tree=tree_section(of, estimate),
        curves=_curves(of),
        cite=escape(promise_sentences.cite(of, name_of_page)),
        paper=escape(promise_sentences.PAPERS[of.mechanism]),
        check=markup.steps(tables_sentences.check(contents, file)),
        data=json_text(tables_data.data(contents, name, file)),
    )


def _tradeoff(of: CrosstabsRelease) -> str:
    if of.guarantee is None:
        return ""
    caption = "What any attack can find at most, against guessing (dashed)."
    return f"<figure>{tradeoff(partial(most_found, of))}<figcaption>{caption}</figcaption></figure>"


def _curves(of: CrosstabsRelease) -> str:
    """A picture for every column whose cumulative sums or ranges were asked for; nothing where none was."""
    if not of.workload.asked:
        return ""
    drawn = "".join(
        f"<figure>{curve(of[column].cumulative())}<figcaption>{escape(column)}: how many up to each key, and between "
        "which numbers that lies, with 95 % confidence each.</figcaption></figure>"
        for column in of.workload.asked
    )
    return (
        '<section aria-labelledby="curves"><h2 id="curves">Added up</h2><p>Here the keys of a column are added up from '
        "the first. The noise was chosen so that such sums, and the differences between two of them, are accurate: "
        "they are far nearer to the truth than the errors of as many cells would add up to. A curve is not made to "
        f"rise: where it falls, that is noise.</p>{drawn}</section>"
    )


def _errors(contents: TablesContents) -> str:
    """Every table's errors, for whoever has no script, prints, or compares."""
    shown = contents.listed[:MAX_TABLES_IN_ERRORS]
    denoised = any(table.rmse is not None for table in shown)
    names = ["cells", "standard deviation", "95 % within", "could be zero", *(["denoised, about"] if denoised else [])]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(_error_row(table, denoised=denoised) for table in shown)
    more = len(contents.of.tables) - len(shown)
    rest = f"<p>{more:,} more tables are in the file of the release.</p>" if more else ""
    return (
        f"<details><summary>How far off every table is</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Errors of every table"><table class="errors">'
        "<caption>The error of one cell of each table, and how many of its cells cannot be told from zero</caption>"
        f'<thead><tr><th scope="col" class="text">table</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{rest}</details>"
    )


def _error_row(table: ShownTable, *, denoised: bool) -> str:
    zero = "" if table.maybe_zero is None else f"{table.maybe_zero:,}"
    numbers = [f"{table.cells:,}", rounded(table.std), f"±\u00a0{rounded(table.half_width)}", zero]
    numbers += [("" if table.rmse is None else rounded(table.rmse, 2))] if denoised else []
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<tr><th scope="row" class="text">{escape(" × ".join(table.columns) or "the total")}</th>{cells}</tr>'
