"""A release over a huge domain: the few bins that passed a threshold, and what that says about all the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.immutable import Frozen
from leastnoise._support.validation import Number
from leastnoise.domain import Cells, Domain, key_cell, listed, with_lattices
from leastnoise.releases import records
from leastnoise.releases.block import Interval, Values
from leastnoise.releases.columns import key_columns
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published, refuse_beside

Thresholding = Literal["soft", "hard"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparseRelease(Published):
    """The bins of a huge domain whose noisy count passed a threshold; all others were below it.

    `values` are soft-thresholded (moved toward zero by `threshold`) or, with thresholding "hard", the noisy counts
    themselves. They are not counts plus symmetric noise any more: the threshold has chosen them, and `interval` knows.
    """

    indices: NDArray[Any]
    values: Values
    domain_size: int
    threshold: float
    thresholding: Thresholding
    noise: Noise
    provenance: Provenance = field(default_factory=Provenance)
    domain: Domain | None = None  # names the indices; not kept in files, where the keys have columns of their own

    kind: ClassVar[str] = "count"
    column: ClassVar[None] = None
    covers_domain: ClassVar[bool] = False
    _what = "sparse release"
    _in_columns = Frozen(indices="index", values="value")

    def __post_init__(self) -> None:
        self.values.flags.writeable = False
        self.indices.flags.writeable = False

    def _fits(self) -> dict[str, bool]:
        return {
            "domain_size": 1 <= self.domain_size < 10**200,
            "threshold": self.threshold > 0,
            "mechanism": self.mechanism == "gaussian",
            "id": self.id != "",
        }

    @property
    def bins(self) -> int:
        """How many bins show."""
        return int(self.indices.size)

    @property
    def at_least(self) -> int:
        """A bin shows when |noisy count| >= at_least = floor(threshold) + 1."""
        return int(self.threshold // 1) + 1

    @property
    def noisy(self) -> NDArray[np.int64]:
        """The noisy counts of the bins that show: whole numbers, recovered from soft values exactly."""
        if self.thresholding == "hard":
            return np.asarray(self.values, dtype=np.int64)
        return np.rint(self.values + np.copysign(self.threshold, self.values)).astype(np.int64)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Intervals that hold all `domain_size` true counts at once with this `confidence`, for the bins that show.

        Only an all-at-once interval stays honest after the threshold has chosen what to show.
        """
        half = np.int64(self._half_width(confidence))
        return Interval(self.noisy - half, self.noisy + half)

    def hidden_at_most(self, confidence: Number = 0.95) -> int:
        """How large (in size) any count that does not show can be, at the same all-at-once `confidence`."""
        return self.at_least - 1 + int(self._half_width(confidence))

    def _half_width(self, confidence: Number) -> float:
        return self.distribution.half_width(validation.number("confidence", confidence), self.domain_size)

    @property
    def why_not_denoised(self) -> str:
        """What a threshold chose follows no denoiser's law."""
        return (
            "A threshold chose the bins that show, so what is left of their noise follows no denoiser's law. They are "
            "not denoised; their intervals allow for the choice."
        )

    def explain(self) -> str:
        """What was protected, how well, and what shows."""
        moved = f", moved toward zero by {self.threshold:.4g}" if self.thresholding == "soft" else ""
        return (
            f"{self.bins:,} of {self.domain_size:,} bins show: those whose noisy count reached {self.at_least} "
            f"in size{moved}. Every bin received Gaussian noise of {self.spread_in_words(4)}, also the empty ones.\n"
            f"{self.promise_in_words()}"
        )

    def errors_in_words(self) -> str:
        """How far off the bins that show are."""
        return (
            "Noise was added to every bin, and only bins whose noisy count passed the threshold show, which makes them "
            "too high on average. Their intervals allow for that."
        )

    def __repr__(self) -> str:
        shown = f"{self.bins:,} of {self.domain_size:,} bins"
        return f"<SparseRelease: {shown}, sigma {self.sigma:.4g}{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """`index` (as text past 64 bits), key columns and `value`."""
        index = [str(i) for i in self.indices] if self.indices.dtype == object else self.indices
        keys: dict[str, Any] = {}
        if self.domain is not None:
            found = [_cells(self.domain, self.domain.key(int(i))) for i in self.indices]
            axes = zip(self.domain.names, self.domain.axes, strict=True)
            lattices = {name: axis.lattice for name, axis in axes if isinstance(axis, Cells)}
            keys = dict(key_columns(with_lattices(listed(self.domain.names, found), lattices), len(found)))
        return {"index": index, **keys, "value": self.values}

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        refuse_beside(estimate)
        low, high = self.interval(confidence)
        return {**self._columns(), "low": low, "high": high}


def _cells(domain: Domain, key: Any) -> Any:
    """A key as cells of columns, each of one type."""
    if len(domain.axes) == 1:
        return key_cell(domain.axes[0], key)
    return tuple(key_cell(axis, part) for axis, part in zip(domain.axes, key, strict=True))


Indices = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.object_]  # past 64 bits whole numbers of any size
records.HINTS |= {(SparseRelease, "domain"): None, (SparseRelease, "indices"): Indices}
