"""The two kinds of budget, and which has less noise: with a delta above 0 mu^2 adds up, with a delta of 0 epsilon does.

For k releases with equal shares, of numbers that one unit moves by l1 in L1 and by l2 in L2,

    Gaussian noise of sigma = l2 sqrt(k)/mu                     where delta_G(epsilon; mu) = delta
    Laplace noise of standard deviation sqrt(2) l1 k/epsilon    (on whole numbers a little less)

so that few releases of few numbers have less noise with a delta of 0, and many have less with one above.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from leastnoise import errors
from leastnoise._support.rounding import round_down
from leastnoise._support.text import percent_at_most, rounded
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Terms, strength
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.strength import Strength
from leastnoise.privacy.vector_noise import VectorPlanner

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget
    from leastnoise.curator.budget.charge import Debit

DELTA = 1e-6  # of the other kind of a budget that has none
_LESS = 0.99  # a smaller difference is not worth a sentence

Error = Callable[[PrivacyRequest], float]


@dataclass(frozen=True, slots=True)
class OtherKind:
    """What a budget of the other kind, with the same epsilon, would buy where it is less. Errors are pairs: from that
    kind, and from the budget's own."""

    mechanism: str  # that it has: "laplace" or "gaussian"
    delta: float  # that it has
    here: tuple[float, float]  # the errors of this release
    others: tuple[float, float] | None  # of each other planned release, if all share the rest equally; None: no plan
    number: int  # of these
    found: tuple[float, float]  # what part of those present an attacker with 5 % false alarms finds at most
    std: bool = True  # whether the errors are standard deviations of what is published; else only their ratio says much

    def in_words(self) -> str:
        """A few sentences."""
        std = self.std
        there = f"from a budget with delta={self.delta:g}"
        if std:
            first = f"{self.mechanism.capitalize()} noise {there} would have a standard deviation of {_pair(self.here)}"
        else:
            first = f"{there.capitalize()} the error would be {_times(self.here)} as large"
        rest = ""
        if self.others is not None:
            say, planned = (_pair if std else _times), f"each of the {self.number:,} other planned releases"
            if self.number == 1:
                planned = "the other planned release"
            rest = f", and {say(self.others)} in {planned} with an equal part of the rest"
            if say(self.others) == say(self.here):
                rest = f", here and in {planned}"
        then, now = (f"{percent_at_most(each)} %" for each in self.found)
        return (
            f"{first}{rest}. An attacker who accepts 5 % false alarms would find up to {then} of those present instead "
            f"of {now}. Nothing is paid from this budget yet, so it can be reopened with delta={self.delta:g}."
        )


def _pair(sizes: tuple[float, float]) -> str:
    return f"{rounded(sizes[0], 3)} instead of {rounded(sizes[1], 3)}"


def _times(sizes: tuple[float, float]) -> str:
    return f"{rounded(sizes[0] / sizes[1], 3)} times"


def other_terms(terms: Terms) -> Terms | None:
    """The other kind, for the same epsilon; None for an allocation, and for a budget with a reserve for another kind of
    release, which was chosen for that."""
    if terms.part is not None or terms.threshold_delta or (terms.pure_epsilon and not terms.laplace_only):
        return None
    delta = DELTA if terms.laplace_only else 0
    return Terms.of(epsilon=terms.epsilon, delta=delta, neighbours=terms.neighbours)


def beside(request: PrivacyRequest, cost: Cost, own: float, error: Error) -> OtherKind | None:
    """What the other kind of budget would buy for the share of this request, where that is less; None: it is not, it
    would protect nobody while this one does, or the kind is settled, by a payment or by a mechanism that was asked for.

    cost, own: of this release, and its error. error: of a release as requested.
    """
    if (budget := request.budget) is None:
        return None
    terms = budget.terms
    other = other_terms(terms)
    share = terms.share(cost)
    if other is None or request.mechanism != "auto" or share > 1 or budget._paid():
        return None
    own_strength, other_strength = strength(terms), strength(other)
    if other_strength.protects_nobody and not own_strength.protects_nobody:
        return None
    instead, number = cast("Budget", _Unspent(other)), (terms.releases or 1) - 1
    rest = (1 - share) / number if number else Fraction(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.Wasteful)  # of Laplace noise that is only compared
            here = error(_paid_from(instead, request, share)), own
            others = None
            if rest >= LEAST_SHARE:
                others = error(_paid_from(instead, request, rest)), error(_paid_from(budget, request, rest))
    except (errors.InvalidParameter, errors.OutOfRange):  # this question has noise of the other kind alone, or too much
        return None
    if not any(pair is not None and pair[0] < _LESS * pair[1] for pair in (here, others)):
        return None
    mechanism = "laplace" if other.laplace_only else "gaussian"
    return OtherKind(mechanism, float(other.delta), here, others, number, (other_strength.found, own_strength.found))


@dataclass(frozen=True, slots=True)
class _Unspent:
    """A budget that is in no ledger, of which nothing can be spent: for what its terms would buy."""

    terms: Terms

    @property
    def strength(self) -> Strength:
        return strength(self.terms)

    def _debit(self, debit: Debit) -> None:
        raise NotImplementedError


def _paid_from(budget: Budget, request: PrivacyRequest, share: Fraction) -> PrivacyRequest:
    """The same for this share of this budget."""
    return replace(request, budget=budget, share=share, epsilon=None, delta=None, sigma=None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The noise of each of the planned releases, with equal shares, on a number that one unit changes by one."""

    releases: int
    std: float
    other_std: float
    other_delta: float

    @property
    def other_is_less(self) -> bool:
        """Whether a budget of the other kind has less noise."""
        return self.other_std < _LESS * self.std

    def in_words(self, *, paid: bool) -> str:
        """paid: something was, so that the kind is settled."""
        many = "1 planned release" if self.releases == 1 else f"each of {self.releases:,} planned releases"
        kinds = ("Gaussian", "Laplace") if not self.other_delta else ("Laplace", "Gaussian")
        less = ", which is not less"
        if self.other_is_less:
            less = "" if paid else f": reopen it with delta={self.other_delta:g} while nothing is paid"
        return (
            f"In {many} with equal shares, a number that one unit changes by 1 has {kinds[0]} noise of standard "
            f"deviation {rounded(self.std, 3)}; {kinds[1]} noise from a budget with delta={self.other_delta:g} would "
            f"have {rounded(self.other_std, 3)}{less}."
        )


def plan(terms: Terms) -> Plan | None:
    """What the plan of a budget means for its noise; None without one."""
    other = other_terms(terms)
    if other is None or terms.releases is None:
        return None
    return Plan(terms.releases, _std(terms), _std(replace(other, releases=terms.releases)), float(other.delta))


def _std(terms: Terms) -> float:
    """On one count, of a share of one over the planned releases."""
    many, one = terms.releases or 1, VectorPlanner(bins=1, integers=True, sensitivity=1.0, l1_sensitivity=1.0)
    if terms.laplace_only:
        return one.laplace(round_down(terms.epsilon / many)).error
    return one.gaussian(terms.mu**2 / many).error
