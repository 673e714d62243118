"""Quantiles through a noisy histogram: monotone, with intervals from the noise of its cumulative sums."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise._support import validation
from leastnoise._support.number_format import rounded
from leastnoise._support.renamed import RenamedAttribute
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.distributions import Distribution, Laplace, normal_reach
from leastnoise.releases import file_format
from leastnoise.releases.facts import Facts
from leastnoise.releases.interval import Interval
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release, read_release, write_release

if TYPE_CHECKING:
    import pyarrow as pa


def rank_error(distribution: Distribution, *, bins: int, level: float, confidence: float = 0.95) -> float:
    """By how many rows the rank of a quantile may be off, beyond the rows of its own step, wherever it lies.

    Let M be the largest |sum of the first noises|. Made monotone, the cumulative sum is within M of the true one at
    every edge and so is its total, so where it reaches q of its total the true one is within M + q M of q of its own.
    By Levy's inequality P[M > h] <= 2 P[|sum of all n| > h].
    """
    return (1 + level) * _reach(distribution, (1 + confidence) / 2) * distribution.std * float(np.sqrt(bins))


def _reach(distribution: Distribution, confidence: float) -> float:
    """In standard deviations; a sum of Laplace noises has lighter tails than one of them."""
    reach = normal_reach(confidence, 1)
    return max(reach, Laplace(1 / np.sqrt(2)).half_width(confidence)) if isinstance(distribution, Laplace) else reach


def ranks_in_words(distribution: Distribution, *, bins: int, levels: tuple[float, ...]) -> str:
    """The rank errors of all levels, in a sentence."""
    found = [rank_error(distribution, bins=bins, level=level) for level in levels]
    listed = ", ".join(f"{rounded(rows, 3)} rows at level {level:g}" for level, rows in zip(levels, found, strict=True))
    return (
        f"95 % of the time the rank of a quantile is off by at most {listed}, beyond the rows of its own step: noise "
        f"of standard deviation {rounded(distribution.std)} was added to each of the histogram's {bins:,} steps, and "
        "it adds up."
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuantileRelease(Published):
    """Quantiles at `levels`. `components` is the noisy histogram of equal steps of the clip behind them."""

    components: Release
    levels: tuple[float, ...]
    edges: Floats  # one more than bins
    column: str | None = None  # whose quantiles they are; None: not known
    parts = RenamedAttribute("components")

    @property
    def noise(self) -> Noise:
        """The noise of each step of the histogram."""
        return self.components.noise

    @property
    def provenance(self) -> Provenance:
        """That of the histogram."""
        return self.components.provenance

    @property
    def bins(self) -> int:
        """How many quantiles."""
        return len(self.levels)

    @property
    def domain(self) -> None:
        """Levels are no bins of a table."""
        return None

    @property
    def kind(self) -> str:
        """Quantiles."""
        return "quantile"

    @property
    def covers_domain(self) -> bool:
        """Levels are no bins of a table."""
        return False

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a step of the histogram"

    @property
    def values(self) -> Floats:
        """Where the cumulative sum, made monotone, reaches each level of the total; in increasing order of levels."""
        rising = np.maximum.accumulate(np.maximum(np.cumsum(self.components.values.astype(np.float64)), 0.0))
        heights = np.concatenate([[0.0], rising]) + np.arange(rising.size + 1) * 1e-9
        return np.asarray(np.interp(np.array(self.levels) * heights[-1], heights, self.edges))

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where each quantile of the (clipped) data lies with this `confidence`, by inverting a test at every edge.

        At an edge with j bins below it, C_j - q T has variance ((1-q)^2 j + q^2 (n-j)) std^2. The quantile cannot
        lie where that is clearly on the wrong side; each side may fail with half of 1 - confidence.
        """
        confidence = validation.number("confidence", confidence)
        reach = _reach(self.distribution, confidence)
        counts = np.concatenate([[0.0], np.cumsum(self.components.values.astype(np.float64))])
        n, j = counts.size - 1, np.arange(counts.size)
        ends = []
        for q in self.levels:
            gap = counts - q * counts[-1]
            slack = reach * self.std * np.sqrt((1 - q) ** 2 * j + q**2 * (n - j))
            possible_low, possible_high = np.flatnonzero(gap + slack >= 0), np.flatnonzero(gap - slack <= 0)
            first = int(possible_low[0]) if possible_low.size else n
            last = int(possible_high[-1]) if possible_high.size else 0
            ends.append((self.edges[max(0, first - 1)], self.edges[min(n, last + 1)]))
        return Interval(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))

    def bin_names(self, most: int) -> tuple[str, list[str]]:
        """The levels, at most `most` of them."""
        return "level", [f"{level:g}" for level in self.levels[:most]]

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins} quantiles" if self.bins != 1 else "1 quantile"
        noise = self.mechanism.capitalize()
        return (
            f"{many}, read off a noisy histogram of {self.components.bins:,} steps ({noise} noise).\n"
            f"{self.errors_in_words()}\n{self.promise_in_words()}"
        )

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise of a step is, to so many `digits`."""
        return f"{self.components.spread_in_words(digits)} in each of {self.components.bins:,} steps"

    def errors_in_words(self) -> str:
        """How far off the quantiles are, in rows; in the units of the values their intervals say it."""
        return ranks_in_words(self.distribution, bins=self.components.bins, levels=self.levels)

    def __repr__(self) -> str:
        return f"<QuantileRelease at {', '.join(f'{q:g}' for q in self.levels)}{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """`level`, `quantile`, `low` and `high` (95 %)."""
        low, high = self.interval(0.95)
        return {"level": list(self.levels), "quantile": self.values, "low": low, "high": high}

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path`, readable by anyone. `allow_seeded` lets a test write what a seed made."""
        file_format.refuse_seeded_noise(self.seeded, allow_seeded)
        facts = {
            "components": {**write_release(self.components), "domain": None},  # its bins are the edges
            "values": self.components.values.tolist(),
            "levels": list(self.levels),
            "edges": self.edges.tolist(),
            "column": self.column,
        }
        file_format.write(path, self._file_table(), what="quantile release", facts=facts)


def from_table(table: pa.Table, facts: Facts) -> QuantileRelease:
    """What `QuantileRelease.save` wrote."""
    values, edges = np.array(facts.numbers("values")), np.array(facts.numbers("edges"), dtype=np.float64)
    found = QuantileRelease(
        components=read_release(values, None, facts.facts("components")),
        levels=tuple(facts.numbers("levels")),
        edges=edges,
        column=facts.optional_text("column"),
    )
    facts.check("levels", len(found.levels) == table.num_rows and all(0 <= level <= 1 for level in found.levels))
    facts.check("edges", edges.size == values.size + 1 > 1 and bool((np.diff(edges) >= 0).all()))
    facts.finish()
    return found
