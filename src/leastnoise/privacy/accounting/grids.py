"""From a pair to measures on a grid: one that dominates it, one that it dominates, both with errors of second order.

Between two nodes of the grid, l_j and l_(j+1), a pair has the P-mass m and the Q-mass n, so r = e^-L has the mean n/m
there. *Upper*: r is spread to both ends with its mean kept ("connect the dots"; Doroshenko et al. 2022): of m,

    (m - n e^(l_j)) / (1 - e^(l_j - l_(j+1)))

goes to the upper end and the rest to the lower one. *Lower*: r shrinks to its mean, and then cells on both sides of a
node are merged onto it. From the cell above d comes down, from the cell below u goes up, and the mean of r over both is
at most e^-l_j where d (1 - r_above e^(l_j)) >= u (r_below e^(l_j) - 1).

Any subset of a grid gives valid measures, so nothing that chooses the nodes, in floats, needs to be right: all nodes
where the tilted mass is, every second, fourth ... in the tails (`grid_for`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
from flint import arb, fmpz

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.privacy.accounting.loss_measure import Integer, LossMeasure, ceiling, floor
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.calibration.proof import RealBall, ball
from leastnoise.privacy.loss_pairs import Density, DiscreteLoss, LossPair, SampledGaussianPair, ThresholdPair

LARGEST_TILT = 1e6  # that is looked for


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much a composition may lose, and where: floats, from the saddle point.

    A spread of e^-L by a relative variance v in each of N copies raises epsilon by N (tilt + 1) v / 2.
    """

    epsilon: float  # about what the answer will be
    tilt: float  # lambda, the saddle point
    delta: float
    accuracy: float

    @property
    def is_inner(self) -> bool:
        """Whether a saddle point was found: towards the largest loss there is, the tilt has no end."""
        return self.tilt < LARGEST_TILT / 2

    def first_step(self, copies: int) -> float:
        """The step that costs about a third of the accuracy: cells of width h have v = h^2/6 after the split. However
        large the tilt, which has no bound where losses have one, no loss moves by more than a step."""
        allowed = 0.35 * self.accuracy * self.epsilon
        return max(math.sqrt(12 * allowed / (copies * (self.tilt + 1))), allowed / copies)

    def may_coarsen(self, step: float, copies: float, share: float) -> bool:
        """Whether doubling the step in each of these copies costs at most this share: half the mass moves by a step."""
        return copies * step * min(1, (self.tilt + 1) / 2 * step / 2) <= self.accuracy * share * self.epsilon

    def tails(self, copies: float, cuts: int) -> tuple[float, float]:
        """What may be cut from the right and from the left of each of these copies, so many times."""
        each = self.accuracy / (copies * cuts)
        return 0.1 * self.delta * each, 0.05 * each


GAP = fmpz(1) << 128  # the unit of relative distances between a cell's mean and its nodes


@dataclass(frozen=True, slots=True)
class Grid:
    """Losses origin + k step for the k in `nodes`; `middle` is a node where most of the mass is, if one was chosen."""

    origin: Fraction
    step: Fraction
    nodes: list[int]
    middle: int | None = None

    def loss(self, node: int) -> Fraction:
        return self.origin + node * self.step


@dataclass(frozen=True, slots=True)
class Cells:
    """P- and Q-mass of a pair (or of a measure) between the nodes of a grid, below the first and above the last."""

    grid: Grid
    bits: int  # of the measures that are to come
    mass: list[RealBall]
    other: list[RealBall]  # the Q-mass
    below: RealBall
    above: RealBall
    at_nodes: dict[int, RealBall]  # masses that lie on nodes themselves
    infinite: RealBall

    def measure(self, *, upper: bool) -> LossMeasure:
        """The measure above, or below."""
        with proof.precision(_working_bits(self.bits, self.grid.step)):
            return _upper_measure(self) if upper else _lower_measure(self)


def cells_of(pair: Density, grid: Grid, bits: int) -> Cells:
    """The masses of a pair between the nodes, for measures in units of 2^-bits."""
    with proof.precision(_working_bits(bits, grid.step)):
        survival = [pair.survival(grid.loss(node)) for node in grid.nodes]
        mass = [here[0] - there[0] for here, there in pairwise(survival)]
        other = [here[1] - there[1] for here, there in pairwise(survival)]
        below, at_nodes = 1 - survival[0][0], {}
        if pair.ends is not None:
            low, high = pair.end_masses()
            at_nodes = {grid.nodes[0]: low, grid.nodes[-1]: high}
            assert (grid.loss(grid.nodes[0]), grid.loss(grid.nodes[-1])) == pair.ends
            below = below - low  # P[L <= the least loss] is all of it
            mass[-1], other[-1] = mass[-1] - high, other[-1] - high * (-ball(pair.ends[1])).exp()
        return Cells(grid, bits, mass, other, below, survival[-1][0], at_nodes, arb(0))


def discretised(
    pair: LossPair, step: Fraction, bits: int, copies: int, tolerance: Tolerance
) -> Callable[..., LossMeasure]:
    """What makes the measure above (upper=True) or below a pair, in units of 2^-bits: one of so many copies."""
    if isinstance(pair, DiscreteLoss):
        return partial(_measure_of_discrete, pair, bits)
    if isinstance(pair, ThresholdPair):
        return partial(_measure_of_threshold, pair, step, bits)
    assert isinstance(pair, Density)
    return cells_of(pair, grid_for(pair, step, copies, tolerance), bits).measure


def _measure_of_discrete(pair: DiscreteLoss, bits: int, *, upper: bool) -> LossMeasure:
    """The losses themselves, their masses rounded."""
    rounded = ceiling if upper else floor
    with proof.precision(bits + 48):
        unit = arb(2) ** bits
        masses = [rounded(chance * unit) for chance in pair.chances()]
        return LossMeasure(pair.first, pair.step, masses, rounded(ball(pair.infinite) * unit), upper, bits)


def _measure_of_threshold(pair: ThresholdPair, step: Fraction, bits: int, *, upper: bool) -> LossMeasure:
    """One loss, rounded up or down to a multiple of 2^-bits, and the mass at infinity."""
    rounded, unit = (ceiling, 2**bits) if upper else (floor, 2**bits)
    with proof.precision(bits + 48):
        loss = pair.loss() * unit
        near = loss.upper().ceil() if upper else loss.lower().floor()  # may be negative
        infinite = rounded(ball(pair.chance) * unit) if pair.direction == "remove" else fmpz(0)
        kept = rounded((1 - ball(pair.chance)) * unit) if pair.direction == "remove" else fmpz(unit)
        return LossMeasure(Fraction(int(near.unique_fmpz()), unit), step, [kept], infinite, upper, bits)


def regrid(measure: LossMeasure, step: Fraction) -> LossMeasure:
    """The measure on a grid of another step, through its largest mass."""
    centre = max(range(len(measure.masses)), key=measure.masses.__getitem__)
    origin = measure.position(centre)
    first = math.floor((measure.start - origin) / step) - 1
    last = math.ceil((measure.position(len(measure.masses) - 1) - origin) / step) + 1
    grid = Grid(origin, step, list(range(first, last + 1)), 0)
    with proof.precision(_working_bits(measure.bits, min(step, measure.step))):
        unit = arb(2) ** -measure.bits
        count = len(grid.nodes) - 1
        mass, other, at_nodes = [arb(0)] * count, [arb(0)] * count, {}
        for index, whole in enumerate(measure.masses):
            place = (measure.position(index) - origin) / step
            node = math.ceil(place)  # cells are open below and closed above; what lies on a node stays there
            if place == node:
                at_nodes[node] = whole * unit
            elif whole:
                mass[node - first - 1] += whole * unit
                other[node - first - 1] += whole * unit * (-ball(measure.position(index))).exp()
        cells = Cells(grid, measure.bits, mass, other, arb(0), arb(0), at_nodes, measure.infinite * unit)
    return cells.measure(upper=measure.upper)


def _upper_measure(cells: Cells) -> LossMeasure:
    """Connect the dots. What lies below the first node moves up to it, what lies above the last one to infinity."""
    grid, unit = cells.grid, arb(2) ** cells.bits
    first = grid.nodes[0]
    masses = [fmpz(0)] * (grid.nodes[-1] - first + 1)
    masses[0] += ceiling(cells.below * unit)
    decay, widths = (-ball(grid.step)).exp(), {}
    for low, high, mass, other in zip(grid.nodes, grid.nodes[1:], cells.mass, cells.other, strict=False):
        if mass == 0:
            continue
        if high - low not in widths:
            widths[high - low] = 1 / (1 - decay ** (high - low))
        upward = (mass - other * ball(grid.loss(low)).exp()) * widths[high - low]
        masses[low - first] += ceiling((mass - upward) * unit)
        masses[high - first] += ceiling(upward * unit)
    for node, mass in cells.at_nodes.items():
        masses[node - first] += ceiling(mass * unit)
    infinite = ceiling((cells.above + cells.infinite) * unit)
    return LossMeasure(grid.loss(first), grid.step, masses, infinite, True, cells.bits)


def _lower_measure(cells: Cells) -> LossMeasure:
    """Merged onto the nodes. What lies above the last node moves down to it, what lies below the first is dropped."""
    grid, unit = cells.grid, arb(2) ** cells.bits
    first = grid.nodes[0]
    merged = merge(*_distances(cells), None if grid.middle is None else grid.nodes.index(grid.middle))
    masses = [fmpz(0)] * (grid.nodes[-1] - first + 1)
    for node, mass in zip(grid.nodes, merged, strict=True):
        masses[node - first] += mass
    for node, mass in cells.at_nodes.items():
        masses[node - first] += floor(mass * unit)
    masses[-1] += floor(cells.above * unit)
    return LossMeasure(grid.loss(first), grid.step, masses, floor(cells.infinite * unit), False, cells.bits)


def _distances(cells: Cells) -> tuple[list[Integer], list[Integer], list[Integer]]:
    """For each cell its mass, 1 - r e^(l_j) rounded down and r e^(l_(j+1)) - 1 rounded up, in units of 1/GAP."""
    grid, unit = cells.grid, arb(2) ** cells.bits
    whole: list[Integer] = []
    to_lower: list[Integer] = []
    to_upper: list[Integer] = []
    for low, high, mass, other in zip(grid.nodes, grid.nodes[1:], cells.mass, cells.other, strict=False):
        rounded = floor(mass * unit)
        down, up = fmpz(0), fmpz(0)
        if rounded:
            scaled = other / mass * ball(grid.loss(low)).exp()
            down = floor((1 - scaled) * GAP)
            up = ceiling((scaled * ball((high - low) * grid.step).exp() - 1) * GAP)
        whole.append(rounded)
        to_lower.append(down)
        to_upper.append(up)
    return whole, to_lower, to_upper


def merge(
    mass: Sequence[Integer], to_lower: Sequence[Integer], to_upper: Sequence[Integer], middle: int | None
) -> list[Integer]:
    """The masses of a lower measure on the nodes, from cells and the relative distances of their mean r to their ends.

    Cell j lies between the nodes j and j + 1. From both ends toward the middle (a node), as a remainder is harmless
    only where it meets more mass.
    """
    cells = len(mass)
    merged = [fmpz(0)] * (cells + 1)
    if middle is None:
        middle = max(range(cells), key=mass.__getitem__)
    rising, gap = fmpz(0), fmpz(0)  # u of the cell below, on its way to node j
    for j in range(middle):
        falling = _partner(rising, gap, to_lower[j], mass[j])
        kept = min(rising, _balanced(falling, to_lower[j], gap, rising))
        merged[j] += kept + falling
        if rising > kept:
            merged[j - 1] += rising - kept
        rising, gap = mass[j] - falling, to_upper[j]
    falling, depth = fmpz(0), fmpz(0)  # d of the cell above, on its way to node j + 1
    for j in range(cells - 1, middle - 1, -1):
        up = _balanced(falling, depth, to_upper[j], mass[j])
        merged[j + 1] += falling + up
        falling, depth = mass[j] - up, to_lower[j]
    kept = _balanced(falling, depth, gap, rising)
    merged[middle] += falling + kept
    if rising > kept:
        merged[middle - 1] += rising - kept
    return merged


def _partner(rising: Integer, gap: Integer, depth: Integer, most: Integer) -> Integer:
    """The least d with d depth >= rising gap, or all there is."""
    if not rising * gap:
        return fmpz(0)
    return min(most, -((-rising * gap) // depth)) if depth else most


def _balanced(falling: Integer, depth: Integer, gap: Integer, most: Integer) -> Integer:
    """The largest u <= most with u gap <= falling depth."""
    return min(most, (falling * depth) // gap) if gap else most


def _working_bits(bits: int, step: Fraction) -> int:
    below_one = step.denominator.bit_length() - step.numerator.bit_length()  # log2(1/step), to 1
    return bits + 50 + 2 * max(0, below_one)


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
    if isinstance(pair, SampledGaussianPair):
        origin, middle = _balanced_origin(pair, float(step)), 0
    else:
        origin, middle = 0.0, None
    return Grid(Fraction(origin), step, _nodes(pair, float(step), origin, copies, tolerance), middle)


def _nodes(pair: Density, step: float, origin: float, copies: int, tolerance: Tolerance) -> list[int]:
    """The tail beyond the last node is a hundredth of what delta may lose, and what lies below the first one, moved up
    to it, a small part of the tilted mass."""
    losses, logs = pair.float_grid()
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


def _balanced_origin(pair: SampledGaussianPair, step: float) -> float:
    """A node near most of the mass at which both recursions of a lower measure meet without a remainder.

    For tiny rates nearly all mass lies within a few steps, and a node in the wrong place there loses as much as the
    whole answer.
    """
    losses, logs = pair.float_grid()
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
    """What comes down to the origin less what must be balanced there (`merge`, in floats)."""
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
