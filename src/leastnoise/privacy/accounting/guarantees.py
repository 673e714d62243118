"""Guarantees that carry more than (epsilon, delta): what the noise itself gives, for the accountant to compose.

LaplaceDP(epsilon, bins=5)                    Laplace noise, in up to five bins of one unit
SampledGaussianDP.of(sigma=1.1, sampling=0.01)      one step of training with Poisson-sampled batches
BoundedRangeDP(epsilon)                       the exponential mechanism
ThresholdDP(chance)                           bins that nobody listed
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number, Numbers
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.repeated import Repeatable

if TYPE_CHECKING:
    from leastnoise.privacy.composition import Composition

SAMPLING_NOTE = "Poisson sampling, add-remove, sums divided by the expected batch."
MOST_GRID_STEPS = 100_000
UNPROVED = {
    "fixed-size": "Batches of a fixed size are another mechanism: at the same rate their epsilon can be ten times that "
    "of Poisson sampling",
    "shuffled": "Shuffled batches are another mechanism, whose epsilon can be many times that of Poisson sampling",
}


class Accounted(Repeatable):
    """What the accountant gives to each of these guarantees."""

    __slots__ = ()

    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def profile(self, epsilon: Numbers) -> float | Floats:
        """delta(epsilon): the least delta that is promised at each epsilon (a number or an array), proved enough,
        and as a rule at most 0.1 % too large (not where it is below about 1e-30)."""
        from leastnoise.privacy.accounting.bracket import delta_bracket
        from leastnoise.privacy.accounting.parts import parts_of

        asked, parts = validation.numbers("epsilon", epsilon), parts_of([self])
        found = np.array([delta_bracket(parts, float(one), 1e-3).upper for one in asked.ravel()]).reshape(asked.shape)
        return found if found.ndim else float(found)

    def to_approx(self, *, delta: Number) -> Composition:
        """The least epsilon at this delta, proved enough, with `lower` proved too small.

        delta: between 0 and 1.
        """
        from leastnoise.privacy.composition import compose

        return compose(self, delta=delta)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class LaplaceDP(Accounted):
    """What Laplace noise gives, which is more than epsilon-DP: the largest loss is rare, and in several bins rarer.

    epsilon: of all bins together. bins: how many bins one unit changes at most, each by at most the same, so that each
    bin is epsilon/bins-DP by itself.
    grid_steps: how many steps of its grid one unit moves one bin at most, where the noise is drawn on a grid: 1 for
        counts with one row a bin. None: continuous noise.
    neighbours: "add-remove" or "replace", what one unit's change means.

    >>> LaplaceDP(0.5, bins=5).to_gaussian().mu ** 2 < 0.08 < 0.38 < PureDP(0.5).to_gaussian().mu ** 2
    True
    """

    epsilon: float
    bins: int = 1
    grid_steps: int | None = None
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, up=True))
        validation.integer("bins", self.bins)
        if self.grid_steps is not None and validation.integer("grid_steps", self.grid_steps) > MOST_GRID_STEPS:
            raise errors.InvalidParameter(
                f"A grid on which one unit moves a bin by more than {MOST_GRID_STEPS:,} steps has too many losses to "
                "compose. PureDP of the same epsilon is always safe.",
                parameter="grid_steps",
                value=self.grid_steps,
            )
        check_neighbours(self.neighbours)

    def to_pure(self) -> PureDP:
        """epsilon alone."""
        return PureDP(self.epsilon, self.neighbours)

    def to_gaussian(self) -> GaussianDP:
        """The least mu whose curve lies below this one's, in each bin: mu^2 = bins mu(epsilon/bins)^2, rounded up."""
        from leastnoise.privacy.gaussian_price import geometric_mu, laplace_mu

        each = Fraction(self.epsilon) / self.bins
        mu = laplace_mu(each) if self.grid_steps is None else geometric_mu(each, self.grid_steps)
        with proof.precision(128):
            return GaussianDP(proof.upward(arb(self.bins).sqrt() * arb(mu)), self.neighbours)


@dataclass(frozen=True, slots=True)
class SampledGaussianDP(Accounted):
    """One step with Poisson sampling: each unit takes part with chance `sampling`, by itself, and noise of
    `noise_multiplier` sensitivities is added to the sum, which is divided by the *expected* batch. neighbours:
    "add-remove", for nothing is proved of others.

    >>> step = SampledGaussianDP.of(sigma=1.1, sampling=256 / 60000)
    >>> round((step * 10).to_approx(delta=1e-5).epsilon, 2)
    0.1
    """

    noise_multiplier: float
    sampling: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", validation.number("sigma", self.noise_multiplier))
        object.__setattr__(self, "sampling", check_sampling(self.sampling))
        if check_neighbours(self.neighbours) != "add-remove":
            raise errors.InvalidParameter(
                "With sampling, the worst pair of tables that differ by exchanging one unit's rows is not known in "
                "more than one dimension, so nothing is promised for it.",
                parameter="neighbours",
                value=self.neighbours,
                example={"neighbours": "add-remove"},
            )

    @classmethod
    def of(
        cls, *, sigma: Number, sampling: Number, sensitivity: Number = 1.0, neighbours: Neighbours = "add-remove"
    ) -> SampledGaussianDP:
        """The guarantee of one step.

        sigma: the standard deviation of the noise in the sum. sampling: the chance that a unit takes part, above 0 and
        at most 1. sensitivity: how far one unit can move the sum (L2): where gradients are clipped, the clipping norm.
        neighbours: "add-remove"; for "replace" nothing is proved.
        """
        sigma, sensitivity = validation.number("sigma", sigma), validation.number("sensitivity", sensitivity)
        with proof.precision(128):
            return cls(proof.downward(arb(sigma) / arb(sensitivity)), sampling, neighbours)  # type: ignore[arg-type]

    def to_gaussian(self) -> GaussianDP:
        """As if every unit took part always: no smaller mu is enough for every delta."""
        with proof.precision(128):
            return GaussianDP(proof.upward(1 / arb(self.noise_multiplier)), self.neighbours)


@dataclass(frozen=True, slots=True)
class BoundedRangeDP(Accounted):
    """What the exponential mechanism gives: all its losses lie in an interval of length epsilon.

    epsilon: the range of the losses: of scores that change by between a and b, (b - a) times their factor.
    neighbours: "add-remove" or "replace", what one unit's change means.
    """

    epsilon: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, up=True))
        check_neighbours(self.neighbours)

    def to_pure(self) -> PureDP:
        """epsilon alone."""
        return PureDP(self.epsilon, self.neighbours)

    def to_gaussian(self) -> GaussianDP:
        """mu = -2 Phi^-1(1/(1 + e^(epsilon/2))), rounded up: that of epsilon/2-DP (proof in `gaussian_price`)."""
        from leastnoise.privacy.gaussian_price import bounded_range_mu

        return GaussianDP(bounded_range_mu(Fraction(self.epsilon)), self.neighbours)


@dataclass(frozen=True, slots=True)
class ThresholdDP(Accounted):
    """Bins that nobody listed: a bin that only one unit has is shown with this chance at most. Compose it with the
    GaussianDP of the counts.

    chance: between 0 and 1. neighbours: "add-remove", for nothing is proved of others.
    """

    chance: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "chance", validation.number("delta", self.chance, up=True))
        if check_neighbours(self.neighbours) != "add-remove":
            raise errors.InvalidParameter(
                "The accountant knows unknown keys for neighbours that add or remove one unit.",
                parameter="neighbours",
                value=self.neighbours,
                example={"neighbours": "add-remove"},
            )


def check_sampling(value: object) -> float:
    """A sampling rate: above 0, at most 1, rounded up. Other ways to make batches are refused by name."""
    if isinstance(value, str):
        reason = UNPROVED.get(value, f"{value!r} is no rate")
        raise errors.InvalidParameter(
            f"{reason}; only Poisson sampling, where each unit is drawn by itself, is proved here. Its rate is the "
            "expected batch divided by the number of units.",
            parameter="sampling",
            value=value,
            example={"sampling": 0.01},
        )
    rate = validation.number("sampling", value, up=True)
    if rate > 1:
        raise errors.InvalidParameter(
            f"sampling is the chance that a unit takes part in a step, so at most 1. Got {rate!r} instead.",
            parameter="sampling",
            value=value,
            example={"sampling": 0.01},
        )
    return rate
