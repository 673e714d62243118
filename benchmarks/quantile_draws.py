"""Quantiles drawn by the thousand: in doubles, from the probabilities that the exact sampler has.

The library draws exactly, which takes up to a second where rows are many; here only errors and coverage are looked at,
and 1e-12 of a probability is not seen in them. The pieces are the library's own; a test compares both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.budget.quantile_charge import QuantileCharge
from leastnoise.curator.quantile_mechanism import CUTS, Part, candidates, counts_between
from leastnoise.curator.queries.quantile import Quantile
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import StepWeights, step_weights
from leastnoise.privacy.level_tree import Node
from leastnoise.privacy.rank_noise import RankNoise, RankRates
from leastnoise.releases.noise import Noise
from leastnoise.releases.quantile_histogram import HistogramQuantiles, quantile_ends
from leastnoise.releases.release import Release
from leastnoise.releases.sum_moments import moments

Ints = NDArray[np.int64]


def counted(values: NDArray[Any], query: Quantile) -> Ints:
    """How many of the values lie in each step of the clip."""
    steps = query.steps
    places = ((np.clip(values, steps.low, steps.high) - steps.low) * steps.scale).astype(np.int64)
    return np.bincount(np.minimum(places, steps.bins - 1), minlength=steps.bins)


@dataclass(frozen=True)
class Drawer:
    """Draws of one mechanism of one question about given values, one row a person."""

    query: Quantile
    chosen: QuantileCharge
    counts: Ints
    rng: np.random.Generator

    @classmethod
    def of(cls, query: Quantile, chosen: QuantileCharge, values: NDArray[Any], seed: int) -> Drawer:
        asked = query.fine if chosen.steps is None else query.counted(chosen.steps)
        return cls(asked, chosen, counted(values, asked), np.random.default_rng(seed))

    @property
    def levels(self) -> list[float]:
        return [float(level) for level in self.query.levels]

    def rank_errors(self, confidence: float) -> NDArray[np.float64]:
        """By how many rows each rank is off at most."""
        noise = self.chosen.charge.noise
        if isinstance(noise, RankNoise):
            spread = step_weights(self.query.steps).total
            return np.array(noise.rates.rank_errors(spread=spread, confidence=confidence))
        return self._read(np.zeros_like(self.counts)).rank_errors(self.levels, confidence)

    def values(self) -> NDArray[np.float64]:
        """The quantiles of one draw."""
        if self.chosen.steps is None:
            return step_weights(self.query.steps).values[self._steps()]
        return self._read(self._noisy()).values(self.levels)[0]

    def values_and_interval(self, confidence: float) -> tuple[Any, Any, Any]:
        """Those of one draw, and the interval of each."""
        noise = self.chosen.charge.noise
        if not isinstance(noise, RankNoise):
            read = self._read(self._noisy())
            low, high = read.interval(self.levels, confidence)
            return read.values(self.levels)[0], low[0], high[0]
        found, steps = self._steps(), self.query.steps
        edges = edges_around(found, steps.bins)
        occupied = np.flatnonzero(self.counts)
        between = counts_between(occupied, self.counts[occupied], edges)
        assert noise.counts is not None
        between = between + self._noise(noise.counts, len(between))
        first, last = quantile_ends(
            between.astype(float), self.levels, noise.counts.distribution, confidence, moments(len(between))
        )
        width = (steps.high - steps.low) / steps.bins
        low, high = steps.low + width * (edges[first] - 2.0**-30), steps.low + width * (edges[last] + 2.0**-30)
        return step_weights(steps).values[found], low, high

    def _noisy(self) -> Ints:
        strategy = self.chosen.strategy
        exact = self.counts if strategy is None else strategy.apply(self.counts)
        return exact + self._noise(self.chosen.charge.noise, len(exact))

    def _noise(self, noise: Any, size: int) -> Ints:
        if noise.mechanism == "gaussian":
            return np.rint(self.rng.normal(0, noise.scale, size)).astype(np.int64)
        one, other = self.rng.geometric(-np.expm1(-1 / noise.scale), (2, size))
        return one - other

    def _read(self, noisy: Ints) -> HistogramQuantiles:
        noise: Any = self.chosen.charge.noise
        made = Release(values=noisy, noise=Noise(noise.mechanism, noise.scale, noise.grid), kind="quantile")
        return HistogramQuantiles(made, self.query.steps, 1, self.chosen.strategy)

    def _steps(self) -> Ints:
        noise = self.chosen.charge.noise
        assert isinstance(noise, RankNoise)
        occupied = np.flatnonzero(self.counts)
        return steps_by_rank(occupied, self.counts[occupied], noise.rates, step_weights(self.query.steps), self.rng)


def steps_by_rank(steps: Ints, counts: Ints, rates: RankRates, weights: StepWeights, rng: np.random.Generator) -> Ints:
    """What `quantile_steps` draws."""
    between: dict[Any, Part] = {(None, None): Part(steps, counts, 0, len(weights.values) - 1)}
    found = np.zeros(len(rates.levels), dtype=np.int64)
    for node in rates.nodes:
        part = between.pop((node.below, node.above))
        found[node.place], cut = _one(part, node, float(rates.rank_rate(node)), weights, rng)
        if node.divides:
            below, above = part.divided(int(found[node.place]), cut)
            between |= {(node.below, node.place): below, (node.place, node.above): above}
    return found


def _one(part: Part, node: Node, rate: float, weights: StepWeights, rng: np.random.Generator) -> tuple[int, int]:
    pieces, begins, first = candidates(part, node, weights)
    places = CUTS if node.divides else 1
    rate /= part.scale * node.relative.denominator * places
    count, slope = pieces.counts.astype(float), pieces.steps.astype(float) * rate
    start = pieces.starts.astype(float)
    away = np.clip(rate * (start - start[count > 0].min()), 0, 700)
    with np.errstate(divide="ignore", invalid="ignore"):
        many = np.where((count <= 1) | (slope == 0), count, np.expm1(-slope * count) / np.expm1(-slope))
    ends = np.cumsum(np.where(count > 0, pieces.weights.astype(float) * np.exp(-away) * many, 0.0))
    at = min(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")), len(ends) - 1)
    gaps = len(ends) - (2 if node.divides else 1) * len(part.steps)
    if at < gaps:
        within = int(weights.before[int(begins[at])]) + int(rng.integers(int(pieces.weights[at]) // places))
        return int(np.searchsorted(weights.before, within, side="right")) - 1, 0
    size, place = int(pieces.counts[at]), 0
    if size > 1 and slope[at]:
        place = min(size - 1, int(-np.log1p(rng.random() * np.expm1(-slope[at] * size)) / slope[at]))
    elif size > 1:
        place = int(rng.integers(size))
    under = node.divides and at < gaps + len(part.steps)
    return int(begins[at]), int(first[at]) + (-place if under else place)
