"""The bins and the limits of a question, from what its asker typed: public facts, checked before any row is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leastnoise.curator.aggregate.bounding import word
from leastnoise.curator.dataset import Dataset
from leastnoise.domain import Domain, counts_up, entries, product
from leastnoise.errors import BadDomain, Code, InvalidParameter, WrongType
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.columns import refuse_reserved


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
                parameter=parameter,
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
