"""A black-box audit: from samples of any mechanism on two neighbours, a lower bound on its true delta.

(epsilon, delta)-DP says P(E | x) <= e^epsilon P(E | y) + delta for *every* event E. So every event gives a lower
bound delta >= P(E | x) - e^epsilon P(E | y), and with Clopper-Pearson bounds on the two probabilities it holds with
a stated confidence. Half of the samples choose promising events, the other half tests them, and the confidence is
shared among all that are tested. A bound above the claimed delta proves the claim false; one below proves nothing.

Two families of events are tried: likelihood-ratio events (where x is much likelier than y), and low-bit events (how
many trailing bits the doubles have, the sign of a zero), through which naive floating-point noise leaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explain_public
from leastnoise._support.validation import Floats, Number

Mask = NDArray[np.bool_]

__all__ = ["Finding", "last_bit", "lower_bound"]


def __dir__() -> list[str]:
    return __all__


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


Event = tuple[str, Callable[[Floats], Mask]]


def lower_bound(x: ArrayLike, y: ArrayLike, *, epsilon: Number, confidence: Number = 1 - 1e-6) -> Finding:
    """The best lower bound on delta from samples of a mechanism's output on `x` and on its neighbour `y`.

    x, y: samples, one row a run; several columns are a vector output. Both directions are tried.
    epsilon: at which delta is bounded. confidence: how sure the bound is.

    >>> rng = np.random.default_rng(1)
    >>> honest = lower_bound(rng.normal(0, 4.3, 20_000), 1 + rng.normal(0, 4.3, 20_000), epsilon=1)
    >>> bare = lower_bound(np.zeros(1000), np.ones(1000), epsilon=1)
    >>> honest.refutes(delta=0.01), bare.delta > 0.8
    (True, True)
    """
    epsilon, confidence = validation.number("epsilon", epsilon), validation.number("confidence", confidence)
    one, other = _samples("x", x), _samples("y", y)
    if one.shape[1] != other.shape[1]:
        raise errors.InvalidParameter(
            f"x has {one.shape[1]} columns and y {other.shape[1]}. Sample the same output of both."
        )
    tested = [
        (p[1::2], q[1::2], event)
        for p, q in ((one, other), (other, one))
        for event in [*_likely_events(p[::2], q[::2], epsilon), *_bit_events(p[::2], q[::2], epsilon)]
    ]
    best = Finding(0.0, epsilon, confidence, "none stands out", min(len(one), len(other)))
    for p, q, (name, holds) in tested:
        miss = (1 - confidence) / (2 * len(tested))  # two Clopper-Pearson bounds an event
        often, rarely = _at_least(holds(p), miss), _at_most(holds(q), miss)
        bound = often - math.exp(min(epsilon, 700)) * rarely
        if bound > best.delta:
            best = replace(best, delta=bound, event=name)
    return best


def _likely_events(p: Floats, q: Floats, epsilon: float) -> list[Event]:
    """Half-lines along the direction in which the means differ, and the bins where p is e^epsilon likelier than q."""
    direction = p.mean(axis=0) - q.mean(axis=0)
    if not direction.any():
        direction[0] = 1.0

    def along(sample: Floats) -> Floats:
        projected: Floats = sample @ direction
        return projected

    a, b = along(p), along(q)
    cuts = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.002, 0.998, 200)))
    gains = [np.mean(a >= cut) - math.exp(min(epsilon, 700)) * np.mean(b >= cut) for cut in cuts]
    cut = float(cuts[int(np.argmax(gains))])
    half_line: Event = ("beyond a cut along the mean difference", lambda s: along(s) >= cut)
    edges = cuts[::4]
    seen_p, seen_q = (np.bincount(np.searchsorted(edges, v), minlength=len(edges) + 1) for v in (a, b))
    likely = seen_p / len(a) > math.exp(min(epsilon, 700)) * seen_q / len(b)
    bins: Event = ("bins with a large likelihood ratio", lambda s: likely[np.searchsorted(edges, along(s))])
    return [half_line, bins]


def _bit_events(p: Floats, q: Floats, epsilon: float) -> list[Event]:
    """The output has (or has not) its last bit at 2^t or above, for the best t of each kind; a negative zero."""
    events: list[Event] = [("a zero with a minus sign", lambda s: ((s == 0) & np.signbit(s)).any(axis=1))]
    a, b = last_bit(p).min(axis=1), last_bit(q).min(axis=1)
    levels = np.unique(np.concatenate([a, b]))
    for name, coarse in (("a multiple of", True), ("not a multiple of", False)):

        def gain(level: float, coarse: bool = coarse) -> float:
            inside, outside = np.mean((a >= level) == coarse), np.mean((b >= level) == coarse)
            return float(inside - math.exp(min(epsilon, 700)) * outside)

        level = max(levels.tolist(), key=gain)

        def holds(s: Floats, level: float = level, coarse: bool = coarse) -> Mask:
            answer: Mask = (last_bit(s).min(axis=1) >= level) == coarse
            return answer

        events.append((f"{name} 2^{level:g}", holds))
    return events


def last_bit(values: Floats) -> Floats:
    """The exponent t of the lowest bit set: each double is an odd multiple of 2^t (infinity for zero)."""
    mantissa, exponent = np.frexp(values)
    significand = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2(np.where(significand == 0, 1, significand & -significand).astype(np.float64))
    return np.where(significand == 0, np.inf, exponent - 53 + lowest)


def _at_least(holds: Mask, miss: float) -> float:
    """Clopper-Pearson: the probability is at least this, except with chance `miss`."""
    from scipy.special import betaincinv

    seen, runs = int(holds.sum()), holds.size
    return float(betaincinv(seen, runs - seen + 1, miss)) if seen else 0.0


def _at_most(holds: Mask, miss: float) -> float:
    """Clopper-Pearson: the probability is at most this, except with chance `miss`."""
    return 1.0 - _at_least(~holds, miss)


def _samples(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise errors.WrongType(f"{name} must be an array of outputs. Got an array of {array.dtype} instead.")
    table = array.astype(np.float64).reshape(len(array), -1) if array.size else np.zeros((0, 1))
    if len(table) < 100:
        raise errors.InvalidParameter(f"{name} has fewer than 100 samples, which can prove nothing. Sample 100,000.")
    return table


explain_public(globals(), __all__)
