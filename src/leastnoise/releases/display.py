"""The first rows and the explanation, for notebooks and terminals."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise._support.plain_text import key_words
from leastnoise.releases.printed_rows import PrintedRows, key_count

if TYPE_CHECKING:
    from rich.console import Group

    from leastnoise.releases.published import Published
    from leastnoise.releases.summary import SummaryRelease


ROWS_SHOWN = 10
TOO_FEW = "too few to tell"  # what people are shown instead of a mean of too few rows


def as_text(published: Published | SummaryRelease) -> str:
    """What print() shows: what it is, and the first rows in columns."""
    names, body = _first_rows(published)
    widths = [max(map(len, cells)) for cells in zip(names, *body, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (names, *body)]
    more = [f"… {published.bins - len(body):,} more"] if published.bins > len(body) else []
    others = published._others_in_words()
    return "\n".join([repr(published).strip("<>"), *lines, *more, *([others] if others else [])])


def as_html(published: Published | SummaryRelease) -> str:
    """What a notebook shows."""
    names, body = _first_rows(published)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    more = f"<p>… {published.bins - len(body):,} more</p>" if published.bins > len(body) else ""
    text = escape(published.explain()).replace("\n", "<br>")
    return f"<p>{text}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def as_rich(published: Published | SummaryRelease) -> Group:
    """What a terminal shows."""
    from rich.console import Group
    from rich.text import Text

    columns = published._first_columns(ROWS_SHOWN)
    body = [[TOO_FEW if value != value else value for value in row] for row in zip(*columns.values(), strict=True)]
    keys = key_count(list(columns), getattr(published, "kind", ""))
    table = PrintedRows(names=list(columns), rows=body, keys=keys, elsewhere="to_pandas() has them")
    more = [f"… {published.bins - len(body):,} more"] if published.bins > len(body) else []
    return Group(table, *more, Text(published.explain()))


def _first_rows(published: Published | SummaryRelease) -> tuple[list[str], list[list[str]]]:
    columns = published._first_columns(ROWS_SHOWN)
    body = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return list(map(key_words, columns)), body


def _cell(value: Any) -> str:
    if value != value:  # not a number: a mean of too few rows
        return TOO_FEW
    return f"{value:.6g}" if isinstance(value, float | np.floating) else key_words(value)
