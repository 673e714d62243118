"""Where the ratio of two noisy numbers lies: a mean is one, a noisy sum over a noisy count.

Let S and M be published, X and Y their noises, independent and of one distribution, and t the ratio of the true
numbers, between -1 and 1. Then S - t M = X - t Y, which lies within +-h(t) with the confidence asked for. So does

    {t : |S - t M| <= h(t)}

hold the true t (Fieller 1954, for normal X and Y); what is returned is the least interval around it. h comes from
`privacy.two_draws`, as one number for each of many short pieces of [-1, 1], never too small; on each piece the set is
an interval with ends (S -+ h)/M. So nothing is assumed of h's shape, and no rounding makes the interval too short.
"""

from __future__ import annotations

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.ratio_noise import RatioNoise

PIECES = 128  # of [0, 1]: an h that is up to 0.5 % too large
ROUNDING = 2.0**-48  # of S and M themselves, in the few operations below


def ends(
    numerator: Floats, denominator: Floats, noise: Distribution | RatioNoise, confidence: float
) -> tuple[Floats, Floats]:
    """The ends of each ratio's interval, within [-1, 1]: all of it where the `denominator` may be zero.

    Where no ratio suits, because noise has carried S beyond M, both ends are the nearest of -1 and 1.
    """
    low, high = np.full(numerator.shape, -1.0), np.full(numerator.shape, 1.0)
    known = denominator > noise.half_width(confidence)
    if known.any():
        low[known], high[known] = _around(numerator[known], denominator[known], noise, confidence)
    return low, high


def _around(s: Floats, m: Floats, noise: Distribution | RatioNoise, confidence: float) -> tuple[Floats, Floats]:
    edges = np.linspace(0.0, 1.0, PIECES + 1)
    half = noise.pair_half_widths(edges[:-1], edges[1:], confidence)  # h(t) = h(-t)
    edges, halves = np.concatenate([-edges[:0:-1], edges]), np.concatenate([half[::-1], half])
    low, high = _least(s, m, edges, halves), -_least(-s, m, edges, halves)
    nearest = np.clip(s / m, -1.0, 1.0)
    return np.where(low <= high, low, nearest), np.where(low <= high, high, nearest)


def _least(s: Floats, m: Floats, edges: Floats, halves: Floats) -> Floats:
    """The least t from -1 to 1 with |s - t m| <= h(t), infinite where there is none.

    Below (s - max h)/m there is none: pieces are tried from there on upward, mostly one or two.
    """
    slack = ROUNDING * (np.abs(s) + m)
    start = np.searchsorted(edges, (s - halves.max() - 2 * slack) / m, side="right") - 1
    piece, found = np.clip(start, 0, halves.size - 1), np.full(s.shape, np.inf)
    left = np.arange(s.size)
    while left.size:
        at, half = piece[left], halves[piece[left]] + slack[left]
        first = np.maximum(edges[at], (s[left] - half) / m[left])
        last = np.minimum(edges[at + 1], (s[left] + half) / m[left])
        here = first <= last
        found[left[here]] = first[here]
        left = left[~here & (at + 1 < halves.size)]
        piece[left] += 1
    return found
