"""The first rows and the explanation, for notebooks and terminals.

Rows for a terminal of any width: no number is broken, and what has no room is named below.

In this order, until the table fits: headings break between words; numbers have four digits; headings break anywhere;
columns at the right are left out. Keys that are texts may break all along, and those that are numbers keep every digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.text import key_words, rounded

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType

    from leastnoise.releases.published import Frames

LETTERS = 8  # of a text that are not broken
_NUMBER = re.compile(r"[\[(]?[-+\d.,:e]+[\])]?,?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRows:
    """A table that knows how wide it is when it is printed.

    names: the headings. rows: their cells, floats to be rounded. keys: how many columns are keys. last: a row apart.
    caption: what stands below. elsewhere: who has the columns without room.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    keys: int = 0
    last: Sequence[Any] = ()
    caption: str = ""
    elsewhere: str = "the file has them"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """What Rich prints."""
        from rich.table import Table
        from rich.text import Text

        count, columns, widths = self._fitting(options.max_width)
        table = Table(caption=self._below(count) or None)
        for name, width in zip(self.names, widths, strict=False):
            heading = Text(_in_lines(key_words(name), width))
            table.add_column(heading, justify="right", overflow="fold", width=width)
        for place, row in enumerate(zip(*columns[:count], strict=True)):
            if self.last and place == len(self.rows):
                table.add_section()
            table.add_row(*map(Text, row))
        yield table

    def _below(self, count: int) -> str:
        left = ", ".join(map(key_words, self.names[count:]))
        return "; ".join(part for part in (self.caption, left and f"no room here for {left}: {self.elsewhere}") if part)

    def _fitting(self, room: int) -> tuple[int, list[list[str]], list[int]]:
        """How many columns fit, the cells of all, and how wide those that fit are."""
        every = len(self.names)
        for digits, whole in ((6, True), (4, True), (4, False)):
            columns = self._cells(digits)
            least = [_least(name, cells, whole) for name, cells in zip(self.names, columns, strict=True)]
            if _total(least) <= room:
                return every, columns, _spread(self.names, columns, least, room)
        count = max([1, *(n for n in range(1, every) if _total(least[:n]) <= room)])
        return count, columns, _spread(self.names, columns[:count], least[:count], room)

    def _cells(self, digits: int) -> list[list[str]]:
        rows = [*self.rows, self.last] if self.last else self.rows
        return [
            [key_words(_said(row[place], None if place < self.keys else digits)) for row in rows]
            for place in range(len(self.names))
        ]


def key_count(names: Sequence[str], kind: str) -> int:
    """How many columns stand before the first number of a release of this kind."""
    return next((place for place, name in enumerate(names) if name in ("value", kind, "low", "noisy")), 0)


def _said(value: Any, digits: int | None) -> Any:
    if not isinstance(value, float):
        return value
    return f"{value:.15g}" if digits is None else rounded(value, digits)


def _least(name: str, cells: Sequence[str], whole: bool) -> int:
    """The least width that breaks no number of a column and, if it is to be `whole`, no word of its heading."""
    words = [word for cell in cells for word in cell.split()]
    heading = max(map(_width, _words(name)), default=0)
    return max([1, heading if whole else min(heading, LETTERS), *map(_unbroken, words)])


def _unbroken(word: str) -> int:
    return _width(word) if _NUMBER.fullmatch(word) else min(_width(word), LETTERS)


def _words(heading: str) -> list[str]:
    """Where a heading may break: behind spaces and underscores."""
    return [word for word in re.split(r"(?<=_)|\s+", heading) if word]


def _in_lines(heading: str, width: int) -> str:
    """The heading, broken where it may be."""
    lines = [""]
    for word in re.findall(r"[^_\s]*_+|[^_\s]+|\s+", heading):
        if _width(lines[-1] + word.rstrip()) > width and lines[-1].strip():
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines)


def _spread(names: Sequence[str], columns: Sequence[Sequence[str]], least: Sequence[int], room: int) -> list[int]:
    """The least widths, and what is left to those that want more, in turn."""
    wanted = [max(map(_width, (name, *cells))) for name, cells in zip(names, columns, strict=False)]
    found, left = list(least), room - _total(least)
    while left > 0 and (short := [place for place, width in enumerate(found) if width < wanted[place]]):
        for place in short[:left]:
            found[place] += 1
        left -= len(short)
    return found


def _total(widths: Sequence[int]) -> int:
    """Of a table: a line beside each column and one more, and a space on either side of a cell."""
    return sum(widths) + 3 * len(widths) + 1


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


ROWS_SHOWN = 10
TOO_FEW = "too few to tell"  # what people are shown instead of a mean of too few rows


def too_few_in_words(enough: NDArray[np.bool_], noun: str, why: str) -> str:
    """Which of them cannot be told and why, after what was said before; nothing where all can."""
    missing = int((~enough).sum())
    if not missing or enough.size == 1:
        return f" The rows are {TOO_FEW}: {why}." if missing else ""
    return f" {missing:,} of {enough.size:,} {noun}s {'is' if missing == 1 else 'are'} {TOO_FEW}: {why}."


def as_text(frames: Frames) -> str:
    """What print() shows: what it is, and the first rows in columns."""
    names, body, more = _first_rows(frames)
    widths = [max(map(len, cells)) for cells in zip(names, *body, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (names, *body)]
    others = frames._others_in_words()
    return "\n".join([repr(frames).strip("<>"), *lines, *more, *([others] if others else [])])


def as_html(frames: Frames) -> str:
    """What a notebook shows."""
    names, body, more = _first_rows(frames)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    below = "".join(f"<p>{line}</p>" for line in more)
    text = escape(_explained(frames)).replace("\n", "<br>")
    return f"<p>{text}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{below}"


def as_rich(frames: Frames) -> Group:
    """What a terminal shows."""
    from rich.console import Group
    from rich.text import Text

    columns = frames._first_columns(ROWS_SHOWN)
    body = [[TOO_FEW if value != value else value for value in row] for row in zip(*columns.values(), strict=True)]
    keys = key_count(list(columns), getattr(frames, "kind", ""))
    table = PrintedRows(names=list(columns), rows=body, keys=keys, elsewhere="to_pandas() has them")
    return Group(table, *_more(frames, len(body)), Text(_explained(frames)))


def _first_rows(frames: Frames) -> tuple[list[str], list[list[str]], list[str]]:
    """The headings, the cells, and how many rows are left."""
    columns = frames._first_columns(ROWS_SHOWN)
    body = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return list(map(key_words, columns)), body, _more(frames, len(body))


def _more(frames: Frames, shown: int) -> list[str]:
    return [f"… {frames._rows - shown:,} more"] if frames._rows > shown else []


def _explained(frames: Frames) -> str:
    """What it says of itself."""
    return str(frames.explain()) if hasattr(frames, "explain") else repr(frames).strip("<>")


def _cell(value: Any) -> str:
    if value != value:  # not a number: a mean of too few rows
        return TOO_FEW
    return f"{value:.6g}" if isinstance(value, float | np.floating) else key_words(value)
