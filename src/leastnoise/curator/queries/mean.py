"""The mean of a column, clipped, in each bin: a sum and a count, released together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from leastnoise.curator import preview
from leastnoise.curator.aggregate.every_bin import scattered
from leastnoise.curator.aggregate.exact_totals import Aggregate, narrow
from leastnoise.curator.preview import Computed
from leastnoise.curator.queries.clipped_values import ClippedValues
from leastnoise.domain import Domain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.releases.mean import MeanRelease, centred
from leastnoise.releases.release import Release

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Mean(ClippedValues):
    """The mean of the values in each bin.

    The integers are, bin by bin, first the centred sums and then the counts times `clip.half`, so that one noise suits
    both.
    """

    kind: ClassVar[str] = "mean"

    @property
    def size(self) -> int:
        """A sum and a count for each bin."""
        return 2 * self._bins.size

    @property
    def sensitivity(self) -> Sensitivity:
        """Of centred sums and scaled counts together."""
        half = self.clip.half * Fraction(self.clip.grid)
        return sensitivities.of_mean(self.limits, half=half, bins=self._bins.size, neighbours=self.neighbours)

    @property
    def _centre(self) -> float:
        return self.clip.centre * self.grid

    @property
    def _half_range(self) -> float:
        return self.clip.half * self.grid

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        counts = scattered(self._bins.size, parts, "rows").astype(object)
        centred_sums = scattered(self._bins.size, parts, "total") - counts * self.clip.centre
        return Aggregate(values=narrow(np.concatenate([centred_sums, counts * self.clip.half])))

    def _released_as(self) -> tuple[str, Domain | None]:
        return self.kind, None

    def _wrap(self, noisy: Release) -> MeanRelease:
        return MeanRelease(
            components=noisy,
            centre=self._centre,
            half_range=self._half_range,
            within=(self.clip.low, self.clip.high),
            domain=self.domain,
            column=self.column,
        )

    def _computed(self, distribution: Distribution) -> Computed:
        return preview.of_means(distribution, centre=self._centre, half_range=self._half_range)

    def _note(self, chosen: NoiseChoice) -> str:
        return centred(chosen.reason, chosen.note)
