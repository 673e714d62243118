"""What a release is not about: the rows that limits, keys, conditions and missing values can leave out, and the values
that a clip changes.

Facts of the question, known before any row is read. How many rows it was is not known: to count them costs privacy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leastnoise._support.text import printable, rounded

Kind = Literal[
    "max_rows",
    "max_per_bin",
    "max_bins",
    "max_periods",
    "unit is null",
    "row is a unit",
    "not a key",
    "not a key or null",
    "outside the bins",
    "outside the bins or null",
    "outside its keys",
    "outside its keys or null",
    "no node near",
    "null",
    "not of the length",
    "condition",
    "condition of units",
    "clip",
    "clip_norm",
]
# How many numbers each kind has, and its words.
_PHRASES: dict[Kind, tuple[int, str]] = {
    "max_rows": (1, "rows beyond {0} of one {unit}"),
    "max_per_bin": (1, "rows beyond {0} of one {unit} in one bin"),
    "max_bins": (1, "rows of one {unit} in more than {0} bins"),
    "max_periods": (1, "rows of one {unit} after the first {0} periods in which it has rows"),
    "unit is null": (0, "rows with no {unit}"),
    "row is a unit": (0, "Every row here is one {unit}, made from all rows of that {unit}"),
    "not a key": (1, "rows whose {columns} is not one of the {0} keys"),
    "not a key or null": (1, "rows whose {columns} is neither missing nor one of the {0} keys"),
    "outside the bins": (1, "rows whose {columns} is outside the {0} bins"),
    "outside the bins or null": (1, "rows whose {columns} is neither missing nor in one of the {0} bins"),
    "outside its keys": (0, "rows whose {columns} is missing or not one of its keys"),
    "outside its keys or null": (0, "rows whose {columns} is neither missing nor one of its keys"),
    "no node near": (1, "rows that are near none of the {0} nodes"),
    "null": (0, "rows with no {columns}"),
    "not of the length": (1, "rows whose {columns} does not have {0} elements"),
    "condition": (0, "rows that fail the condition {text}"),
    "condition of units": (0, "each {unit} that fails the condition {text}"),
    "clip": (2, "Values of {columns} outside {0} to {1} count as the nearer end"),
    "clip_norm": (1, "Vectors longer than {0} count as shortened to that"),
}
_CHANGES: tuple[Kind, ...] = ("row is a unit", "clip", "clip_norm")
KINDS = tuple(_PHRASES)
TruncatingKind = Literal["max_rows", "max_per_bin", "max_bins"]
TRUNCATING: tuple[TruncatingKind, ...] = ("max_rows", "max_per_bin", "max_bins")
_PROPOSED: tuple[Kind, ...] = (*TRUNCATING, "clip")
SUGGESTS = "suggest_limits (leastnoise suggest-limits) estimates it, for a debit of its own."
MOST_BINS_WEIGHED = 2**20  # that limits are proposed for
MAX_COLUMNS_SHOWN = 8
MAX_CHARACTERS_SHOWN = 160  # of a condition, beside a number


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One reason why rows are left out, or values changed.

    >>> LeftOut("not a key", columns=("month",), numbers=(12,)).in_words("aircraft")
    'rows whose month is not one of the 12 keys'
    """

    kind: Kind
    columns: tuple[str, ...] = ()
    numbers: tuple[int | float, ...] = ()
    text: str | None = None  # the condition, as the question records it; of limits and clips, what proposed them

    def _fits(self) -> dict[str, bool]:
        proposed = (
            self.text is None or self.kind not in _PROPOSED or re.fullmatch("[0-9a-f]{16}", self.text) is not None
        )
        return {"numbers": len(self.numbers) == _PHRASES[self.kind][0], "text": proposed}

    def in_words(self, unit: str | None) -> str:
        """The rows, or what becomes of the values."""
        what = "clip" if self.kind == "clip" else "limit"
        chosen = f" (a {what} that release {self.text} proposed)" if self.text and self.kind in _PROPOSED else ""
        return one_line(
            _PHRASES[self.kind][1].format(
                *(f"{number:,}" if isinstance(number, int) else rounded(number, 6) for number in self.numbers),
                unit=unit or "unit",
                columns=_listed(self.columns),
                text=_shortened(self.text or ""),
            )
            + chosen
        )


def left_out_in_words(facts: Sequence[LeftOut], unit: str | None) -> str:
    """Which rows are not in the numbers, what was changed, and what intervals cover; "" where all is in them."""
    if not facts:
        return ""
    start = "Left out of every table" if any(map(_of_set, facts)) else "Not in these numbers"
    return f"{_sentences(start, facts, unit)} {covered_in_words(facts)}"


def covered_in_words(facts: Sequence[LeftOut], intervals: str = "Intervals") -> str:
    """What intervals are about, after the noun for them: the noise alone, wherever rows are left out or changed.

    >>> covered_in_words([LeftOut("max_rows", numbers=(5,))])
    'Intervals cover the noise, not the rows left out.'
    >>> covered_in_words([], "They")
    'They cover the noise.'
    """
    clipped = " or the values clipped" if any(fact.kind in ("clip", "clip_norm") for fact in facts) else ""
    return f"{intervals} cover the noise{f', not the rows left out{clipped}' if facts else ''}."


def unknown_in_words(facts: Sequence[LeftOut], unit: str | None, bins: int | None) -> str:
    """What nobody knows before a release, and who could: how many rows the limits leave out; "" without limits.

    bins: how many there are, each listed; None where suggest_limits cannot be asked, as for unknown keys and sets.
    """
    limits = [fact for fact in facts if fact.kind in TRUNCATING]
    if not limits:
        return ""
    known = "How many rows the limits leave out is not known, and no error here allows for them."
    return f"{known} {_who_knows(limits, unit, bins)}".strip()


def _who_knows(limits: Sequence[LeftOut], unit: str | None, bins: int | None) -> str:
    releases = {fact.text for fact in limits}
    if len(releases) == 1 and None not in releases:
        return f"Release {limits[0].text}, which proposed them, estimates it."
    if any(fact.kind == "max_rows" and fact.numbers == (1,) for fact in limits):
        return f"It is none if every {unit or 'unit'} has one row."
    if bins is None or bins > MOST_BINS_WEIGHED:
        return ""
    return SUGGESTS


def left_out_in_short(facts: Sequence[LeftOut], unit: str | None) -> str:
    """The same for a caption."""
    return _sentences("Left out", facts, unit)


def _sentences(start: str, facts: Sequence[LeftOut], unit: str | None) -> str:
    ranked = sorted(facts, key=lambda fact: not _of_set(fact))  # what one column does to all tables comes first
    rows = [fact.in_words(unit) for fact in ranked if fact.kind not in _CHANGES]
    changed = [fact.in_words(unit) for fact in facts if fact.kind in _CHANGES]
    return " ".join(f"{sentence}." for sentence in ([f"{start}: {'; '.join(rows)}"] if rows else []) + changed)


def _of_set(fact: LeftOut) -> bool:
    """Whether rows leave every table of a set because of one of its columns."""
    return fact.kind.startswith("outside its keys")


def _listed(columns: tuple[str, ...]) -> str:
    """Any of them: "delay, fare or tip"."""
    more = len(columns) - MAX_COLUMNS_SHOWN  # one more is named: that is no longer than to count it
    shown = columns if more <= 1 else (*columns[:MAX_COLUMNS_SHOWN], f"{more:,} more")
    return " or ".join([", ".join(shown[:-1]), *shown[-1:]] if len(shown) > 1 else shown)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS_SHOWN else f"{text[:MAX_CHARACTERS_SHOWN]}..."


def one_line(text: str) -> str:
    """A column's name may hold anything; a line break or a control character is escaped."""
    return printable(text)
