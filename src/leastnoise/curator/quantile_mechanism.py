"""Quantiles of exact counts by the exponential mechanism on ranks: PRIVATE counts in, steps of the clip out.

What is drawn and what it costs, `privacy.rank_noise` proves. Counts are whole numbers; where the rows of a step are
divided between two sides, all counts are first multiplied by CUTS, so that they stay whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.noise.exponential import Pieces, choose
from leastnoise.curator.rows.totals import saturate
from leastnoise.domain.round_numbers import StepWeights
from leastnoise.privacy.rank_noise import CUTS, Node, RankRates

_INT64_SAFE = 2**60


@dataclass(frozen=True, slots=True)
class Part:
    """Rows between two cuts: occupied steps in order and their counts, in units of 1/scale of a row; the candidates
    are the steps from first to last."""

    steps: NDArray[np.int64]
    counts: NDArray[Any]
    first: int
    last: int
    scale: int = 1

    def divided(self, step: int, cut: int) -> tuple[Part, Part]:
        """The rows below and above the place cut/CUTS of this step; both may end in it, where they have rows of it."""
        counts = _wide(self.counts, CUTS) * CUTS
        at = int(np.searchsorted(self.steps, step))
        scale = self.scale * CUTS
        if at == len(self.steps) or self.steps[at] != step or cut == 0:
            low, high = (self.steps[:at], counts[:at]), (self.steps[at:], counts[at:])
        else:
            own = int(self.counts[at])
            below = np.concatenate([counts[:at], _like(counts, own * cut)])
            above = np.concatenate([_like(counts, own * (CUTS - cut)), counts[at + 1 :]])
            low, high = (self.steps[: at + 1], below), (self.steps[at:], above)
        return Part(*low, self.first, step, scale), Part(*high, step, self.last, scale)


def quantile_steps(
    steps: NDArray[np.int64], counts: NDArray[np.int64], rates: RankRates, weights: StepWeights
) -> NDArray[np.int64]:
    """The step of each level, in order, of one group: occupied steps, rising, and how many rows each has."""
    last = len(weights.values) - 1
    between: dict[tuple[int | None, int | None], Part] = {(None, None): Part(steps, counts, 0, last)}
    found = np.zeros(len(rates.levels), dtype=np.int64)
    for node in rates.nodes:
        part = between.pop((node.below, node.above))
        found[node.place], cut = _drawn(part, node, rates.rank_rate(node), weights)
        if node.divides:
            below, above = part.divided(int(found[node.place]), cut)
            between |= {(node.below, node.place): below, (node.place, node.above): above}
    return found


def candidates(part: Part, node: Node, weights: StepWeights) -> tuple[Pieces, NDArray[np.int64], NDArray[np.int64]]:
    """The pieces from which a quantile is drawn, in distances of 1/(scale * denominator) of a row; the step at which
    each piece begins; and its first cut there, with the direction in which its cuts go as a sign of the count."""
    top, bottom = node.relative.numerator, node.relative.denominator
    counts = _wide(part.counts, 4 * bottom * CUTS)
    ends = np.cumsum(counts) if len(counts) else counts
    total = int(ends[-1]) if len(ends) else 0
    low = bottom * (ends - counts) - top * total  # D at the lower edge of each occupied step, times bottom
    high = bottom * ends - top * total
    edges = np.concatenate([[part.first - 1], part.steps, [part.last + 1]])
    gap_weight = weights.before[edges[1:]] - weights.before[edges[:-1] + 1]
    gap_at = np.concatenate([_like(counts, -top * total), high])
    gaps = np.flatnonzero(gap_weight > 0)
    own = weights.before[part.steps + 1] - weights.before[part.steps]
    if not node.divides:
        starts = np.maximum(np.maximum(low, -high), 0)
        pieces = Pieces(
            np.concatenate([gap_weight[gaps], own]),
            np.ones(len(gaps) + len(own), dtype=np.int64),
            np.concatenate([np.abs(gap_at[gaps]), starts]),
            np.zeros(len(gaps) + len(own), dtype=np.int64),
        )
        return pieces, np.concatenate([edges[gaps] + 1, part.steps]), np.zeros(len(gaps) + len(own), dtype=np.int64)
    # Cuts s = 0 ... CUTS - 1 at (low CUTS + bottom count s)/CUTS: `under` of them are below 0, nearest last.
    slope = bottom * counts
    under = np.minimum(np.maximum(-((low * CUTS) // slope), 0), CUTS) if len(counts) else counts
    over = CUTS - under
    pieces = Pieces(
        np.concatenate([gap_weight[gaps] * CUTS, own, own]),
        np.concatenate([np.ones(len(gaps), dtype=np.int64), under, over]),
        np.concatenate([np.abs(gap_at[gaps]) * CUTS, -(low * CUTS + slope * (under - 1)), low * CUTS + slope * under]),
        np.concatenate([np.zeros(len(gaps), dtype=np.int64), slope, slope]),
    )
    begins = np.concatenate([edges[gaps] + 1, part.steps, part.steps])
    return pieces, begins, np.concatenate([np.zeros(len(gaps), dtype=np.int64), under - 1, under]).astype(np.int64)


def _drawn(part: Part, node: Node, rate: Fraction, weights: StepWeights) -> tuple[int, int]:
    """The step of a quantile, and the cut within it."""
    pieces, begins, first_cut = candidates(part, node, weights)
    some = np.flatnonzero(pieces.counts > 0)
    kept = Pieces(*(getattr(pieces, name)[some] for name in ("weights", "counts", "starts", "steps")))
    finer = part.scale * node.relative.denominator * (CUTS if node.divides else 1)
    piece, place = choose(kept, rate / finer)
    at = int(some[piece])
    gaps = len(pieces.counts) - (2 if node.divides else 1) * len(part.steps)
    if at < gaps:
        return _within_gap(int(begins[at]), int(kept.weights[piece]) // (CUTS if node.divides else 1), weights), 0
    under = node.divides and at < gaps + len(part.steps)
    return int(begins[at]), int(first_cut[at]) + (-place if under else place)


def _within_gap(begin: int, weight: int, weights: StepWeights) -> int:
    """A step of an empty gap, by the weights of its steps: exactly, by a uniform whole number."""
    start = int(weights.before[begin])
    return int(np.searchsorted(weights.before, start + uniform_below(weight), side="right")) - 1


def uniform_below(size: int) -> int:
    """A whole number below `size`, each with the same probability: by rejection."""
    from leastnoise.curator.noise import entropy

    bits = (size - 1).bit_length()
    while bits:
        words = entropy.words(math.ceil(bits / 64))
        number = int.from_bytes(words.astype("<u8").tobytes(), "little") >> (64 * len(words) - bits)
        if number < size:
            return number
    return 0


def counts_between(steps: NDArray[np.int64], counts: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows from each edge on up to the next: occupied steps, rising, and how many rows each has."""
    ends = np.concatenate([[0], np.cumsum(counts.astype(object))])
    return saturate(np.diff(ends[np.searchsorted(steps, edges)]))


def _wide(counts: NDArray[Any], factor: int) -> NDArray[Any]:
    """Python integers where 64 bits might not hold the factor, or the sum of the counts times it."""
    if counts.dtype == object:
        return counts
    return counts if max(1.0, float(counts.sum(dtype=np.float64))) * factor < _INT64_SAFE else counts.astype(object)


def _like(counts: NDArray[Any], value: int) -> NDArray[Any]:
    """One integer as an array of the same kind."""
    return np.array([value], dtype=counts.dtype)
