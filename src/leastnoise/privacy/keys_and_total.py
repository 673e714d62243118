"""Bins that nobody listed, and how many rows they all have together, shown or not: one release, with one promise.

The total has noise of its own beside that of the counts, and is the exact total plus that noise. It is not the sum of
noisy counts: this would have as much noise as there are bins, and so tell how many there are.

A unit has n_b rows in bin b: M in all at most, and sum n_b^2 <= W. Let `part` = f of the cost be the total's. With
sigma that of one count which would cost as much as both together (`partition_selection`; that cost is W/sigma^2), the
noise is

    counts   sigma_k,   (1 - f) sigma_k^2 >= sigma^2,           total   sigma_t,   f W sigma_t^2 >= M^2 sigma^2,

so a unit whose rows in bins that others fill, too, have squared norm S moves both together by

    S/sigma_k^2 + M^2/sigma_t^2  <=  ((1 - f) S + f W)/sigma^2  <=  W/sigma^2.

The left one of these bounds is what `partition_selection` takes of a split: rows in bins of the unit's own, which do
not show, still move the total. The noise of the total is independent of that of bins, so given that no own bin shows
the release is the Gaussian mechanism on shared bins and the total, and the two conditions there are what they were,
with this mu. Budgets pay W/sigma^2 and the chance that an own bin shows, which is that of the noise sigma_k.

Laplace noise: scales b_k and b_t with (1 - f) b_k >= b and f L b_t >= M b, so that s shared rows cost at most
((1 - f) s + f L)/b: all L of them L/b, and L - 1 with an own bin (L - 1 + f)/b, as `laplace_threshold` has it.

Replace neighbours: the counts of two units differ by 2 W and L = 2 M at most, their totals by M still; 2 W and L stand
for W and L in the lines above. (It is a bound: counts and total do not both differ by as much.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise._support.directed_rounding import next_up, round_up, sqrt_up
from leastnoise.privacy.laplace_threshold import rows_of
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.threshold_choice import Spread

LEAST_PART, LARGEST_PART = Fraction(1, 1000), Fraction(999, 1000)


@dataclass(frozen=True, slots=True)
class Division:
    """How the cost is divided between the counts and their total: `part` of it is the total's."""

    part: Fraction
    limits: Limits
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        if not LEAST_PART <= self.part <= LARGEST_PART:
            raise errors.InvalidParameter(
                "others is the part of a release that is for the total of all keys, from "
                f"{float(LEAST_PART)} to {float(LARGEST_PART)}. Got {float(self.part):g} instead.",
                parameter="others",
                value=float(self.part),
                example={"others": 0.1},
            )

    @property
    def spread(self) -> Spread:
        """How much noisier the counts are than alone: the root of 1/(1 - f), or 1/(1 - f), two steps up, so that the
        product with a double rounds to no less."""
        counts = 1 / (1 - self.part)
        gaussian, laplace = (next_up(next_up(found)) for found in (sqrt_up(counts), round_up(counts)))
        return Spread(gaussian, laplace, round_up(self.part))

    def counts(self, cut: Threshold) -> Threshold:
        """The threshold, with the noise of the counts; what it must be is checked exactly."""
        made, power = cut.wider(self.spread.of(cut)), 2 if cut.scale is None else 1
        if (1 - self.part) * Fraction(_scale(made)) ** power < Fraction(_scale(cut)) ** power:
            raise errors.NotProved("The noise of counts beside a total could not be proved. Change others a little.")
        return made

    def total(self, cut: Threshold) -> float:
        """The scale of the noise of the total, rounded up."""
        rows, scale = self.limits.max_rows, Fraction(_scale(cut))
        if cut.scale is not None:
            return round_up(rows * scale / (self.part * rows_of(self.limits, self.neighbours)))
        square = self.limits.squared_norm * (2 if self.neighbours == "replace" else 1)
        return sqrt_up((rows * scale) ** 2 / (self.part * square))


def _scale(cut: Threshold) -> float:
    return cut.sigma if cut.scale is None else cut.scale
