"""Pictures for people, by matplotlib: an Axes comes in (or a new Figure is made) and an Axes goes out.

    profile tradeoff        what a guarantee promises
    comparison              `ln.compare`, drawn
    release estimate        values and their intervals: bars, steps, or an image of a lattice
    table                   a table of a set: bars, or heat maps side by side
    cumulative              cumulative sums of a table of a set: curves with their bands
    tree                    tables along a tree: an indented list of bars
    map zone_map            values on the coordinates of a graph; zones in the colour of their value
    path weights            how a denoiser chose
    limits                  what limits leave out, and the noise they need
    budget                  what was spent, and what is left

Nothing global is touched: pyplot is not imported, and `picture.figure.savefig("picture.png")` writes a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from leastnoise._support.calls import explain_public
from leastnoise._support.validation import Number
from leastnoise.pictures import budgets, choices, guarantees, maps, trees, values
from leastnoise.pictures import cumulative as curves_of
from leastnoise.pictures.figure import figure, panels
from leastnoise.privacy.guarantees import ReleaseGuarantee
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.published import Published
from leastnoise.releases.summary import SummaryRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leastnoise.domain import Zones
    from leastnoise.graphs import Graph
    from leastnoise.privacy.comparison import Comparison
    from leastnoise.releases.crosstab_table import CrosstabTable, CumulativeTable
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.limit_suggestion import LimitSuggestion


def release(
    release: Published | SummaryRelease | CrosstabsRelease | CrosstabsEstimate,
    *,
    estimate: Estimate | None = None,
    graph: Graph | None = None,
    zones: Zones | None = None,
    confidence: Number = 0.95,
    ax: Axes | None = None,
) -> Any:
    """Published values with their intervals, and, where one is given, the estimate beside them.

    With a `graph` or `zones` it is a map of its nodes, or of polygons by name. Of a summary it is a panel for each
    statistic, of a set of tables one for each table of one column: a tuple of Axes where there are several.
    """
    if isinstance(release, SummaryRelease):
        return panels(values.one_by_one(release, confidence), ax)
    if isinstance(release, CrosstabsRelease | CrosstabsEstimate):
        return panels(values.one_way(release, confidence), ax)
    if graph is not None:
        return map(graph, raw=release, estimate=estimate, ax=ax)
    if zones is not None:
        return zone_map(zones, raw=release, estimate=estimate, ax=ax)
    return figure(values.release(release, estimate, confidence), ax)


def estimate(
    estimate: Estimate, *, graph: Graph | None = None, zones: Zones | None = None, ax: Axes | None = None
) -> Any:
    """Denoised values, with what was published faint behind them; with a `graph` or `zones` a map of them alone."""
    if graph is not None:
        return map(graph, estimate=estimate, ax=ax)
    if zones is not None:
        return zone_map(zones, estimate=estimate, ax=ax)
    return figure(values.estimate(estimate), ax)


def table(
    release: CrosstabTable, *, estimate: Any = None, truth: Any = None, confidence: Number = 0.95, ax: Any = None
) -> Any:
    """A table of a set as a picture. Returns the Axes, or a tuple of them.

    release: the table. estimate: the same table, denoised. truth: its true values, where public ones are known.
    confidence: of the intervals. ax: the Axes to draw on, as many as there are panels.
    """
    made = values.of_set(release, estimate, truth, confidence)
    return figure(made[0], ax) if made[0].shades is None else panels(made, ax)


def cumulative(curves: CumulativeTable, *, confidence: Number = 0.95, ax: Axes | None = None) -> Axes:
    """A curve with its band, or one for each key of the other columns, up to six. Returns the Axes.

    curves: what `release["age"].cumulative()` gave. confidence: of the bands, each sum by itself.
    ax: where to draw; left out, in a new figure.
    """
    return figure(curves_of.cumulative(curves, confidence), ax)


def tree(
    release: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | None = None,
    rows: int = 36,
    confidence: Number = 0.95,
    ax: Any = None,
) -> Any:
    """Tables along a tree as a picture: the whole, its largest parts, and theirs. Returns the Axes.

    release: a set of tables along a tree. estimate: what `denoise` made of it, marked beside.
    rows: how many nodes are drawn at most. confidence: of the intervals. ax: the Axes to draw on.
    """
    return figure(trees.tree(release, estimate, rows, confidence), ax)


def map(  # noqa: A001
    graph: Graph,
    *,
    raw: Published | ArrayLike | None = None,
    estimate: Published | ArrayLike | None = None,
    truth: Published | ArrayLike | None = None,
    signed: bool | None = None,
    ax: Any = None,
) -> Any:
    """Panels side by side on one colour scale: what was published, the estimate, and a truth where a public one is
    known. Each is a Release, an Estimate or an array.

    Returns the Axes, or a tuple of them; `ax` gives as many. `signed` says whether values below zero mean something;
    left out, those far below the noise do.
    """
    return panels(maps.panels(graph, raw, estimate, truth, signed), ax)


def zone_map(
    zones: Zones,
    *,
    raw: Published | ArrayLike | None = None,
    estimate: Published | ArrayLike | None = None,
    signed: bool | None = None,
    ax: Any = None,
) -> Any:
    """What was published and the estimate side by side, a zone in the colour of its value; those without one are grey.

    Where zones overlap, the first of them shows, as `Table.within` gives points to it.

    zones: the public polygons. raw, estimate: a Release, an Estimate, or an array with a value for each zone.
    signed: whether values below zero mean something; left out, those far below the noise do.
    ax: as many Axes as there are pictures. Returns the Axes, or a tuple of them.
    """
    return panels(maps.panels(zones, raw, estimate, None, signed), ax)


def profile(
    guarantee: ReleaseGuarantee | Mapping[str, ReleaseGuarantee],
    *,
    delta: float | None = 1e-6,
    colours: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """delta as a function of epsilon: every (epsilon, delta) on or above the line is promised, none below.

    guarantee: one, or several by name, which are laid over one another.
    delta: where the line is read off; None leaves the point out.
    colours: of some of the names, where ours will not do. ax: where to draw; a new figure if None.
    """
    return figure(guarantees.profile(guarantee, delta, colours), ax)


def tradeoff(
    guarantee: ReleaseGuarantee | Mapping[str, ReleaseGuarantee],
    *,
    colours: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The part of those present that any attack finds at most, for each false-alarm rate; the diagonal is guessing. No
    line is drawn below what it stands for.

    guarantee: one, or several by name, which are laid over one another.
    colours: of some of the names, where ours will not do. ax: where to draw; a new figure if None.
    """
    return figure(guarantees.tradeoff(guarantee, colours), ax)


def comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """The standard deviation of every mechanism as a bar, the half-width of its 95% interval as a line beyond it."""
    return figure(choices.comparison(comparison), ax)


def path(path: Any, *, ax: Axes | None = None) -> Axes:
    """Estimated error against the penalty, the least marked; above it, how many parameters each penalty leaves."""
    return figure(choices.path(path), ax)


def weights(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """What a mixture is made of: the weight of each candidate, largest first."""
    return figure(choices.weights(estimate), ax)


def limits(suggestion: LimitSuggestion, *, ax: Axes | None = None) -> Axes:
    """Predicted error of a bin against max_rows, each with its best max_per_bin; the proposal is marked.

    suggestion: what `Table.suggest_limits` gave, or `ln.load`. ax: where to draw; left out, in a new figure.
    """
    return figure(choices.limits(suggestion), ax)


def budget(budget: Any, *, ax: Axes | None = None) -> Axes:
    """What every release spent, what is allocated and not spent, and what is left: one stacked bar for each cap that
    something was spent of."""
    return figure(budgets.budget(budget.history(), budget.terms), ax)


__all__ = [
    "budget", "comparison", "cumulative", "estimate", "limits", "map", "path", "profile", "release", "table",
    "tradeoff", "tree", "weights", "zone_map",
]  # fmt: skip


explain_public(globals(), __all__)
