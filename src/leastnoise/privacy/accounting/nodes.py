"""Which nodes a pair needs, in floats: all where its tilted mass is, every second, fourth ... in the tails.

Any subset of a grid gives valid measures, so nothing here needs to be right.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.privacy.accounting.composing import Tolerance
from leastnoise.privacy.accounting.discretisation import Grid
from leastnoise.privacy.accounting.loss_pairs import Density, SampledGaussianPair

_LARGEST_STRIDE = 2**14
_TOO_LONG = 1_000_000
_REACH = 120  # cells on each side of the middle that decide its place


def grid_for(pair: Density, step: Fraction, copies: int, tolerance: Tolerance) -> Grid:
    """The grid on which one of `copies` releases is discretised."""
    if pair.ends is not None:  # its ends are nodes: atoms lie there
        low, high = pair.ends
        count = 16 * math.ceil((high - low) / (16 * step))  # atoms stay on nodes when the step is doubled
        check_length(count)
        return Grid(low, (high - low) / count, list(range(count + 1)))
    sampled = isinstance(pair, SampledGaussianPair)
    origin = balanced_origin(pair, float(step)) if isinstance(pair, SampledGaussianPair) else 0.0
    nodes = _nodes(pair, float(step), origin, copies, tolerance)
    return Grid(Fraction(origin), step, nodes, 0 if sampled else None)


def _nodes(pair: Density, step: float, origin: float, copies: int, tolerance: Tolerance) -> list[int]:
    """The tail beyond the last node is a hundredth of what delta may lose, and what lies below the first one, moved up
    to it, a small part of the tilted mass."""
    losses, logs = pair.samples()
    tilted = logs + tolerance.tilt * losses
    top = tilted.max()
    cumulant = top + math.log(np.exp(tilted - top).sum())
    chances, weights = np.exp(logs), np.exp(tilted - cumulant)
    mean = (weights * losses).sum()
    spread = math.sqrt(max((weights * (losses - mean) ** 2).sum(), 1e-300))

    cut = min(tolerance.delta * tolerance.accuracy * 0.01 / copies, 1e-3)
    last = losses[max(0, int((chances[::-1].cumsum()[::-1] > cut).sum()) - 1)]
    moved = np.log(np.maximum(chances.cumsum(), 1e-300)) + tolerance.tilt * losses - cumulant
    kept = np.flatnonzero(moved > math.log(0.002 * tolerance.accuracy / copies))
    first = losses[max(0, int(kept[0]) - 1)] if len(kept) else losses[0]

    low, high = math.floor((first - origin) / step) - 2, math.ceil((last - origin) / step) + 2
    low, high = min(low, -2), max(high, 2)
    check_length(high - low)
    # strides only where the tilted tail is small against the spread, or a lower measure suffers
    small = min(0.02, 0.005 * spread * (tolerance.tilt + 1))
    below, above = weights.cumsum(), weights[::-1].cumsum()[::-1]
    left, right = [], []  # from which node outward a stride is allowed
    stride = 2
    while stride <= _LARGEST_STRIDE:
        tail = small * stride ** (-1 / 0.42)
        left.append(math.floor((losses[int((below <= tail).sum()) - 1] - origin) / step) if below[0] <= tail else low)
        right.append(math.ceil((losses[-int((above <= tail).sum())] - origin) / step) if above[-1] <= tail else high)
        stride *= 2
    return sorted({*_strided(right, 0, high), *(-node for node in _strided([-edge for edge in left], 0, -low))})


def check_length(losses: int) -> None:
    """Refuse a measure of so many losses: it would take too long, and too much memory."""
    if losses > _TOO_LONG:
        raise errors.OutOfRange(
            f"This composition would need {losses:,} different losses at this accuracy, which takes too "
            "long. Ask for less accuracy, or for a larger delta.",
            parameter="accuracy",
            example={"accuracy": 0.01},
        )


def _strided(edges: list[int], start: int, end: int) -> list[int]:
    """Nodes from start up to end: all of them before edges[0], then every second, every fourth before edges[2] ..."""
    nodes: list[int] = []
    here, stride = start, 1
    for edge in [*edges, end]:
        stop = min(max(edge, here), end)
        stop = -(-stop // (2 * stride)) * 2 * stride  # where the next stride can begin
        nodes += range(here, min(stop, end), stride)
        here, stride = max(here, stop), 2 * stride
    return [*nodes, end]


def balanced_origin(pair: SampledGaussianPair, step: float) -> float:
    """A node near most of the mass at which both recursions of a lower measure meet without a remainder.

    For tiny rates nearly all mass lies within a few steps, and a node in the wrong place there loses as much as the
    whole answer.
    """
    losses, logs = pair.samples()
    centre = float(losses[min(int(np.exp(logs).cumsum().searchsorted(0.5)), len(losses) - 1)])
    places: Floats = centre + np.arange(-400, 401, dtype=np.float64) * (step / 8)
    survival, _ = pair.survival_floats(places)
    within = survival[:-8] - survival[8:]
    centre = float(places[int(within.argmax()) + 4])
    if within.max() < 0.004:  # smooth: any place will do
        return _short(centre)
    tried = centre + np.linspace(-1.5, 1.5, 25) * step
    left_over = [_remainder(pair, step, place) for place in tried]
    crossings = [i for i in range(24) if left_over[i] > 0 >= left_over[i + 1]]
    if not crossings:
        return _short(float(tried[int(np.abs(left_over).argmin())]))
    best = min(crossings, key=lambda i: left_over[i] - left_over[i + 1])
    low, high = float(tried[best]), float(tried[best + 1])
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _remainder(pair, step, middle) > 0 else (low, middle)
    return _short(low)


def _remainder(pair: SampledGaussianPair, step: float, origin: float) -> float:
    """What comes down to the origin less what must be balanced there (`discretisation.merge`, in floats)."""
    losses: Floats = origin + step * np.arange(-_REACH, _REACH + 1, dtype=np.float64)
    survival, other = pair.survival_floats(losses)
    mass, q_mass = survival[:-1] - survival[1:], other[:-1] - other[1:]
    filled = mass > 1e-15
    ratio = np.where(filled, q_mass / np.where(filled, mass, 1.0), 0.0)
    depths = np.maximum(1 - ratio * np.exp(losses[:-1]), 1e-18).tolist()
    gaps = np.maximum(ratio * np.exp(losses[1:]) - 1, 1e-18).tolist()
    masses, used = mass.tolist(), filled.tolist()
    rising = gap = 0.0
    for j in range(_REACH):
        if used[j]:
            rising, gap = masses[j] - min(rising * gap / depths[j], masses[j]), gaps[j]
    falling = depth = 0.0
    for j in range(2 * _REACH - 1, _REACH - 1, -1):
        if used[j]:
            falling, depth = masses[j] - min(falling * depth / gaps[j], masses[j]), depths[j]
    return falling * depth - rising * gap


def _short(value: float) -> float:
    """To 40 bits, so that sums of its exact value stay short."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**40) / 2**40, exponent)
