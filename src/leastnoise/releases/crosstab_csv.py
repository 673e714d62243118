"""A set of tables as a folder of CSV files, one a table, for offices and spreadsheets.

A file begins with comment lines (#) that say what it is and what was promised, so that no table is without them. Texts
are quoted: a "#" in a key is no comment. A text that a spreadsheet would run as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import csv_folders, validation
from leastnoise._support.number_format import rounded
from leastnoise._support.outputs import CSV_MARK
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.releases import file_format
from leastnoise.releases.columns import key_columns
from leastnoise.releases.table_set import Table, TableSet, table_name

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstab_integers import CrosstabsIntegers
    from leastnoise.releases.crosstabs import CrosstabsRelease

Rounding = Callable[[float], float]

CONFIDENCE = 0.95
DECIMALS = 6  # tables then add up to about 1e-6 a cell
MAX_STEM_BYTES = 150  # of a file's name; common file systems take 255
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}  # of Windows
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_FORMULA = re.compile(r"^\s*[=+\-@]")  # what spreadsheets run


def write_release(
    release: CrosstabsRelease, folder: str | os.PathLike[str], *, round_to: Number | None, allow_seeded: bool
) -> Path:
    """Keys, value, low and high of every table; see `CrosstabsRelease.to_csv`."""
    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    step = _checked_step(round_to)

    def lines(table: Table) -> Iterable[str]:
        one = release[table]
        low, high = one.interval(CONFIDENCE)
        numbers = {
            "value": _written(one.values, _nearest(step)),
            "low": _written(low, _below(step)),
            "high": _written(high, _above(step)),
        }
        error = (
            f"{_what(release.weight)} with noise of standard deviation {rounded(one.std)}, unbiased; low and high hold "
            f"the truth with {CONFIDENCE:.0%} confidence, each cell by itself."
        )
        said = [error, _rounding_in_words(step, "low is rounded down and high up, so that they hold as before")]
        return _lines(table, release, said, one.domain, numbers)

    return _write_folder(folder, release.tables, lines)


def write_estimate(
    estimate: CrosstabsEstimate, folder: str | os.PathLike[str], *, round_to: Number | None, allow_seeded: bool
) -> Path:
    """Keys, value and noisy of every table; see `CrosstabsEstimate.to_csv`."""
    file_format.refuse_seeded_noise(estimate.seeded, allow_seeded)
    step = _checked_step(round_to)

    def lines(table: Table) -> Iterable[str]:
        one = estimate[table]
        numbers = {
            "value": _written(one.values, _nearest(step)),
            "noisy": _written(one.noisy, _nearest(step)),
        }
        error = (
            f"{_what(estimate.weight)} with noise taken back out; noisy is what was released, with noise of standard "
            f"deviation {rounded(one.std)}. The error of a value is about {rounded(one.rmse, 3)} on average over the "
            "table, estimated without the truth."
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
    first = (
        f"{CSV_MARK.decode()} {VERSION}: {table_name(table)}, {many} on {made.created_at:%Y-%m-%d} (release {made.id})."
    )
    for sentence in (first, *said, *made.promise_in_words().splitlines()):
        if sentence:
            yield _comment(sentence)
    cells = len(numbers["value"])
    keys = {name: [_key(key) for key in found] for name, found in key_columns(domain, cells, for_people=True).items()}
    columns = {**keys, **numbers}
    yield ",".join(_text(name) for name in columns)
    yield from map(",".join, zip(*columns.values(), strict=True))


def _comment(sentence: str) -> str:
    """One line; where a comma would begin a spreadsheet's cell with a formula, an apostrophe is in front."""
    line = " ".join(_CONTROLS.sub(" ", sentence).split()).removeprefix("# ")
    return "# " + re.sub(r"([,;]\s*)(?=[=+\-@])", r"\1'", line)


def _key(key: Any) -> str:
    """A key as people wrote it: numbers bare, all else a quoted text; nothing for a missing one."""
    if key is None:
        return ""
    if isinstance(key, int | float) and not isinstance(key, bool):
        return repr(key)
    return _text(key.isoformat() if hasattr(key, "isoformat") else str(key))


def _text(text: str) -> str:
    text = _CONTROLS.sub(" ", text)
    text = f"'{text}" if _FORMULA.match(text) else text
    return '"' + text.replace('"', '""') + '"'


def _written(values: Any, rounding: Rounding) -> list[str]:
    return [_number(rounding(value)) for value in values.tolist()]


def _number(value: float) -> str:
    text = f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _checked_step(round_to: Number | None) -> float | None:
    step = None if round_to is None else validation.number("round_to", round_to)
    if step is not None and step <= 0:
        raise errors.InvalidParameter(
            f"round_to must be above 0: numbers are rounded to its multiples. Got {step:g} instead.",
            parameter="round_to",
            value=round_to,
            example={"round_to": 5},
        )
    return step


def _nearest(step: float | None) -> Rounding:
    return (lambda value: value) if step is None else lambda value: step * round(value / step)


def _below(step: float | None) -> Rounding:
    return (lambda value: value) if step is None else lambda value: step * math.floor(value / step)


def _above(step: float | None) -> Rounding:
    return (lambda value: value) if step is None else lambda value: step * math.ceil(value / step)


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
