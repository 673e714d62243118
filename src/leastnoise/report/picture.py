"""A picture of the page: a Vega-Lite chart written with Altair, and the columns behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from leastnoise import errors

Rows = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A Vega-Lite chart, the columns behind it, what it shows in a sentence, and a note where it shows less than all.

    `ratio` is height over width; 0 leaves the height to the chart. `extra` holds streets and a scale bar for a map.
    """

    spec: dict[str, Any]
    columns: Rows
    alt: str
    note: str = ""
    ratio: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)


def altair() -> Any:
    """The package, or the error that says what to install."""
    try:
        import altair
    except ImportError:
        raise errors.MissingPackage.named("altair", "A report", extra="report") from None
    return altair


def specification(chart: Any) -> dict[str, Any]:
    """The chart as Vega-Lite, as wide as its place in the page."""
    spec: dict[str, Any] = chart.properties(width="container").to_dict()
    return {name: part for name, part in spec.items() if name not in ("$schema", "config")}


def round_step(largest: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most this."""
    power = 10.0 ** math.floor(math.log10(largest))
    return max(step * power for step in (1, 2, 5) if step * power <= largest * (1 + 1e-9))
