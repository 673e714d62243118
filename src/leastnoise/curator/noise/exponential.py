"""The exponential mechanism, exactly: a candidate at a distance d from the best is drawn with weight * exp(-rate d).

Candidates come in pieces of equal weight whose distances rise by equal steps: the empty steps between two values are
one piece, and so are the places within a step of many rows. A piece's probability is a geometric sum, its place is
found by inversion, and both are decided by a uniform number that is read bit by bit until balls around every quantity
prove the answer: no rounding error moves a probability. Distances are whole numbers, the rate a rational one.

Pieces far beyond the others are summed up by a bound at first. Where the uniform number falls so close to the end that
the bound does not decide, all of them are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from leastnoise.curator.noise.lazy_uniform import GUARD_BITS, Uniform, ball, decide_floor

FAR = 60.0  # exponents above the least that are bounded first; their share is below e^-59 times their weight
_PATIENCE = 4  # words of the uniform number that are read before the far pieces are computed one by one


@dataclass(frozen=True, slots=True)
class Pieces:
    """`counts` candidates of `weights` each, at the distances `starts`, `starts` + `steps`, ...: all whole numbers."""

    weights: NDArray[Any]
    counts: NDArray[Any]
    starts: NDArray[Any]
    steps: NDArray[Any]


def choose(pieces: Pieces, rate: Fraction) -> tuple[int, int]:
    """One candidate: its piece, and its place in it."""
    piece = _choose_piece(pieces, rate)
    count, step = int(pieces.counts[piece]), int(pieces.steps[piece])
    if count == 1:
        return piece, 0
    slope = rate * step

    def place(u: arb) -> arb:
        """With r = e^-slope, P[place >= j] = (r^j - r^n)/(1 - r^n), so 1 - u (1 - r^n) = r^place inverts it."""
        if not slope:
            return u * count
        return -(u * (-ball(slope * count)).expm1()).log1p() / ball(slope)

    return piece, decide_floor(Uniform(), place, least=0, most=count - 1)


def masses(pieces: Pieces, rate: Fraction, places: Any = None) -> list[arb]:
    """What each piece (or those at these places) weighs together, relative to weight 1 at the least distance; in the
    present precision."""
    least = int(min(pieces.starts))
    places = range(len(pieces.starts)) if places is None else places
    return [_mass(pieces, rate, least, int(place)) for place in places]


def _mass(pieces: Pieces, rate: Fraction, least: int, place: int) -> arb:
    """weight * e^-(rate (start - least)) * (1 + r + ... + r^(count - 1)), r = e^-(rate step)."""
    first = arb(int(pieces.weights[place])) * (-ball(rate * (int(pieces.starts[place]) - least))).exp()
    count, slope = int(pieces.counts[place]), rate * int(pieces.steps[place])
    if count == 1:
        return first
    if not slope:
        return first * count
    return first * (-ball(slope * count)).expm1() / (-ball(slope)).expm1()


def _choose_piece(pieces: Pieces, rate: Fraction) -> int:
    """By inversion of the cumulative sum: near pieces first, in their order, and far ones after them."""
    uniform = Uniform()
    near, far_weight = _near(pieces, rate)
    found = None
    while found is None:
        uniform.extend()
        if uniform.bits > 64 * _PATIENCE and far_weight:
            far = np.setdiff1d(np.arange(len(pieces.starts)), near)
            near, far_weight = np.concatenate([near, far]), 0.0  # in the same order: the bits that were read stay
        found = _located(pieces, rate, near, far_weight, uniform)
    return found


def _near(pieces: Pieces, rate: Fraction) -> tuple[NDArray[Any], float]:
    """The places of pieces whose exponents are near the least, and a bound on the weight of all others.

    The doubles here only sort pieces into computed and bounded ones; their relative error is below 1e-9, which FAR - 1
    and the factor 2 allow for.
    """
    above = np.asarray(pieces.starts - min(pieces.starts), dtype=np.float64) * float(rate)
    near = above <= FAR
    weight = pieces.weights[~near].astype(np.float64) * pieces.counts[~near].astype(np.float64)
    return np.flatnonzero(near), 2 * float(weight.sum())


def _located(pieces: Pieces, rate: Fraction, near: NDArray[Any], far_weight: float, uniform: Uniform) -> int | None:
    """The piece that holds the uniform share of the total; None where what is known of it does not decide."""
    with ctx.workprec(uniform.bits + GUARD_BITS):
        ends, total = [], arb(0)
        for mass in masses(pieces, rate, near):
            total = total + mass
            ends.append(total)
        whole = total + arb(0).union(arb(far_weight) * arb(1 - FAR).exp())
        at = uniform.ball() * whole
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if at < ends[middle]:
                high = middle
            elif at > ends[middle]:
                low = middle + 1
            else:
                return None
    return int(near[low]) if low < len(ends) else None  # beyond the near ones: which far one is not known yet
