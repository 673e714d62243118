"""What the commands that release do at the end: say what to expect; or release, write the file and show it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise._support.number_format import rounded
from leastnoise.cli.messages import printable
from leastnoise.cli.options import OutputOptions, PrivacyOptions

if TYPE_CHECKING:
    from leastnoise.curator.preview import Expectation
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.request import PrivacyRequest
    from leastnoise.privacy.strength import Strength
    from leastnoise.releases.published import Published

MAX_ROWS_SHOWN = 10


def publish(query: Query, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """Release the query into the file; with --expect only say what that would be like."""
    if output.expect:
        show_expected(query.expect(**arguments(privacy.request())), output)
        return
    request = privacy.request()
    refuse_weak(query.expect(**arguments(request)).strength, privacy)
    atomic_files.check_writable(output.path, sources=query.files)
    with notes():
        made = query.release(**arguments(request))
    made.save(output.path)
    if output.quiet:
        return
    if output.json:
        typer.echo(json.dumps(_facts(query, made, output.path), default=str))
        return
    console = Console()
    console.print(_first_rows(made))
    show_written(made.explain(), output.path)


def refuse_weak(strength: Strength | None, privacy: PrivacyOptions) -> None:
    """Refuse a promise that protects nobody, unless --force was typed: here nobody may read a warning."""
    if strength is None or privacy.force or not strength.protects_nobody:
        return
    raise errors.InvalidParameter(
        f"{strength.in_words()} Nothing was read, paid or written.",
        parameter="budget" if strength.of_budget else "epsilon",
        example=[*([] if strength.of_budget else [{"epsilon": 1, "delta": 1e-6}]), {"force": True}],
    )


@contextmanager
def notes() -> Iterator[None]:
    """Our warnings as notes on standard error, once what caused them is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.Wasteful)
        warnings.simplefilter("always", errors.WeakPromise)
        yield
    for warning in caught:
        Console(stderr=True).print(f"Note: {warning.message}", markup=False, highlight=False)


def arguments(request: PrivacyRequest) -> dict[str, Any]:
    """The request as the arguments of `release` and `expect`."""
    return {field.name: getattr(request, field.name) for field in fields(request)}


def show_expected(expected: Expectation, output: OutputOptions) -> None:
    """What to expect, in sentences or as one JSON object."""
    if output.quiet:
        return
    if output.json:
        facts = _plain(expected)
        if expected.strength is not None:
            facts["strength"]["band"] = expected.strength.band
        typer.echo(json.dumps(facts))
        return
    Console().print(printable(expected), markup=False, highlight=False)
    Console().print("Nothing was read, paid or written.", markup=False, highlight=False)


def show_written(explained: str, path: str) -> None:
    """What a release is, and where."""
    Console().print(printable(explained), markup=False, highlight=False)
    Console().print(f"Written: {path}", markup=False, highlight=False)


def _plain(value: Any) -> Any:
    """A value of JSON: dataclasses and mappings are objects."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _facts(query: Query, made: Published, path: str) -> dict[str, Any]:
    facts = {
        "output": path, "sigma": made.sigma, "std": made.std, "query": query.describe(), "mechanism": made.mechanism
    }  # fmt: skip
    if made.to_arrow().num_rows <= MAX_ROWS_SHOWN:
        facts["rows"] = made.to_pandas().to_dict("records")
    return facts


def _first_rows(made: Published) -> Table:
    found = made.to_arrow()
    more = found.num_rows > MAX_ROWS_SHOWN
    table = Table(caption=f"the first {MAX_ROWS_SHOWN} of {found.num_rows:,} rows" if more else None)
    for name in found.column_names:
        confidence = " (95 %)" if name in ("low", "high") else ""
        table.add_column(escape(printable(name)) + confidence, justify="right")
    for row in found.slice(0, MAX_ROWS_SHOWN).to_pylist():
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _cell(value: Any) -> str:
    return rounded(value, 6) if isinstance(value, float) else escape(printable(value))
