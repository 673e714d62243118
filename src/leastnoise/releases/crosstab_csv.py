"""A set of tables as a folder of CSV files, one a table, for offices and spreadsheets.

A file begins with comment lines (#) that say what it is and what was promised, so that no table is without them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise._support import csv_folders, csv_text, validation
from leastnoise._support.multiples import Rounding, above, below, checked_step, nearest
from leastnoise._support.number_format import rounded
from leastnoise._support.outputs import CSV_MARK
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.releases import file_format
from leastnoise.releases.columns import key_columns
from leastnoise.releases.cumulative import asked_along, columns_beside
from leastnoise.releases.table_set import Table, TableSet, table_name
from leastnoise.workload import TreeWorkload

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, CrosstabTableEstimate
    from leastnoise.releases.crosstab_integers import CrosstabsIntegers
    from leastnoise.releases.crosstabs import CrosstabsRelease

MAX_STEM_BYTES = 150  # of a file's name; common file systems take 255
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}  # of Windows


def write_release(
    release: CrosstabsRelease,
    folder: str | os.PathLike[str],
    *,
    estimate: CrosstabsEstimate | None,
    confidence: Number,
    round_to: Number | None,
    allow_seeded: bool,
) -> Path:
    """Keys, value, low and high of every table, and what an estimate has beside; see `CrosstabsRelease.to_csv`."""
    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    step, sure = checked_step(round_to), validation.number("confidence", confidence)

    def lines(table: Table) -> Iterable[str]:
        one, beside = release[table], None if estimate is None else estimate[table]
        low, high = one.interval(sure)
        numbers = {
            "value": _written(one.values, nearest(step)),
            "low": _written(low, below(step)),
            "high": _written(high, above(step)),
            **_cumulative(release, table, sure, step),
        }
        if beside is not None:
            one._denoised_columns(beside, sure)  # refuses one that was made from another release
            numbers |= {"denoised": _written(beside.values, nearest(step)), **_error(beside)}
        differ = "about " if isinstance(release.workload, TreeWorkload) else "at most "
        most = "" if release.workload.cells_alike(table) else differ
        error = (
            f"{_what(release.weight)} with noise of standard deviation {most}{rounded(one.std)}, unbiased; low and "
            f"high are the ends of {100 * sure:.4g} % intervals, each cell by itself. "
            f"{release.provenance.covered_in_words('They')}"
        )
        said = [
            error,
            _cumulative_in_words(release, table, sure),
            "" if beside is None else f"denoised: {_denoised_in_words(beside)}",
            _rounding_in_words(step, "low is rounded down and high up, so that they hold as before"),
        ]
        return _lines(table, release, said, one.domain, numbers)

    return _write_folder(folder, release.tables, lines)


def _error(one: CrosstabTableEstimate) -> dict[str, list[str]]:
    return {"denoised_error": [csv_text.number(one.rmse)] * one.values.size}


def _denoised_in_words(one: CrosstabTableEstimate) -> str:
    if one.kept:
        return f"the same. denoised_error: its known error, {one.errors_in_words()}."
    return f"the same with noise taken back out. {_error_in_words(one)}"


def _error_in_words(one: CrosstabTableEstimate) -> str:
    return (
        f"denoised_error: its error on average over the table, estimated without the truth: {one.errors_in_words()}. "
        "Single cells may be further off."
    )


def _cumulative(release: CrosstabsRelease, table: Table, confidence: float, step: float | None) -> dict[str, list[str]]:
    """The sums from the first key up to that of the line, where a table has one column that they were asked for."""
    found = columns_beside(release[table], confidence)
    roundings = (nearest(step), below(step), above(step))
    return {
        name: ["" if value is None else csv_text.number(rounding(value)) for value in values]
        for (name, values), rounding in zip(found.items(), roundings, strict=bool(found))
    }


def _cumulative_in_words(release: CrosstabsRelease, table: Table, confidence: float) -> str:
    along = asked_along(release[table])
    if along is None:
        return ""
    return (
        f"cumulative: the sum from the first {release._words(along)} up to that of the line, within cumulative_low and "
        f"cumulative_high with {100 * confidence:.4g} % confidence."
    )


def write_estimate(
    estimate: CrosstabsEstimate, folder: str | os.PathLike[str], *, round_to: Number | None, allow_seeded: bool
) -> Path:
    """Keys, value, its error and noisy of every table; see `CrosstabsEstimate.to_csv`."""
    file_format.refuse_seeded_noise(estimate.seeded, allow_seeded)
    step = checked_step(round_to)

    def lines(table: Table) -> Iterable[str]:
        one = estimate[table]
        numbers = {
            "value": _written(one.values, nearest(step)),
            **_error(one),
            "noisy": _written(one.noisy, nearest(step)),
        }
        made = "as published" if one.kept else "with noise taken back out"
        known = f"denoised_error: its known error, {one.errors_in_words()}." if one.kept else _error_in_words(one)
        error = (
            f"{_what(estimate.weight)} {made}; noisy is what was released, with noise of standard deviation "
            f"{rounded(one.std)}. {known}"
        )
        said = [error, _rounding_in_words(step, "noisy is, too")]
        return _lines(table, estimate, said, one.domain, numbers)

    return _write_folder(folder, estimate.tables, lines)


def write_integers(integers: CrosstabsIntegers, folder: str | os.PathLike[str], *, allow_seeded: bool) -> Path:
    """Keys and value of every table; see `CrosstabsIntegers.to_csv`."""
    file_format.refuse_seeded_noise(integers.seeded, allow_seeded)

    def lines(table: Table) -> Iterable[str]:
        one = integers[table]
        error = (
            f"{_what(integers.weight)} with noise taken back out, as whole numbers that add up in all tables. They are "
            "estimates: single cells may be further off than the release's intervals say."
        )
        return _lines(table, integers, [error], one.domain, {"value": [str(value) for value in one.values.tolist()]})

    return _write_folder(folder, integers.tables, lines)


def _what(weight: str | None) -> str:
    return "value: counts" if weight is None else f"value: sums of {weight}"


def _lines(
    table: Table,
    made: TableSet,
    said: Sequence[str],
    domain: Any,
    numbers: Mapping[str, list[str]],
) -> Iterable[str]:
    """The file: comments, names, and a line a cell."""
    many = f"one of {len(made.tables):,} tables released together" if len(made.tables) > 1 else "released"
    name = table_name(table, made.provenance.labels)
    first = f"{CSV_MARK.decode()} {VERSION}: {name}, {many} on {made.created_at:%Y-%m-%d} (release {made.id})."
    for sentence in (first, *made.promise_in_words("\n".join(filter(None, said))).splitlines()):
        yield csv_text.comment(sentence)
    cells = len(numbers["value"])
    keys = {
        name: [csv_text.key(key) for key in found]
        for name, found in key_columns(domain, cells, for_people=True).items()
    }
    columns = {**keys, **numbers}
    yield ",".join(csv_text.text(name) for name in columns)
    yield from map(",".join, zip(*columns.values(), strict=True))


def _written(values: Any, rounding: Rounding) -> list[str]:
    return [csv_text.number(rounding(value)) for value in values.tolist()]


def _rounding_in_words(step: float | None, others: str) -> str:
    if step is None:
        return ""
    return (
        f"value is rounded to multiples of {step:g}, after the noise was added ({others}): tables add up to what they "
        "would without rounding only nearly. Rounding protects nobody; the noise does."
    )


def file_names(tables: Iterable[Table]) -> dict[Table, str]:
    """The file of each table, named after its columns: letters, digits and _ alone, no two alike in any case.

    >>> file_names([(), ("age",), ("age", "sex"), ("a/b", "c")])
    {(): 'total.csv', ('age',): 'age.csv', ('age', 'sex'): 'age-sex.csv', ('a/b', 'c'): 'a_b-c.csv'}
    """
    names: dict[Table, str] = {}
    taken: set[str] = set()
    for table in tables:
        stem = "-".join(re.sub(r"\W+", "_", column).strip("_") or "column" for column in table) or "total"
        stem = stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
        stem = f"{stem}_" if stem.casefold() in _DEVICES else stem
        name, count = stem, 1
        while name.casefold() in taken:
            count += 1
            name = f"{stem}-{count}"
        taken.add(name.casefold())
        names[table] = f"{name}.csv"
    return names


def _write_folder(
    folder: str | os.PathLike[str], tables: Sequence[Table], lines: Callable[[Table], Iterable[str]]
) -> Path:
    """Every table's file; each appears whole or not at all, and none before all are written."""
    named = file_names(tables).items()
    return csv_folders.replace_files(folder, ((name, "\n".join(lines(table)) + "\n") for table, name in named))
