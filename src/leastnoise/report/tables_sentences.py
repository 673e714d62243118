"""The sentences of the page of a set of tables."""

from __future__ import annotations

from collections.abc import Sequence

from leastnoise._support.number_format import about, digits_beside, rounded
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.releases.table_set import table_name
from leastnoise.report.promise_sentences import (
    Headline,
    Step,
    between,
    check_file,
    check_ledger,
    check_promise,
    guarantee_facts,
    limits,
    limits_learning,
    number,
    protects,
    scope,
    too_weak,
    unit,
)
from leastnoise.report.tables_contents import MAX_CELLS_SHOWN, TablesContents

MAX_COLUMNS_IN_TITLE = 6


def title(contents: TablesContents) -> str:
    """What was released: "Tables of counts by district, age and sex"."""
    names = [contents.of._words(column) for column in contents.of.axes]
    more = len(names) - MAX_COLUMNS_IN_TITLE
    shown = names if more <= 1 else [*names[:MAX_COLUMNS_IN_TITLE], f"{more:,} more columns"]
    noun = "counts" if contents.of.weight is None else f"the sums of {contents.of._words(contents.of.weight)}"
    return f"Tables of {noun} by {_listed(shown)}"


def lead(contents: TablesContents) -> str:
    """What was released, in a sentence."""
    of = contents.of
    many = f"{len(of.tables):,} tables" if len(of.tables) != 1 else "One table"
    noise = f"{of.mechanism.capitalize()} noise"
    what = f"{many}, {of.bins:,} cells in all, published together with {noise}"
    what += "." if of.guarantee is None or too_weak(of) else f", which {limits_learning(of)}."
    if not of.rows_share_weight:
        return what
    return f"{what} Each {unit(of)} counts once, divided over the cells that the rows of the {unit(of)} are in."


def headline(contents: TablesContents) -> Headline:
    """The total, with how sure it is."""
    of, total = contents.of, contents.of.total()
    what = "counted" if of.weight is None else "summed"
    what = f"each {unit(of)} counted once," if of.rows_share_weight else what
    return Headline(number(round(total.value)), f"{what} {scope(of)}, {between(total.low, total.high)}")


def facts(contents: TablesContents) -> list[tuple[str, str]]:
    """The guarantee and the noise in numbers."""
    of = contents.of
    stds = [table.std for table in contents.listed]
    least, most = min(stds), max(stds)
    spread = rounded(least) if rounded(least) == rounded(most) else f"{rounded(least)} to {rounded(most)}"
    rows = [*guarantee_facts(of), ("protects", protects(of))]
    rows.append(("noise", f"{of.mechanism.capitalize()}, standard deviation of a cell {spread}"))
    return [*rows, ("limits", limits(of))] if of.limits else rows


# The interval misses a zero in at most one of twenty cells: lying above it in half of these, where noise is symmetric.
ZERO = (
    "A cell whose 95 % interval reaches down to zero cannot be told from zero, and is marked. Of the cells that are "
    "zero in truth, at most about one in forty is not marked."
)


def one_of(contents: TablesContents) -> str:
    """What a print of the page has; nothing where that is all."""
    many = len(contents.of.tables)
    return f"Of {many:,} tables one is printed here. The page itself has them to choose from." if many > 1 else ""


def not_held(contents: TablesContents) -> str:
    """Which tables the page does not hold; nothing where it has all."""
    of = contents.of
    missing = len(of.tables) - len(contents.held)
    if not missing:
        return ""
    cells = of.bins - sum(table.cells for table in contents.held)
    unlisted = len(of.tables) - len(contents.listed)
    names = f" {unlisted:,} of them are not in the list below either." if unlisted else ""
    return (
        f"This page has at most {MAX_CELLS_SHOWN:,} cells. {missing:,} of the {len(of.tables):,} tables, with "
        f"{cells:,} cells, are in the file of the release only.{names}"
    )


def denoising(contents: TablesContents) -> str:
    """What was done to the noise."""
    estimate = contents.estimate
    if estimate is None:
        return "These are the tables as published: unbiased, and with their noise."
    known = ", ".join(table_name(table, estimate.provenance.labels) for table in estimate.known)
    held = f" Public tables were held: {known}." if known else ""
    return (
        "Denoising costs no privacy: it reads only what is published. No denoised cell is below zero, and the tables "
        f"agree with each other.{held} {estimate.errors_in_words()}"
    )


def error_in_words(rmse: float, at_most: float, before: float) -> str:
    """An estimated error and its upper limit, beside what it was: "about 9.1, at most 12 (95 %)"."""
    return f"{about(rmse, beside=before)}, at most {rounded(at_most, digits_beside(rmse, before))} (95 %)"


def check(contents: TablesContents, file: str) -> list[Step]:
    """What to type to check the page, whose release is in this file."""
    of, promise = contents.of, contents.of.guarantee
    steps = [check_file(file)]
    largest = max((table.columns for table in contents.listed), key=len)
    steps.append(
        Step(
            f"Every table is in it with every digit, {table_name(largest)} for example:",
            f"table = r[{', '.join(map(repr, largest)) or '()'}]\n"
            "print(table.interval(0.95))\nprint(table.to_pandas())",
        )
    )
    counted = of.mechanism == "gaussian" and of.weight is None and of.step == 1 and "max_rows" in of.limits
    if isinstance(promise, GaussianDP) and counted:  # its cost is a known function of the scales
        steps.append(
            Step(
                "The promise follows from the noise of all tables together, and is computed anew with proof:",
                f"cost = r.workload.squared_cost(r.scales, parts={of.limits['max_rows']}, "
                f"neighbours={promise.neighbours!r})\nprint(cost**0.5, r.guarantee)",
            )
        )
    elif promise is not None:
        steps.append(check_promise(of))
    return [*steps, *check_ledger(of)]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
