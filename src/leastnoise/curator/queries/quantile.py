"""Quantiles of a column, through a histogram of equal steps of the clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leastnoise.curator import description
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.preview import Computed
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import limits_of
from leastnoise.domain import Domain, Steps
from leastnoise.errors import BadDomain, InvalidParameter
from leastnoise.privacy.distributions import Distribution
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.quantile import QuantileRelease, rank_error, ranks_in_words
from leastnoise.releases.release import Release

MAX_STEPS = 2**20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Quantile(BinnedQuery):
    """The values below which the fractions `levels` of the rows lie."""

    kind: ClassVar[str] = "quantile"
    levels: tuple[float, ...]
    steps: Steps

    @classmethod
    def of(
        cls, data: Dataset, column: str, q: float | Sequence[float], *, clip: object, bins: int, max_rows: int | None
    ) -> Quantile:
        """The question, checked."""
        data.check_usable(column)
        levels = tuple(float(level) for level in np.ravel(np.asarray(q, dtype=np.float64)))
        if not levels or any(not 0 <= level <= 1 for level in levels):
            raise InvalidParameter(
                f"q must be between 0 and 1. Got {q!r} instead. The median is at one half.",
                parameter="q",
                value=q,
                example={"q": 0.5},
            )
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or not 1 <= bins <= MAX_STEPS:
            raise BadDomain(
                f"bins must be a whole number from 1 to 2^20. Got {bins!r} instead.", parameter="bins", value=bins
            )
        ends = Clip.of(clip, data.rows[column].type())
        steps = Steps(low=ends.low, high=ends.high, bins=int(bins))
        domain = Domain((column,), (steps,))
        limits = limits_of(data, bins=domain.size, by=(column,), max_rows=max_rows)
        return cls(_data=data, _bins=domain, by=(column,), levels=levels, steps=steps, limits=limits)

    def _values_left_out(self) -> Sequence[LeftOut]:
        ends = (self.steps.low, self.steps.high)
        return [LeftOut("null", columns=self.by), LeftOut("clip", columns=self.by, numbers=ends)]

    def _subject(self) -> str:
        return f"quantiles {description.shortened([f'{level:g}' for level in self.levels])}"

    def _clip_in_words(self) -> str:
        return f", clipped to [{self.steps.low!r}, {self.steps.high!r}]"

    def _clip_facts(self) -> dict[str, object]:
        return {"clip": [self.steps.low, self.steps.high]}

    def _released_as(self) -> tuple[str, Domain | None]:
        return self.kind, None

    def _wrap(self, noisy: Release) -> QuantileRelease:
        return QuantileRelease(components=noisy, levels=self.levels, edges=self._edges(), column=self.by[0])

    def _edges(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Where the steps begin, and where the last ends."""
        return np.array([self.steps.key(i)[0] for i in range(self.steps.size)] + [self.steps.high])

    def _computed(self, distribution: Distribution) -> Computed:
        errors = {f"rank at {q:g}": rank_error(distribution, bins=self.size, level=q) for q in self.levels}
        return Computed(errors, ranks_in_words(distribution, bins=self.size, levels=self.levels))
