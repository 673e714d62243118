"""What the page shows: one column a fact, one row a bin, from a release or an estimate of any kind."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.domain import Cells, Domain
from leastnoise.releases import labels
from leastnoise.releases.columns import key_columns
from leastnoise.releases.estimate import Estimate

if TYPE_CHECKING:
    from leastnoise.graphs import Graph

MOST = 10_000  # bins that a page holds one by one
ROWS, STEPS, SIDE, DOTS = 5_000, 1_500, 96, 20_000  # what it holds of more: of table, line, image, map
FEW = 40  # bins that have room for a bar each
EXACT = 2**53  # integers beyond are text in a browser
FINEST = 20  # decimals that a browser writes; finer numbers are shown by their significant digits


class Column(NamedTuple):
    """One column of the table; `name` is ours, `title` is what people read."""

    name: str
    title: str
    values: Any
    half: float | None = None  # its own half-width, where that is not the intervals'


Shape = Literal["one", "bars", "dots", "line", "image", "map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that the page tells. `numbers` are value, low, high, estimate, whichever there are."""

    of: Any  # what the page is about
    release: Any  # the release that knows noise and promise; None for an estimate from a file
    estimate: Estimate | None
    unmade: str  # why there is no estimate
    size: int
    keys: tuple[Column, ...]
    numbers: tuple[Column, ...]
    bins: Any  # the bin of each row
    domain: Domain | None
    shape: Shape
    graph: Graph | None = None

    def number(self, name: str) -> Floats | None:
        """One of the numbers, as floats."""
        return next((np.asarray(c.values, dtype=float) for c in self.numbers if c.name == name), None)

    @property
    def promised(self) -> Any:
        """Who knows guarantee, delta, unit and limits: the release, or the estimate that was made from one."""
        return self.estimate if self.release is None else self.release

    @property
    def decimals(self) -> int:
        """Decimals that people are shown: to a hundredth of the narrowest interval's half, or finer.

        The data keeps every digit.
        """
        low, high = self.number("low"), self.number("high")
        if low is not None and high is not None:
            halves = (high - low) / 2
        else:
            halves = np.array([math.nan if self.estimate is None else self.estimate.sigma])
        return decimals(min(halves[np.isfinite(halves) & (halves > 0)], default=1.0))

    @property
    def counted(self) -> bool:
        """Whether values below zero can only be noise."""
        return self.release is not None and getattr(self.release, "kind", "count") in ("count", "soft", "hard")


def decimals(half: float) -> int:
    """To a hundredth of a half-width, or finer."""
    return min(max(0, 2 - math.floor(math.log10(half))), FINEST)


def gather(of: Any, *, estimate: Estimate | Literal["auto"] | None, graph: Graph | None) -> Contents:
    """The contents for whatever `of` is."""
    if isinstance(of, Estimate):
        made = _of_estimate(of)
    elif hasattr(of, "levels"):
        made = _of_quantiles(of)
    elif hasattr(of, "centre"):
        made = _of_means(of)
    elif hasattr(of, "indices"):
        made = _of_sparse(of)
    else:
        made = _of_release(of, estimate, graph)
    if graph is None or made.shape == "one":
        return made
    if graph.size != made.size:
        raise errors.InvalidParameter(
            f"The graph has {graph.size:,} nodes and the release {made.size:,} bins. Give one node a bin, in order."
        )
    return replace(made, graph=graph, shape="map" if graph.coordinates is not None else made.shape)


def _of_release(release: Any, estimate: Estimate | Literal["auto"] | None, graph: Graph | None) -> Contents:
    made, unmade = _denoised(release, graph) if estimate == "auto" else (estimate, "")
    low, high = release.interval(0.95)
    numbers = [Column("value", "Published", release.values), Column("low", "Low", low), Column("high", "High", high)]
    if made is not None:
        numbers.append(Column("estimate", "Denoised", made.to_arrow()["value"].to_numpy()))
    return Contents(
        of=release,
        release=release,
        estimate=made,
        unmade=unmade,
        size=release.bins,
        keys=_keys(release.domain, release.bins),
        numbers=tuple(numbers),
        bins=np.arange(release.bins),
        domain=release.domain,
        shape=_shape(release.domain, release.bins),
    )


def _denoised(release: Any, graph: Graph | None) -> tuple[Estimate | None, str]:
    """What `denoise("auto")` makes of it, with the graph where it can use one; or why nothing was made."""
    from leastnoise import denoise

    knows = "graph" in inspect.signature(denoise.auto).parameters
    try:
        return release.denoise(**({"graph": graph} if graph is not None and knows else {})), ""
    except errors.LeastnoiseError as reason:
        return None, str(reason)


def _of_means(means: Any) -> Contents:
    low, high = means.interval(0.95)
    count = np.broadcast_to(means.counts, means.sums.shape)
    keys: tuple[Column, ...] = (Column("key0", "component", np.arange(means.bins)),)
    if means.domain is not None:
        keys = _keys(means.domain, means.bins)
    off = means.half_widths()
    numbers = (
        Column("value", "Mean", means.values),
        Column("low", "Low", low),
        Column("high", "High", high),
        Column("sum", "Sum", means.sums + means.centre * count, off.sum),
        Column("count", "Rows", count, off.count),
    )
    unmade = "A mean is a noisy sum over a noisy count; its interval allows for both, and it is not denoised."
    return _plain(means, means.components, unmade, keys, numbers, means.domain)


def _of_quantiles(quantiles: Any) -> Contents:
    low, high = quantiles.interval(0.95)
    keys = (Column("key0", "Level", list(quantiles.levels)),)
    numbers = (Column("value", "Quantile", quantiles.values), Column("low", "Low", low), Column("high", "High", high))
    return _plain(
        quantiles, quantiles.components, "Quantiles are read off a noisy histogram as it is.", keys, numbers, None
    )


def _of_sparse(sparse: Any) -> Contents:
    low, high = sparse.interval(0.95)
    table = sparse.to_arrow()
    names = [name for name in table.column_names if name != "value"]
    keys = tuple(Column(f"key{i}", name, table[name].to_pylist()) for i, name in enumerate(names))
    numbers = (Column("value", "Published", sparse.values), Column("low", "Low", low), Column("high", "High", high))
    unmade = "A threshold chose the bins that show, so what is left of their noise follows no denoiser's law."
    return _plain(sparse, sparse, unmade, keys, numbers, None)


def _plain(
    of: Any, release: Any, unmade: str, keys: tuple[Column, ...], numbers: tuple[Column, ...], domain: Domain | None
) -> Contents:
    size = len(numbers[0].values)
    shape: Shape = "one" if size == 1 else "dots" if size <= FEW else _shape(domain, size)
    return Contents(
        of=of,
        release=release,
        estimate=None,
        unmade=unmade,
        size=size,
        keys=keys,
        numbers=numbers,
        bins=np.arange(size),
        domain=domain,
        shape=shape,
    )


def _of_estimate(estimate: Estimate) -> Contents:
    table = estimate.to_arrow()
    numbers = (
        Column("value", "Published", table["noisy"].to_numpy()),
        Column("estimate", "Denoised", table["value"].to_numpy()),
    )
    return Contents(
        of=estimate,
        release=None,
        estimate=estimate,
        unmade="",
        size=estimate.bins,
        keys=_keys(estimate.domain, estimate.bins),
        numbers=numbers,
        bins=np.arange(estimate.bins),
        domain=estimate.domain,
        shape=_shape(estimate.domain, estimate.bins),
    )


def _shape(domain: Domain | None, size: int) -> Shape:
    if size <= 1:
        return "one"
    if labels.plane(domain) is not None:
        return "image"
    return "bars" if size <= FEW else "line"


def _keys(domain: Domain | None, size: int) -> tuple[Column, ...]:
    if domain is None:
        return (Column("key0", "bin", np.arange(size)),)
    if len(domain.axes) == 1 and isinstance(domain.axes[0], Cells):  # centres say more than packed numbers
        cells = domain.axes[0]
        row, column = np.divmod(np.arange(size), cells.width)
        step = cells.lattice.step
        across, along = (cells.column + column + 0.5) * step, (cells.row + row + 0.5) * step
        return (Column("key0", cells.lattice.x, across), Column("key1", cells.lattice.y, along))
    return tuple(Column(f"key{i}", name, values) for i, (name, values) in enumerate(key_columns(domain, size).items()))


def thinned(contents: Contents) -> Contents:
    """Evenly spaced rows of a large table: chosen by their place, never by their value, which would choose noise."""
    if contents.size <= MOST:
        return contents
    places = np.arange(0, contents.size, math.ceil(contents.size / ROWS))
    keys = tuple(c._replace(values=[c.values[int(i)] for i in places]) for c in contents.keys)
    numbers = tuple(c._replace(values=np.asarray(c.values)[places]) for c in contents.numbers)
    return replace(contents, keys=keys, numbers=numbers, bins=places)


def plain(value: Any) -> Any:
    """A value as JSON can hold it and a browser can read it, every digit kept."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) <= EXACT else str(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return None
        real = float(value)
        return int(real) if real.is_integer() and abs(real) <= EXACT else real
    if isinstance(value, datetime):
        return labels.moment(value)
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)
