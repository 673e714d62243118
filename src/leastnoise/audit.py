"""A black-box audit: from samples of any mechanism on two neighbours, a lower bound on its true delta.

(epsilon, delta)-DP says P(E | x) <= e^epsilon P(E | y) + delta for *every* event E. So every event gives a lower
bound delta >= P(E | x) - e^epsilon P(E | y), and with Clopper-Pearson bounds on the two probabilities it holds with
a stated confidence. Half of the samples choose promising events, the other half judges them, and the confidence is
shared among all that are judged. A bound above the claimed delta proves the claim false; one below proves nothing.

Two families of events are tried: likelihood-ratio events (where x is much likelier than y), and low-bit events (how
many trailing bits the doubles have, the sign of a zero), through which naive floating-point noise leaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors, parameters
from leastnoise.parameters import Floats, Number

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Finding:
    """The best bound found: with this confidence the true delta at epsilon is at least `delta`."""

    delta: float
    epsilon: float
    confidence: float
    event: str
    samples: int

    def refutes(self, *, delta: Number) -> bool:
        """Whether a claim of (epsilon, delta) is proved false."""
        return self.delta > float(delta)

    def __str__(self) -> str:
        return (
            f"With {100 * self.confidence:.6g} % confidence the true delta at epsilon = {self.epsilon:g} is at least "
            f"{self.delta:.3g} (event: {self.event}; {self.samples:,} samples of each)."
        )


def lower_bound(x: ArrayLike, y: ArrayLike, *, epsilon: Number, confidence: Number = 1 - 1e-6) -> Finding:
    """The best lower bound on delta from samples of a mechanism's output on `x` and on its neighbour `y`.

    One row a run; several columns are a vector output. Both directions (x against y, y against x) are tried.

    >>> rng = np.random.default_rng(1)
    >>> honest = lower_bound(rng.normal(0, 4.3, 20_000), 1 + rng.normal(0, 4.3, 20_000), epsilon=1)
    >>> bare = lower_bound(np.zeros(1000), np.ones(1000), epsilon=1)
    >>> honest.delta, bare.delta > 0.9
    (0.0, True)
    """
    epsilon, confidence = parameters.number("epsilon", epsilon), parameters.number("confidence", confidence)
    one, other = _samples("x", x), _samples("y", y)
    if one.shape[1] != other.shape[1]:
        raise errors.ShapesDisagree(
            f"x has {one.shape[1]} columns and y {other.shape[1]}. Sample the same output of both."
        )
    chosen = [
        (side, event)
        for side, (p, q) in enumerate(((one, other), (other, one)))
        for event in [*_likely_events(p[::2], q[::2], epsilon), *_bit_events(p[::2], q[::2], epsilon)]
    ]
    best = Finding(0.0, epsilon, confidence, "none stands out", min(len(one), len(other)))
    if not chosen:
        return best
    miss = (1 - confidence) / (2 * len(chosen))  # two Clopper-Pearson bounds an event
    for side, (name, holds) in chosen:
        p, q = (one, other) if side == 0 else (other, one)
        inside, outside = holds(p[1::2]), holds(q[1::2])
        bound = _at_least(inside, miss) - math.exp(min(epsilon, 700)) * _at_most(outside, miss)
        if bound > best.delta:
            best = Finding(bound, epsilon, confidence, name, best.samples)
    return best


class _Event:
    """A named set of outputs."""
