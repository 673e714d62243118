"""The kinds of questions that a job can ask: what each needs in [ask], and how it is asked of a table.

A new kind is one more entry of KINDS; what may stand behind a new name, `file.NAMES` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.table import Table

_LIMITS = ("max_rows", "max_per_bin", "max_bins", "limits", "nulls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of question.

    ask: the question, of a table and the arguments that [ask] gives, with `keys` among them where it has any.
    needs, takes: the names that must and that may stand in [ask], beside `kind`.
    keys: which of the keys it gets: those of the columns in `by`, all of them, or none.
    denoises: whether the release of such a question can be denoised into an estimate.
    """

    ask: Callable[[Table, dict[str, Any]], Query]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    keys: Literal["by", "all", "none"] = "none"
    denoises: Callable[[Query], bool] = lambda query: False


def _has_every_bin(query: Query) -> bool:
    """Whether its release has a value for each of its bins: neither unknown keys nor a sparse domain."""
    return query.bins is not None and not query.sparse


def _denoises_tables(query: Query) -> bool:
    """Whether a set of tables has neither cumulative sums nor ranges, whose noise no denoiser of sets knows, and along
    a tree one largest table at each level."""
    from leastnoise.curator.queries.crosstabs import Crosstabs
    from leastnoise.denoise.tree_levels import largest_by_level
    from leastnoise.workload.tree_tables import TreeWorkload

    if not isinstance(query, Crosstabs) or query.workload.asked:
        return False
    try:
        return not isinstance(query.workload, TreeWorkload) or bool(largest_by_level(query.workload))
    except errors.InvalidParameter:
        return False


def crosstabs_arguments(given: Mapping[str, Any]) -> tuple[list[str | tuple[str, ...]], dict[str, Any]]:
    """Tables as a list of columns, or of lists of columns; weights by table as { "age,sex" = 10 }: as Python takes
    them, the tables first and the rest by name."""
    named = dict(given)
    tables = [name if isinstance(name, str) else tuple(name) for name in named.pop("tables", [])]
    for name in ("cumulative", "ranges"):
        if isinstance(named.get(name), str):
            named[name] = [named[name]]
    if isinstance(named.get("weights"), dict):
        named["weights"] = {
            tuple(filter(None, map(str.strip, name.split(",")))): size for name, size in named["weights"].items()
        }
    return tables, named


def _ask_crosstabs(table: Table, given: dict[str, Any]) -> Query:
    tables, named = crosstabs_arguments(given)
    return table.crosstabs(*tables, **named)


def _ask_summary(table: Table, given: dict[str, Any]) -> Query:
    """Statistics and weights by name."""
    statistics = given.pop("statistics")
    weights = given.pop("weights", None)
    sizes = {name: float(size) for name, size in weights.items()} if isinstance(weights, dict) else weights
    return table.summarize(*given.pop("by", ()), weights=sizes, **given, **statistics)


KINDS: dict[str, Kind] = {
    "count": Kind(ask=lambda table, given: table.count(**given), takes=("max_rows", "limits")),
    "count_units": Kind(ask=lambda table, given: table.count_units(**given)),
    "histogram": Kind(
        ask=lambda table, given: table.histogram(*given.pop("by"), **given),
        needs=("by",),
        takes=("others", *_LIMITS),
        keys="by",
        denoises=_has_every_bin,
    ),
    "sum": Kind(
        ask=lambda table, given: table.sum(given.pop("column"), **given),
        needs=("column", "clip"),
        takes=("by", *_LIMITS),
        keys="by",
        denoises=_has_every_bin,
    ),
    "mean": Kind(
        ask=lambda table, given: table.mean(given.pop("column"), **given),
        needs=("column", "clip"),
        takes=("by", *_LIMITS),
        keys="by",
    ),
    "quantile": Kind(
        ask=lambda table, given: table.quantile(given.pop("column"), **given),
        needs=("column", "levels", "clip"),
        takes=("by", "bins", "intervals", "expected_rows", *_LIMITS),
        keys="by",
    ),
    "summarize": Kind(
        ask=_ask_summary,
        needs=("statistics",),
        takes=("by", "weights", *_LIMITS),
        keys="by",
    ),
    "crosstabs": Kind(
        ask=_ask_crosstabs,
        takes=(
            "tables",
            "ways",
            "weights",
            "max_rows",
            "row_weight",
            "weight",
            "weight_clip",
            "other",
            "nulls",
            "cumulative",
            "ranges",
        ),
        keys="all",
        denoises=_denoises_tables,
    ),
}
