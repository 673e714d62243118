"""The noise of a series: that of one period's question, wide enough for all periods that a unit is in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from leastnoise import errors
from leastnoise._support.rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.privacy.noise_plan import JointPlanner, NoisePlan, NoisePlanner, check_scale
from leastnoise.privacy.unit_cost import UnitCost
from leastnoise.workload.series import SeriesStrategy

TOO_WIDE = "Allow more epsilon, or fewer rows per unit."


@dataclass(frozen=True, slots=True)
class SeriesPlanner(JointPlanner[NoisePlan]):
    """Gaussian noise for a series of one question: its plan has the scales of one period, and the cost of all.

    period: the ways to add noise to the question of one period. strategy: how periods are combined.
    """

    period: NoisePlanner[Any]
    strategy: SeriesStrategy
    compares: ClassVar[bool] = False
    what: ClassVar[str] = "period of a series"

    @property
    def ratio(self) -> Fraction:
        """What a unit costs in all its periods, over what it costs in one: proved in `series`."""
        return Fraction(self.strategy.cost, self.strategy.step**2)

    def gaussian(self, mu_squared: Fraction) -> NoisePlan:
        """As little Gaussian noise as costs one unit at most this in all its periods."""
        plan: NoisePlan = self.period.gaussian(mu_squared / self.ratio)
        check_scale(max(plan.scales.values()) * self.strategy.step, "gaussian", TOO_WIDE)
        cost = plan.cost * self.ratio
        return replace(plan, cost=cost, guarantee=GaussianDP(sqrt_up(cost), plan.guarantee.neighbours))

    def laplace(self, epsilon: Number) -> NoisePlan:
        """Refused: sums of periods are at their best with Gaussian noise."""
        raise errors.InvalidParameter(
            "A series has Gaussian noise, which needs a delta above 0.",
            parameter="mechanism",
            example={"epsilon": 1, "delta": 1e-6},
        )

    @property
    def unit_cost(self) -> UnitCost[Any]:
        """Of Laplace noise, which a series never has."""
        raise TypeError("a series has Gaussian noise alone")
