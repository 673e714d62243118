"""The noise of one release, decided from public facts alone and not paid yet: plans, and who makes them.

Nothing here sees data, so nothing here can leak it; `expect` and `release` have the same plan, so what is expected is
what is released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy import calibration
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.noise_reason import NoiseReason

Mechanism = Literal["gaussian", "laplace"]
Choice = Literal["auto", "gaussian", "laplace", "exponential"]  # the last one: of quantiles alone

MAX_SCALE: dict[Mechanism, float] = {  # of noise on integers: the samplers' own limits, with which it is below 2^62
    "gaussian": 2.0**52,
    "laplace": 2.0**43,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """A scale of the noise on the integers of each block, what one unit costs, and the guarantee that comes of it."""

    mechanism: Literal["gaussian", "laplace", "exponential"]  # the last one: of ranks, to which nothing is added
    scales: Mapping[Any, float]
    cost: Fraction  # what one unit costs at most: mu^2 of Gaussian noise, else epsilon
    error: float  # what was to be least: by it plans of one question are compared
    guarantee: GaussianDP | PureDP | ApproxDP
    delta: float | None = None
    other_error: float | None = None  # of the noise that lost, where two were compared
    reason: NoiseReason | None = None
    sensitivity: float | None = None  # in L2, where all blocks have one noise
    l1_sensitivity: float | None = None

    @property
    def compared(self) -> float | None:
        """Its error over that of the other mechanism; None: they were not compared."""
        return None if self.other_error is None else self.error / self.other_error

    @property
    def described(self) -> str:
        """What a ledger says of it."""
        return f"{self.mechanism} noise on {len(self.scales)} numbers of each bin"


Plan = TypeVar("Plan", bound=NoisePlan)


class NoisePlanner(Protocol[Plan]):
    """The ways to add noise to the integers of one question: each as little as its argument allows."""

    @property
    def compares(self) -> bool:
        """Whether "auto" may take Laplace noise."""

    @property
    def explains(self) -> bool:
        """Whether a plan says why it was chosen where no budget pays for it."""

    def promised(self, epsilon: Number, delta: Number) -> Plan:
        """Gaussian noise that keeps this promise."""

    def gaussian(self, mu_squared: Fraction) -> Plan:
        """Gaussian noise of which one unit costs at most this."""

    def laplace(self, epsilon: Number) -> Plan:
        """Noise that is epsilon-DP: Laplace noise, or the exponential mechanism."""

    def of_sigma(self, sigma: Number, *, laplace: bool) -> Plan:
        """Noise of this standard deviation."""

    def price(self, plan: Plan) -> Fraction:
        """mu^2 of it, rounded up: what a budget with a delta pays."""


class JointPlanner(ABC, Generic[Plan]):
    """What planners share whose blocks have noise of their own: what a promise buys, and that no sigma says enough."""

    __slots__ = ()
    explains: ClassVar[bool] = False
    what: ClassVar[str]  # has noise of its own

    @abstractmethod
    def gaussian(self, mu_squared: Fraction) -> Plan:
        """Gaussian noise of which one unit costs at most this."""

    def promised(self, epsilon: Number, delta: Number) -> Plan:
        """Gaussian noise that keeps this promise."""
        allowed = 1 / Fraction(calibration.sigma(epsilon=epsilon, delta=delta)) ** 2  # of sensitivity one
        return replace(self.gaussian(allowed), delta=validation.number("delta", delta))

    def of_sigma(self, sigma: Number, *, laplace: bool) -> Plan:
        """Refused."""
        raise errors.InvalidParameter(
            f"Every {self.what} has noise of its own, so one standard deviation cannot be asked for. Say how private "
            "all of them together must be.",
            parameter="sigma",
            value=sigma,
            example={"epsilon": 1, "delta": 1e-6},
        )


def published_mu_squared(plan: NoisePlan) -> Fraction:
    """mu^2 of the guarantee that is published: of Gaussian noise."""
    assert isinstance(plan.guarantee, GaussianDP)
    return Fraction(plan.guarantee.mu) ** 2


def check_scale(scale: float, mechanism: Mechanism, cure: str) -> None:
    """Refuse noise that is too wide for exact 64-bit arithmetic.

    scale: the largest. cure: what to do, as a sentence.
    """
    most = MAX_SCALE[mechanism]
    if scale > most:
        raise errors.OutOfRange(
            f"The noise would be wider than {most:.3g} steps of the integers that are published. {cure}"
        )
