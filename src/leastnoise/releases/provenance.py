"""Provenance: what a release promises, to whom, and where it comes from. All of it is public."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from leastnoise._support.immutable import Frozen
from leastnoise._support.version import VERSION
from leastnoise.privacy.guarantee import Promise, guarantee_facts, promise_in_words, read_guarantee
from leastnoise.privacy.noise_reason import REASON_CODES, NoiseReason
from leastnoise.privacy.strength import GaussianInstead, Strength, judge
from leastnoise.releases.column_labels import labelled_in_words, unit_words
from leastnoise.releases.facts import Facts
from leastnoise.releases.left_out import LeftOut, covered_in_words, read_left_out, write_left_out

SEEDED_WARNING = "WARNING: the noise came from a test's seed, so it hides nothing. Never publish this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a release comes from."""

    guarantee: Promise | None = None  # None: nothing is known (noise from elsewhere)
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


def write_provenance(provenance: Provenance) -> dict[str, Any]:
    """As JSON holds it."""
    reason = provenance.reason
    return {
        "guarantee": guarantee_facts(provenance.guarantee),
        "strength": None if provenance.strength is None else _strength_facts(provenance.strength),
        "delta": provenance.delta,
        "sensitivity": provenance.sensitivity,
        "l1_sensitivity": provenance.l1_sensitivity,
        "unit": provenance.unit,
        **({"labels": dict(provenance.labels)} if provenance.labels else {}),
        "limits": dict(provenance.limits),
        "left_out": write_left_out(provenance.left_out),
        "query": provenance.query,
        "table": provenance.table,
        **({} if provenance.ledger is None else {"ledger": provenance.ledger}),
        "reason": None if reason is None else {"code": reason.code, "other_std": reason.other_std},
        "id": provenance.id,
        "created_at": provenance.created_at.isoformat(),
        "version": provenance.version,
        "seeded": provenance.seeded,
    }


def read_provenance(facts: Facts) -> Provenance:
    """What `write_provenance` wrote."""
    found = Provenance(
        guarantee=_read_guarantee(facts),
        strength=_read_strength(facts.optional_facts("strength")),
        delta=facts.optional_number("delta"),
        sensitivity=facts.optional_number("sensitivity"),
        l1_sensitivity=facts.optional_number("l1_sensitivity"),
        unit=facts.optional_text("unit"),
        labels=facts.texts_by_name("labels") if facts.has("labels") else {},
        limits=facts.integers_by_name("limits"),
        left_out=read_left_out(facts.list_of_facts("left_out")),
        query=facts.optional_text("query"),
        table=facts.optional_text("table"),
        ledger=facts.text("ledger") if facts.has("ledger") else None,
        reason=_read_reason(facts.optional_facts("reason")),
        id=facts.text("id"),
        created_at=facts.time("created_at"),
        version=facts.text("version"),
        seeded=facts.flag("seeded"),
    )
    facts.check("delta", found.delta is None or 0 <= found.delta < 1)
    for name, size in (("sensitivity", found.sensitivity), ("l1_sensitivity", found.l1_sensitivity)):
        facts.check(name, size is None or size > 0)
    # What `secrets.token_hex(8)` writes, and nothing that a page or a ledger's reader could run.
    facts.check("id", re.fullmatch("([0-9a-f]{16})?", found.id) is not None)
    facts.finish()
    return found


def _read_guarantee(facts: Facts) -> Promise | None:
    found = facts.take("guarantee")
    try:
        guarantee: Promise | None = read_guarantee(found)
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        facts.check("guarantee", False)
        raise
    return guarantee


def _strength_facts(strength: Strength) -> dict[str, Any]:
    """Its fields; mu, a doubtful delta, a number of units and Gaussian noise only where there is one."""
    named = asdict(strength)
    absent = {"everything"} | ({"mu", "chance"} if strength.mu is None else set())
    absent |= {name for name in ("doubtful", "units", "gaussian") if not named[name]}
    return {name: value for name, value in named.items() if name not in absent}


def _read_strength(facts: Facts | None) -> Strength | None:
    if facts is None:
        return None
    strength = Strength(facts.number("found"), facts.number("failing"), facts.flag("of_budget"))
    if facts.has("mu"):
        strength = replace(strength, mu=facts.number("mu"), chance=facts.number("chance"))
        facts.check("mu", (strength.mu or 0.0) > 0 and not strength.of_budget)
        facts.check("chance", 0 <= strength.chance <= 1)
    if facts.has("doubtful"):
        strength = replace(strength, doubtful=facts.number("doubtful"))
        facts.check("doubtful", 0 < strength.doubtful <= 1)
    if facts.has("units"):
        strength = replace(strength, units=facts.integer("units"))
        facts.check("units", (strength.units or 0) >= 1)
    if facts.has("gaussian"):
        strength = replace(strength, gaussian=_read_gaussian(facts.facts("gaussian")))
    facts.check("found", 0 <= strength.found <= 1)
    facts.check("failing", 0 <= strength.failing <= 1)
    facts.finish()
    return strength


def _read_gaussian(facts: Facts) -> GaussianInstead:
    found = GaussianInstead(facts.number("found"), facts.optional_number("error"))
    facts.check("found", 0 <= found.found <= 1)
    facts.check("error", found.error is None or found.error > 0)
    facts.finish()
    return found


def _read_reason(facts: Facts | None) -> NoiseReason | None:
    if facts is None:
        return None
    reason = NoiseReason(facts.word("code", REASON_CODES), facts.optional_number("other_std"))
    facts.finish()
    return reason
