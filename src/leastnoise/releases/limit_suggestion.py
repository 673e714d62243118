"""A LimitSuggestion: counts of units with noise, and the limits that they propose for one question.

It is a release like any other, paid for and public. Everything but the noisy counts is computed from them.

**Which counts**, and in which order they are released. Every unit with a row in the bins is counted once in each of
these histograms:

    rows        by how many rows it has
    octaves     the same in wider classes: where noise hides the finer ones, these may still be seen
    wide        the same in classes of four octaves, for the same reason
    spread      by the octave of its rows, and of how many of them are in the bin of one of its rows, drawn at random
    depths      by the latter octave alone
    shared      by the latter number, in finer classes
    bins        by the bin of that row

Where there is one bin, spread, depths, shared and bins are left out.

A unit moves one number in each by that histogram's weight, and no other. So with weights w adding or removing a unit
moves the whole vector by at most sum(w) in L1, sqrt(sum(w^2)) in L2 and max(w) in Linf; replacing one takes a weight
out of one number and puts it into another: 2 sum(w), sqrt(2 sum(w^2)) and max(w). All numbers get the same noise, so
that of a histogram, in units, is the noise divided by its weight: the weights split what is paid.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.calls import explained
from leastnoise._support.immutable import Frozen
from leastnoise._support.runtime import one_thread
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Domain, Edges
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.privacy.sensitivity import ChosenLimit, Limits
from leastnoise.releases import limit_errors, unit_size_fit, unit_spread_fit, views
from leastnoise.releases.file_format import Saved
from leastnoise.releases.limit_errors import MUCH, PLAUSIBLE, AskedNoise, LimitErrors, kept_in_words
from leastnoise.releases.noise import Noise, Noisy
from leastnoise.releases.provenance import Promised, Provenance
from leastnoise.releases.published import Frames, Spreadsheets
from leastnoise.releases.release import Release
from leastnoise.releases.unit_size_fit import Fit

if TYPE_CHECKING:
    import pyarrow as pa


WEIGHTS = {"rows": 2, "octaves": 4, "wide": 2, "spread": 1, "depths": 2, "shared": 1, "bins": 1}
PAIRS = len(OCTAVES) * (len(OCTAVES) + 1) // 2  # of octaves, the second at most the first


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each histogram is in the vector of all of them."""

    bins: int

    @property
    def histograms(self) -> tuple[tuple[str, int, int], ...]:
        """The histograms in order: kind, how many numbers, and the weight of a unit."""
        rows, octaves = len(ROW_STARTS), len(OCTAVES)
        sizes = [("rows", rows), ("octaves", octaves), ("wide", len(WIDE))]
        spread = [("spread", PAIRS), ("depths", octaves), ("shared", len(BIN_STARTS)), ("bins", self.bins)]
        listed = [*sizes, *(spread if self.bins > 1 else [])]
        return tuple((kind, size, WEIGHTS[kind]) for kind, size in listed)

    @property
    def size(self) -> int:
        """How many numbers in all."""
        return sum(size for _, size, _ in self.histograms)

    @property
    def weights(self) -> tuple[int, ...]:
        """What a unit adds to each histogram."""
        return tuple(weight for _, _, weight in self.histograms)

    def start(self, kind: str) -> int:
        """Where a histogram begins."""
        return self._place(kind)[0]

    def part(self, values: NDArray[Any], kind: str) -> Floats:
        """One histogram out of the vector, in units."""
        start, size, weight = self._place(kind)
        return np.asarray(values[start : start + size], dtype=np.float64) / weight

    def _place(self, kind: str) -> tuple[int, int, int]:
        start = 0
        for name, size, weight in self.histograms:
            if name == kind:
                return start, size, weight
            start += size
        raise KeyError(kind)


RISKY = 0.2  # chance of a large regret from which on a warning stands beside the limits
WARNED = "That leaves open which limits are good: a larger share, or a limit that is known, tells more."
_ABOUT = (
    f"These are predictions. In brackets are ends with {100 * PLAUSIBLE:.0f}% of the tables between them that these "
    "counts cannot tell apart. A few units with very many rows cannot be seen behind the noise, and no bracket allows "
    "for them."
)


@explained
@dataclass(frozen=True, eq=False, kw_only=True)
class LimitSuggestion(Promised, Noisy, Frames, Spreadsheets, Saved):
    """Limits for one question, proposed from private counts of units.

    `limits` go into the question as they are, `t.histogram("zone", keys=zones, **a.limits)`. Its table (`to_pandas()`)
    has one row for each max_rows that was weighed, with the best max_per_bin beside it: the share of the rows that is
    kept, what a bin loses (`bias`), the noise, and both together (`error`), as root mean squares over the bins. All of
    these are predictions; of the share and of the error the ends are told between which 98% of the tables are that the
    counts cannot tell apart.
    """

    components: Release  # the noisy counts, as `layout` arranges them
    layout: Layout
    asked: AskedNoise
    by: tuple[str, ...] = ()

    kind: ClassVar[str] = "limits"
    _what = "limit suggestion"
    _in_columns = Frozen({"components/blocks/value/numbers": "value"})
    _picture: ClassVar[str] = "limits"  # the function of `leastnoise.plot` that draws it

    def _fits(self) -> dict[str, bool]:
        rates = [rate for rate in (self.asked.per_l2, self.asked.per_l1) if rate is not None]
        return {
            "bins": self.layout.bins >= 1 and self.components.bins == self.layout.size,
            "asked": bool(rates) and all(rate > 0 for rate in rates),
        }

    @property
    def noise(self) -> Noise:
        """The noise of each of the counts, before it is divided by their weights."""
        return self.components.noise

    @property
    def provenance(self) -> Provenance:
        """That of the counts."""
        return self.components.provenance

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """The limits of the least mean regret, as arguments of a question. They know which release chose them."""
        best = self._limits
        named = {"max_rows": best.max_rows}
        if best.max_per_bin < best.max_rows:
            named["max_per_bin"] = best.max_per_bin
        return Frozen({name: ChosenLimit(value, self.id) for name, value in named.items()})

    @property
    def error(self) -> float:
        """What a bin will be off by under `limits`: the root mean square over the bins, predicted."""
        return float(self.errors.error[self.errors.best])

    @property
    def regret(self) -> float:
        """By how much the error under `limits` exceeds that of the best ones, as a part of the latter, on average over
        the tables that these counts cannot tell apart: 0 where they decide, 1 where the best limits have half the
        error. It is a prediction, too."""
        return float(self.errors.regret[self.errors.best])

    @property
    def risk(self) -> float:
        """The chance that the error under `limits` is more than half above that of the best ones: in which part of the
        tables that these counts cannot tell apart it is. Tables unlike all that are thought of are not among them."""
        return float(self.errors.risk[self.errors.best])

    @property
    def kept(self) -> float:
        """The share of the rows that `limits` keep, predicted."""
        return float(self.errors.kept[self.errors.best])

    @property
    def kept_interval(self) -> tuple[float, float]:
        """Ends of `kept` with 98% of the tables between them that these counts cannot tell apart. No ends allow for a
        few units with very many rows, which no noisy count can show."""
        best = self.errors.best
        return float(self.errors.kept_low[best]), float(self.errors.kept_high[best])

    @property
    def error_interval(self) -> tuple[float, float]:
        """The same of `error`."""
        best = self.errors.best
        return float(self.errors.error_low[best]), float(self.errors.error_high[best])

    @cached_property
    def errors(self) -> LimitErrors:
        """The predicted errors of all pairs of max_rows and max_per_bin that were weighed."""
        bins = self.layout.bins
        with one_thread():
            spread, uneven = None if bins == 1 else self._spread, self._concentrations
            return limit_errors.predict(self._fit, spread, concentrations=uneven, bins=bins, noise=self.asked)

    @property
    def units(self) -> Release:
        """How many units have how many rows, with noise: a release by itself, to be drawn or put on a page."""
        weight = WEIGHTS["rows"]
        noise = Noise(self.noise.mechanism, self.noise.scale / weight, self.noise.grid / weight)
        ends = Edges((*map(float, ROW_STARTS), float(2 * MOST_ROWS)))
        values = self.layout.part(self.components.values, "rows")
        domain = Domain(("rows of a unit",), (ends,))
        return Release.of(values, noise, provenance=self.provenance, domain=domain, kind="count")

    @cached_property
    def _fit(self) -> Fit:
        with one_thread():
            counted = ((self._part(kind), self._std(kind)) for kind in ("rows", "octaves", "wide"))
            return unit_size_fit.of_rows(*counted)

    @cached_property
    def _spread(self) -> Fit:
        pairs, depths, shared = ((self._part(kind), self._std(kind)) for kind in ("spread", "depths", "shared"))
        return unit_spread_fit.of_spread(pairs, depths, shared, rows=self._fit, bins=self.layout.bins)

    @cached_property
    def _concentrations(self) -> Floats:
        number = len(self._fit.weights)
        if self.layout.bins == 1:
            return np.ones(number)
        units = float(self._fit.mean.sum())
        return limit_errors.concentrations(self._part("bins"), self._std("bins"), units, number)

    @property
    def _limits(self) -> Limits:
        best = self.errors.best
        rows, in_bin = int(self.errors.max_rows[best]), int(self.errors.max_per_bin[best])
        return Limits.of(max_rows=rows, max_per_bin=in_bin, bins=self.layout.bins)

    def _part(self, kind: str) -> Floats:
        return self.layout.part(self.components.values, kind)

    def _std(self, kind: str) -> float:
        return self.noise.std / WEIGHTS[kind]

    def explain(self) -> str:
        """What is proposed and why, and what was protected, how well, in plain words."""
        best = self.errors.best
        bias, noise = rounded(self.errors.bias[best]), rounded(self.errors.noise[best])
        named = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        unit, spread = self.provenance.whom or "unit", rounded(self._std("rows"))
        kept, (least, most) = kept_in_words(self.kept, *self.kept_interval), map(rounded, self.error_interval)
        proposed = f"Proposed: {named}. That keeps about {kept} of the rows."
        off = f"A bin is then off by about {rounded(self.error)} ({least} to {most}; root mean square): {bias} by rows "
        counted = f"How many have how many rows was counted with noise of standard deviation {spread}; every {unit} "
        lines = [
            f"{proposed} {off}that are left out, and noise of standard deviation {noise}.",
            self._open_in_words(),
            f"{_ABOUT} {counted}counts once.",
            self.promise_in_words(),
        ]
        return "\n".join(line for line in lines if line)

    def _open_in_words(self) -> str:
        """How far the counts decide, and what to do where they do not."""
        risk = f"of {100 * self.risk:.0f}%" if self.risk >= 0.01 else "below 1%"
        said = (
            f"Over the tables that these counts cannot tell apart, the error under these limits is on average "
            f"{100 * self.regret:.0f}% above that of the best ones, and more than {100 * MUCH:.0f}% above with a "
            f"chance {risk}."
        )
        return f"{said} {WARNED}" if self.risk >= RISKY else said

    def limits_in_words(self) -> str:
        """The limits as arguments."""
        return ", ".join(f"{name}={value}" for name, value in self.limits.items())

    def plot(self, **options: Any) -> Any:
        """The predicted error of every max_rows, with what it is made of, as a picture: `leastnoise.plot.limits`.

        The option `ax` is passed on. It needs matplotlib.
        """
        return views.plot(self, **options)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, allow_seeded: bool = False) -> Path:
        """One HTML page for people, with nothing to fetch: what is proposed and why, what it cost, how to use it.

        path: where it is written. title: the page's heading. allow_seeded: lets a test write what a seed made.
        """
        return views.report(path, self, title=title, allow_seeded=allow_seeded)

    def __repr__(self) -> str:
        return f"<LimitSuggestion {self.limits_in_words()}, predicted error {self.error:.4g}{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        chosen, errors = self.errors.best_for_each(), self.errors
        names = "max_rows max_per_bin kept kept_low kept_high bias noise error error_low error_high"
        return {name: getattr(errors, name)[chosen] for name in names.split()}

    @property
    def _file_rows(self) -> int:
        return self.layout.size

    def _file_table(self) -> pa.Table:
        """The noisy counts, and which histogram they are of."""
        import pyarrow as pa

        kinds = [kind for kind, size, _ in self.layout.histograms for _ in range(size)]
        return pa.table({"histogram": kinds, "value": self.components.values})
