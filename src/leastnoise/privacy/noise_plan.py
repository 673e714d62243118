"""The noise of one release, decided from public facts alone and not paid yet: plans, who makes them, and why.

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
from leastnoise.privacy.unit_cost import UnitCost

Mechanism = Literal["gaussian", "laplace"]
Choice = Literal["auto", "gaussian", "laplace", "exponential"]  # the last one: of quantiles alone

MAX_SCALE: dict[Mechanism, float] = {  # of noise on integers: the samplers' own limits, with which it is below 2^62
    "gaussian": 2.0**52,
    "laplace": 2.0**43,
}


ReasonCode = Literal[
    "requested",
    "sigma given",
    "delta is zero",
    "epsilon is zero",
    "no L1 sensitivity",
    "smaller",
    "stronger",
    "budget share",
    "budget of Laplace noise",
    "budget with a delta",
    "added elsewhere",
    "rank error",
]
_SENTENCES: dict[ReasonCode, str] = {
    "requested": "{} noise: asked for.",
    "sigma given": "{} noise: its sigma was given.",
    "delta is zero": "{} noise: delta = 0 has no Gaussian.",
    "epsilon is zero": "{} noise: at epsilon = 0 delta alone is the guarantee, and there is no {} noise.",
    "no L1 sensitivity": "{} noise: without the L1 sensitivity Laplace noise cannot compete.",
    "smaller": "{} noise: less than {} noise.",
    "stronger": "{} noise: {} noise would protect nobody in practice.",
    "budget share": "{} noise: a share of a budget.",
    "budget of Laplace noise": "{} noise: this budget is for no other.",
    "budget with a delta": "{} noise: a budget with a delta counts in it, and it adds up exactly.",
    "added elsewhere": "The noise was added elsewhere.",
    "rank error": "{}: the least error in ranks.",
}
REASON_CODES = tuple(_SENTENCES)


@dataclass(frozen=True, slots=True)
class NoiseReason:
    """Why this noise was chosen; `other_std` is the standard deviation of the noise that lost, where two were compared.

    >>> NoiseReason("smaller", 7.5).in_words("laplace", 5.25)
    'Laplace noise: its standard deviation 5.25 is less than the 7.5 of Gaussian noise for the same epsilon and delta.'
    """

    code: ReasonCode
    other_std: float | None = None

    def in_words(self, mechanism: str, std: float) -> str:
        """The sentence about noise of this mechanism and standard deviation."""
        if mechanism == "exponential" or self.code == "rank error":
            return self._of_ranks(mechanism)
        name, other = mechanism.capitalize(), "Gaussian" if mechanism == "laplace" else "Laplace"
        if self.other_std is None:
            return _SENTENCES[self.code].format(name, other)
        if self.code == "stronger":
            return (
                f"{name} noise: its standard deviation {std:.4g} is more than the {self.other_std:.4g} of {other} "
                "noise, which for the same epsilon and delta protects nobody in practice."
            )
        return (
            f"{name} noise: its standard deviation {std:.4g} is less than the {self.other_std:.4g} of {other} noise "
            f"for the same epsilon and delta."
        )

    def _of_ranks(self, mechanism: str) -> str:
        """Of quantiles, which are drawn by rank or read off a noisy histogram: `other_std` is in rows."""
        drawn = mechanism == "exponential"
        name = "The exponential mechanism on ranks" if drawn else f"{mechanism.capitalize()} noise on a histogram"
        if self.other_std is None:
            return f"{name}: {'a share of a budget' if self.code == 'budget share' else 'asked for'}."
        other = "read off a noisy histogram" if drawn else "drawn by rank"
        return f"{name}: {other}, ranks would typically be off by {self.other_std:.4g} rows."


def compared_in_words(ratio: float, other: str) -> str:
    """Its error over that of the other noise. More than one: the other was not taken, since it protects nobody.

    >>> compared_in_words(0.886, "Laplace")
    ' Its error is 0.886 of that of Laplace noise for the same epsilon and delta.'
    """
    if ratio > 1:
        return (
            f" Its error is {ratio:.3g} times that of {other} noise, which for the same epsilon and delta protects "
            "nobody in practice."
        )
    return f" Its error is {ratio:.3g} of that of {other} noise for the same epsilon and delta."


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
    """What planners share whose blocks have noise of their own: what a promise buys, what a budget pays, and that no
    sigma says enough."""

    __slots__ = ()
    explains: ClassVar[bool] = False
    what: ClassVar[str]  # has noise of its own

    @property
    @abstractmethod
    def unit_cost(self) -> UnitCost[Any]:
        """What one unit costs."""

    @abstractmethod
    def gaussian(self, mu_squared: Fraction) -> Plan:
        """Gaussian noise of which one unit costs at most this."""

    def price(self, plan: Plan) -> Fraction:
        """mu^2, rounded up: of Gaussian noise that of the guarantee that is published."""
        if isinstance(plan.guarantee, GaussianDP):
            return Fraction(plan.guarantee.mu) ** 2
        return self.unit_cost.laplace_mu_squared(plan.scales)

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


def check_scale(scale: float, mechanism: Mechanism, cure: str) -> None:
    """Refuse noise that is too wide for exact 64-bit arithmetic.

    scale: the largest. cure: what to do, as a sentence.
    """
    most = MAX_SCALE[mechanism]
    if scale > most:
        raise errors.OutOfRange(
            f"The noise would be wider than {most:.3g} steps of the integers that are published. {cure}"
        )
