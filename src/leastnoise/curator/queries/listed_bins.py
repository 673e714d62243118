"""Questions whose numbers are listed beforehand: noise is added to each of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

from leastnoise.curator import mechanism, preview
from leastnoise.curator.aggregate.exact_totals import Aggregate, clamped
from leastnoise.curator.budget import charge
from leastnoise.curator.preview import Computed, Expectation
from leastnoise.curator.publish import Answer, Decision, Facts
from leastnoise.curator.queries.query import Query
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Domain
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.releases.release import Release


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ListedQuery(Query):
    """A question of which it is public how many numbers its answer has."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many integers the answer has."""

    def _charge(self, request: PrivacyRequest) -> charge.Charge[NoiseChoice]:
        """The noise of every integer and its cost. Nothing is paid."""
        return charge.decide(
            request,
            bins=self.size,
            integers=True,
            grid=self.grid,
            sensitivity=self.sensitivity.l2,
            l1_sensitivity=self.sensitivity.l1,
            neighbours=self.neighbours,
        )

    def _decide(self, request: PrivacyRequest) -> Decision[NoiseChoice]:
        decided = self._charge(request)
        return Decision(decided, partial(self._draw, decided.noise))

    def _draw(self, chosen: NoiseChoice, exact: Aggregate, facts: Facts) -> Answer:
        """Noise on every integer, and what is published of that."""
        kind, domain = self._released_as()
        return self._wrap(mechanism.publish(clamped(exact.values), chosen, kind=kind, domain=domain, **facts))

    def _released_as(self) -> tuple[str, Domain | None]:
        """The kind of the noisy numbers, and their domain."""
        return self.kind, self.domain

    def _wrap(self, noisy: Release) -> Answer:
        """What was asked for, from the noisy numbers: these themselves, or what is computed from several."""
        return noisy

    def _expectation(self, request: PrivacyRequest) -> Expectation:
        decided = self._decide(request).charge
        chosen = decided.noise
        computed = self._computed(chosen.distribution)
        return preview.of_listed(
            decided,
            size=self.size,
            limits=self.limits,
            threshold=self._threshold(chosen),
            computed=computed,
            note=self._note(chosen),
        )

    def _threshold(self, chosen: NoiseChoice) -> int | None:
        """From which noisy count on a bin shows; None: all show."""
        return None

    def _computed(self, distribution: Distribution) -> Computed | None:
        """The errors of what is computed from several noisy numbers; None where they are published themselves."""
        return None

    def _note(self, chosen: NoiseChoice) -> str:
        """Why this noise was chosen."""
        return chosen.note
