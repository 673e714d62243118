"""The noise of several statistics of the same rows, decided from public facts alone, and the promise that comes of it.

Each part (`joint_cost.Part`) has noise of its own scale. What is least is the sum of the variances of the statistics,
each relative to its own scale (what one row can add) and times its weight: with c the weights of all statistics that
need a part, and p its size in `joint_cost`, that is sum c/p for Gaussian noise and sum c/p^2 for Laplace noise, at a
given sum of p. So p grows like c^(1/2), or c^(1/3): a count that three statistics share has less noise than one that
only one needs. Missing values cost nothing up to the p of their column's values, and get that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.joint_cost import Part, gaussian_cost, laplace_cost
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.privacy.noise_reason import NoiseReason, compared_in_words
from leastnoise.privacy.sensitivity import Limits

MAX_SCALE = 2.0**52  # of Gaussian noise on whole numbers: the sampler's own limit, with which it is below 2^62
MAX_LAPLACE_SCALE = 2.0**43


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryNoise:
    """The noise of one release of several statistics."""

    mechanism: Mechanism
    parts: tuple[Part, ...]
    scales: Mapping[str, float]  # of the noise on the whole numbers of each part
    cost: Fraction  # what one unit costs at most: mu^2, or epsilon of Laplace noise
    error: float  # what was to be least: the root of a weighted mean of relative variances
    guarantee: GaussianDP | PureDP
    delta: float | None = None
    other_error: float | None = None  # of the noise that lost, where two were compared
    reason: NoiseReason | None = None

    @property
    def compared(self) -> float | None:
        """Its error over that of the other mechanism; None: they were not compared."""
        return None if self.other_error is None else self.error / self.other_error


@dataclass(frozen=True, slots=True)
class Asked:
    """Which parts, how much each counts, and how much of one unit is in them."""

    parts: tuple[Part, ...]
    needed: Mapping[str, float]  # of each part but missing ones: the weights of the statistics that need it
    limits: Limits
    bins: int
    neighbours: Neighbours


def gaussian_noise(asked: Asked, *, mu_squared: Fraction) -> SummaryNoise:
    """As little Gaussian noise as mu_squared allows. asked: the parts. mu_squared: what one unit may cost, exactly."""
    sizes = relative_sizes(asked, 1 / 2)
    rough = {part.name: part.largest / math.sqrt(sizes[part.name]) for part in asked.parts}
    root = math.sqrt(_cost(gaussian_cost, asked, rough) / mu_squared)
    scales, cost = _within(gaussian_cost, asked, {name: root * scale for name, scale in rough.items()}, mu_squared)
    _check_scale(max(scales.values()), MAX_SCALE)
    return SummaryNoise(
        mechanism="gaussian",
        parts=asked.parts,
        scales=scales,
        cost=cost,
        error=_error(asked, {name: Gaussian(scale, 1.0).std for name, scale in scales.items()}),
        guarantee=GaussianDP(sqrt_up(cost), asked.neighbours),
    )


def laplace_noise(asked: Asked, *, epsilon: Number) -> SummaryNoise:
    """As little Laplace noise as epsilon allows. asked: the parts. epsilon: what one unit may cost."""
    spend = validation.number("epsilon", epsilon)
    sizes = relative_sizes(asked, 1 / 3)
    rough = {part.name: part.largest / sizes[part.name] for part in asked.parts}
    factor = float(_cost(laplace_cost, asked, rough)) / spend if spend else math.inf
    _check_scale(max(rough.values()) * factor, MAX_LAPLACE_SCALE)
    start = {name: factor * scale for name, scale in rough.items()}
    scales, cost = _within(laplace_cost, asked, start, Fraction(spend))
    return SummaryNoise(
        mechanism="laplace",
        parts=asked.parts,
        scales=scales,
        cost=cost,
        error=_error(asked, {name: Laplace(scale, 1.0).std for name, scale in scales.items()}),
        guarantee=PureDP(round_up(cost), asked.neighbours),
        delta=0.0,
    )


def relative_sizes(asked: Asked, power: float) -> dict[str, float]:
    """p of every part, up to one factor for all; of missing values the sum over their column's signed parts."""
    found = {part.name: asked.needed[part.name] ** power for part in asked.parts if part.kind != "missing"}
    for part in asked.parts:
        if part.kind == "missing":
            signed = [other for other in asked.parts if other.kind == "signed" and other.column == part.column]
            found[part.name] = math.fsum(found[other.name] for other in signed)
    return found


def _cost(rule: Callable[..., Fraction], asked: Asked, scales: Mapping[str, float]) -> Fraction:
    return rule(asked.parts, scales, limits=asked.limits, bins=asked.bins, neighbours=asked.neighbours)


def _within(
    rule: Callable[..., Fraction], asked: Asked, scales: Mapping[str, float], allowed: Fraction
) -> tuple[dict[str, float], Fraction]:
    """The scales, raised by as many ulps as it takes until the exact cost is allowed."""
    nudge = 1.0
    for step in range(64):
        raised = {name: nudge * scale for name, scale in scales.items()}
        cost = _cost(rule, asked, raised)
        if cost <= allowed:
            return raised, cost
        nudge = 1.0 + 2.0 ** (step - 52)
    raise errors.OutOfRange("No noise that a double can hold keeps this promise. Allow more epsilon.")


def _error(asked: Asked, stds: Mapping[str, float]) -> float:
    """The root of the weighted mean of the variances, each relative to what one row can add."""
    total = math.fsum(asked.needed.values())
    largest = {part.name: part.largest for part in asked.parts}
    return math.sqrt(
        math.fsum(weight * (stds[name] / largest[name]) ** 2 for name, weight in asked.needed.items()) / total
    )


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


def _check_scale(scale: float, most: float) -> None:
    if scale > most:
        raise errors.OutOfRange(
            f"The noise would be wider than {most:.3g} steps of the integers that are added up. Allow more epsilon, or "
            "fewer rows of a unit."
        )
