"""The noise of several statistics of the same rows, decided from public facts alone, and the promise that comes of it.

Each part (`unit_cost.Component`) has noise of its own scale. What is least is the sum of the variances of the
statistics, each relative to its own scale (what one row can add) and times its weight: with c the weights of all that
need a part, and p its size in `unit_cost`, that is sum c/p for Gaussian noise and sum c/p^2 for Laplace noise, at a
given sum of p. So p grows like c^(1/2), or c^(1/3): a count that three statistics share has less noise than one that
only one needs. Missing values cost nothing up to the p of their column's values, and get that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from leastnoise._support import validation
from leastnoise._support.rounding import round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.privacy.guarantees import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import (
    JointPlanner,
    Mechanism,
    NoisePlan,
    check_scale,
    compared_in_words,
)
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.unit_cost import BinComponents, Component, least_noise

TOO_WIDE = "Allow more epsilon, or fewer rows of a unit."


@dataclass(frozen=True, slots=True)
class StatisticsPlanner(JointPlanner[NoisePlan]):
    """The ways to add noise to these parts of every bin.

    needed: of each part but missing ones the weights of the statistics that need it. limits: how much of one unit is in
    them.
    """

    parts: tuple[Component, ...]
    needed: Mapping[str, float]
    limits: Limits
    bins: int
    neighbours: Neighbours
    compares: ClassVar[bool] = True
    what: ClassVar[str] = "statistic of a summary"

    @property
    def unit_cost(self) -> BinComponents:
        """What one unit costs in these parts."""
        return BinComponents(self.parts, self.limits, self.bins, self.neighbours)

    def gaussian(self, mu_squared: Fraction) -> NoisePlan:
        """As little Gaussian noise as costs one unit at most this."""
        sizes = relative_sizes(self, 1 / 2)
        rough = {part.name: part.largest / math.sqrt(sizes[part.name]) for part in self.parts}
        scales, cost = least_noise(self.unit_cost.mu_squared, rough, mu_squared, power=2)
        return self._plan("gaussian", scales, cost, GaussianDP(sqrt_up(cost), self.neighbours), None)

    def laplace(self, epsilon: Number) -> NoisePlan:
        """As little Laplace noise as epsilon allows."""
        spend = validation.number("epsilon", epsilon)
        if not spend:
            check_scale(math.inf, "laplace", TOO_WIDE)
        sizes = relative_sizes(self, 1 / 3)
        rough = {part.name: part.largest / sizes[part.name] for part in self.parts}
        scales, cost = least_noise(self.unit_cost.epsilon, rough, Fraction(spend), power=1)
        return self._plan("laplace", scales, cost, PureDP(round_up(cost), self.neighbours), 0.0)

    def _plan(
        self,
        mechanism: Mechanism,
        scales: Mapping[str, float],
        cost: Fraction,
        guarantee: GaussianDP | PureDP,
        delta: float | None,
    ) -> NoisePlan:
        check_scale(max(scales.values()), mechanism, TOO_WIDE)
        law = Gaussian if mechanism == "gaussian" else Laplace
        error = self._error({name: law(scale, 1.0).std for name, scale in scales.items()})
        return NoisePlan(mechanism=mechanism, scales=scales, cost=cost, error=error, guarantee=guarantee, delta=delta)

    def _error(self, stds: Mapping[str, float]) -> float:
        """The root of the weighted mean of the variances, each relative to what one row can add."""
        total = math.fsum(self.needed.values())
        largest = {part.name: part.largest for part in self.parts}
        return math.sqrt(
            math.fsum(weight * (stds[name] / largest[name]) ** 2 for name, weight in self.needed.items()) / total
        )


def relative_sizes(asked: StatisticsPlanner, power: float) -> dict[str, float]:
    """p of every part, up to one factor for all; of missing values the sum over their column's signed parts."""
    found = {part.name: asked.needed[part.name] ** power for part in asked.parts if part.kind != "missing"}
    for part in asked.parts:
        if part.kind == "missing":
            signed = [other for other in asked.parts if other.kind == "signed" and other.column == part.column]
            found[part.name] = math.fsum(found[other.name] for other in signed)
    return found


def noise_in_words(mechanism: str, weights: Sequence[float], ratio: float | None) -> str:
    """How the noise was divided, and why this mechanism.

    mechanism: "gaussian" or "laplace". weights: of the statistics. ratio: its error over that of the other one.
    """
    aim = "every statistic counting the same" if len(set(weights)) <= 1 else "the statistics weighted as was said"
    other = "Gaussian" if mechanism == "laplace" else "Laplace"
    compared = "" if ratio is None else compared_in_words(ratio, other)
    return (
        f"{mechanism.capitalize()} noise divided among the statistics for the least error relative to what one row can "
        f"add, {aim}.{compared}"
    )
