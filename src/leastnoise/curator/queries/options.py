"""The bins and the limits of a question, from what its asker typed: public facts, checked before any row is read.

And which rows a question can leave out by its limits, its bins and its conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from leastnoise.curator.dataset import Dataset
from leastnoise.curator.rows.priorities import word
from leastnoise.domain import (
    Axis,
    Domain,
    IntegerRange,
    Keys,
    OrNull,
    OrOther,
    counts_up,
    entries,
    product,
)
from leastnoise.errors import BadDomain, Code, InvalidParameter, WrongType
from leastnoise.privacy.sensitivity import LARGEST_LIMIT, Limits
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.left_out import LeftOut, TruncatingKind


def limits_of(
    data: Dataset,
    *,
    bins: int | None,
    by: Sequence[str] = (),
    max_rows: int | None,
    max_per_bin: int | None = None,
    max_bins: int | None = None,
) -> Limits:
    """How much of one unit is kept; `bins` is the size of the domain, None when unknown. A row that is a unit is all of
    it, whatever the limits."""
    limits = Limits.of(
        max_rows=1 if data.row_is_unit and max_rows is None else max_rows,
        max_per_bin=max_per_bin,
        max_bins=max_bins,
        bins=bins,
        unit=data.unit_name,
        what=f'"{", ".join(by)}"' if by else "the answer",
    )
    return Limits(max_rows=1, max_per_bin=1, max_bins=1) if data.row_is_unit else limits


def column_names(names: str | Sequence[str], *, parameter: str = "by") -> tuple[str, ...]:
    """One column or several, as a tuple of names."""
    listed = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    if parameter == "by":
        check_names(listed)
    for name in listed:
        if not isinstance(name, str):
            raise WrongType(
                f"{parameter} names a column, or several, by text. Got {type(name).__name__} instead.",
                value=name,
                example={parameter: "fare"},
            )
    return listed


def check_names(by: Sequence[object]) -> None:
    """Raise unless every bin's column is named by text: a list of keys may have been given instead."""
    for place, name in enumerate(by):
        if not isinstance(name, str):
            listed = place == 0 and isinstance(name, list | tuple)  # all columns as one list, and no keys after one
            raise WrongType(
                f"bins are by columns, and a column is named by text. Got {type(name).__name__} instead. Several "
                "columns are named one by one, and the public keys have an argument of their own.",
                parameter="by",
                example=Code('"age", "sex"', "--by age --by sex") if listed else {"keys": ["a", "b"]},
            )


def check_columns(data: Dataset, by: Sequence[str], nulls: str) -> None:
    """Raise unless bins can be of these columns."""
    if nulls not in ("drop", "bin"):
        raise InvalidParameter.among("nulls", nulls, ["drop", "bin"])
    for column in by:
        data.check_usable(column)
    refuse_reserved(by)
    if len(set(by)) < len(by):
        raise BadDomain("a column is named twice. Name each once.")


def listed_domain(data: Dataset, by: Sequence[str], keys: Any, nulls: str) -> Domain:
    """The bins of public keys."""
    check_columns(data, by, nulls)
    given = entries(by, keys)
    for column, part in zip(by, given, strict=True):
        if data.rows[column].type().is_floating() and counts_up(part):
            raise exact_matches(column)
    return product(by, given[0] if len(by) == 1 else given, nulls=nulls)


def check_unknown_keys(data: Dataset, by: Sequence[str], nulls: str) -> None:
    """Raise unless keys can be found in these columns."""
    check_columns(data, by, nulls)
    for column in by:
        word(data.rows[column], column, data.engine)


def exact_matches(column: str) -> WrongType:
    """The error for whole-number keys of a column of real numbers."""
    return WrongType(
        f'"{column}" holds real numbers, and keys that are whole numbers would count only the rows that are exactly '
        "equal to one. Cut it into bins, ln.domain.Edges((0.0, 10.0, 20.0)), or round it, "
        f"derive(whole=lambda rows: rows['{column}'].floor()). If it holds whole numbers alone (pandas makes them real "
        "where one is missing), store them as integers, .astype('Int64').",
        parameter="keys",
        value=column,
    )


# Which rows a question can leave out


def left_out_by_limits(limits: Limits, *, bins: int | None) -> list[LeftOut]:
    """The limits that can leave out rows which no other of them leaves out; `bins` is the size of the domain."""
    all_bins = math.inf if bins is None else bins
    in_bin = limits.max_per_bin < limits.max_rows
    of_bins = limits.max_bins < min(all_bins, limits.max_rows)
    implied = in_bin and limits.max_rows >= limits.max_per_bin * (limits.max_bins if of_bins else all_bins)
    rows = limits.max_rows < LARGEST_LIMIT and not implied
    binding: dict[TruncatingKind, bool] = {"max_rows": rows, "max_per_bin": in_bin, "max_bins": of_bins}
    chosen = dict(limits.chosen)
    return [
        LeftOut(name, numbers=(limits.numbers[name],), text=chosen.get(name))
        for name, binds in binding.items()
        if binds
    ]


def left_out_by_unit(data: Dataset) -> list[LeftOut]:
    """Rows without a unit, unless its columns cannot be null. (NaN and days that no calendar has are null.) And whether
    a row is a whole unit."""
    kinds = [data.clean.given.schema()[column] for column in data.unit]
    nullable = any(kind.nullable or kind.is_floating() or kind.is_date() or kind.is_timestamp() for kind in kinds)
    missing = [LeftOut("unit is null", columns=data.unit)] if nullable else []
    return [*missing, *([LeftOut("row is a unit")] if data.row_is_unit else [])]


def left_out_by_domain(domain: Domain) -> list[LeftOut]:
    """Rows outside the bins; without a key they are outside as well, unless those have a bin of their own. No row is
    outside an axis with a bin for all others."""
    axes = zip(domain.names, domain.axes, strict=True)
    return [left_out_by_axis(column, axis) for column, axis in axes if not isinstance(axis, OrOther)]


def left_out_by_axis(column: str, axis: Axis) -> LeftOut:
    """Rows whose value is not on the axis."""
    inner = axis.inner
    if isinstance(inner, Keys | IntegerRange):
        kind = "not a key or null" if isinstance(axis, OrNull) else "not a key"
    else:
        kind = "outside the bins or null" if isinstance(axis, OrNull) else "outside the bins"
    return LeftOut(kind, columns=(column,), numbers=(inner.size,))  # type: ignore[arg-type]
