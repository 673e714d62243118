"""Provenance: what a release promises, to whom, and where it comes from. All of it is public.

Whatever was released, or made from what was, is `Promised`: it has the facts of its provenance.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from leastnoise._support.immutable import Frozen
from leastnoise._support.version import VERSION
from leastnoise.privacy.guarantees import ReleaseGuarantee, promise_in_words
from leastnoise.privacy.noise_plan import NoiseReason
from leastnoise.privacy.strength import GaussianInstead, Strength, judge
from leastnoise.releases import records
from leastnoise.releases.columns import column_words, labelled_in_words, unit_words
from leastnoise.releases.left_out import LeftOut, covered_in_words

SEEDED_WARNING = "WARNING: the noise came from a test's seed, so it hides nothing. Never publish this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a release comes from."""

    guarantee: ReleaseGuarantee | None = None  # None: nothing is known (noise from elsewhere)
    strength: Strength | None = None  # of the guarantee; where a budget paid, of all that it allows
    delta: float | None = None  # the delta that was asked for
    sensitivity: float | None = None  # in L2, what Gaussian noise hides
    l1_sensitivity: float | None = None  # what Laplace noise hides; None: not known
    unit: str | None = None  # who is protected, by the column's name
    labels: Mapping[str, str] = field(default_factory=Frozen)  # what readers call columns
    limits: Mapping[str, int] = field(default_factory=Frozen)  # how much of one unit was used
    left_out: tuple[LeftOut, ...] = ()  # which rows can be missing from the numbers, and which values changed
    query: str | None = None  # the question
    table: str | None = None  # the name of what was read, where it is known
    ledger: str | None = None  # the name of the ledger that has its debit, without its folder
    reason: NoiseReason | None = None  # why this noise was chosen
    id: str = field(default_factory=lambda: secrets.token_hex(8))  # "": of no release (plain arrays)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    version: str = VERSION  # of leastnoise
    seeded: bool = False  # the noise came from a test's seed and hides nothing

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", Frozen(self.limits))
        object.__setattr__(self, "labels", Frozen(self.labels))
        if self.strength is None and self.guarantee is not None:
            object.__setattr__(self, "strength", judge(self.guarantee))

    def _fits(self) -> dict[str, bool]:
        sizes = {"sensitivity": self.sensitivity, "l1_sensitivity": self.l1_sensitivity}
        return {
            "delta": self.delta is None or 0 <= self.delta < 1,
            **{name: size is None or size > 0 for name, size in sizes.items()},
            "labels": all(map(str.isprintable, self.labels.values())),
            # What `secrets.token_hex(8)` writes, and nothing that a page or a ledger's reader could run.
            "id": re.fullmatch("([0-9a-f]{16})?", self.id) is not None,
        }

    @property
    def whom(self) -> str | None:
        """Who is protected, as readers call it."""
        return self.unit if self.unit is None else unit_words(self.unit.split(" + "), self.labels)

    def labels_in_words(self) -> str:
        """Which column each label is of; nothing where there are none."""
        pairs = ", ".join(f"{label} ({name})" for name, label in self.labels.items())
        return f"Labels, with their columns: {pairs}." if pairs else ""

    def explain(self) -> str:
        """What is promised to one unit, in words."""
        if self.guarantee is None:
            return "What it promises is known to whoever added the noise, not to us."
        return promise_in_words(self.guarantee, delta=self.delta, unit=self.whom)

    def strength_in_words(self) -> str:
        """The warning of a weak promise, or one that is with many units; nothing of others."""
        return "" if self.strength is None or not self.strength.warns else self.strength.in_words()

    def left_out_in_words(self) -> str:
        """Which rows are not in the numbers, and what intervals cover; nothing where all are in them."""
        return labelled_in_words(self.left_out, self.unit, self.labels)

    def covered_in_words(self, intervals: str = "Intervals") -> str:
        """What intervals cover."""
        return covered_in_words(self.left_out, intervals)

    def limits_in_words(self) -> str:
        """How much of one unit was used; nothing where nothing is known."""
        if not self.limits:
            return ""
        kept = ", ".join(f"{name} = {value}" for name, value in self.limits.items())
        return f"Of each {self.whom or 'unit'} at most this was used: {kept}."


def of_arrays(*, seeded: bool = False) -> Provenance:
    """The provenance of what was computed from plain arrays: no release is known."""
    return Provenance(id="", seeded=seeded)


def _fits_strength(strength: Strength) -> dict[str, bool]:
    return {
        "found": 0 <= strength.found <= 1,
        "failing": 0 <= strength.failing <= 1,
        "mu": strength.mu is None or (strength.mu > 0 and not strength.of_budget),
        "chance": 0 <= strength.chance <= 1,
        "doubtful": 0 <= strength.doubtful <= 1,
        "units": strength.units is None or strength.units >= 1,
    }


def _fits_gaussian(gaussian: GaussianInstead) -> dict[str, bool]:
    return {"found": 0 <= gaussian.found <= 1, "error": gaussian.error is None or gaussian.error > 0}


records.CHECKS |= {Strength: _fits_strength, GaussianInstead: _fits_gaussian}
records.HINTS[Strength, "everything"] = None


class Promised:
    """Something that was released, or made from what was."""

    __slots__ = ()
    is_set: ClassVar[bool] = False  # tables, a mapping of them by their columns
    is_estimate: ClassVar[bool] = False  # noise was taken back out

    if TYPE_CHECKING:  # a field of some kinds, computed by others

        @property
        def provenance(self) -> Provenance:
            """What is promised, to whom, and where it comes from."""

    @property
    def guarantee(self) -> ReleaseGuarantee | None:
        """What is promised; None where that is not known (noise from elsewhere)."""
        return self.provenance.guarantee

    @property
    def delta(self) -> float | None:
        """The delta that was asked for."""
        return self.provenance.delta

    @property
    def sensitivity(self) -> float | None:
        """How far one unit can move what the noise was added to, in L2."""
        return self.provenance.sensitivity

    @property
    def l1_sensitivity(self) -> float | None:
        """The same in L1, where it is known."""
        return self.provenance.l1_sensitivity

    @property
    def unit(self) -> str | None:
        """Who is protected."""
        return self.provenance.unit

    def _words(self, column: str) -> str:
        """What readers call a column."""
        return column_words(column, self.provenance.labels)

    @property
    def limits(self) -> Mapping[str, int]:
        """How much of one unit was used."""
        return self.provenance.limits

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Why rows can be missing from the numbers, or values changed."""
        return self.provenance.left_out

    @property
    def strength(self) -> Strength | None:
        """How strong the promise is: of the whole budget, where one paid. None: nothing is known of it."""
        return self.provenance.strength

    @property
    def query(self) -> str | None:
        """The question."""
        return self.provenance.query

    @property
    def table(self) -> str | None:
        """The name of what was read, where it is known."""
        return self.provenance.table

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        return ""

    @property
    def id(self) -> str:
        """Which release it is, or was made from; "" of plain arrays."""
        return self.provenance.id

    @property
    def ledger(self) -> str | None:
        """The name of the ledger that has its debit, without its folder; None without a budget."""
        return self.provenance.ledger

    @property
    def created_at(self) -> datetime:
        """When it was released."""
        return self.provenance.created_at

    @property
    def version(self) -> str:
        """The leastnoise that released it."""
        return self.provenance.version

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a test's seed and hides nothing."""
        return self.provenance.seeded

    def released_in_words(self) -> str:
        """When, and which release it is or was made from."""
        return f"released on {self.created_at:%Y-%m-%d} (release {self.id})"

    def promise_in_words(self, errors: str = "") -> str:
        """Whom it protects and how well: the part of `explain` that is true of whatever is computed from it.

        errors: how far off the numbers are, which nobody should read before what is left out of them.
        """
        lines = [
            self.provenance.left_out_in_words(),
            errors,
            f"The question: {self.query}." if self.query else "",
            self.provenance.labels_in_words(),
            self.note,
            self.provenance.explain(),
            self.provenance.strength_in_words(),
            self._selection_in_words(),
            "" if self.query else self.provenance.limits_in_words(),  # a question has its limits in it
            SEEDED_WARNING if self.seeded else "",
        ]
        return "\n".join(line for line in lines if line)

    def _selection_in_words(self) -> str:
        """What chose the bins that show, where not all do."""
        return ""

    @property
    def _seeded_mark(self) -> str:
        return ", SEEDED: hides nothing" if self.seeded else ""
