"""What a spreadsheet has of each table of a set, as released, denoised or made whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from leastnoise._support import validation
from leastnoise._support.outputs import CSV_MARK
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.export.multiples import checked_step
from leastnoise.export.sheets import Sheet, cells
from leastnoise.releases.crosstab_table import asked_along
from leastnoise.releases.table_set import Table, TableSet, table_name

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, CrosstabsIntegers, CrosstabTableEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease


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
        written = {name: cells(name, column, step) for name, column in columns.items()}
        return Sheet(_notes(tables, table, said), written)

    return ((table, made(table)) for table in tables.tables)


def _notes(tables: TableSet, table: Table, said: list[str]) -> list[str]:
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
        "" if beside is None else f"denoised: {_denoised_in_words(beside)}",
        _rounding_in_words(step, "low is rounded down and high up, so that they hold as before"),
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


def _denoised_in_words(one: CrosstabTableEstimate) -> str:
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
    columns = one._shown_columns(for_people=True)
    columns["noisy"] = columns.pop("noisy")  # the last
    return [error, _rounding_in_words(step, "noisy is, too")], columns


def _whole(integers: CrosstabsIntegers, table: Table) -> tuple[list[str], dict[str, Any]]:
    """Keys and value."""
    error = (
        f"{_what(integers.weight)} with noise taken back out, as whole numbers that add up in all tables. They are "
        "estimates: single cells may be further off than the release's intervals say."
    )
    return [error], integers[table]._shown_columns(for_people=True)


def _what(weight: str | None) -> str:
    return "value: counts" if weight is None else f"value: sums of {weight}"


def _rounding_in_words(step: float | None, others: str) -> str:
    if step is None:
        return ""
    return (
        f"value is rounded to multiples of {step:g}, after the noise was added ({others}): tables add up to what they "
        "would without rounding only nearly. Rounding protects nobody; the noise does."
    )
