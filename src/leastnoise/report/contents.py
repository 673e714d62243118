"""What the page shows: one column a fact, one row a bin, from a release or an estimate of any kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support.host_arrays import as_host
from leastnoise._support.validation import Floats
from leastnoise.domain import Domain, Zones
from leastnoise.graphs.graph import check_graph
from leastnoise.releases import labels
from leastnoise.releases.column_labels import column_words, labelled_domain
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.interval import Total
from leastnoise.releases.labels import MAX_BARS
from leastnoise.releases.lattice_cells import lattice_cells
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.ratio import RatioRelease
from leastnoise.releases.release import Release
from leastnoise.releases.share import ShareRelease
from leastnoise.releases.sparse import SparseRelease
from leastnoise.releases.spread import SpreadRelease

if TYPE_CHECKING:
    from leastnoise.graphs import Graph

MAX_BINS_SHOWN = 10_000  # one by one; of more bins the page holds:
MAX_LARGEST = 200
MAX_TABLE_ROWS, MAX_LINE_STEPS, MAX_IMAGE_SIDE, MAX_MAP_NODES = 5_000, 1_500, 96, 20_000
MAX_EXACT_INTEGER = 2**53  # integers beyond are text in a browser
MAX_DECIMALS = 20  # that a browser writes; finer numbers are shown by their significant digits


class Column(NamedTuple):
    """One column of the table; `name` is ours, `title` is what people read."""

    name: str
    title: str
    values: Any
    half_width: float | None = None  # its own, where that is not the intervals'
    missing: str = ""  # what people read where there is no number


Shape = Literal["one", "bars", "dots", "line", "image", "map", "areas", "groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that the page shows. `numbers` are value, low, high, estimate, whichever there are."""

    of: Published  # what the page is about
    estimate: Estimate | None
    why_no_estimate: str
    size: int
    keys: tuple[Column, ...]
    numbers: tuple[Column, ...]
    bins: Any  # the bin of each row
    domain: Domain | None
    shape: Shape
    graph: Graph | None = None
    zones: Zones | None = None
    others: Total | None = None  # what the keys that do not show have together, where that is known

    def number(self, name: str) -> Floats | None:
        """One of the numbers, as floats."""
        return next((np.asarray(c.values, dtype=float) for c in self.numbers if c.name == name), None)

    @property
    def decimals(self) -> int:
        """Decimals that people are shown: to a hundredth of the narrowest interval's half, or finer.

        The data keeps every digit.
        """
        low, high = self.number("low"), self.number("high")
        if low is not None and high is not None:
            halves = (high - low) / 2
        else:
            halves = np.array([math.nan if self.estimate is None else self.estimate.std])
        return decimals(min(halves[np.isfinite(halves) & (halves > 0)], default=1.0))

    @property
    def too_few(self) -> int:
        """How many means or quantiles have too few rows to tell."""
        values = self.number("value")
        return 0 if values is None else int(np.isnan(values).sum())

    @property
    def counted(self) -> bool:
        """Whether values below zero can only be noise."""
        return self.of.kind == "count"


def decimals(half: float) -> int:
    """To a hundredth of a half-width, or finer; where there is none, two."""
    if not half:
        return 2
    return min(max(0, 2 - math.floor(math.log10(half))), MAX_DECIMALS)


def gather(
    of: Published,
    *,
    estimate: Estimate | None = None,
    why_no_estimate: str = "",
    graph: Graph | None = None,
    zones: Zones | None = None,
) -> Contents:
    """The contents for whatever `of` is. An `estimate` is shown beside a Release, or why there is none."""
    found = _labelled(_contents(of))
    if isinstance(of, Release):
        found = _beside(found, estimate, why_no_estimate)
    if zones is not None and graph is None:
        return replace(found, zones=zones, shape="areas")
    found = _with_places(found)
    if graph is None or found.shape == "one":
        return found
    if check_graph(graph).size != found.size:
        raise errors.InvalidParameter(
            f"The graph has {graph.size:,} nodes and the release {found.size:,} bins. Give one node a bin, in order."
        )
    return replace(found, graph=graph, shape="map" if graph.coordinates is not None else found.shape)


def _labelled(contents: Contents) -> Contents:
    """Keys under the names that readers see."""
    words = contents.of.provenance.labels
    keys = tuple(column._replace(title=column_words(column.title, words)) for column in contents.keys)
    return replace(contents, keys=keys, domain=labelled_domain(contents.domain, words))


def _with_places(contents: Contents) -> Contents:
    """Cells of a lattice by their middles, which say more than packed numbers."""
    cells = lattice_cells(contents.of)
    if cells is None or contents.size < 2:
        return contents
    centres = [
        (first + place + 0.5) * cells.lattice.step
        for first, place in zip(cells.first, (cells.column, cells.row), strict=True)
    ]
    names = (cells.lattice.x, cells.lattice.y)
    keys = tuple(Column(f"key{i}", name, centre) for i, (name, centre) in enumerate(zip(names, centres, strict=True)))
    return replace(contents, keys=keys, shape="areas" if contents.size <= MAX_BINS_SHOWN else contents.shape)


def _beside(contents: Contents, estimate: Estimate | None, why_no_estimate: str) -> Contents:
    if estimate is None:
        return replace(contents, why_no_estimate=why_no_estimate)
    return replace(contents, estimate=estimate, numbers=(*contents.numbers, _denoised(estimate)))


def _denoised(estimate: Estimate) -> Column:
    """Its values alone: an interval around them takes two more runs of the denoiser, and the page shows none."""
    return Column("estimate", "Denoised", as_host(estimate.values).ravel())


@singledispatch
def _contents(of: Published) -> Contents:
    raise errors.WrongType(f"A page is about a release or an estimate. Got {type(of).__name__} instead.")


@_contents.register
def _(release: Release) -> Contents:
    return Contents(
        of=release,
        estimate=None,
        why_no_estimate="",
        size=release.bins,
        keys=_keys(release.domain, release.bins),
        numbers=_with_interval("Published", release),
        bins=np.arange(release.bins),
        domain=release.domain,
        shape=_shape(release.domain, release.bins),
        others=None if release.all_keys is None else release.others(),
    )


@_contents.register
def _(means: MeanRelease) -> Contents:
    count = np.broadcast_to(means.counts, means.sums.shape)
    keys: tuple[Column, ...] = (Column("key0", "component", np.arange(means.bins)),)
    if means.domain is not None:
        keys = _keys(means.domain, means.bins)
    off = means.half_widths()
    numbers = (
        *_with_interval("Mean", means, missing=TOO_FEW),
        Column("sum", "Sum", means.sums + means.centre * count, off.sum),
        Column("count", "Rows", count, off.count),
    )
    return _not_denoised(means, keys, numbers)


@_contents.register
def _(spreads: SpreadRelease) -> Contents:
    numbers = (
        *_with_interval(spreads.noun.capitalize(), spreads, missing=TOO_FEW),
        Column("count", "Rows", spreads.counts),
    )
    return _not_denoised(spreads, _keys(spreads.domain, spreads.bins), numbers)


@_contents.register
def _(shares: ShareRelease) -> Contents:
    return _not_denoised(shares, _keys(shares.domain, shares.bins), _with_interval("Share", shares, missing=TOO_FEW))


@_contents.register
def _(ratios: RatioRelease) -> Contents:
    sums = (
        Column(name, f"Sum of {title}", part.values, part.distribution.half_width(0.95))
        for name, title, part in zip(("sum", "over"), ratios.names_in_words, (ratios.above, ratios.below), strict=True)
    )
    numbers = (*_with_interval("Ratio", ratios, missing=TOO_FEW), *sums)
    return _not_denoised(ratios, _keys(ratios.domain, ratios.bins), numbers)


@_contents.register
def _(quantiles: QuantileRelease) -> Contents:
    titled = {
        "Level" if name == "level" else name: keys for name, keys in quantiles.key_columns(for_people=True).items()
    }
    keys = tuple(Column(f"key{i}", title, values) for i, (title, values) in enumerate(titled.items()))
    low, high = quantiles.interval(0.95)
    numbers = (
        Column("value", "Quantile", quantiles.values.ravel(), missing=TOO_FEW),
        Column("low", "Low", low.ravel()),
        Column("high", "High", high.ravel()),
    )
    found = _not_denoised(quantiles, keys, numbers)
    return found if quantiles.domain is None else replace(found, shape="groups")


@_contents.register
def _(sparse: SparseRelease) -> Contents:
    table = sparse.to_arrow()
    names = [name for name in table.column_names if name != "value"]
    keys = tuple(Column(f"key{i}", name, table[name].to_pylist()) for i, name in enumerate(names))
    return _not_denoised(sparse, keys, _with_interval("Published", sparse))


@_contents.register
def _(estimate: Estimate) -> Contents:
    numbers = (Column("value", "Published", as_host(estimate.noisy).ravel()), _denoised(estimate))
    return Contents(
        of=estimate,
        estimate=estimate,
        why_no_estimate="",
        size=estimate.bins,
        keys=_keys(estimate.domain, estimate.bins),
        numbers=numbers,
        bins=np.arange(estimate.bins),
        domain=estimate.domain,
        shape=_shape(estimate.domain, estimate.bins),
    )


def _with_interval(title: str, of: Published, missing: str = "") -> tuple[Column, ...]:
    low, high = (_finite(np.asarray(end)) for end in of.interval(0.95))
    return Column("value", title, of.values, missing=missing), Column("low", "Low", low), Column("high", "High", high)


def _finite(ends: Any) -> Any:
    """Ends of intervals; where there is none, no number."""
    return np.where(np.isinf(ends), np.nan, ends) if ends.dtype.kind == "f" else ends


def _not_denoised(of: Published, keys: tuple[Column, ...], numbers: tuple[Column, ...]) -> Contents:
    size = len(numbers[0].values)
    domain = of.domain if of.covers_domain else None
    return Contents(
        of=of,
        estimate=None,
        why_no_estimate=of.why_not_denoised,
        size=size,
        keys=keys,
        numbers=numbers,
        bins=np.arange(size),
        domain=domain,
        shape="one" if size == 1 else "dots" if size <= MAX_BARS else _shape(domain, size),
    )


def _shape(domain: Domain | None, size: int) -> Shape:
    if size <= 1:
        return "one"
    if labels.plane(domain) is not None:
        return "image"
    return "bars" if size <= MAX_BARS or labels.named(domain) else "line"


def _keys(domain: Domain | None, size: int) -> tuple[Column, ...]:
    if domain is None:
        return (Column("key0", "bin", np.arange(size)),)
    columns = key_columns(domain, size, for_people=True)
    return tuple(Column(f"key{i}", name, values) for i, (name, values) in enumerate(columns.items()))


def thinned(contents: Contents) -> Contents:
    """Evenly spaced rows of a large table, and the largest: these are in part chosen by their noise, which the page
    says."""
    if contents.size <= MAX_BINS_SHOWN:
        return contents
    evenly = np.arange(0, contents.size, math.ceil(contents.size / MAX_TABLE_ROWS))
    estimate = contents.number("estimate")
    best = np.asarray(contents.numbers[0].values if estimate is None else estimate, dtype=np.float64)
    largest = np.argsort(-np.where(np.isfinite(best), best, -np.inf), kind="stable")[:MAX_LARGEST]
    places = np.union1d(evenly, largest)
    keys = tuple(c._replace(values=[c.values[int(i)] for i in places]) for c in contents.keys)
    numbers = tuple(c._replace(values=np.asarray(c.values)[places]) for c in contents.numbers)
    return replace(contents, keys=keys, numbers=numbers, bins=places)


def plain(value: Any) -> Any:
    """A value as JSON can hold it and a browser can read it, every digit kept."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) <= MAX_EXACT_INTEGER else str(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return None
        real = float(value)
        return int(real) if real.is_integer() and abs(real) <= MAX_EXACT_INTEGER else real
    if isinstance(value, datetime):
        return labels.moment(value)
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)
