"""The columns of a set of tables of which cumulative sums or ranges are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leastnoise import errors
from leastnoise.workload.ordered.questions import Kind

MAX_ORDERED_KEYS = 2**16  # of one such column


def checked_sums(sizes: Mapping[str, int], cumulative: Iterable[str], ranges: Iterable[str]) -> dict[str, Kind]:
    """The columns of which other sums than counts are asked for, checked: each with one kind of sums.

    sizes: how many keys each column has. cumulative, ranges: names of columns.
    """
    found: dict[str, Kind] = {}
    kinds: tuple[tuple[str, Iterable[str], Kind], ...] = (
        ("cumulative", cumulative, "prefix"),
        ("ranges", ranges, "ranges"),
    )
    for parameter, names, kind in kinds:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise errors.WrongType(
                f"{parameter} must be a list of columns. Got {names!r} instead.",
                parameter=parameter,
                value=names,
                example={parameter: ["age"]},
            )
        for name in names:
            if not isinstance(name, str):
                raise errors.WrongType(
                    f"{parameter} must be names of columns. Got {name!r} instead.",
                    parameter=parameter,
                    value=name,
                    example={parameter: ["age"]},
                )
            if name not in sizes:
                raise errors.UnknownColumn(
                    f'{parameter} names "{name}", and no table that is asked for has that column. The columns of the '
                    f"tables are {', '.join(sizes)}. Name one of them, or ask for a table with it.",
                    parameter=parameter,
                    value=name,
                    example={parameter: [next(iter(sizes), "age")]},
                )
            if name in found:
                raise errors.InvalidParameter(
                    f'"{name}" is named twice: cumulative sums and ranges have different strategies, so a column has '
                    "one of them. Ranges are the differences of cumulative sums, so either gives both.",
                    parameter=parameter,
                    value=name,
                )
            if sizes[name] > MAX_ORDERED_KEYS:
                raise errors.BadDomain(
                    f'"{name}" has {sizes[name]:,} keys, and cumulative sums and ranges within a set of tables go up '
                    f"to {MAX_ORDERED_KEYS:,}. Use coarser keys.",
                    parameter=parameter,
                    value=name,
                )
            if sizes[name] > 1:
                found[name] = kind
    return found
