"""Every option of the command line, declared once; those that go together reach a command as one value, by
`option_groups.grouped`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from leastnoise import errors
from leastnoise.cli import needed_options, option_texts
from leastnoise.cli.row_options import RowOptions, named
from leastnoise.errors import Code
from leastnoise.jobs.proposed_limits import proposed_clip

if TYPE_CHECKING:
    from leastnoise.curator.request import PrivacyRequest
    from leastnoise.curator.table import Table

EPSILON = typer.Option(help="How much an attacker may learn; 0 or more. Small is private.")
DELTA = typer.Option(help="A small probability, such as 1e-6.")
DELTA_OR_ZERO = typer.Option(help="A small probability, such as 1e-6; 0 asks for Laplace noise.")
MECHANISM = typer.Option(help="auto, gaussian or laplace; of quantiles also exponential.")
NEIGHBOURS = typer.Option(help="add-remove or replace.")


def _columns(given: list[str] | None) -> list[str] | None:
    """--by carrier --by month, or with a comma."""
    return given and [name for text in given for name in text.split(",")]


BY = typer.Option(help="Bins by this column; several with commas, or repeat.", callback=_columns)
KEYS = typer.Option(
    help="The public bins, one option a column: nodes.parquet:id, zones.geojson:name, 0:24 (a range), a,b,c, or "
    "box:7,9,47,48 (cells of a --lattice, west to east, south to north); or one keys.toml."
)

Epsilon = Annotated[float, EPSILON]
Delta = Annotated[float, DELTA]
DeltaOrZero = Annotated[float, DELTA_OR_ZERO]
Sigma = Annotated[float, typer.Option(help="The standard deviation of the noise.")]
Sensitivity = Annotated[float, typer.Option(help="How far one person can move the answer (L2).")]
L1Sensitivity = Annotated[
    float | None, typer.Option("--l1-sensitivity", help="The same in L1, so that Laplace noise can compete.")
]
Mechanism = Annotated[str, MECHANISM]
Neighbours = Annotated[str, NEIGHBOURS]
Error = Annotated[float, typer.Option(help="How far off a published number may be.")]
Confidence = Annotated[float, typer.Option(help="How surely all numbers must be within the error.")]
Bins = Annotated[int, typer.Option(help="How many numbers are published.")]
ReleaseSteps = Annotated[int, typer.Option("--steps", help="How many such releases there are.")]
Repeats = Annotated[int, typer.Option(help="How many such releases epsilon is for: 52 for one a week.")]
Sampling = Annotated[
    str, typer.Option(help="The chance that a person takes part in a step (Poisson sampling): 0.01, or 256/60000.")
]
Grid = Annotated[float, typer.Option(help="The step of what is published: 1 for counts, 0 for any number.")]

CheckedColumn = Annotated[str | None, typer.Option("--column", help="A column of values, with its clip.")]
CheckedClip = Annotated[str | None, typer.Option("--clip", help="low,high: what its values are clipped to.")]

Units = Annotated[bool, typer.Option("--units", help="Count people instead of rows.")]
MaxRows = Annotated[int | None, typer.Option(help="At most so many rows of one person.")]
LimitsFile = Annotated[
    Path | None, typer.Option("--limits", help="Instead: a file of suggest-limits, whose limits are taken.")
]
Levels = Annotated[str | None, typer.Option(help="The levels, above 0 and below 1, rising: 0.5, or 0.1,0.5,0.9.")]
FormerLevels = Annotated[list[str] | None, typer.Option("--q", hidden=True, help="Renamed: --levels.")]
Steps = Annotated[
    int | None, typer.Option("--bins", help="Steps of a noisy histogram, where there is one; else 32, 128 or 1,000.")
]
Intervals = Annotated[
    bool, typer.Option(help="A quarter of the promise for intervals, where quantiles are drawn by rank.")
]
ExpectedRows = Annotated[
    float | None, typer.Option(help="About how many rows there are, where that is public: by it mechanisms are judged.")
]

Values = Annotated[str, typer.Argument(help="A CSV, Parquet or .npy file; - reads from a pipe.")]
ValuesColumn = Annotated[str | None, typer.Option("--column", help="The column that holds the values.")]
ValuesType = Annotated[str | None, typer.Option("--type", help="int or float; needed for a CSV, and with --expect.")]

TableBy = Annotated[
    str | None, typer.Option("--table-by", help="Of a set of tables the one by these columns, age,sex.")
]
Rows = Annotated[int, typer.Option("--rows", min=1, help="How many rows to show.")]
Known = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        help="Of a set a public table to be held, district=totals.csv:people: columns of keys, a file, and its column "
        "of values; repeat for several.",
    ),
]
ReleaseFile = Annotated[Path, typer.Argument(help="A file that `save` wrote, or the command line.")]
GraphName = Annotated[
    str | None,
    typer.Option(
        "--graph", help="Which bins are near: path, cycle, grid, or a Parquet file of edges (u, v) between keys."
    ),
]
ZonesFile = Annotated[
    str | None, typer.Option("--zones", help="Zones of a map: zones.geojson:name, or without name by their ids.")
]
NodesFile = Annotated[
    Path | None, typer.Option("--nodes", help="Of such a graph: a Parquet file with id, lon, lat, which make a map.")
]
Method = Annotated[str, typer.Option(help="auto, james_stein, soft_threshold, empirical_bayes, ...")]
Loss = Annotated[
    str | None, typer.Option(help="squared, or absolute for medians, many of them exactly zero. Of auto and *_bayes.")
]
Along = Annotated[
    str | None,
    typer.Option(help="The axes along which bins are alike, with commas; none for none. All with an order by default."),
]
EstimateFile = Annotated[Path, typer.Option("--output", "-o", help="Where the estimate goes (Parquet).")]
PageFile = Annotated[Path | None, typer.Option("--output", "-o", help="The page; beside the file by default.")]
SheetFile = Annotated[
    Path, typer.Option("--output", "-o", help="A .csv or .xlsx file; of a set of tables a folder, or .xlsx.")
]
Denoised = Annotated[bool, typer.Option("--denoised", help="Denoise first, and write that beside.")]
SheetConfidence = Annotated[float, typer.Option("--confidence", help="Of low and high.")]
RoundTo = Annotated[
    float | None, typer.Option("--round-to", help="Write multiples of this, such as 5; low ends down, high ends up.")
]
Title = Annotated[str | None, typer.Option(help="The page's heading.")]

JobFile = Annotated[
    Path, typer.Argument(help=f"The job, in TOML: {escape('[table] [keys] [ask] [privacy] [output]')}.")
]
JobDate = Annotated[
    str | None, typer.Option("--date", help="The day that {date:...} in the job stands for, as 2026-10-31; else today.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Release although it was done or begun before: pay again, and draw again.")
]
Expect = Annotated[
    bool,
    typer.Option(
        "--expect", help="A rehearsal: refuse what would be refused, else say what to expect. Nothing is read or paid."
    ),
]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing when all went well.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(RowOptions):
    """Which rows, and whom they are about; what one row is, `RowOptions` says."""

    panel: ClassVar[str] = "The table"

    source: Annotated[str, typer.Argument(help="Parquet or CSV: a path, a quoted glob, or a folder.")]
    unit: Annotated[
        str,
        typer.Option(
            help="The column that names the protected person; several with commas. None, each row a person? Add one "
            "that numbers the rows."
        ),
    ]
    neighbours: Neighbours = "add-remove"
    engine: Annotated[
        str | None,
        typer.Option(help="duckdb, a Spark master such as spark://host:7077, or sc://host of Spark Connect."),
    ] = None
    memory_limit: Annotated[str | None, typer.Option(help="For DuckDB, such as 1GB.")] = None
    config: Annotated[
        list[str] | None, typer.Option(help="Of a Spark session that is started: spark.executor.memory=4g; repeatable.")
    ] = None
    types: Annotated[
        list[str] | None, typer.Option(help="Of a CSV's columns: hour=int,fare=float (bool, date, timestamp, text).")
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(help="What separates a CSV's cells: ',', ';', '|' or tab. Else a comma; in .tsv a tab."),
    ] = None
    decimal: Annotated[str | None, typer.Option(help="The decimal sign of a CSV's numbers: . or ,")] = None
    missing: Annotated[list[str] | None, typer.Option(help="Texts that stand for a missing value: NA,-999.")] = None
    table: Annotated[str | None, typer.Option(help="What the ledger calls this table; else the file's name.")] = None
    label: Annotated[
        list[str] | None, typer.Option(help="What readers call a column: edu=education, taxi_id=taxi; repeat.")
    ] = None
    public_units: Annotated[
        int | None, typer.Option(help="How many persons there are, where that is public: delta is judged by it.")
    ] = None

    def open(self) -> Table:
        """The rows that were asked for, lazily."""
        from leastnoise.curator.table import table

        opened = table(
            self.source,
            unit=self.unit.split(","),
            neighbours=self.neighbours,
            name=self.table,
            engine=self.engine,
            memory_limit=self.memory_limit,
            config=option_texts.settings(self.config or []),
            types=option_texts.types(self.types or []),
            delimiter="\t" if self.delimiter == "tab" else self.delimiter,
            decimal=self.decimal,
            missing=[word for text in self.missing or [] for word in text.split(",")],
            public_units=self.public_units,
        )
        return self.shaped(opened).label(**named("label", self.label))


@dataclass(frozen=True, slots=True, kw_only=True)
class BinOptions:
    """Which bins, and how much of one person counts in them."""

    panel: ClassVar[str] = "Bins and limits"

    by: Annotated[list[str] | None, BY] = None
    keys: Annotated[list[str] | None, KEYS] = None
    max_rows: MaxRows = None
    max_per_bin: Annotated[int | None, typer.Option(help="At most so many of them in one bin.")] = None
    max_bins: Annotated[int | None, typer.Option(help="In at most so many bins.")] = None
    limits: LimitsFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramOptions(BinOptions):
    """The same, and without a column there is no histogram."""

    by: Annotated[list[str], BY]
    others: Annotated[
        str | None,
        typer.Option(help="Without --keys: the part of the release that tells what all other keys have, such as 0.1."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosstabOptions:
    """Which tables, over which keys, and how much of one person counts in them."""

    panel: ClassVar[str] = "Tables and limits"

    keys: Annotated[str, typer.Option(help="The public keys of all columns: a file, keys.toml.")]
    tables: Annotated[
        list[str] | None, typer.Option("--table-by", help="A table by these columns, age,sex; repeat for several.")
    ] = None
    ways: Annotated[
        str | None, typer.Option(help="Instead: 2 for every table of at most two columns, 2-2 of two columns alone.")
    ] = None
    weights: Annotated[str, typer.Option(help="What the noise is best for: tables, cells or worst.")] = "tables"
    max_rows: MaxRows = None
    row_weight: Annotated[str, typer.Option(help="whole, or shared: all rows of a person weigh one.")] = "whole"
    weight: Annotated[str | None, typer.Option(help="A column of survey weights to add up.")] = None
    weight_clip: Annotated[str | None, typer.Option(help="low,high: weights are clipped to this first.")] = None
    other: Annotated[
        bool | None,
        typer.Option(
            "--other/--no-other",
            help="Missing and unlisted values as one more key of every column, or left out of every table. Neither: "
            "one more key where the keys are a plain list.",
        ),
    ] = None
    other_label: Annotated[
        str | None, typer.Option(help='What that key of plain lists is called, instead of "missing or other".')
    ] = None
    cumulative: Annotated[list[str] | None, typer.Option(help="A column with accurate cumulative sums; repeat.")] = None
    ranges: Annotated[list[str] | None, typer.Option(help="A column with accurate sums over ranges; repeat.")] = None

    def orders(self) -> int | range | None:
        """--ways 2, or --ways 1-2."""
        if self.ways is None:
            return None
        first, dash, last = self.ways.partition("-")
        try:
            return range(int(first), int(last) + 1) if dash else int(first)
        except ValueError:
            raise errors.InvalidParameter(
                f"--ways takes the most columns that a table may have, or from how many to how many. Got {self.ways!r} "
                "instead.",
                parameter="ways",
                value=self.ways,
                example=[{"ways": 2}, {"ways": Code("(1, 2)", "1-2")}],
            ) from None

    def others(self) -> bool | str | None:
        """--other, --no-other, or --other-label."""
        if self.other is not None and self.other_label is not None:
            raise errors.InvalidParameter(
                "--other-label names the key that plain lists get. Leave out --other and --no-other, or --other-label.",
                parameter="other_label",
                value=self.other_label,
            )
        return self.other if self.other_label is None else self.other_label

    def ends(self) -> tuple[float, float] | None:
        """--weight-clip 0,500 as two numbers."""
        return None if self.weight_clip is None else option_texts.ends("weight_clip", self.weight_clip)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueOptions:
    """Which values, and between which ends."""

    panel: ClassVar[str] = "The values"

    column: Annotated[str, typer.Option(help="The column of values.")]
    clip: Annotated[
        str | None,
        typer.Option(help="low,high: values are clipped to this first; or the file that suggest-clip wrote."),
    ] = None

    def ends(self) -> tuple[float, float]:
        """--clip 0,100 as two numbers; --clip clip.parquet as those that the file proposes."""
        if self.clip is None:
            why, example = needed_options.NEEDED["clip"]
            raise errors.MissingParameter(why, parameter="clip", example={"clip": example})
        if self.clip.endswith(".parquet"):
            return proposed_clip(self.clip, self.column)
        return option_texts.ends("clip", self.clip)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyOptions:
    """How private: (epsilon, delta), or sigma, or a share of a budget."""

    panel: ClassVar[str] = "How private"

    epsilon: Annotated[float | None, EPSILON] = None
    delta: Annotated[float | None, DELTA_OR_ZERO] = None
    sigma: Annotated[float | None, typer.Option(help="Instead of epsilon and delta: the noise itself.")] = None
    mechanism: Mechanism = "auto"
    budget: Annotated[
        str | None, typer.Option(help="A ledger to pay from, a file or postgresql://...; see leastnoise budget.")
    ] = None
    share: Annotated[str | None, typer.Option(help="The part of it to spend, such as 0.25 or 1/52.")] = None
    note: Annotated[str, typer.Option(help="A line for the ledger, such as 'the weekly map'.")] = ""
    allocation: Annotated[str | None, typer.Option(help="Pay from this allocation of the budget.")] = None
    force: Annotated[
        bool, typer.Option("--force", help="Release although the promise protects nobody in practice.")
    ] = False

    def request(self, mechanisms: tuple[str, ...] = ("auto", "gaussian", "laplace")) -> PrivacyRequest:
        """The same as one checked value; the ledger is opened, and a share stays the text that was typed.

        mechanisms: those that the question may have.
        """
        from leastnoise.curator.budget import Budget
        from leastnoise.curator.request import PrivacyRequest

        if self.allocation is not None and self.budget is None:
            raise errors.MissingParameter(
                "An allocation is a part of a budget, and none was given.",
                parameter="budget",
                example={"budget": "city.ledger"},
            )
        return PrivacyRequest(
            epsilon=self.epsilon,
            delta=self.delta,
            sigma=self.sigma,
            mechanism=self.mechanism,  # type: ignore[arg-type]
            budget=None if self.budget is None else Budget.open(self.budget, allocation=self.allocation),
            share=self.share,
            note=self.note,
            mechanisms=mechanisms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the release goes and what is printed; or only what to expect of it."""

    panel: ClassVar[str] = "Output"

    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The Parquet file to write; needed without --expect. See --again."),
    ] = None
    again: Annotated[
        bool, typer.Option("--again", help="Pay for a new release although one is there, and replace it.")
    ] = False
    expect: Expect = False
    json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        if self.output is None and not self.expect:
            raise errors.MissingParameter(
                "Where should the release be written? (Or what should be expected of it, which is free?)",
                parameter="output",
                example=[{"output": "out.parquet"}, {"expect": True}],
            )

    @property
    def path(self) -> str:
        """The file to write, where something is written."""
        return str(self.output)
