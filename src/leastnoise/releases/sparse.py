"""A release over a huge domain: the few bins that passed a threshold, and what that says about all the others."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import atomic_files, validation
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.domain import Domain, listed
from leastnoise.privacy.distributions import Gaussian
from leastnoise.privacy.guarantee import GaussianDP, guarantee_facts, read_guarantee
from leastnoise.releases.columns import key_columns
from leastnoise.releases.frames import Frames
from leastnoise.releases.release import Interval, Values, register
from leastnoise.releases.views import Views

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparseRelease(Frames, Views):
    """The bins of a huge domain whose noisy count passed a threshold; all others were below it.

    `values` are soft-thresholded (moved toward zero by `threshold`) or, with kind "hard", the noisy counts
    themselves. They are not counts plus symmetric noise any more: the threshold has chosen them, and `interval` knows.
    """

    indices: NDArray[Any]
    values: Values
    domain_size: int
    sigma: float
    threshold: float
    at_least: int  # a bin shows when |noisy count| >= at_least = floor(threshold) + 1
    kind: Literal["soft", "hard"]
    guarantee: GaussianDP
    delta: float | None
    sensitivity: float
    domain: Domain | None = None  # names the indices; not kept in files, where the keys have columns of their own
    unit: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    query: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    version: str = VERSION
    seeded: bool = False

    def __post_init__(self) -> None:
        self.values.flags.writeable = False
        self.indices.flags.writeable = False

    @property
    def distribution(self) -> Gaussian:
        """The law of the noise that every one of the domain's bins received, before the threshold."""
        return Gaussian(self.sigma, 1.0)

    @property
    def noisy(self) -> NDArray[np.int64]:
        """The noisy counts of the bins that show: whole numbers, recovered from soft values exactly."""
        if self.kind == "hard":
            return np.asarray(self.values, dtype=np.int64)
        return np.rint(self.values + np.copysign(self.threshold, self.values)).astype(np.int64)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Intervals that hold all `domain_size` true counts at once, for the bins that show.

        Only an all-at-once interval stays honest after the threshold has chosen what to show.
        """
        half = np.int64(self.distribution.half_width(validation.number("confidence", confidence), self.domain_size))
        return Interval(self.noisy - half, self.noisy + half)

    def hidden_at_most(self, confidence: Number = 0.95) -> int:
        """How large (in size) any count that does not show can be, at the same all-at-once confidence."""
        half = self.distribution.half_width(validation.number("confidence", confidence), self.domain_size)
        return self.at_least - 1 + int(half)

    def _is_seeded(self) -> bool:
        return self.seeded

    def explain(self) -> str:
        """What was protected, how well, and what shows."""
        moved = f", moved toward zero by {self.threshold:.4g}" if self.kind == "soft" else ""
        shown = (
            f"{self.indices.size:,} of {self.domain_size:,} bins show: those whose noisy count reached {self.at_least} "
            f"in size{moved}. Every bin received Gaussian noise of standard deviation {self.distribution.std:.4g}, "
            "also the empty ones."
        )
        lines = [shown, f"The question: {self.query}."] if self.query else [shown]
        lines.append(self.guarantee.explain(delta=self.delta or 1e-6, unit=self.unit or "person"))
        if self.seeded:
            lines.append("WARNING: the noise came from a test's seed, so it hides nothing. Never publish this.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        loud = ", SEEDED: hides nothing" if self.seeded else ""
        return f"<SparseRelease: {self.indices.size:,} of {self.domain_size:,} bins, sigma {self.sigma:.4g}{loud}>"

    def _columns(self) -> dict[str, Any]:
        """`index` (as text past 64 bits), key columns and `value`."""
        index = [str(i) for i in self.indices] if self.indices.dtype == object else self.indices
        keys: dict[str, Any] = {}
        if self.domain is not None:
            found = [self.domain.key(int(i)) for i in self.indices]
            keys = dict(key_columns(listed(self.domain.names, found), len(found)))
        return {"index": index, **keys, "value": self.values}

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file: `index` and `value`, with all the rest in its metadata."""
        atomic_files.refuse_seeded_noise(self.seeded, allow_seeded)
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("indices", "values", "domain")}
        facts |= {
            "limits": dict(self.limits),
            "made": self.made.isoformat(),
            "guarantee": guarantee_facts(self.guarantee),
            "domain_size": str(self.domain_size),
        }
        atomic_files.write(path, self.to_arrow(), what="sparse release", facts=facts)

    @classmethod
    def read(cls, table: pa.Table, facts: dict[str, Any], path: str | os.PathLike[str]) -> SparseRelease:
        atomic_files.refuse_unknown(facts, {f.name for f in fields(cls)} - {"indices", "values", "domain"}, path)
        facts["made"] = datetime.fromisoformat(facts["made"])
        facts["guarantee"] = read_guarantee(facts["guarantee"])
        facts["domain_size"] = int(facts["domain_size"])
        index = np.array(table["index"])
        if facts["domain_size"] > 2**64:
            index = np.array([int(i) for i in index.tolist()], dtype=object)
        return cls(indices=index, values=np.array(table["value"]), **facts)


register("sparse release", SparseRelease.read)
