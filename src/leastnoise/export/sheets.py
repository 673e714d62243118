"""What a spreadsheet has of a release, or of each table of a set: its columns, with keys as people wrote them, and the
sentences above them.

Numbers may be rounded to multiples of a step, such as 5, for offices that publish no other numbers. An interval that
was right stays right: its low end is rounded down and its high end up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.outputs import CSV_MARK
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.releases.crosstab_table import asked_along
from leastnoise.releases.limit_errors import PLAUSIBLE
from leastnoise.releases.table_set import Table, TableSet, table_name

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, CrosstabsIntegers, CrosstabTableEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.published import Published
    from leastnoise.releases.summary import SummaryRelease

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
        raise errors.InvalidParameter(
            f"round_to must be above 0: numbers are rounded to its multiples. Got {step:g} instead.",
            parameter="round_to",
            value=round_to,
            example={"round_to": 5},
        )
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


def sheet(
    published: Published | SummaryRelease,
    *,
    estimate: Estimate | None,
    confidence: Number,
    round_to: Number | None,
) -> Sheet:
    """One release or estimate."""
    step, confidence = checked_step(round_to), validation.number("confidence", confidence)
    notes = [line for line in _notes(published, estimate, confidence, step) if line]
    return _sheet(notes, published._shown_columns(confidence, estimate, for_people=True), step)


def _sheet(notes: list[str], columns: dict[str, Any], step: float | None) -> Sheet:
    return Sheet(notes, {name: cells(name, column, step) for name, column in columns.items()})


def cells(name: str, column: Any, step: float | None) -> list[Any]:
    """The column as plain Python values; missing ones are None."""
    rounding = _ROUNDINGS.get(name)
    found = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if rounding is not None:
        found = [value if value is None or value != value else rounding(step)(value) for value in found]
    return [_plain(value) for value in found]


_PREDICTED_ENDS = (
    f"kept_low and kept_high, error_low and error_high: between them are {100 * PLAUSIBLE:.0f} % of the tables that "
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


def _notes(
    published: Published | SummaryRelease, estimate: Estimate | None, confidence: float, step: float | None
) -> list[str]:
    what = f"released on {published.created_at:%Y-%m-%d} (release {published.id})"
    shown = published._shown_columns(confidence, estimate)
    return [
        f"{CSV_MARK.decode().removeprefix('# ')} {VERSION}: {what}.",
        *published.explain().splitlines(),
        _interval_in_words(published, confidence, _ends(shown)) if _ends(shown) else "",
        _PREDICTED_ENDS if "kept_low" in shown else "",
        "" if estimate is None else _denoised_in_words(estimate, confidence, "denoised_low" in shown),
        rounding_in_words(step),
    ]


def _ends(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """What the ends of the intervals are called; a summary has those of each statistic, and proposed limits have ends
    of another kind, which they tell themselves."""
    if "low" in shown:
        return "low", "high"
    named = any(name.endswith("_low") for name in shown) and "kept_low" not in shown
    return ("the columns that end in _low", "_high") if named else ()


def _interval_in_words(published: Published | SummaryRelease, confidence: float, names: tuple[str, ...]) -> str:
    promise = published._promised_of(confidence)
    return (
        f"{' and '.join(names)} are the ends of {100 * confidence:.4g} % intervals, {_HOLD[promise]}. "
        f"{published.provenance.covered_in_words('They')}"
    )


def _denoised_in_words(estimate: Estimate, confidence: float, has_ends: bool) -> str:
    ends = f" {_interval_in_words(estimate, confidence, ('denoised_low', 'denoised_high'))}" if has_ends else ""
    error = " denoised_error: that error, estimated." if estimate.rmse is not None else ""
    error = " denoised_error: that error." if estimate.kept else error
    made = f"denoised: the values with noise taken back out by {estimate.method}."
    made = f"denoised: what {estimate.method} found." if estimate.kept else made
    return f"{made} {estimate.errors_in_words()}{error}{ends}"


def rounding_in_words(step: float | None) -> str:
    """That numbers are rounded, and that it protects nobody."""
    if step is None:
        return ""
    return (
        f"Numbers are rounded to multiples of {step:g} after the noise was added (low ends down and high ends up, so "
        "that they hold as before). Rounding protects nobody; the noise does."
    )


# Sets of tables


def table_sheets(
    tables: Any, *, estimate: CrosstabsEstimate | None, confidence: Number, round_to: Number | None
) -> Iterator[tuple[Table, Sheet]]:
    """Each table with its sheet; what an estimate has stands beside what was released.

    Numbers that are refused are refused at the call, before anything is written: sheets are made one at a time.
    """
    step, sure = checked_step(round_to), validation.number("confidence", confidence)
    told: dict[str, Callable[[Table], tuple[list[str], dict[str, Any]]]] = {
        "tables": lambda table: _released(tables, table, estimate, sure, step),
        "tables estimate": lambda table: _estimated(tables, table, step),
        "whole tables": lambda table: _whole(tables, table),
    }
    tell = told[tables.kind]

    def made(table: Table) -> Sheet:
        said, columns = tell(table)
        return _sheet(_notes_of_table(tables, table, said), columns, step)

    return ((table, made(table)) for table in tables.tables)


def _notes_of_table(tables: TableSet, table: Table, said: list[str]) -> list[str]:
    """Which table it is, what is said of it, and the promise."""
    many = f"one of {len(tables.tables):,} tables released together" if len(tables.tables) > 1 else "released"
    name, mark = table_name(table, tables.provenance.labels), CSV_MARK.decode().removeprefix("# ")
    first = f"{mark} {VERSION}: {name}, {many} on {tables.created_at:%Y-%m-%d} (release {tables.id})."
    return [first, *tables.promise_in_words("\n".join(filter(None, said))).splitlines()]


def _released(
    release: CrosstabsRelease, table: Table, estimate: CrosstabsEstimate | None, sure: float, step: float | None
) -> tuple[list[str], dict[str, Any]]:
    """Keys, value, low and high; and what an estimate has beside."""
    beside = None if estimate is None else estimate[table]
    said = [
        _error_of(release, table, sure),
        _cumulative_in_words(release, table, sure),
        "" if beside is None else f"denoised: {_denoised_table_in_words(beside)}",
        _table_rounding_in_words(step, "low is rounded down and high up, so that they hold as before"),
    ]
    return said, release[table]._shown_columns(sure, beside, for_people=True)


def _error_of(release: CrosstabsRelease, table: Table, confidence: float) -> str:
    differ = "at most " if release.workload.strategies else "about "
    most = "" if release.workload.cells_alike(table) else differ
    return (
        f"{_what(release.weight)} with noise of standard deviation {most}{rounded(release[table].std)}, unbiased; low "
        f"and high are the ends of {100 * confidence:.4g} % intervals, each cell by itself. "
        f"{release.provenance.covered_in_words('They')}"
    )


def _denoised_table_in_words(one: CrosstabTableEstimate) -> str:
    if one.kept:
        return f"the same. denoised_error: its known error, {one.errors_in_words()}."
    return f"the same with noise taken back out. {_error_in_words(one)}"


def _error_in_words(one: CrosstabTableEstimate) -> str:
    return (
        f"denoised_error: its error on average over the table, estimated without the truth: {one.errors_in_words()}. "
        "Single cells may be further off."
    )


def _cumulative_in_words(release: CrosstabsRelease, table: Table, confidence: float) -> str:
    along = asked_along(release[table])
    if along is None:
        return ""
    return (
        f"cumulative: the sum from the first {release._words(along)} up to that of the line, within cumulative_low and "
        f"cumulative_high with {100 * confidence:.4g} % confidence."
    )


def _estimated(estimate: CrosstabsEstimate, table: Table, step: float | None) -> tuple[list[str], dict[str, Any]]:
    """Keys, value, its error and noisy."""
    one = estimate[table]
    made = "as published" if one.kept else "with noise taken back out"
    known = f"denoised_error: its known error, {one.errors_in_words()}." if one.kept else _error_in_words(one)
    error = (
        f"{_what(estimate.weight)} {made}; noisy is what was released, with noise of standard deviation "
        f"{rounded(one.std)}. {known}"
    )
    return [error, _table_rounding_in_words(step, "noisy is, too")], one._shown_columns(for_people=True)


def _whole(integers: CrosstabsIntegers, table: Table) -> tuple[list[str], dict[str, Any]]:
    """Keys and value."""
    error = (
        f"{_what(integers.weight)} with noise taken back out, as whole numbers that add up in all tables. They are "
        "estimates: single cells may be further off than the release's intervals say."
    )
    return [error], integers[table]._shown_columns(for_people=True)


def _what(weight: str | None) -> str:
    return "value: counts" if weight is None else f"value: sums of {weight}"


def _table_rounding_in_words(step: float | None, others: str) -> str:
    if step is None:
        return ""
    return (
        f"value is rounded to multiples of {step:g}, after the noise was added ({others}): tables add up to what they "
        "would without rounding only nearly. Rounding protects nobody; the noise does."
    )
