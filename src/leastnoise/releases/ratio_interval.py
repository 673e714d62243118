"""Where the ratio of two noisy numbers lies: a mean is one, a noisy sum over a noisy count.

Let S and M be published, X and Y their noises, independent, and t the ratio of the true numbers. Then
S - t M = X - t Y, which lies within +-h(t) with the confidence asked for. So does

    {t : |S - t M| <= h(t)}

hold the true t (Fieller 1954, for normal X and Y); what is returned is the least interval around it. h comes from
`privacy.noise_sums`, as one number for each of many short pieces of the line, never too
small; on each piece the set is an interval with ends (S -+ h)/M. So nothing is assumed of h's shape, and no rounding
makes the interval too short.

Of a mean t is between -1 and 1, and those pieces are enough (`ends`). Of any ratio (`unlimited_ends`) they go on
beyond, each a little longer than the one before, up to the last edge T. Whatever lies beyond is one piece: |X/t - Y| is
within h(T)/T for every t >= T with the same confidence, since X is symmetric and unimodal and X/t is narrower than X/T.
So a t >= T suits only if t M - S <= t h(T)/T; where M > h(T)/T, that is only if T M - S <= h(T). Where one may suit,
the interval has no upper end; below -T the same holds of -S.

**Sums with correlated errors** (`correlated_ends`). Let S and M be published with errors X and Y, jointly normal but
for roundings of at most r and q, and t the ratio of the true numbers. Then S - t M = X - t Y, which lies within +-h(t)
with the confidence asked for, where

    h(t) = z sqrt(v_SS - 2 t v_SM + t^2 v_MM) + r + |t| q.

So does {t : |S - t M| <= h(t)} hold the true t (Fieller 1954). If M is above zero by more than its own half-width,
that set is an interval around S/M. Proof: above S/M look at f(t) = t M - S - h(t). h is convex (a norm of a linear
function, and |t|), so f is concave; it is at most 0 at S/M, and at infinity it grows like t (M - z sqrt(v_MM) - q) > 0.
A concave function that ends increasing is increasing, so it crosses zero once. Below S/M the same holds for -S and -t.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.rounding import next_up
from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_sums import RatioNoise

PIECES = 128  # of [0, 1]: an h that is up to 0.5% too large
UNIT = np.linspace(0.0, 1.0, PIECES + 1)
LONGER = 1 + 1 / PIECES  # the ratio of the ends of a piece beyond 1
LAST = 2.0**30
BEYOND = np.geomspace(1.0, LAST, 1 + math.ceil(math.log(LAST) / math.log(LONGER)))
WIDE = np.concatenate([UNIT, BEYOND[1:]])
BLOCKS = (256, 16, 1)  # of so many pieces, where they are many
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
        s, m = numerator[known], denominator[known]
        first, last = _around(s, m, noise, confidence, UNIT)
        nearest = np.clip(s / m, -1.0, 1.0)
        low[known], high[known] = np.where(first <= last, first, nearest), np.where(first <= last, last, nearest)
    return low, high


def unlimited_ends(
    numerator: Floats, denominator: Floats, noise: Distribution | RatioNoise, confidence: float
) -> tuple[Floats, Floats]:
    """The ends of each ratio's interval, whatever the ratio: the whole line where the `denominator` may be zero."""
    low, high = np.full(numerator.shape, -np.inf), np.full(numerator.shape, np.inf)
    known = denominator > noise.half_width(confidence)
    if known.any():
        s, m = numerator[known], denominator[known]
        first, last = _around(s, m, noise, confidence, WIDE)
        half = float(noise.pair_half_widths([LAST], [LAST], confidence)[0])
        reached = (m - ROUNDING * (np.abs(s) / LAST + m)) * LAST - half  # T M - h(T), rounded down
        sure = reached > 0
        low[known] = np.where(sure & (-s < reached), np.minimum(first, LAST), -np.inf)
        high[known] = np.where(sure & (s < reached), np.maximum(last, -LAST), np.inf)
    return low, high


def _around(
    s: Floats, m: Floats, noise: Distribution | RatioNoise, confidence: float, edges: Floats
) -> tuple[Floats, Floats]:
    half = noise.pair_half_widths(edges[:-1], edges[1:], confidence)  # h(t) = h(-t)
    edges, halves = np.concatenate([-edges[:0:-1], edges]), np.concatenate([half[::-1], half])
    return _least(s, m, edges, halves), -_least(-s, m, edges, halves)


def _least(s: Floats, m: Floats, edges: Floats, halves: Floats) -> Floats:
    """The least t between the first and the last edge with |s - t m| <= h(t), infinite where there is none.

    Below (s - max h)/m there is none: pieces are tried from there on upward. Where they are many, blocks of them come
    first, with the largest h of each.
    """
    slack = ROUNDING * (np.abs(s) + m)
    if halves.size <= 2 * PIECES:
        start = np.searchsorted(edges, (s - halves.max() - 2 * slack) / m, side="right") - 1
        return _least_from(np.clip(start, 0, halves.size - 1), s, m, slack, edges, halves)[1]
    piece = np.zeros(s.shape, dtype=np.int64)
    for size in BLOCKS:
        firsts = np.arange(0, halves.size, size)
        block_edges = np.append(edges[firsts], edges[-1])
        piece, found = _least_from(piece // size, s, m, slack, block_edges, np.maximum.reduceat(halves, firsts))
        piece *= size
    return found


def _least_from(
    piece: NDArray[np.int64], s: Floats, m: Floats, slack: Floats, edges: Floats, halves: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """From a piece of each on upward: the piece that has the least t, and that t."""
    piece, found = piece.copy(), np.full(s.shape, np.inf)
    left = np.arange(s.size)
    while left.size:
        at, half = piece[left], halves[piece[left]] + slack[left]
        first = np.maximum(edges[at], (s[left] - half) / m[left])
        last = np.minimum(edges[at + 1], (s[left] + half) / m[left])
        here = first <= last
        found[left[here]] = first[here]
        left = left[~here & (at + 1 < halves.size)]
        piece[left] += 1
    return piece, found


STEPS = 200  # of a bisection; doubles end it sooner


def correlated_ends(
    sums: tuple[float, float], half_width: Callable[[tuple[float, float]], float]
) -> tuple[float, float]:
    """Where the first sum over the second lies; everything where the second may be zero.

    sums: the two as published. half_width: that of a combination of the two errors, from their factors: h(t) is that of
    (1, -t).
    """
    top, bottom = sums
    if not bottom > half_width((0.0, 1.0)):
        return -math.inf, math.inf
    high = _crossing(top / bottom, lambda t: t * bottom - top > half_width((1.0, -t)))
    low = -_crossing(-top / bottom, lambda t: t * bottom + top > half_width((1.0, t)))
    return -next_up(-low), next_up(high)


def enclosed(sums: tuple[float, float], halves: tuple[float, float]) -> tuple[float, float]:
    """The same where the two sums are known to lie within these half-widths, whatever their errors are.

    sums, halves: of the one above and of the one below.
    """
    (top, bottom), (up, down) = sums, halves
    if not bottom > down:
        return -math.inf, math.inf
    ends = [above / below for above in (top - up, top + up) for below in (bottom - down, bottom + down)]
    return -next_up(-min(ends)), next_up(max(ends))


def _crossing(start: float, outside: Callable[[float], bool]) -> float:
    """The least t that is outside, from `start` upward, or a double above it."""
    step = max(abs(start), 1.0) * 2.0**-40
    while not outside(start + step):
        step *= 2
        if not math.isfinite(step):
            return math.inf
    inside, beyond = start, start + step
    for _ in range(STEPS):
        middle = (inside + beyond) / 2
        if not inside < middle < beyond:
            break
        inside, beyond = (inside, middle) if outside(middle) else (middle, beyond)
    return beyond
