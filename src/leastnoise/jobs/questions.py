"""The questions that can be asked of a table: what each is called, which fields it has, and how it is asked.

A new question is one entry here beside its query: options, jobs, forms, checks and the reference page follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors
from leastnoise.jobs.calls import Call, make
from leastnoise.jobs.fields import SECTIONS, Field, listed

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.table import Table

_LIMITS = ("max_rows", "max_per_bin", "max_bins", "limits", "nulls")
_TRIPS = "trips.parquet --unit taxi --max-rows 5"
_PRIVATELY = "--epsilon 1 --delta 1e-6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One kind of question; `kind` is the method of a table that asks it.

    title, sentence: what it is called, and what it publishes. example: what is typed after its name.
    needs, takes: the fields that must and that may be given.
    keys: which of the keys it gets: those of the columns in `by`, those of all columns, or none.
    first: the field that Python takes by position.
    option_of: the command that asks it with an option, where it has none of its own.
    denoises: whether the release of such a question can be denoised into an estimate.
    """

    kind: str
    title: str
    sentence: str
    example: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    keys: Literal["by", "all", "none"] = "none"
    first: str = ""
    option_of: tuple[str, str] | None = None
    denoises: Callable[[Query], bool] = lambda query: False

    @property
    def fields(self) -> dict[str, Field]:
        """Its fields, what is needed first."""
        return {name: SECTIONS["ask"][name] for name in (*self.needs, *self.takes)}

    def call(self, given: Mapping[str, Any]) -> Call:
        """The method of the table with the fields as Python takes them: by position, and by name. Tables are tuples of
        columns, and so are the names of their weights; statistics are arguments of their own."""
        named = dict(given)
        first = listed(named.pop(self.first, []))
        for name in ("by", "columns", "cumulative", "ranges"):
            if name in named:
                named[name] = listed(named[name])
        if self.keys == "all" and isinstance(named.get("weights"), dict):
            named["weights"] = {
                tuple(filter(None, map(str.strip, name.split(",")))): size for name, size in named["weights"].items()
            }
        named |= named.pop("statistics", {})
        return Call(f"table.{self.kind}", [tuple(each) if isinstance(each, list) else each for each in first], named)

    def ask(self, table: Table, given: Mapping[str, Any]) -> Query:
        """The question, asked of a table."""
        asked: Query = make(self.call(given), {"table": table})
        return asked


def _has_every_bin(query: Query) -> bool:
    """Whether its release has a value for each of its bins: neither unknown keys nor a sparse domain."""
    return query.bins is not None and not query.sparse


def _denoises_tables(query: Query) -> bool:
    """Whether a set of tables has neither cumulative sums nor ranges, whose noise no denoiser of sets knows, and along
    a tree one largest table at each level."""
    from leastnoise.curator.queries.crosstabs import Crosstabs
    from leastnoise.denoise.tree_levels import largest_by_level

    if not isinstance(query, Crosstabs) or query.workload.asked:
        return False
    try:
        return not query.workload.levels or bool(largest_by_level(query.workload))
    except errors.InvalidParameter:
        return False


_ALL = (
    Question(
        kind="count",
        title="A number of rows",
        sentence="One number: how many rows.",
        example=f"{_TRIPS} {_PRIVATELY} -o n.parquet",
        takes=("max_rows", "limits"),
    ),
    Question(
        kind="count_units",
        title="How many people",
        sentence="One number: how many people the table knows.",
        example=f"trips.parquet --unit taxi {_PRIVATELY} -o n.parquet",
        option_of=("count", "units"),
    ),
    Question(
        kind="histogram",
        title="A table of counts",
        sentence="How many rows in each bin, by one column or by several crossed with one another. Without keys the "
        "bins are found in the data and thresholded.",
        example=f"{_TRIPS} --max-per-bin 1 --by junction --keys nodes.parquet:id --epsilon 0.5 --delta 1e-6 "
        "-o map.parquet",
        needs=("by",),
        takes=("others", *_LIMITS),
        keys="by",
        first="by",
        denoises=_has_every_bin,
    ),
    Question(
        kind="sum",
        title="A sum",
        sentence="The sum of a column, clipped, in all or in each bin.",
        example=f"{_TRIPS} --column fare --clip 0,100 {_PRIVATELY} -o fares.parquet",
        needs=("column", "clip"),
        takes=("by", *_LIMITS),
        keys="by",
        first="column",
        denoises=_has_every_bin,
    ),
    Question(
        kind="mean",
        title="A mean",
        sentence="The mean of a column, clipped, in all or in each bin: a sum and a count under one guarantee.",
        example=f"{_TRIPS} --column fare --clip 0,100 {_PRIVATELY} -o fare.parquet",
        needs=("column", "clip"),
        takes=("by", *_LIMITS),
        keys="by",
        first="column",
    ),
    Question(
        kind="quantile",
        title="Quantiles",
        sentence="Quantiles of a column, in all or in each group: medians, quartiles, deciles.",
        example=f"{_TRIPS} --column fare --levels 0.1,0.5,0.9 --clip 0,100 --by zone --keys north,south {_PRIVATELY} "
        "-o fares.parquet",
        needs=("column", "levels", "clip"),
        takes=("by", "bins", "intervals", "expected_rows", *_LIMITS),
        keys="by",
        first="column",
    ),
    Question(
        kind="summarize",
        title="Several statistics",
        sentence="Several statistics of the same rows, in all or in each bin, under one guarantee.",
        example="flights.parquet --unit tailnum --by carrier --keys AA,DL,UA --stat flights=count "
        '--stat delay=mean:dep_delay:-30:180 --stat "late=rate:dep_delay > 15" --max-rows 5 '
        f"{_PRIVATELY} -o carriers.parquet",
        needs=("statistics",),
        takes=("by", "weights", *_LIMITS),
        keys="by",
        first="by",
    ),
    Question(
        kind="crosstabs",
        title="A set of tables",
        sentence="Many tables about the same people, released together with the least noise; they agree with each "
        "other.",
        example=f"people.parquet --unit person --keys keys.toml --ways 2 --max-rows 1 {_PRIVATELY} -o tables.parquet",
        takes=(
            *("tables", "ways", "weights", "max_rows", "row_weight", "weight", "weight_clip", "other", "nulls"),
            *("cumulative", "ranges"),
        ),
        keys="all",
        first="tables",
        denoises=_denoises_tables,
    ),
    Question(
        kind="vector_sum",
        title="A sum of vectors",
        sentence="The sum of vectors, one vector per row, component by component.",
        example=f"{_TRIPS} --columns x,y --clip-norm 1.5 {_PRIVATELY} -o sum.parquet",
        needs=("columns", "clip_norm"),
        takes=("length", "max_rows"),
        first="",
    ),
    Question(
        kind="vector_mean",
        title="A mean of vectors",
        sentence="The mean of vectors, one vector per row: their noisy sum over their noisy number.",
        example=f"{_TRIPS} --columns x,y --clip-norm 1.5 {_PRIVATELY} -o mean.parquet",
        needs=("columns", "clip_norm"),
        takes=("length", "max_rows"),
    ),
)
QUESTIONS: Mapping[str, Question] = {question.kind: question for question in _ALL}
