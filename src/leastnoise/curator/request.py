"""How private a release must be: (epsilon, delta), or sigma, or a share of a budget.

Whatever in these six contradicts itself is refused here, before anything is decided, paid or read. That each number is
in its range is checked where it becomes a double, rounded toward privacy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.runtime import user_stacklevel
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.curator.budget.state import checked_line
from leastnoise.curator.budget.terms import Share
from leastnoise.privacy import calibration
from leastnoise.privacy.noise_plan import Choice

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget
    from leastnoise.curator.budget.charge import Debit

_BUDGET = {"budget": errors.Code('ln.Budget.open("city.ledger")', "city.ledger")}


@runtime_checkable
class Payer(Protocol):
    """An open budget, as far as a request has to know it."""

    def _debit(self, debit: Debit) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyRequest:
    """What the caller of a release asks for; one value from the call to the debit."""

    epsilon: Number | None = None
    delta: Number | None = None
    sigma: Number | None = None
    mechanism: Choice = "auto"
    budget: Budget | None = None
    share: Share | None = None
    mechanisms: tuple[str, ...] = ("auto", "gaussian", "laplace")  # that this release may have
    note: str = ""

    def __post_init__(self) -> None:
        validation.word("mechanism", self.mechanism, self.mechanisms)
        self._check_budget()
        if self.sigma is not None and (self.epsilon is not None or self.delta is not None):
            raise errors.InvalidParameter(
                "sigma already fixes the noise, so epsilon and delta cannot be given too.",
                parameter="sigma",
                value=self.sigma,
                example=[{"epsilon": 1, "delta": 1e-6}, {"sigma": 3}],
            )

    def _check_budget(self) -> None:
        """A share is of a budget, and nothing else is given with it; a budget needs to know how much to spend."""
        if self.budget is None:
            if self.share is not None:
                raise errors.MissingParameter(
                    "A share is a part of a budget, and none was given.", parameter="budget", example=_BUDGET
                )
            if self.note:
                raise errors.MissingParameter(
                    "A note is kept by the ledger of a budget, and none was given.", parameter="budget", example=_BUDGET
                )
            return
        object.__setattr__(self, "note", checked_line("note", self.note, needed=False))
        if not isinstance(self.budget, Payer):
            raise errors.WrongType(
                f"budget must be an open one. Got {type(self.budget).__name__} instead.",
                parameter="budget",
                example=_BUDGET,
            )
        numbers = {"epsilon": self.epsilon, "delta": self.delta, "sigma": self.sigma}
        named = [name for name, value in numbers.items() if value is not None]
        if self.share is not None and named:
            raise errors.InvalidParameter(
                f"A share already fixes the noise, so {' and '.join(named)} cannot be given too.",
                parameter="share",
                value=self.share,
                example=[{"share": 0.25}, {"epsilon": 1, "delta": 1e-6}, {"sigma": 3}],
            )
        if self.share is None and not named:
            raise errors.MissingParameter(
                "How much of the budget may this take?",
                parameter="share",
                example=[{"share": 0.25}, {"epsilon": 1, "delta": 1e-6}],
            )

    def with_threshold(self, why: str) -> PrivacyRequest:
        """The same for bins that show from a threshold on: that takes Gaussian noise, and not a sigma of one's own."""
        if self.mechanism == "laplace" or self.sigma is not None:
            raise errors.InvalidParameter(
                f"{why}, so leave mechanism and sigma out.",
                parameter="mechanism",
                value=self.mechanism,
                example={"epsilon": 1, "delta": 1e-6},
            )
        return replace(self, mechanism="gaussian")

    def for_unknown_keys(self) -> PrivacyRequest:
        """The same for keys that nobody listed: their noise follows from the promise, which needs a delta."""
        if self.sigma is not None:
            raise errors.InvalidParameter(
                "Unknown keys are released with a threshold that belongs to the noise, so leave sigma out.",
                parameter="sigma",
                value=self.sigma,
                example={"epsilon": 1, "delta": 1e-6},
            )
        if validation.is_zero(self.delta):
            raise errors.InvalidParameter(
                "Keys that nobody listed show with some small probability, so they need a delta above 0. With a delta "
                "of 0, list the keys.",
                value=self.delta,
                example={"delta": 1e-6},
            )
        return self

    @property
    def caution(self) -> str:
        """What to know before the noise is paid for: at epsilon = 0 delta alone is the guarantee, and noise is about
        0.4/delta times the sensitivity. "" for any other epsilon, and where it is refused anyway."""
        if not validation.is_zero(self.epsilon) or self.delta is None or validation.is_zero(self.delta):
            return ""
        delta = validation.number("delta", self.delta)
        times = [calibration.sigma(epsilon=epsilon, delta=delta) for epsilon in (0, 0.1)]
        return (
            f"At epsilon = 0 delta alone is the guarantee, and Gaussian noise is {rounded(times[0])} times the "
            f"sensitivity; at epsilon = 0.1 it is {rounded(times[1])} times."
        )

    def warn(self) -> None:
        """Warn of noise that is seldom meant; public, and before anything is paid or read."""
        if self.caution:
            warnings.warn(self.caution, errors.Wasteful, stacklevel=user_stacklevel())

    def promise(self) -> tuple[Number, Number]:
        """(epsilon, delta), where neither a share nor a sigma can stand for them."""
        if self.epsilon is None:
            raise errors.MissingParameter(
                "How private should this be?", parameter="epsilon", example={"epsilon": 1, "delta": 1e-6}
            )
        if self.delta is None:
            raise errors.MissingParameter(
                "epsilon needs its delta: a small probability, or 0 for Laplace noise.",
                example=[{"delta": 1e-6}, {"delta": 0}],
            )
        return self.epsilon, self.delta
