"""The numbers of a release or an estimate on a terminal, and as facts for programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

import leastnoise as ln
from leastnoise._support.text import rounded
from leastnoise.cli.output import printable

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS_SHOWN = 12
PUBLISHED = ("std", "off by (95 %)")
DENOISED = ("error about", "at most (95 %)", "was", "better beyond chance")


def in_brief(made: Any) -> Iterator[str]:
    """What was released, how far it is off and what is left out; `leastnoise show` says the rest."""
    rest = ("The question: ", "Gaussian noise: ", "Laplace noise: ")  # of a vector no question is known
    return takewhile(lambda line: not line.startswith(rest), made.explain().splitlines())


def promise_facts(of: Any) -> dict[str, Any]:
    """How strong the guarantee is, and which rows are not in the numbers, for programs."""
    band = None if of.strength is None else of.strength.band
    return {"strength": of.strength, "band": band, "left_out": of.left_out}


def facts_of(made: Any, query: str, path: str) -> dict[str, Any]:
    """A new release, for programs."""
    facts: dict[str, Any] = {"output": path, "query": query, "mechanism": made.mechanism} | promise_facts(made)
    if isinstance(made, ln.CrosstabsRelease):
        return {**facts, "total": made.total().value, "tables": made.overview()}
    if not isinstance(made, ln.SummaryRelease):
        facts |= {"sigma": made.sigma, "std": made.std}
    if isinstance(made, ln.Release) and made.all_keys is not None:
        facts["others"] = made.others()._asdict()
    rows = made.to_arrow()
    if rows.num_rows <= MAX_ROWS_SHOWN:
        facts["rows"] = rows.to_pylist()  # with nulls, not NaN, which is no JSON
    return facts


def numbers(made: Any, most: int = MAX_ROWS_SHOWN) -> Any:
    """The first rows of a release or an estimate; of a set a line for each table."""
    from leastnoise.releases.display import TOO_FEW, PrintedRows, key_count

    if isinstance(made, ln.CrosstabsRelease | ln.CrosstabsEstimate):
        return _tables(made, most)
    if isinstance(made, ln.SummaryRelease):
        return _statistics(made, most)
    found, others = _without_others(made, made.to_arrow())
    rows = found.slice(0, most).to_pylist()
    for row in rows:
        if row.get("enough") is False:
            row[made.kind] = TOO_FEW
    return PrintedRows(
        names=[f"{name} (95 %)" if name in ("low", "high") else _heading(name) for name in found.column_names],
        rows=[list(row.values()) for row in rows],
        keys=key_count(found.column_names, getattr(made, "kind", "")),
        last=others,
        caption=f"the first {most:,} of {found.num_rows:,} rows" if found.num_rows > most else "",
    )


def _tables(made: ln.CrosstabsRelease | ln.CrosstabsEstimate, most: int) -> Table:
    """A line for each table."""
    from leastnoise.releases.table_set import table_name

    count = len(made.tables)
    table = Table(caption=f"the first {most:,} of {count:,} tables" if count > most else None)
    denoised = isinstance(made, ln.CrosstabsEstimate)
    table.add_column("table")
    for name in ("cells", *(DENOISED if denoised else PUBLISHED)):
        table.add_column(name, justify="right")
    lines = made.overview() if isinstance(made, ln.CrosstabsRelease) else []
    for place, columns in enumerate(made.tables[:most]):
        name = escape(printable(table_name(columns, made.provenance.labels)))
        found = (
            _denoised(made[columns]) if denoised else [rounded(lines[place][word]) for word in ("std", "half_width")]
        )
        table.add_row(name, f"{made.workload.cells_of(columns):,}", *found)
    return table


def _denoised(one: Any) -> list[str]:
    """How far a denoised table is off, and how far it was."""
    if one.kept:
        return ["", "", rounded(one.std, 3), "kept"]
    better = {True: "yes", False: "no", None: ""}[one.better_than_raw]
    return [*(rounded(value, 3) for value in (one.rmse, one.rmse_at_most(0.95).value, one.std)), better]


def _heading(name: str) -> str:
    """It breaks between words where a terminal is narrow; "denoised_error" is two."""
    return name.replace("denoised_", "denoised ")


def _without_others(made: Any, found: pa.Table) -> tuple[pa.Table, list[Any]]:
    """The rows of keys, and the row of all other keys as people read it, if there is one."""
    from leastnoise.releases.selected import LABEL

    if getattr(made, "all_keys", None) is None:
        return found, []
    keys = range(found.num_columns - 3)  # before value, low and high
    last = list(found.slice(made.bins).to_pylist()[0].values())
    return found.slice(0, made.bins), [LABEL if i == 0 else "" if i in keys else cell for i, cell in enumerate(last)]


def _statistics(made: ln.SummaryRelease, most: int) -> Any:
    """The first rows of a summary: each value with its interval."""
    from leastnoise.releases.display import PrintedRows

    more = f"the first {most:,} of {made.bins:,} rows; " if made.bins > most else ""
    columns = made._first_columns(most)
    return PrintedRows(
        names=[_heading(name) for name in columns],
        rows=list(zip(*columns.values(), strict=True)),
        keys=len(columns) - len(made),
        caption=f"{more}in brackets 95 % intervals",
    )
