"""What the commands that release do at the end: say what to expect; or release, write the file and show it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import atomic_files, outputs
from leastnoise._support.number_format import rounded
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import note, printable
from leastnoise.cli.options import OutputOptions, PrivacyOptions
from leastnoise.jobs.running import arguments, recorded, refuse_weak, saved

if TYPE_CHECKING:
    import pyarrow as pa

    from leastnoise.curator.preview import Expectation
    from leastnoise.curator.publish import Answer
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.summary_preview import SummaryExpectation
    from leastnoise.curator.tables_preview import TablesExpectation
    from leastnoise.releases.printed_rows import PrintedRows

MAX_ROWS_SHOWN = 12


def publish(query: Query, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """Release the query into the file; with --expect refuse what that would refuse, else say what it would be like."""
    request = privacy.request(query.mechanisms)
    expected = query.expect(**arguments(request))
    refuse_weak(expected.strength, privacy.force)
    check_output(output, sources=query.files)
    if output.expect:
        show_expected(expected, output)
        return
    recorded(request, output.path)
    with notes():
        made = query.release(**arguments(request))
    made.save(output.path)
    if not output.quiet:
        with showing(output.path):
            _show(query, made, output)


def showing(path: str) -> AbstractContextManager[None]:
    """Within it a release that is on disk is shown."""
    return saved(path, f"It could not be shown here; leastnoise show {path} shows it, and pays nothing.")


def _show(query: Query, made: Answer, output: OutputOptions) -> None:
    if output.json:
        print_json(_facts(query, made, output.path))
        return
    console = Console()
    console.print(overview(made) if isinstance(made, ln.CrosstabsRelease) else first_rows(made))
    show_written(made.explain(), output.path)


def check_output(output: OutputOptions, *, sources: Iterable[str], goes_on_from: str | None = None) -> None:
    """Refuse a path that cannot be written, is read or holds something else; and one that holds a release, which was
    paid for and would be lost, unless --again says so.

    goes_on_from: the file of a release that the new one holds all of.
    """
    if output.output is None:  # with --expect alone
        return
    atomic_files.check_writable(output.path, sources=sources)
    what = outputs.what(output.path)
    if what is None:
        return
    if "estimate" in what:
        raise errors.BadOutput(
            f"{output.path!r} is an estimate, and a release is written. Nothing was read, paid or written. Give "
            "another path, or delete what is there yourself."
        )
    if not output.again and not (goes_on_from is not None and os.path.samefile(output.path, goes_on_from)):
        raise errors.BadOutput(
            f"{output.path!r} is a release already. Nothing was read, paid or written: a release that is typed twice "
            "is paid for twice, and the first is lost. Give another path, or pay for a new one in its place.",
            parameter="again",
            example={"again": True},
        )


@contextmanager
def notes() -> Iterator[None]:
    """Our warnings as notes on standard error, once what caused them is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.Wasteful)
        warnings.simplefilter("always", errors.WeakPromise)
        yield
    for warning in caught:
        Console(stderr=True).print(f"Note: {note(warning.message)}", markup=False, highlight=False)


def show_expected(expected: Expectation | TablesExpectation | SummaryExpectation, output: OutputOptions) -> None:
    """What to expect, in sentences or as one JSON object."""
    if output.quiet:
        return
    if output.json:
        print_json({field.name: getattr(expected, field.name) for field in fields(expected)} | promise_facts(expected))
        return
    for line in printable(expected).splitlines():  # sentences are wrapped, lines of a table are not
        Console().print(line, markup=False, highlight=False, soft_wrap=line.startswith("  "))
    Console().print("Nothing was read, paid or written.", markup=False, highlight=False)


def show_written(explained: str, path: str) -> None:
    """What a release is, and where."""
    Console().print(printable(explained), markup=False, highlight=False)
    Console().print(f"Written: {path}", markup=False, highlight=False)


def promise_facts(of: Answer | Expectation | TablesExpectation | SummaryExpectation) -> dict[str, Any]:
    """How strong the promise is, and which rows are not in the numbers, for programs."""
    return {
        "strength": of.strength,
        "band": None if of.strength is None else of.strength.band,
        "left_out": of.left_out,
    }


def _facts(query: Query, made: Answer, path: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"output": path, "query": query.describe(), "mechanism": made.mechanism}
    facts |= promise_facts(made)
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


def overview(made: ln.CrosstabsRelease, most: int = MAX_ROWS_SHOWN) -> Table:
    """A line a table."""
    from leastnoise.releases.table_set import table_name

    lines = made.overview()
    table = Table(caption=f"the first {most:,} of {len(lines):,} tables" if len(lines) > most else None)
    table.add_column("table")
    for name in ("cells", "std", "off by (95 %)"):
        table.add_column(name, justify="right")
    for line in lines[:most]:
        name = escape(printable(table_name(tuple(line["table"]), made.provenance.labels)))
        table.add_row(name, f"{line['cells']:,}", rounded(line["std"]), rounded(line["half_width"]))
    return table


def first_rows(made: Any, most: int = MAX_ROWS_SHOWN) -> PrintedRows:
    """The first rows of a release or an estimate, or of one table of a set."""
    from leastnoise.releases.display import TOO_FEW
    from leastnoise.releases.printed_rows import PrintedRows, key_count

    if isinstance(made, ln.SummaryRelease):
        return _first_statistics(made, most)
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


def _heading(name: str) -> str:
    """It breaks between words where a terminal is narrow; "denoised_error" is two."""
    return name.replace("denoised_", "denoised ")


def _without_others(made: Any, found: pa.Table) -> tuple[pa.Table, list[Any]]:
    """The rows of keys, and the row of all other keys as people read it, if there is one."""
    from leastnoise.releases.other_keys import LABEL

    if getattr(made, "all_keys", None) is None:
        return found, []
    keys = range(found.num_columns - 3)  # before value, low and high
    last = list(found.slice(made.bins).to_pylist()[0].values())
    return found.slice(0, made.bins), [LABEL if i == 0 else "" if i in keys else cell for i, cell in enumerate(last)]


def _first_statistics(made: ln.SummaryRelease, most: int) -> PrintedRows:
    """The first rows of a summary: each value with its interval."""
    from leastnoise.releases.printed_rows import PrintedRows

    more = f"the first {most:,} of {made.bins:,} rows; " if made.bins > most else ""
    columns = made._first_columns(most)
    return PrintedRows(
        names=[_heading(name) for name in columns],
        rows=list(zip(*columns.values(), strict=True)),
        keys=len(columns) - len(made),
        caption=f"{more}in brackets 95 % intervals",
    )
