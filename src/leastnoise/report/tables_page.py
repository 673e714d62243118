"""The page about a set of tables, all of it in one file: the promise, and every table to choose from."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from leastnoise._support.number_format import digits_beside, rounded
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report import markup, page_file, tables_data, tables_sentences
from leastnoise.report.curve_picture import curve
from leastnoise.report.markup import json_text, piece
from leastnoise.report.saved_release import Unsaved, saved_file
from leastnoise.report.tables_contents import ShownTable, TablesContents, gather
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
    return page_file.write(
        path,
        lambda: page(
            of,
            estimate=estimate,
            title=title,
            name=Path(path).stem,
            file=saved_file(path, of, "tables.parquet"),
        ),
    )


def page(
    of: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | None = None,
    title: str | None = None,
    name: str = "tables",
    file: str = Unsaved("tables.parquet"),
) -> str:
    """The page as text."""
    contents = gather(of, estimate)
    return markup.page_of(
        of,
        "tables_middle.html",
        scripts=["".join(map(piece, SCRIPTS))],
        skip="Skip to the tables",
        styles=[],
        title=title or tables_sentences.title(contents),
        lead=tables_sentences.lead(contents),
        headline=tables_sentences.headline(contents),
        facts=tables_sentences.facts(contents),
        explained=of.explain(),
        noise=escape(of.errors_in_words()),
        zero=escape(tables_sentences.ZERO),
        intervals=f"{markup.intervals(of)} {markup.SORT}",
        one_of=markup.paragraph("paper", tables_sentences.one_of(contents)),
        not_held=markup.paragraph("not-held", tables_sentences.not_held(contents)),
        denoising=escape(tables_sentences.denoising(contents)),
        errors=_errors(contents),
        tree=tree_section(of, estimate),
        curves=_curves(of),
        check=tables_sentences.check(contents, file),
        mechanism=of.mechanism,
        data=json_text(tables_data.data(contents, name, file)),
    )


def _curves(of: CrosstabsRelease) -> str:
    """A picture for every column whose cumulative sums or ranges were asked for; nothing where none was."""
    if not of.workload.asked:
        return ""
    drawn = "".join(
        f"<figure>{curve(of[column].cumulative())}<figcaption>{escape(of._words(column))}: how many up to each key, "
        "and between which numbers that lies, with 95 % confidence each.</figcaption></figure>"
        for column in of.workload.asked
    )
    noise = (
        "The noise was chosen so that such sums, and the differences between two of them, are accurate: they are far "
        "nearer to the truth than the errors of as many cells would add up to."
        if of.mechanism == "gaussian"
        else "The noise is on the cells, and adds up in such sums."
    )
    return (
        '<section aria-labelledby="curves"><h2 id="curves">Added up</h2><p>Here the keys of a column are added up from '
        f"the first. {noise} A curve is not made to rise: where it falls, that is noise.</p>{drawn}</section>"
    )


def _errors(contents: TablesContents) -> str:
    """Every table's errors, for whoever has no script, prints, or compares."""
    shown = contents.listed[:MAX_TABLES_IN_ERRORS]
    denoised = any(table.rmse is not None for table in shown)
    names = ["cells", "standard deviation", "95 % within", "could be zero"]
    names += ["denoised, about"] if denoised else []
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(_error_row(table, contents.of, denoised=denoised) for table in shown)
    more = len(contents.of.tables) - len(shown)
    rest = f"<p>{more:,} more tables are in the file of the release.</p>" if more else ""
    return (
        f"<details><summary>How far off every table is</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Errors of every table"><table class="errors">'
        "<caption>The error of one cell of each table, and how many of its cells cannot be told from zero"
        f"{'; limits hold with 95 % confidence, not better: not beyond chance' if denoised else ''}</caption>"
        f'<thead><tr><th scope="col" class="text">table</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{rest}</details>"
    )


def _error_row(table: ShownTable, of: CrosstabsRelease, *, denoised: bool) -> str:
    zero = "" if table.maybe_zero is None else f"{table.maybe_zero:,}"
    numbers = [f"{table.cells:,}", rounded(table.std), f"±\u00a0{rounded(table.half_width)}", zero]
    numbers += [_denoised_error(table)] if denoised else []
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    name = " × ".join(map(of._words, table.columns)) or "the total"
    return f'<tr><th scope="row" class="text">{escape(name)}</th>{cells}</tr>'


def _denoised_error(table: ShownTable) -> str:
    """The estimated error, its limit, and whether it is not below that of what was published by more than chance."""
    if table.rmse is None or table.rmse_at_most is None:
        return ""
    if table.kept:
        return "as published"
    worse = ", not better" if table.better_than_raw is False else ""
    digits = digits_beside(table.rmse, table.std)
    return f"{rounded(table.rmse, digits)}<small>at most {rounded(table.rmse_at_most, digits)}{worse}</small>"
