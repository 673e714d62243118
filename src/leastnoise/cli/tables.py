"""`leastnoise count | histogram | sum | mean | quantile`: from a table of people to a release file.

Everything public (parameters, columns, the output path) is checked before any row is read.
"""

from __future__ import annotations

import json as json_text
import os
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from leastnoise import errors
from leastnoise._support import atomic_files, parquet
from leastnoise._support.number_format import rounded
from leastnoise.cli.messages import shown

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query

Source = Annotated[str, typer.Argument(help="Parquet or CSV: a path, a quoted glob, or a folder.")]
Unit = Annotated[str, typer.Option(help="The column that names the protected person; several with commas.")]
Output = Annotated[str, typer.Option("--output", "-o", help="The Parquet file to write.")]
Epsilon = Annotated[float | None, typer.Option(help="How much an attacker may learn.")]
Delta = Annotated[float | None, typer.Option(help="A small probability; 0 asks for Laplace noise.")]
Sigma = Annotated[float | None, typer.Option(help="Instead of epsilon and delta: the noise itself.")]
Where = Annotated[str | None, typer.Option(help="Only rows with, e.g. \"hour < 3 and city = 'Rome'\".")]
By = Annotated[list[str] | None, typer.Option(help="Bins by this column; repeat for several.")]
Keys = Annotated[
    list[str] | None,
    typer.Option(help="The public bins, one option a column: nodes.parquet:id, 0:24 (a range), or a,b,c."),
]
Clip = Annotated[str, typer.Option(help="low,high: values are clipped to this first.")]
MaxRows = Annotated[int | None, typer.Option(help="At most so many rows of one person.")]
MaxPerBin = Annotated[int | None, typer.Option(help="At most so many of them in one bin.")]
MaxBins = Annotated[int | None, typer.Option(help="In at most so many bins.")]
Mechanism = Annotated[str, typer.Option(help="auto, gaussian or laplace.")]
Neighbours = Annotated[str, typer.Option(help="add-remove or replace.")]
Engine = Annotated[str | None, typer.Option(help="duckdb, or a Spark master such as spark://host:7077.")]
MemoryLimit = Annotated[str | None, typer.Option(help="For DuckDB, such as 1GB.")]
BudgetFile = Annotated[str | None, typer.Option("--budget", help="A ledger to pay from; see leastnoise budget.")]
TableName = Annotated[str | None, typer.Option("--table", help="What the book calls this table; else the file's name.")]
Share = Annotated[str | None, typer.Option(help="The part of it to spend, such as 0.25.")]
Types = Annotated[
    list[str] | None, typer.Option(help="Of a CSV's columns: hour=int,fare=float (bool, date, timestamp, text).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing when all went well.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")]


_SHOWN = 10  # rows that a terminal is shown


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (count, histogram, sum, mean, quantile):
        app.command()(command)


def count(
    source: Source, unit: Unit, output: Output, max_rows: MaxRows = None,
    units: Annotated[bool, typer.Option("--units", help="Count people instead of rows.")] = False,
    where: Where = None, epsilon: Epsilon = None, delta: Delta = None, sigma: Sigma = None,
    mechanism: Mechanism = "auto", neighbours: Neighbours = "add-remove", engine: Engine = None,
    memory_limit: MemoryLimit = None, budget: BudgetFile = None, share: Share = None, table: TableName = None,
    json: Json = False, quiet: Quiet = False, types: Types = None,
) -> None:  # fmt: skip
    """How many rows, or (with --units) how many people.

    Example: [bold]leastnoise count trips.parquet --unit taxi --max-rows 5 --epsilon 1 --delta 1e-6 -o n.parquet[/bold]
    """
    opened = _open(source, unit, where, neighbours, engine, memory_limit, types, table)
    query = opened.count_units() if units else opened.count(max_rows=max_rows)
    asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "mechanism": mechanism}
    _publish(query, output, json, quiet, asked | payment(budget, share))


def histogram(
    source: Source, unit: Unit, by: By, output: Output, keys: Keys = None, max_rows: MaxRows = None,
    max_per_bin: MaxPerBin = None, max_bins: MaxBins = None, where: Where = None, epsilon: Epsilon = None,
    delta: Delta = None, sigma: Sigma = None, mechanism: Mechanism = "auto", neighbours: Neighbours = "add-remove",
    engine: Engine = None, memory_limit: MemoryLimit = None, budget: BudgetFile = None, share: Share = None,
    table: TableName = None, json: Json = False, quiet: Quiet = False, types: Types = None,
) -> None:  # fmt: skip
    """How many rows in each bin. Without --keys the bins are found in the data and thresholded.

    Example: [bold]leastnoise histogram trips.parquet --by junction --keys nodes.parquet:id --unit taxi --max-rows 5
    --max-per-bin 1 --epsilon 0.5 --delta 1e-6 -o map.parquet[/bold]
    """
    opened = _open(source, unit, where, neighbours, engine, memory_limit, types, table)
    names = by or []
    query = opened.histogram(
        *names, keys=_keys(opened, names, keys), max_rows=max_rows, max_per_bin=max_per_bin, max_bins=max_bins
    )
    asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "mechanism": mechanism}
    _publish(query, output, json, quiet, asked | payment(budget, share))


def sum(  # noqa: A001
    source: Source, unit: Unit, output: Output, clip: Clip,
    column: Annotated[str, typer.Option(help="What to add up.")],
    by: By = None, keys: Keys = None, max_rows: MaxRows = None, max_per_bin: MaxPerBin = None, max_bins: MaxBins = None,
    where: Where = None, epsilon: Epsilon = None, delta: Delta = None, sigma: Sigma = None,
    mechanism: Mechanism = "auto", neighbours: Neighbours = "add-remove", engine: Engine = None,
    memory_limit: MemoryLimit = None, budget: BudgetFile = None, share: Share = None, table: TableName = None,
    json: Json = False, quiet: Quiet = False, types: Types = None,
) -> None:  # fmt: skip
    """The sum of a column, clipped, in all or in each bin.

    Example: [bold]leastnoise sum trips.parquet --column fare --clip 0,100 --unit taxi --max-rows 5 --epsilon 1
    --delta 1e-6 -o fares.parquet[/bold]
    """
    opened = _open(source, unit, where, neighbours, engine, memory_limit, types, table)
    query = _values(opened, opened.sum, column, clip, by, keys, max_rows, max_per_bin, max_bins)
    asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "mechanism": mechanism}
    _publish(query, output, json, quiet, asked | payment(budget, share))


def mean(
    source: Source, unit: Unit, output: Output, clip: Clip,
    column: Annotated[str, typer.Option(help="What to average.")],
    by: By = None, keys: Keys = None, max_rows: MaxRows = None, max_per_bin: MaxPerBin = None, max_bins: MaxBins = None,
    where: Where = None, epsilon: Epsilon = None, delta: Delta = None, sigma: Sigma = None,
    mechanism: Mechanism = "auto", neighbours: Neighbours = "add-remove", engine: Engine = None,
    memory_limit: MemoryLimit = None, budget: BudgetFile = None, share: Share = None, table: TableName = None,
    json: Json = False, quiet: Quiet = False, types: Types = None,
) -> None:  # fmt: skip
    """The mean of a column, clipped, in all or in each bin: a sum and a count under one guarantee.

    Example: [bold]leastnoise mean trips.parquet --column fare --clip 0,100 --unit taxi --max-rows 5 --epsilon 1
    --delta 1e-6 -o fare.parquet[/bold]
    """
    opened = _open(source, unit, where, neighbours, engine, memory_limit, types, table)
    query = _values(opened, opened.mean, column, clip, by, keys, max_rows, max_per_bin, max_bins)
    asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "mechanism": mechanism}
    _publish(query, output, json, quiet, asked | payment(budget, share))


def quantile(
    source: Source, unit: Unit, output: Output, clip: Clip, column: Annotated[str, typer.Option(help="Of what.")],
    q: Annotated[list[float], typer.Option(help="The level, such as 0.5; repeat for several.")],
    bins: Annotated[int, typer.Option(help="Steps of the histogram behind it.")] = 1000, max_rows: MaxRows = None,
    where: Where = None, epsilon: Epsilon = None, delta: Delta = None, sigma: Sigma = None,
    mechanism: Mechanism = "auto", neighbours: Neighbours = "add-remove", engine: Engine = None,
    memory_limit: MemoryLimit = None, budget: BudgetFile = None, share: Share = None, table: TableName = None,
    json: Json = False, quiet: Quiet = False, types: Types = None,
) -> None:  # fmt: skip
    """Quantiles of a column, through a noisy histogram of the clip.

    Example: [bold]leastnoise quantile trips.parquet --column fare --q 0.5 --clip 0,100 --unit taxi --max-rows 5
    --epsilon 1 --delta 1e-6 -o median.parquet[/bold]
    """
    opened = _open(source, unit, where, neighbours, engine, memory_limit, types, table)
    query = opened.quantile(column, q, clip=_pair(clip), bins=bins, max_rows=max_rows)
    asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "mechanism": mechanism}
    _publish(query, output, json, quiet, asked | payment(budget, share))


def _open(
    source: str, unit: str, where: str | None, neighbours: str, engine: str | None, memory_limit: str | None,
    types: list[str] | None, name: str | None,
) -> Any:  # fmt: skip
    from leastnoise.curator.table import table

    opened = table(
        source, unit=unit.split(","), neighbours=neighbours, name=name, engine=engine, memory_limit=memory_limit,
        types=_types(types or []),
    )  # fmt: skip
    return opened if where is None else opened.where(where)


def _types(pairs: list[str]) -> dict[str, str] | None:
    """--types hour=int --types fare=float, or with commas."""
    words = [word.rpartition("=") for pair in pairs for word in pair.split(",")]
    if any(not column or not kind for column, _, kind in words):
        raise errors.InvalidParameter(f"--types takes COLUMN=TYPE, such as hour=int. Got {','.join(pairs)!r} instead.")
    return {column: kind for column, _, kind in words} or None


def _values(
    opened: Any, ask: Callable[..., Any], column: str, clip: str, by: list[str] | None, keys: list[str] | None,
    max_rows: int | None, max_per_bin: int | None, max_bins: int | None,
) -> Any:  # fmt: skip
    names = by or []
    return ask(
        column,
        clip=_pair(clip),
        by=names,
        keys=_keys(opened, names, keys),
        max_rows=max_rows,
        max_per_bin=max_per_bin,
        max_bins=max_bins,
    )


def payment(budget: str | None, share: str | None) -> dict[str, Any]:
    """--budget and --share as `release` takes them; a share stays the decimal that was typed."""
    from leastnoise.curator.budget import Budget

    if share is None:
        return {"budget": Budget.open(budget)} if budget is not None else {}
    try:
        part = Decimal(share)
        usable = part.is_finite() and -1000 < part.adjusted() < 1000  # 1e999999999 would be written out
    except InvalidOperation:
        usable = False
    if not usable:
        raise errors.WrongType(f"--share takes a number such as 0.25. Got {share!r} instead.")
    return {"budget": None if budget is None else Budget.open(budget), "share": part}


def _publish(query: Query, output: str, as_json: bool, quiet: bool, asked: dict[str, Any]) -> None:
    from leastnoise.releases.mean import MeanRelease
    from leastnoise.releases.quantile import QuantileRelease

    atomic_files.check_writable(output, sources=query.files)
    made = query.release(**asked)
    made.save(output)
    if quiet:
        return
    parts = made.components if isinstance(made, (MeanRelease, QuantileRelease)) else made
    if as_json:
        facts = {"output": output, "sigma": parts.sigma, "std": parts.distribution.std, "query": query.describe()}
        facts["mechanism"] = getattr(parts, "mechanism", "gaussian")
        if made.to_arrow().num_rows <= _SHOWN:
            facts["rows"] = made.to_pandas().to_dict("records")
        typer.echo(json_text.dumps(facts, default=str))
        return
    console = Console()
    console.print(_first_rows(made))
    console.print(shown(made.explain()), markup=False, highlight=False)
    console.print(f"Written: {output}", markup=False, highlight=False)


def _first_rows(made: Any) -> Table:
    found = made.to_arrow()
    table = Table(caption=f"the first {_SHOWN} of {found.num_rows:,} rows" if found.num_rows > _SHOWN else None)
    for name in found.column_names:
        sure = " (95 %)" if name in ("low", "high") and hasattr(made, "components") else ""
        table.add_column(escape(shown(name)) + sure, justify="right")
    for row in found.slice(0, _SHOWN).to_pylist():
        table.add_row(*(rounded(cell, 6) if isinstance(cell, float) else escape(shown(cell)) for cell in row.values()))
    return table


def _pair(text: str) -> tuple[float, float]:
    parts = text.split(",")
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise errors.InvalidParameter(
            f"--clip takes two numbers with a comma, such as 0,100. Got {text!r} instead."
        ) from None
    return low, high


def _keys(opened: Any, names: list[str], texts: list[str] | None) -> Any:
    if texts is None:
        return None
    if len(texts) != len(names):
        raise errors.BadDomain(f"Give one --keys for each --by: {len(names)} of them. Got {len(texts)} instead.")
    keys = [_axis(opened, name, text) for name, text in zip(names, texts, strict=True)]
    return keys[0] if len(keys) == 1 else keys


def _axis(opened: Any, column: str, text: str) -> Any:
    """nodes.parquet:id is a column of a public file, 0:24 a range, a,b,c a list."""
    if re.fullmatch(r"-?\d{1,30}:-?\d{1,30}", text):
        start, stop = (int(part) for part in text.split(":"))
        return range(start, stop)
    path, colon, name = text.rpartition(":")
    if colon and path.endswith((".parquet", ".csv")):
        return _public_column(path, name)
    if text.endswith((".parquet", ".csv")):
        raise errors.BadDomain(f"Which column of {text!r} holds the keys? Say --keys {text}:COLUMN.")
    items = text.split(",")
    if not opened[column].type().is_string() and all(re.fullmatch(r"-?\d{1,30}", item) for item in items):
        return [int(item) for item in items]
    return items


def _public_column(path: str, name: str) -> list[Any]:
    import pyarrow.parquet as pq
    from pyarrow import csv

    if not os.path.isfile(path):
        raise errors.NoSuchFile(f"There is no file {path!r} for the keys. Check the path.")
    packed = path.endswith(".parquet")
    try:
        rows = None if packed else csv.read_csv(path)
        names = pq.read_schema(path).names if rows is None else rows.column_names
        found: list[Any] | None = (
            None if name not in names else (parquet.read(path, [name]) if rows is None else rows)[name].to_pylist()
        )
    except errors.LeastnoiseError:
        raise
    except Exception:
        names = None
    if names is None:
        raise errors.FileProblem(f"The keys in {path!r} could not be read. Check that it is a whole file of its kind.")
    if found is None:
        raise errors.UnknownColumn.among_columns(name, names)
    return found
