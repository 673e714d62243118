"""From a pair to measures on a grid: one that dominates it, one that it dominates, both with errors of second order.

Between two nodes of the grid, l_j and l_(j+1), a pair has the P-mass m and the Q-mass n, so r = e^-L has the mean n/m
there. *Upper*: r is spread to both ends with its mean kept ("connect the dots"; Doroshenko et al. 2022): of m,

    (m - n e^(l_j)) / (1 - e^(l_j - l_(j+1)))

goes to the upper end and the rest to the lower one. *Lower*: r shrinks to its mean, and then cells on both sides of a
node are merged onto it. From the cell above d comes down, from the cell below u goes up, and the mean of r over both is
at most e^-l_j where d (1 - r_above e^(l_j)) >= u (r_below e^(l_j) - 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, fmpz

from leastnoise.privacy.accounting.loss_measure import Integer, LossMeasure, RealBall, ball, ceiling, floor
from leastnoise.privacy.accounting.loss_pairs import Density, Lattice, Threshold
from leastnoise.privacy.calibration import proof

_GAP = fmpz(1) << 128  # the unit of relative distances between a cell's mean and its nodes


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


def measure_of_lattice(lattice: Lattice, bits: int, *, upper: bool) -> LossMeasure:
    """The lattice itself, its masses rounded."""
    rounded = ceiling if upper else floor
    with proof.precision(bits + 48):
        unit = arb(2) ** bits
        masses = [rounded(chance * unit) for chance in lattice.chances()]
        return LossMeasure(lattice.first, lattice.step, masses, rounded(ball(lattice.infinite) * unit), upper, bits)


def measure_of_threshold(pair: Threshold, step: Fraction, bits: int, *, upper: bool) -> LossMeasure:
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
    """For each cell its mass, 1 - r e^(l_j) rounded down and r e^(l_(j+1)) - 1 rounded up, in units of 1/_GAP."""
    grid, unit = cells.grid, arb(2) ** cells.bits
    whole: list[Integer] = []
    to_lower: list[Integer] = []
    to_upper: list[Integer] = []
    for low, high, mass, other in zip(grid.nodes, grid.nodes[1:], cells.mass, cells.other, strict=False):
        rounded = floor(mass * unit)
        down, up = fmpz(0), fmpz(0)
        if rounded:
            scaled = other / mass * ball(grid.loss(low)).exp()
            down = floor((1 - scaled) * _GAP)
            up = ceiling((scaled * ball((high - low) * grid.step).exp() - 1) * _GAP)
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
