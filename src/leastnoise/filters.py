"""`where="hour >= 7 and not (zone = 'EWR' or fare < 0)"`: comparisons joined by and, or, not; nothing else.

either  := both ("or" both)*
both    := one ("and" one)*
one     := "not" one | "(" either ")" | column operator literal
literal := number | 'text' | "true" | "false"
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from leastnoise.domain import is_text
from leastnoise.errors import BadFilter, UnknownColumn, WrongColumnType

if TYPE_CHECKING:
    import ibis.expr.types as ir

TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])|(?P<text>'(?:[^']|'')*')"
    r"|(?P<compare><=|>=|!=|<>|==|=|<|>)|(?P<paren>[()])|(?P<quoted>\"[^\"]+\")|(?P<word>[^\W\d]\w*))"
)
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
}  # fmt: skip
DEEPEST = 50
LONGEST = 5000  # characters: more comparisons than Ibis can nest


def parse(text: str, rows: ir.Table) -> ir.BooleanValue:
    """The text as an Ibis expression over the columns of `rows`."""
    if len(text) > LONGEST or not is_text(text):
        raise BadFilter(f"where is longer than {LONGEST} characters, or no text (half of a surrogate pair is in it).")
    reader = _Reader(text, rows)
    made = reader.either(0)
    if reader.place < len(reader.tokens):
        raise reader.stuck()
    return made


class _Reader:
    """A cursor over the tokens."""

    def __init__(self, text: str, rows: ir.Table) -> None:
        self.text, self.rows, self.place = text, rows, 0
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None:
                raise BadFilter(_sentence(text, text[at:].strip()[:20]))
            self.tokens.append((found.lastgroup or "", found.group(found.lastgroup or 0)))
            at = found.end()

    def either(self, depth: int) -> ir.BooleanValue:
        made = self.both(depth)
        while self.takes("or"):
            made = made | self.both(depth)
        return made

    def both(self, depth: int) -> ir.BooleanValue:
        made = self.one(depth)
        while self.takes("and"):
            made = made & self.one(depth)
        return made

    def one(self, depth: int) -> ir.BooleanValue:
        if depth > DEEPEST:
            raise BadFilter(f"where is nested more than {DEEPEST} deep. Write it flatter.")
        if self.takes("not"):
            return ~self.one(depth + 1)
        if self.takes("("):
            made = self.either(depth + 1)
            if not self.takes(")"):
                raise self.stuck()
            return made
        return self.comparison()

    def comparison(self) -> ir.BooleanValue:
        kind, word = self.next("word", "quoted")
        column = word.strip('"') if kind == "quoted" else word
        if column not in self.rows.columns:
            raise UnknownColumn.among(column, self.rows.columns)
        _, sign = self.next("compare")
        kind, written = self.next("number", "text", "word")
        value = self.rows[column]
        literal = _literal(kind, written, value, column, self)
        try:
            return COMPARE[sign](value, literal)
        except Exception:  # Ibis has no common type: an unsigned column and -1, a clock time and a date
            wrong = WrongColumnType(f'"{column}" holds {value.type()} and cannot be compared with {written}.')
        raise wrong

    def takes(self, word: str) -> bool:
        here = self.tokens[self.place][1] if self.place < len(self.tokens) else ""
        if here.lower() != word:
            return False
        self.place += 1
        return True

    def next(self, *kinds: str) -> tuple[str, str]:
        if self.place >= len(self.tokens) or self.tokens[self.place][0] not in kinds:
            raise self.stuck()
        self.place += 1
        return self.tokens[self.place - 1]

    def stuck(self) -> BadFilter:
        near = self.tokens[self.place][1] if self.place < len(self.tokens) else "the end"
        return BadFilter(_sentence(self.text, near))


def _literal(kind: str, written: str, value: ir.Value, column: str, reader: _Reader) -> Any:
    """The right side, in the type of the column: a text compared with a time is read as a time."""
    import ibis

    from leastnoise.binning import exactly

    holds = value.type()
    if kind == "word":
        if written.lower() not in ("true", "false"):
            reader.place -= 1
            raise reader.stuck()
        fits, made = holds.is_boolean(), ibis.literal(written.lower() == "true")
    elif kind == "number":
        whole = re.fullmatch(r"-?\d{1,18}", written) is not None
        fits, made = holds.is_numeric(), int(written) if whole else exactly(float(written))
    else:
        text = written[1:-1].replace("''", "'")
        fits, made = holds.is_string() or holds.is_temporal(), _text(text, holds, reader.text)
    if not fits:
        raise WrongColumnType(f'"{column}" holds {holds} and cannot be compared with {written}.')
    return made


def _text(text: str, holds: Any, whole: str) -> Any:
    import ibis

    if not holds.is_temporal():
        return text
    try:
        return ibis.date(text) if holds.is_date() else ibis.timestamp(text)
    except Exception:
        wrong = BadFilter(f"'{text}' in where={whole!r} is no date or time. Write '2013-01-31' or '2013-01-31 07:00'.")
    raise wrong


def _sentence(text: str, near: str) -> str:
    return (
        f"where={text!r} is not understood at {near!r}. Write comparisons of a column with a number "
        "or a 'text', "
        "joined by and, or, not, with parentheses."
    )
