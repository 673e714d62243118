"""`leastnoise count | histogram | sum | mean | quantile | summarize | crosstabs`: from people to a release file.

Everything public (parameters, columns, the output path) is checked before any row is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import option_texts, options
from leastnoise.cli.keys import parse_keys
from leastnoise.cli.option_groups import grouped
from leastnoise.cli.options import (
    BinOptions,
    CrosstabOptions,
    HistogramOptions,
    OutputOptions,
    PrivacyOptions,
    TableOptions,
    ValueOptions,
)
from leastnoise.cli.publishing import publish
from leastnoise.cli.statistics import SummaryOptions
from leastnoise.jobs.proposed_limits import with_proposed

if TYPE_CHECKING:
    from leastnoise.curator.table import Table


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (count, histogram, sum, mean, quantile, summarize, crosstabs):
        app.command()(grouped(command))


def count(
    table: TableOptions,
    privacy: PrivacyOptions,
    output: OutputOptions,
    max_rows: options.MaxRows = None,
    limits: options.LimitsFile = None,
    units: options.Units = False,
) -> None:
    """How many rows, or (with --units) how many people.

    Example: [bold]leastnoise count trips.parquet --unit taxi --max-rows 5 --epsilon 1 --delta 1e-6 -o n.parquet[/bold]
    """
    opened = table.open()
    limit = _proposed({"max_rows": max_rows}, limits)
    publish(opened.count_units() if units else opened.count(**limit), privacy, output)


def histogram(table: TableOptions, bins: HistogramOptions, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """How many rows in each bin. Without --keys the bins are found in the data and thresholded; --others tells what
    all those below the threshold have together.

    Example: [bold]leastnoise histogram trips.parquet --by junction --keys nodes.parquet:id --unit taxi --max-rows 5
    --max-per-bin 1 --epsilon 0.5 --delta 1e-6 -o map.parquet[/bold]
    """
    opened = table.open()
    publish(opened.histogram(*bins.by, others=bins.others, **_limits(opened, bins)), privacy, output)


def sum(  # noqa: A001
    table: TableOptions, values: ValueOptions, bins: BinOptions, privacy: PrivacyOptions, output: OutputOptions
) -> None:
    """The sum of a column, clipped, in all or in each bin.

    Example: [bold]leastnoise sum trips.parquet --column fare --clip 0,100 --unit taxi --max-rows 5 --epsilon 1
    --delta 1e-6 -o fares.parquet[/bold]
    """
    clip = values.ends()
    opened = table.open()
    publish(opened.sum(by=bins.by or [], **_limits(opened, bins, column=values.column, clip=clip)), privacy, output)


def mean(
    table: TableOptions, values: ValueOptions, bins: BinOptions, privacy: PrivacyOptions, output: OutputOptions
) -> None:
    """The mean of a column, clipped, in all or in each bin: a sum and a count under one guarantee.

    Example: [bold]leastnoise mean trips.parquet --column fare --clip 0,100 --unit taxi --max-rows 5 --epsilon 1
    --delta 1e-6 -o fare.parquet[/bold]
    """
    clip = values.ends()
    opened = table.open()
    publish(opened.mean(by=bins.by or [], **_limits(opened, bins, column=values.column, clip=clip)), privacy, output)


def quantile(
    table: TableOptions,
    values: ValueOptions,
    bins: BinOptions,
    privacy: PrivacyOptions,
    output: OutputOptions,
    levels: options.Levels = None,
    steps: options.Steps = None,
    intervals: options.Intervals = True,
    expected_rows: options.ExpectedRows = None,
    q: options.FormerLevels = None,
) -> None:
    """Quantiles of a column, in all or in each group: medians, quartiles, deciles.

    Example: [bold]leastnoise quantile trips.parquet --column fare --levels 0.1,0.5,0.9 --clip 0,100 --unit taxi
    --by zone --keys north,south --max-rows 5 --epsilon 1 --delta 1e-6 -o fares.parquet[/bold]
    """
    clip = values.ends()
    opened = table.open()
    query = opened.quantile(
        levels=option_texts.numbers("levels", levels),
        by=bins.by or [],
        bins=steps,
        intervals=intervals,
        expected_rows=expected_rows,
        q=q or None,
        **_limits(opened, bins, column=values.column, clip=clip),
    )
    publish(query, privacy, output)


def summarize(table: TableOptions, asked: SummaryOptions, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """Several statistics of the same rows, in all or in each bin, under one guarantee.

    Example: [bold]leastnoise summarize flights.parquet --unit tailnum --by carrier --keys AA,DL,UA --stat flights=count
    --stat delay=mean:dep_delay:-30:180 --stat "late=rate:dep_delay > 15" --max-rows 5 --epsilon 1 --delta 1e-6
    -o carriers.parquet[/bold]
    """
    opened = table.open()
    by = asked.by or []
    limits = _limits(opened, asked, statistics=asked.statistics())
    query = opened.summarize(*by, weights=asked.sizes(), **limits.pop("statistics"), **limits)
    publish(query, privacy, output)


def crosstabs(table: TableOptions, tables: CrosstabOptions, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """Many tables about the same people, released together with the least noise.

    Example: [bold]leastnoise crosstabs people.parquet --unit person --keys keys.toml --ways 2 --max-rows 1 --epsilon 1
    --delta 1e-6 -o tables.parquet[/bold]
    """
    query = table.open().crosstabs(
        *(tuple(filter(None, text.split(","))) for text in tables.tables or []),
        keys=ln.domain.read(tables.keys),
        ways=tables.orders(),
        weights=tables.weights,  # type: ignore[arg-type]
        max_rows=tables.max_rows,
        row_weight=tables.row_weight,  # type: ignore[arg-type]
        weight=tables.weight,
        weight_clip=tables.ends(),
        other=tables.others(),
        cumulative=tables.cumulative or [],
        ranges=tables.ranges or [],
    )
    publish(query, privacy, output)


def _limits(opened: Table, bins: BinOptions, **asked: Any) -> dict[str, Any]:
    limits = {"max_rows": bins.max_rows, "max_per_bin": bins.max_per_bin, "max_bins": bins.max_bins}
    return {"keys": parse_keys(opened, bins.by or [], bins.keys), **_proposed(limits, bins.limits, **asked)}


def _proposed(limits: dict[str, Any], file: Path | None, **asked: Any) -> dict[str, Any]:
    """The limits that were typed, or else those of a file of suggest-limits; and what else is asked."""
    if file is None:
        return {**asked, **limits}
    if any(limit is not None for limit in limits.values()):
        raise errors.InvalidParameter("--limits takes all limits from a file. Leave out the others, or --limits.")
    return with_proposed({**asked, **limits}, file)
