"""Several statistics of bins that nobody listed: the noise of each part beside a threshold on the number of rows.

A bin shows when its noisy number of rows reaches T. All parts of a bin have independent noise, so whether a bin of one
person's own shows depends on the noise of rows alone; and given that none shows, the rest is the joint mechanism of
`joint_cost` on the shared bins. There one unit with n_b rows in bin b costs at most Z sum n_b^2 (Gaussian: mu^2) or
Z sum n_b (Laplace: epsilon), as one count of sigma = Z^(-1/2), or of scale 1/Z, would. That is all that the conditions
of `partition_selection` and `laplace_threshold` ask of it; the chance that an own bin shows is that of the rows' own,
wider noise: `spread` times as wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise.privacy.joint_cost import gaussian_cost, laplace_cost
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.summary_noise import Asked, relative_sizes
from leastnoise.privacy.threshold_choice import Spread

ONE_ROW = Limits(max_rows=1, max_per_bin=1, max_bins=1)
SLACK = 1 + 1e-12  # by which the other parts are noisier, so that rounding costs nobody anything


@dataclass(frozen=True, slots=True)
class Division:
    """How the noise is divided among the parts, in units of one count that costs as much as all of them."""

    asked: Asked
    rows: str  # the part that counts rows

    @property
    def spread(self) -> Spread:
        """How much noisier the number of rows is than if it were released alone."""
        gaussian, laplace = (self._factors(power)[self.rows] for power in (1 / 2, 1 / 3))
        return Spread(gaussian, laplace)

    def scales(self, cut: Threshold) -> dict[str, float]:
        """The scale of the noise of every part; their joint cost is checked exactly."""
        factors = self._factors(1 / 2 if cut.scale is None else 1 / 3)
        base = cut.sigma if cut.scale is None else cut.scale
        found = {
            part.name: base * factors[part.name] * (1 if part.name == self.rows else part.largest * SLACK)
            for part in self.asked.parts
        }
        if self._one_row(found, gaussian=cut.scale is None) * Fraction(base) ** (2 if cut.scale is None else 1) > 1:
            raise errors.NotProved("The noise of several statistics could not be proved. Change epsilon a little.")
        return found

    def _factors(self, power: float) -> dict[str, float]:
        """s with noise s V base on a part to which one row adds V at most."""
        sizes = relative_sizes(self.asked, power)
        gaussian = power == 1 / 2
        rough = {
            part.name: part.largest / (math.sqrt(sizes[part.name]) if gaussian else sizes[part.name])
            for part in self.asked.parts
        }
        whole = float(self._one_row(rough, gaussian=gaussian))
        whole = math.sqrt(whole) if gaussian else whole
        return {part.name: whole * rough[part.name] / part.largest for part in self.asked.parts}

    def _one_row(self, scales: dict[str, float], *, gaussian: bool) -> Fraction:
        """Z: what one row of a unit costs; under replace neighbours half of what two such units do."""
        side: Neighbours = self.asked.neighbours
        rule = gaussian_cost if gaussian else laplace_cost
        cost = rule(self.asked.parts, scales, limits=ONE_ROW, bins=2, neighbours=side)
        return cost / 2 if side == "replace" else cost
