"""Cells of CSV files that spreadsheets open as they were meant: nothing in them is run as a formula.

Texts are quoted, so that a "#" in a key is no comment and a comma no end of a cell. A text that a spreadsheet would run
as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import re
from typing import Any

DECIMALS = 6  # tables then add up to about 1e-6 a cell
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SIGNS = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"  # with which formulas begin; some spreadsheets take the wide ones as well
_FORMULA = re.compile(rf"^[\s\ufeff\u200b-\u200f\u2060]*{_SIGNS}")  # behind blanks that are seen or not


def comment(sentence: str) -> str:
    """One line; where a comma would begin a spreadsheet's cell with a formula, an apostrophe is in front."""
    line = " ".join(_CONTROLS.sub(" ", sentence).split()).removeprefix("# ")
    return "# " + re.sub(rf"([,;]\s*)(?={_SIGNS})", r"\1'", line)


def key(value: Any) -> str:
    """A key as people wrote it: numbers bare, all else a quoted text; nothing for a missing one."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return text(value.isoformat() if hasattr(value, "isoformat") else str(value))


def text(written: str) -> str:
    """A quoted text on one line, with an apostrophe in front of what would be a formula."""
    written = _CONTROLS.sub(" ", written)
    written = f"'{written}" if _FORMULA.match(written) else written
    return '"' + written.replace('"', '""') + '"'


def number(value: float) -> str:
    """A number with six decimals at most."""
    written = f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".") if value == value else ""
    return "0" if written == "-0" else written
