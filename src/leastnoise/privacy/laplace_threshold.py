"""Unknown bins with Laplace noise: a scale b and a threshold T so that a bin of one person alone hardly ever appears.

Counts of rows get two-sided geometric noise, P(k) proportional to exp(-|k|/b), and a bin is published when its noisy
count reaches T: with probability q^(T - c)/(1 + q) at a count c < T, q = exp(-1/b). As in `partition_selection` one
person's rows fall into bins of their own and into shared ones, with independent noise. Let delta_2 be the largest
chance that any bin of a person's own shows, and L the most rows of a person (for replace neighbours: of both persons).

Given that no own bin shows, the release is Laplace noise on the shared bins: it is (rows that are shared)/b-DP. A
person without own bins shares L rows. One with own bins shares at most L - 1, and no own bin shows with probability
1 - delta_2 at least. So for add-remove neighbours, and any set A of outcomes that show no own bin,

    (1 - delta_2) P_shared(A) <= e^((L - 1)/b) Q_shared(A),     Q_shared(A) <= e^((L - 1)/b) P_shared(A),

and the release is (epsilon, delta)-DP when

    L/b <= epsilon,     delta_2 <= delta,     (L - 1)/b - log(1 - delta_2) <= epsilon.

For replace neighbours either person may have own bins, hidden with probability 1 - delta_2 at least, and the same three
conditions are enough: P(A) = hidden_x P_shared(A) <= P_shared(A) <= e^((L - 1)/b) Q_shared(A) <= e^((L - 1)/b -
log(1 - delta_2)) Q(A), and what shows an own bin has probability delta_2 at most.

Where other numbers of the same rows are released with the counts, b is that of one count which would cost as much as
all of them together, and the counts themselves have `spread` times that: it decides delta_2 alone. If one of them moves
with every row, in whichever bin, and `total` is the part of L/b that it has, one with own bins costs at most (L - 1 +
total)/b in place of (L - 1)/b: see `keys_and_total`.

The two-sided geometric distribution is log-concave, and so is its distribution function: the chance that no own bin
shows, a product of these, is least at the same splits as for Gaussian noise (`partition_selection.splits`).
"""

from __future__ import annotations

import math

from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy import baselines
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.partition_selection import Split, Threshold, splits
from leastnoise.privacy.sensitivity import Limits

MAX_THRESHOLD = 2**50


def choose(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: float = 1.0,
    total: float = 0.0,
) -> Threshold:
    """The least scale that epsilon allows, and with it the least T, proved in balls.

    spread: the noise of the counts over the scale that is chosen. total: the part of epsilon that every row moves.

    >>> one = Limits.of(max_rows=1, bins=None)
    >>> choose(epsilon=1, delta=1e-6, limits=one).at_least
    15
    """
    check_neighbours(neighbours)
    spend, chance = validation.number("epsilon", epsilon), validation.number("delta", delta)
    if not spend:
        raise errors.InvalidParameter(
            "At epsilon 0 there is no Laplace noise. Take Gaussian noise.",
            parameter="mechanism",
            example={"mechanism": "gaussian"},
        )
    rows = rows_of(limits, neighbours)
    scale = baselines.laplace_scale(epsilon=spend, l1_sensitivity=rows)
    return within_chance(
        epsilon=spend, scale=scale, chance=chance, limits=limits, neighbours=neighbours, spread=spread, total=total
    )


def within_chance(
    *,
    epsilon: float,
    scale: float,
    chance: float,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: float = 1.0,
    total: float = 0.0,
) -> Threshold:
    """The least T at which an own bin shows with at most this chance, and all is epsilon-DP but for that."""

    def enough(at_least: int) -> bool:
        return is_private(
            epsilon=epsilon,
            delta=chance,
            scale=scale,
            at_least=at_least,
            limits=limits,
            neighbours=neighbours,
            spread=spread,
            total=total,
        )

    low = limits.max_per_bin  # at T <= c a bin of one's own shows as likely as not
    high = 2 * low
    while not enough(high):
        high *= 2
        if high > MAX_THRESHOLD:
            raise errors.OutOfRange(
                "The threshold for unknown bins would pass 2^50. Allow more epsilon or delta, or fewer rows a person."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Threshold(sigma=math.sqrt(2) * scale, at_least=high, scale=scale)


def is_private(
    *,
    epsilon: float,
    delta: float,
    scale: float,
    at_least: int,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: float = 1.0,
    total: float = 0.0,
) -> bool:
    """Whether the three conditions hold, proved in balls (False where that cannot be decided)."""
    rows = rows_of(limits, neighbours)
    with proof.precision(192):
        shows = arb(chance_shown(limits=limits, scale=scale * spread, at_least=at_least))
        if not shows <= delta or not shows < 1:
            return False
        both = (rows - 1 + arb(total)) / arb(scale) - (1 - shows).log()
        return bool(rows / arb(scale) <= epsilon) and bool(both <= epsilon)


def chance_shown(*, limits: Limits, scale: float, at_least: int) -> float:
    """The largest chance that any bin of one person's own shows, rounded up."""
    if at_least <= limits.max_per_bin:
        return 1.0
    with proof.precision(192):
        worst = max((1 - _hidden(split, arb(scale), at_least)).upper() for split in splits(limits, coarse=True))
        return min(1.0, proof.upward(worst))


def rows_of(limits: Limits, neighbours: Neighbours) -> int:
    """The L1 sensitivity of counts in bins that nobody listed: L."""
    return limits.max_rows * (2 if neighbours == "replace" else 1)


def _hidden(split: Split, scale: proof.RealBall, at_least: int) -> proof.RealBall:
    """The chance that no own bin shows."""
    hidden = arb(1)
    for count, bins in split.own:
        hidden *= (1 - (-(at_least - count) / scale).exp() / (1 + (-1 / scale).exp())) ** bins
    return hidden
