"""`leastnoise show`: what a saved release or estimate is, and its first rows."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import leastnoise as ln
from leastnoise import errors
from leastnoise._support.number_format import rounded
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.cli.publishing import MAX_ROWS_SHOWN, first_rows, overview


def show(
    release: options.ReleaseFile,
    table_by: options.TableBy = None,
    rows: options.Rows = MAX_ROWS_SHOWN,
    json: options.Json = False,
) -> None:
    """What a release or an estimate is, what it promises, and its first rows. Of a set of tables, all of them or one.

    Example: [bold]leastnoise show tables.parquet --table-by age,sex[/bold]
    """
    loaded = ln.load(release)
    one = _one_table(loaded, table_by)
    if json:
        print_json(_facts(loaded, one, rows))
        return
    console = Console()
    if one is not None:
        console.print(first_rows(one, rows))
    else:
        console.print(_tables(loaded, rows) if _is_set(loaded) else first_rows(loaded, rows))
    console.print(printable(loaded.explain()), markup=False, highlight=False)


def _is_set(loaded: Any) -> bool:
    return isinstance(loaded, ln.CrosstabsRelease | ln.CrosstabsEstimate)


def _one_table(loaded: Any, columns: str | None) -> Any:
    """The table of a set that was named; None: none was."""
    if columns is None:
        return None
    if not _is_set(loaded):
        raise errors.WrongType(f"{type(loaded).__name__} is no set of tables. Leave out --table-by.")
    return loaded[tuple(filter(None, map(str.strip, columns.split(","))))]


def _tables(loaded: ln.CrosstabsRelease | ln.CrosstabsEstimate, most: int) -> Table:
    """A line a table."""
    from leastnoise.releases.table_set import table_name

    if isinstance(loaded, ln.CrosstabsRelease):
        return overview(loaded, most)
    table = Table(caption=f"the first {most:,} of {len(loaded):,} tables" if len(loaded) > most else None)
    table.add_column("table")
    for name in ("cells", "error about", "at most (95 %)", "was", "better beyond chance"):
        table.add_column(name, justify="right")
    for columns in loaded.tables[:most]:
        cells, one = f"{loaded.workload.cells_of(columns):,}", loaded[columns]
        found = [one.std] if one.kept else [one.rmse, one.rmse_at_most(0.95).value, one.std]
        error = [rounded(value, 3) for value in found]
        error = ["", "", *error] if one.kept else error
        better = "kept" if one.kept else {True: "yes", False: "no", None: ""}[one.better_than_raw]
        table.add_row(escape(printable(table_name(columns, loaded.provenance.labels))), cells, *error, better)
    return table


def _facts(loaded: Any, one: Any, most: int) -> dict[str, Any]:
    """The same for programs: every row, where there are few enough to be read."""
    facts: dict[str, Any] = {"what": type(loaded).__name__, "explain": loaded.explain()}
    if _is_set(loaded) and one is None:
        return {**facts, "tables": [list(table) for table in loaded.tables]}
    if isinstance(loaded, ln.Release) and loaded.all_keys is not None:
        facts["others"] = loaded.others()._asdict()
    rows = (loaded if one is None else one).to_arrow()
    return {**facts, "rows": rows.num_rows, "first": rows.slice(0, most).to_pylist()}
