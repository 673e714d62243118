"""How many rows are in each of the bins that were listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from leastnoise.curator import mechanism
from leastnoise.curator.aggregate.every_bin import joined
from leastnoise.curator.aggregate.exact_totals import Aggregate
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.publish import Answer, Decision, Facts
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import limits_of, listed_domain
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.noise_choice import NoiseChoice

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Histogram(BinnedQuery):
    """The number of rows in each bin."""

    kind: ClassVar[str] = "count"

    @staticmethod
    def of(data: Dataset, by: Sequence[str], keys: Any, nulls: str, **limits: int | None) -> Histogram:
        """The question, checked; a domain too large for a vector of all its bins has a sparse answer."""
        domain = listed_domain(data, by, keys, nulls)
        kind = SparseHistogram if domain.sparse else Histogram
        kept = limits_of(data, bins=domain.size, by=by, **limits)
        return kind(_data=data, _bins=domain, by=tuple(by), limits=kept)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SparseHistogram(Histogram):
    """The same for a huge domain: noise on *every* bin, and those that pass a threshold are published."""

    def _decide(self, request: PrivacyRequest) -> Decision[NoiseChoice]:
        decided = self._charge(
            request.with_threshold("A domain this large is released sparsely, with Gaussian noise and a threshold")
        )
        cut = mechanism.sparse_cut(decided.noise, self.size, "universal", "soft")
        return Decision(decided, partial(self._draw_sparse, decided.noise, cut))

    def _draw_sparse(self, chosen: NoiseChoice, cut: float, exact: Aggregate, facts: Facts) -> Answer:
        return mechanism.publish_sparse(
            exact.indices, exact.values, chosen, self.size, cut, "soft", domain=self.domain, **facts
        )

    def _threshold(self, chosen: NoiseChoice) -> int | None:
        return int(mechanism.sparse_cut(chosen, self.size, "universal", "soft") // 1) + 1

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        places, inverse = np.unique(joined(parts, "bin").astype(np.int64), return_inverse=True)
        totals = np.zeros(len(places), np.int64)
        np.add.at(totals, inverse, joined(parts, "rows"))
        return Aggregate(values=totals, indices=places)
