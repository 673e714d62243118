"""A LimitSuggestion: counts of units with noise, and the limits that they propose for one question.

It is a release like any other, paid for and public. Everything but the noisy counts is computed from them: from those
of this release, and of the earlier looks at the same question that it goes on from (`releases.looks`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise._support.calls import explained
from leastnoise._support.immutable import Frozen
from leastnoise._support.number_format import rounded
from leastnoise._support.threads import one_thread
from leastnoise._support.validation import Floats
from leastnoise.domain import Domain, Edges
from leastnoise.domain.size_classes import MOST_ROWS, ROW_STARTS
from leastnoise.privacy.sensitivity import ChosenLimit, Limits
from leastnoise.releases import file_format, limit_errors, unit_size_fit, unit_spread_fit, views
from leastnoise.releases.limit_errors import MUCH, PLAUSIBLE, AskedNoise, LimitErrors, kept_in_words
from leastnoise.releases.looks import counts_together
from leastnoise.releases.noise import Noise
from leastnoise.releases.promised import Promised
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.spreadsheets import Spreadsheets
from leastnoise.releases.unit_counts import WEIGHTS, Layout
from leastnoise.releases.unit_size_fit import Fit

if TYPE_CHECKING:
    from leastnoise.privacy.noise_choice import Mechanism

RISKY = 0.2  # chance of a large regret from which on a warning stands beside the limits
OPEN = 0.05  # the same from which on a further look is worth its share, where one may be bought
WARNED = (
    "That leaves open which limits are good: a further look, after this one (after=, on the command line --after), or "
    "a limit that is known, tells more."
)
_ABOUT = (
    f"These are predictions. In brackets are ends with {100 * PLAUSIBLE:.0f} % of the tables between them that these "
    "counts cannot tell apart. A few units with very many rows cannot be seen behind the noise, and no bracket allows "
    "for them."
)


@explained
@dataclass(frozen=True, eq=False, kw_only=True)
class LimitSuggestion(Promised, Spreadsheets):
    """Limits for one question, proposed from private counts of units.

    `limits` go into the question as they are, `t.histogram("zone", keys=zones, **a.limits)`. Its table (`to_pandas()`)
    has one row for each max_rows that was weighed, with the best max_per_bin beside it: the share of the rows that is
    kept, what a bin loses (`bias`), the noise, and both together (`error`), as root mean squares over the bins. All of
    these are predictions; of the share and of the error the ends are told between which 98 % of the tables are that the
    counts cannot tell apart.

    `earlier` is the look that this one goes on from, if there is one: limits are then of the counts of all of them
    together (`looks`). Id, guarantee, noise and `units` are those of this release, the last of them.
    """

    components: Release  # the noisy counts of this look, as `layout` arranges them
    layout: Layout
    asked: AskedNoise
    by: tuple[str, ...] = ()
    fingerprint: str = ""  # of the question's public facts; "": not known (files of earlier versions)
    earlier: LimitSuggestion | None = None

    @property
    def looks(self) -> tuple[LimitSuggestion, ...]:
        """Every look that the limits rest on, each a release: the first one first, this one last."""
        return (*(() if self.earlier is None else self.earlier.looks), self)

    @property
    def noise(self) -> Noise:
        """The noise of each of the counts, before it is divided by their weights."""
        return self.components.noise

    @property
    def mechanism(self) -> Mechanism:
        """gaussian or laplace."""
        return self.noise.mechanism

    @property
    def sigma(self) -> float:
        """The standard deviation that was calibrated (Laplace: scale * sqrt 2)."""
        return self.noise.sigma

    @property
    def std(self) -> float:
        """The standard deviation of what was drawn."""
        return self.noise.std

    @property
    def provenance(self) -> Provenance:
        """That of the counts."""
        return self.components.provenance

    @property
    def seeded(self) -> bool:
        """Whether the noise of any look came from a test's seed and hides nothing."""
        return self.provenance.seeded or (self.earlier is not None and self.earlier.seeded)

    @property
    def kind(self) -> str:
        """Limits."""
        return "limits"

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
        """Ends of `kept` with 98 % of the tables between them that these counts cannot tell apart. No ends allow for a
        few units with very many rows, which no look can see."""
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
        """How many units have how many rows, with noise: a release by itself, to be drawn or put on a page.

        Of several looks these are the counts of the last alone, whose noise has the law that is named; a weighted mean
        of several, on no grid and, of Laplace noise, of no law with a name, has less noise and is in `explain` alone.
        """
        weight = WEIGHTS["rows"]
        noise = Noise(self.noise.mechanism, self.noise.scale / weight, self.noise.grid / weight)
        ends = Edges((*map(float, ROW_STARTS), float(2 * MOST_ROWS)))
        values = self.layout.part(self.components.values, "rows")
        domain = Domain(("rows of a unit",), (ends,))
        return Release(values=values, noise=noise, provenance=self.provenance, domain=domain, kind="count")

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

    @cached_property
    def _together(self) -> tuple[Floats, float]:
        """The counts of all looks, and the standard deviation of their noise."""
        return counts_together([look.components for look in self.looks])

    def _part(self, kind: str) -> Floats:
        return self.layout.part(self._together[0], kind)

    def _std(self, kind: str) -> float:
        return self._together[1] / WEIGHTS[kind]

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
        once = "counts once." if self.earlier is None else "counts once in each look."
        lines = [
            f"{proposed} {off}that are left out, and noise of standard deviation {noise}.",
            self._open_in_words(),
            f"{_ABOUT} {counted}{once}",
            self.promise_in_words(),
        ]
        return "\n".join(line for line in lines if line)

    def _open_in_words(self) -> str:
        """How far the counts decide, and what to do where they do not."""
        risk = f"of {100 * self.risk:.0f} %" if self.risk >= 0.01 else "below 1 %"
        said = (
            f"Over the tables that these counts cannot tell apart, the error under these limits is on average "
            f"{100 * self.regret:.0f} % above that of the best ones, and more than {100 * MUCH:.0f} % above with a "
            f"chance {risk}."
        )
        return f"{said} {WARNED}" if self.risk >= RISKY else said

    def promise_in_words(self, errors: str = "") -> str:
        """Whom each look protects and how well."""
        looks, last = self.looks, super().promise_in_words(errors)
        if len(looks) == 1:
            return last
        before = ", ".join(f"{look.id} ({look.guarantee})" for look in looks[:-1])
        return (
            f"This rests on {len(looks)} looks, whose counts were put together. Each is a release with a promise of "
            f"its own, and what they tell adds up: a budget that paid for all of them bounds it. Before this one: "
            f"{before}. This one, {self.id}:\n{last}"
        )

    def limits_in_words(self) -> str:
        """The limits as arguments."""
        return ", ".join(f"{name}={value}" for name, value in self.limits.items())

    def plot(self, **options: Any) -> Any:
        """The predicted error of every max_rows, with what it is made of, as a picture: `leastnoise.plot.limits`.

        The option `ax` is passed on. It needs matplotlib.
        """
        return views.plot_limits(self, **options)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, allow_seeded: bool = False) -> Path:
        """One HTML page for people, with nothing to fetch: what is proposed and why, what it cost, how to use it.

        path: where it is written. title: the page's heading. allow_seeded: lets a test write what a seed made.
        """
        return views.report_limits(path, self, title=title, allow_seeded=allow_seeded)

    def __repr__(self) -> str:
        looks = "" if self.earlier is None else f", {len(self.looks)} looks"
        return f"<LimitSuggestion {self.limits_in_words()}, predicted error {self.error:.4g}{looks}{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        chosen, errors = self.errors.best_for_each(), self.errors
        names = "max_rows max_per_bin kept kept_low kept_high bias noise error error_low error_high"
        return {name: getattr(errors, name)[chosen] for name in names.split()}

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path`: the noisy counts of every look, from which all the rest is computed.

        `allow_seeded` lets a test write what a seed made.
        """
        from leastnoise.releases import limit_files

        file_format.refuse_seeded_noise(self.seeded, allow_seeded)
        limit_files.save(path, self)
