"""What a spreadsheet has of a release, or of each table of a set: its columns, with keys as people wrote them, and the
sentences above them.

Numbers may be rounded to multiples of a step, such as 5, for offices that publish no other numbers. An interval that
was right stays right: its low end is rounded down and its high end up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.outputs import CSV_MARK
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.releases.limit_errors import PLAUSIBLE
from leastnoise.releases.table_set import Table

DIGITS = 12  # of a number that is not whole; its noise is far larger than what is cut
MAX_WHOLE = 10**15  # a spreadsheet shows 15 digits, and zeros in place of further ones
_HOLD = {
    "every bin": "each bin by itself",
    "share of the bins": "of that share of the bins on average, not of every single one",
    "prior": "each bin by itself, if the prior that was stated is right",
}


Rounding = Callable[[float], float]


def checked_step(round_to: Number | None) -> float | None:
    """The step, above zero; None: nothing is rounded."""
    step = None if round_to is None else validation.number("round_to", round_to)
    if step is not None and step <= 0:
        more = "Numbers are rounded to its multiples."
        raise errors.InvalidParameter.must("round_to", "be above 0", step, more, example={"round_to": 5})
    return step


def nearest(step: float | None) -> Rounding:
    """To the nearest multiple."""
    return _by(round, step)


def below(step: float | None) -> Rounding:
    """Down to a multiple."""
    return _by(math.floor, step)


def above(step: float | None) -> Rounding:
    """Up to a multiple."""
    return _by(math.ceil, step)


def _by(rule: Callable[[float], int], step: float | None) -> Rounding:
    """An interval without an end stays so."""
    return lambda value: value if step is None or math.isinf(value) else step * rule(value / step)


class Sheet(NamedTuple):
    """Sentences, and columns of equal length."""

    notes: Sequence[str]
    columns: Mapping[str, list[Any]]


def sheet(published: Any, *, estimate: Any, confidence: Number, round_to: Number | None) -> Sheet:
    """One release or estimate, or one table of a set.

    estimate: what denoising made of it, which stands beside.
    """
    step, confidence = checked_step(round_to), validation.number("confidence", confidence)
    shown = published._shown_columns(confidence, estimate, for_people=True)
    notes = [line for line in _notes(published, shown, estimate, confidence, step) if line]
    return Sheet(notes, {name: cells(name, column, step) for name, column in shown.items()})


def table_sheets(
    tables: Any, *, estimate: Any, confidence: Number, round_to: Number | None
) -> Iterator[tuple[Table, Sheet]]:
    """Each table of a set with its sheet, made one at a time. What is refused is refused at the call, before anything
    is written."""
    asked: dict[str, Any] = {"confidence": validation.number("confidence", confidence), "round_to": round_to}
    checked_step(round_to)
    beside = (lambda table: None) if estimate is None else estimate.__getitem__
    return ((table, sheet(tables[table], estimate=beside(table), **asked)) for table in tables)


def cells(name: str, column: Any, step: float | None) -> list[Any]:
    """The column as plain Python values; missing ones are None."""
    rounding = _ROUNDINGS.get(name)
    found = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if rounding is not None:
        found = [value if value is None or value != value else rounding(step)(value) for value in found]
    return [_plain(value) for value in found]


_PREDICTED_ENDS = (
    f"kept_low and kept_high, error_low and error_high: between them are {100 * PLAUSIBLE:.0f}% of the tables that "
    "the counts of this release cannot tell apart."
)
_ROUNDINGS = {
    **dict.fromkeys(("value", "mean", "quantile", "sum", "count", "noisy", "denoised", "cumulative"), nearest),
    **dict.fromkeys(("low", "denoised_low", "cumulative_low"), below),
    **dict.fromkeys(("high", "denoised_high", "cumulative_high"), above),
}


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):  # not told, or an interval without an end
        return None
    return value if value.is_integer() else float(f"{value:.{DIGITS}g}")


def decimals(columns: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """By column, after how many decimals its numbers are within their error: of each value that stands beside the ends
    of its interval, two digits of half the width of a typical one."""
    names = list(columns)
    found: dict[str, int] = {}
    for place, low in enumerate(names):
        value = names[place - 1] if low == "low" else low.removesuffix("_low")
        high = f"{low.removesuffix('low')}high"
        if not low.endswith("low") or value == low or not {value, high} <= set(names):
            continue
        ends = zip(columns[low], columns[high], strict=True)
        widths = [last - first for first, last in ends if None not in (first, last)]
        typical = float(np.median(widths)) / 2 if widths else 0.0
        if typical > 0:
            found |= dict.fromkeys((value, low, high), min(DIGITS, max(0, 1 - math.floor(math.log10(typical)))))
    return found


def crossed(columns: Mapping[str, Sequence[Any]]) -> list[list[Any]]:
    """The values of a table of two keys as a rectangle, the second key across; nothing of other tables."""
    names = list(columns)
    if names[2:3] != ["value"]:
        return []
    down, across = (list(dict.fromkeys(columns[name])) for name in names[:2])
    if len(down) * len(across) != len(columns["value"]):
        return []
    values = list(columns["value"])
    rows = [[key, *values[place * len(across) :][: len(across)]] for place, key in enumerate(down)]
    return [[f"{names[0]} \\ {names[1]}", *across], *rows]


def _notes(published: Any, shown: Mapping[str, Any], estimate: Any, confidence: float, step: float | None) -> list[str]:
    along, ends = published.summed_along if "cumulative" in shown else "", _ends(published, shown)
    return [
        f"{CSV_MARK.decode().removeprefix('# ')} {VERSION}: {published.released_in_words()}.",
        *published.explain().splitlines(),
        _interval_in_words(published, confidence, ends) if ends else "",
        f"cumulative: the sum from the first {along} up to that of the line, within cumulative_low and cumulative_high "
        f"with {100 * confidence:.4g}% confidence."
        if along
        else "",
        _PREDICTED_ENDS if "kept_low" in shown else "",
        "" if estimate is None else _denoised_in_words(estimate, confidence, "denoised_low" in shown),
        _rounding_in_words(step),
    ]


def _ends(published: Any, shown: Mapping[str, Any]) -> tuple[str, ...]:
    """What the ends of the intervals are called, where there are any; a summary has those of each statistic."""
    if published.kind == "summary":
        return "the columns that end in _low", "_high"
    return ("low", "high") if "low" in shown else ()


def _interval_in_words(published: Any, confidence: float, names: tuple[str, ...]) -> str:
    promise = published._promised_of(confidence)
    return (
        f"{' and '.join(names)} are the ends of {100 * confidence:.4g}% intervals, {_HOLD[promise]}. "
        f"{published.provenance.covered_in_words('They')}"
    )


def _denoised_in_words(estimate: Any, confidence: float, has_ends: bool) -> str:
    ends = f" {_interval_in_words(estimate, confidence, ('denoised_low', 'denoised_high'))}" if has_ends else ""
    error = " denoised_error: that error, estimated." if estimate.rmse is not None else ""
    error = " denoised_error: that error." if estimate.kept else error
    made = f"denoised: the values with noise taken back out by {estimate.method}."
    made = f"denoised: what {estimate.method} found." if estimate.kept else made
    return f"{made} {estimate.errors_in_words()}{error}{ends}"


def _rounding_in_words(step: float | None) -> str:
    """That numbers are rounded, and that it protects nobody."""
    if step is None:
        return ""
    return (
        f"Numbers are rounded to multiples of {step:g} after the noise was added (low ends down and high ends up, so "
        "that they hold as before); they add up only nearly. Rounding protects nobody; the noise does."
    )
