"""What to expect of a release: free, from public facts alone. No row is read and nothing is debited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from leastnoise._support.number_format import rounded
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.kinds import OtherKind
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.strength import Strength
from leastnoise.privacy.threshold_choice import ALONE, Spread
from leastnoise.releases.column_labels import labelled_in_words, reader_unit
from leastnoise.releases.left_out import LeftOut, unknown_in_words
from leastnoise.releases.mean import half_widths


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a release will be like. It costs nothing and reads no row."""

    mechanism: str
    sigma: float
    std: float
    half_width: float | None  # None: what is published is computed from several numbers; `half_widths` has it
    half_width_all: float | None  # None: as above, or the number of bins is private
    threshold: int | None
    limits: dict[str, int]
    bins: int | None
    guarantee: PureDP | ApproxDP | GaussianDP
    note: str
    half_widths: Mapping[str, float] = field(default_factory=dict)  # of a mean: sum, count, mean_times_rows; of ranks
    description: str = ""  # what they say
    strength: Strength | None = None  # how strong the promise is; with a budget, of all of it
    unit: str | None = None  # who is protected
    left_out: tuple[LeftOut, ...] = ()  # which rows can be missing from the numbers, and which values are changed
    other_kind: OtherKind | None = None  # of budget, where that would have less noise
    labels: Mapping[str, str] = field(default_factory=dict)  # what readers call columns

    def __str__(self) -> str:
        kept = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        lines = [
            self._errors()
            if self.half_width is not None
            else f"{self.mechanism.capitalize()} {self._kind()}. {self.description}",
            labelled_in_words(self.left_out, self.unit, self.labels),
            unknown_in_words(self.left_out, reader_unit(self.unit, self.labels), self.bins),
            f"Bins show when their noisy count reaches {self.threshold}." if self.threshold else "",
            f"Of each unit at most this is used: {kept}." if kept and not self.left_out else "",
            self.note,
            "" if self.other_kind is None else self.other_kind.in_words(),
            "" if self.strength is None else self.strength.in_words(),
        ]
        return "\n".join(line for line in lines if line)

    def _kind(self) -> str:
        return "mechanism" if self.mechanism == "exponential" else "noise"

    def _errors(self) -> str:
        noise = f"{self.mechanism.capitalize()} noise of standard deviation {self.std:.4g}"
        if self.bins == 1:
            return f"{noise} on the one number: with 95 % confidence it is off by at most {self.half_width:.4g}."
        every = f", and all {self.bins:,} at once by at most {self.half_width_all:.4g}" if self.half_width_all else ""
        return f"{noise} on each number: 95 % are off by at most {self.half_width:.4g}{every}."


@dataclass(frozen=True, slots=True)
class Computed:
    """The errors of what is computed from several noisy numbers, by name and in words."""

    half_widths: Mapping[str, float]
    description: str


def of_listed(
    decided: Charge[NoiseChoice],
    *,
    size: int,
    limits: Limits,
    threshold: int | None,
    computed: Computed | None,
    note: str,
) -> Expectation:
    """Of noise on each of `size` numbers."""
    chosen, distribution = decided.noise, decided.noise.distribution
    return Expectation(
        mechanism=chosen.mechanism,
        sigma=chosen.scale if chosen.mechanism == "gaussian" else chosen.scale * 2**0.5,
        std=distribution.std,
        half_width=distribution.half_width(0.95) if computed is None else None,
        half_width_all=distribution.half_width(0.95, size) if computed is None else None,
        threshold=threshold,
        limits=limits.numbers,
        bins=size,
        guarantee=chosen.guarantee,
        note=note,
        half_widths={} if computed is None else computed.half_widths,
        description="" if computed is None else computed.description,
        strength=decided.strength,
    )


def of_unknown_keys(decided: Charge[Threshold], *, limits: Limits, spread: Spread = ALONE) -> Expectation:
    """Of noise and a threshold on keys that nobody listed. spread: how much noisier counts are beside others."""
    cut = decided.noise.wider(spread.of(decided.noise))
    distribution = cut.distribution
    return Expectation(
        mechanism=cut.mechanism,
        sigma=cut.sigma,
        std=distribution.std,
        half_width=distribution.half_width(0.95),
        half_width_all=None,
        threshold=cut.at_least,
        limits=limits.numbers,
        bins=None,
        guarantee=decided.guarantee,
        strength=decided.strength,
        note="Bins that nobody listed: their chance to show is part of delta.",
    )


def of_means(distribution: Distribution, *, centre: float, half_range: float) -> Computed:
    """The errors of sums, counts and means."""
    off = half_widths(distribution, centre=centre, half_range=half_range)
    # From so many rows on that half of the clip's half is left, at most.
    first = math.ceil(math.log10(max(1.0, 2 * off.mean_times_rows / half_range)))
    some = ", ".join(f"{rounded(off.mean_times_rows / n, 3)} for {n:,}" for n in (10 ** (first + i) for i in range(3)))
    return Computed(
        asdict(off),
        f"95 % of the time a sum is off by at most {rounded(off.sum)} and a count by at most {rounded(off.count)}; a "
        f"mean over n rows is off by at most {rounded(off.mean_times_rows)}/n: {some} rows.",
    )
