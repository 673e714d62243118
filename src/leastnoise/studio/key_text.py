"""Public keys as they are typed into a field, and as a job's [keys] has them.

a list                  Harbour, Old Town       ["Harbour", "Old Town"]; one on each line where a key has a comma
whole numbers           18 to 99                { range = [18, 100] }
bins between edges      0, 10, 20, 50           { edges = [0, 10, 20, 50] }
days                    2026-01-01 to 2026-01-31        { days = [2026-01-01, 2026-02-01] }
a column of a file      districts.csv:name      { file = "districts.csv", column = "name" }
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from leastnoise import errors
from leastnoise.domain import ColumnKind

Form = Literal["list", "range", "edges", "days", "file"]
FORMS: dict[Form, tuple[str, str]] = {
    "list": ("a list", "Harbour, Old Town, Mill"),
    "range": ("whole numbers from .. to", "18 to 99"),
    "edges": ("bins between edges", "0, 10, 20, 50"),
    "days": ("days from .. to", "2026-01-01 to 2026-01-31"),
    "file": ("a column of a public file", "districts.csv:name"),
}
USUAL: dict[ColumnKind | None, Form] = {"integer": "range", "number": "edges", "date": "days", "timestamp": "days"}
OF_KIND: dict[ColumnKind | None, tuple[Form, ...]] = {
    "text": ("list", "file"),
    "integer": ("range", "list", "edges", "file"),
    "number": ("edges",),
    "boolean": ("list",),
    "date": ("days", "list"),
    "timestamp": ("days",),
}


def parse(column: str, kind: ColumnKind | None, form: str, text: str) -> Any:
    """What [keys] holds for a column of this kind."""
    if not text.strip():
        raise _wrong(column, "has no keys yet. List them from what is public, never from the rows.", form)
    if form == "range":
        return {"range": _range(column, text)}
    if form == "edges":
        return {"edges": [_number(column, word, form) for word in _words(text)]}
    if form == "days":
        first, last = (_day(column, word) for word in _ends(column, text, form))
        return {"days": [first, last + timedelta(days=1)]}
    if form == "file":
        file, colon, name = text.strip().rpartition(":")
        if not colon:
            raise _wrong(column, "takes its keys from a file: its name, a colon, and the column.", form)
        return {"file": file, "column": name}
    return [_key(column, kind, word) for word in _words(text)]


def show(entry: Any) -> tuple[Form, str]:
    """The form and the text of what [keys] holds."""
    if isinstance(entry, dict):
        if "range" in entry:
            start, stop, *_ = entry["range"]
            return "range", f"{start} to {stop - 1}"
        if "edges" in entry:
            return "edges", ", ".join(map(str, entry["edges"]))
        if "days" in entry:
            first, end = entry["days"]
            return "days", f"{first} to {end - timedelta(days=1)}"
        if "file" in entry:
            return "file", f"{entry['file']}:{entry.get('column', '')}"
        return "list", ""  # of a kind that is written by hand: it is typed anew, or stays in the file
    words = [("yes" if word else "no") if isinstance(word, bool) else str(word) for word in entry]
    return "list", ("\n" if any("," in word for word in words) else ", ").join(words)


def _words(text: str) -> list[str]:
    """The words of a list: lines where there are several, else what commas part."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines if len(lines) > 1 else [word.strip() for word in text.split(",") if word.strip()]


def _key(column: str, kind: ColumnKind | None, word: str) -> Any:
    if kind == "integer":
        return _whole(column, word, "list")
    if kind == "boolean":
        known = {"yes": True, "true": True, "no": False, "false": False}
        if word.lower() not in known:
            raise _wrong(column, "has the keys yes and no.", "list")
        return known[word.lower()]
    return _day(column, word) if kind == "date" else word


def _range(column: str, text: str) -> list[int]:
    first, last = (_whole(column, word, "range") for word in _ends(column, text, "range"))
    if last < first:
        raise _wrong(column, "begins with the smaller number.", "range")
    return [first, last + 1]


def _ends(column: str, text: str, form: str) -> list[str]:
    ends = [word.strip() for word in re.split(r"\s+to\s+|\s*\.\.\s*|\s*[–:]\s*", text.strip()) if word.strip()]
    if len(ends) != 2:
        raise _wrong(column, "takes the first and the last.", form)
    return ends


def _whole(column: str, word: str, form: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,18}", word):
        raise _wrong(column, f"holds whole numbers, and {word!r} is none.", form)
    return int(word)


def _number(column: str, word: str, form: str) -> int | Decimal:
    try:
        found = Decimal(word)
    except InvalidOperation:
        raise _wrong(column, f"holds numbers, and {word!r} is none.", form) from None
    if not found.is_finite():
        raise _wrong(column, "takes edges that are finite.", form)
    return int(found) if found == found.to_integral_value() and abs(found) < 10**15 else found


def _day(column: str, word: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise _wrong(column, f"holds days, such as 2026-01-31, and {word!r} is none.", "days") from None


def _wrong(column: str, message: str, form: str) -> errors.BadDomain:
    example = next((hint for name, (_, hint) in FORMS.items() if name == form), FORMS["list"][1])
    return errors.BadDomain(f'"{column}" {message} For instance: {example}', parameter="keys", value=column)
