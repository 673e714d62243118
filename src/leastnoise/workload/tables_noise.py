"""The noise of a set of tables, decided from public facts alone: of every block, and the promise that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from leastnoise import errors
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise.privacy.guarantee import GaussianDP, Promise
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.workload.integer_noise import scales_within
from leastnoise.workload.sensitivity import squared_cost
from leastnoise.workload.strategy import Strategy, Weights
from leastnoise.workload.workload import Workload

MAX_SCALE = 2.0**52  # of noise on whole numbers: the samplers' own limit, with which the noise is below 2^62
Table = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TablesNoise:
    """The noise of one release of several tables."""

    mechanism: Mechanism
    strategy: Strategy
    scales: Mapping[Table, float]  # of the noise on the integers of each block
    mu_squared: Fraction  # what one unit costs, at most
    guarantee: GaussianDP
    delta: float | None
    reason: NoiseReason | None

    @property
    def workload(self) -> Workload:
        """The tables."""
        return self.strategy.workload

    @property
    def weights(self) -> str:
        """What the noise is optimal for."""
        return str(self.strategy.certificate["weights"])

    @property
    def gap(self) -> float:
        """How far the error may be above the least of any Gaussian linear mechanism under add-remove."""
        return self.strategy.gap

    @property
    def note(self) -> str:
        """Why this noise was chosen, and how good it is, in words."""
        return noise_in_words(self.weights, self.guarantee)


def noise_in_words(weights: str, guarantee: Promise | None) -> str:
    """What the noise of a set of tables is best for.

    weights: as the strategy's certificate says them. guarantee: what is promised.
    """
    aims = {
        "tables": "every table counting the same",
        "cells": "every cell counting the same",
        "worst": "the least accurate table counting alone",
    }
    aim = aims.get(weights, "the tables weighted as was said")
    of_replace = guarantee is not None and guarantee.neighbours == "replace"
    return (
        f"Gaussian noise divided among the tables so that, {aim}, no other Gaussian noise on linear sums has less error"
        f"{' (under add-remove, which it was divided for)' if of_replace else ''}."
    )


def gaussian_noise(
    workload: Workload, weights: Weights, *, mu_squared: Fraction, row_size: int, neighbours: Neighbours
) -> TablesNoise:
    """As little Gaussian noise as mu_squared allows, in the proportions that are best for these weights.

    workload: the tables. weights: what is to be least, as in `Workload.optimize`.
    mu_squared: what one unit may cost, exactly. row_size: the most that its rows add up to, in whole steps.
    neighbours: "add-remove" or "replace".
    """
    strategy = workload.optimize(weights=weights)
    scales = scales_within(strategy, mu_squared, unit=row_size, parts=row_size, neighbours=neighbours)
    if max(scales.values()) > MAX_SCALE:
        raise errors.OutOfRange(
            f"The noise would be wider than {MAX_SCALE:.3g} steps of the integers that are counted. Use coarser keys, "
            "a larger epsilon, or fewer rows of a unit."
        )
    cost = Fraction(squared_cost(scales, workload.sizes, parts=row_size, neighbours=neighbours))
    return TablesNoise(
        mechanism="gaussian",
        strategy=strategy,
        scales=scales,
        mu_squared=cost,
        guarantee=GaussianDP(sqrt_up(cost), neighbours),
        delta=None,
        reason=None,
    )
