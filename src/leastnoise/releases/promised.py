"""Promised: what every release knows of its promise and where it comes from, one table or a set of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from leastnoise.privacy.guarantee import Promise
from leastnoise.privacy.strength import Strength
from leastnoise.releases.column_labels import column_words
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import SEEDED_WARNING, Provenance


class Promised:
    """Something that was released, or made from what was."""

    __slots__ = ()

    if TYPE_CHECKING:  # a field of some kinds, computed by others

        @property
        def provenance(self) -> Provenance:
            """What is promised, to whom, and where it comes from."""

    @property
    def guarantee(self) -> Promise | None:
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
