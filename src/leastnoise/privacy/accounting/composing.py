"""Products of many loss measures that stay short: tails are cut and the grid made coarser as the losses spread.

Every step keeps an upper measure upper and a lower one lower (`loss_measure`), so none of the numbers that steer it
needs to be right: they come from floats, and decide how tight the answer is, never whether it holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, fmpz

from leastnoise.privacy.accounting.loss_measure import Integer, LossMeasure, ball, ceiling, floor
from leastnoise.privacy.calibration import proof

_WEIGHT_BITS = 96  # of the weights in which a mass is split
LARGEST_TILT = 1e6  # that is looked for
SHORT = 64  # a measure of fewer masses is not made coarser


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


def trim(measure: LossMeasure, right: float, left: float) -> LossMeasure:
    """Without tails of at most these masses. Upper: the right one goes to infinity, the left one up to the first loss
    that is kept. Lower: the right one goes down to the last loss that is kept, the left one is dropped."""
    masses = measure.masses
    first, last = 0, len(masses)
    above, cap = fmpz(0), _whole(right, measure.bits)
    while last > 1 and above + masses[last - 1] <= cap:
        last -= 1
        above += masses[last]
    below, cap = fmpz(0), _whole(left, measure.bits)
    while first < last - 1 and below + masses[first] <= cap:
        below += masses[first]
        first += 1
    kept, infinite = masses[first:last], measure.infinite
    if measure.upper:
        kept[0], infinite = kept[0] + below, infinite + above
    else:
        kept[-1] = kept[-1] + above
    return replace(measure, start=measure.position(first), masses=kept, infinite=infinite)


def coarsen(measure: LossMeasure, keep: int | None = None) -> LossMeasure:
    """The measure on every second loss: those of even index (keep = 0), of odd index (keep = 1), or those with the
    largest mass among them, which costs a lower measure least.

    What lies between two losses that are kept, a step h from each, goes to both: with r = 1 there and e^h, e^-h at the
    ends, the shares 1/(1 + e^h) below and e^h/(1 + e^h) above keep the mean of r. An upper measure rounds both up.
    """
    masses, start = list(measure.masses), measure.start
    if keep is None:
        keep = max(range(len(masses)), key=masses.__getitem__) % 2
    if keep:
        masses, start = [fmpz(0), *masses], start - measure.step
    if len(masses) % 2 == 0:
        masses.append(fmpz(0))
    even, odd = masses[0::2], masses[1::2]
    if odd:
        even = _split_up(even, odd, measure) if measure.upper else _merge_down(even, odd, measure)
    return replace(measure, start=start, step=2 * measure.step, masses=even)


def _split_up(even: list[Integer], odd: list[Integer], measure: LossMeasure) -> list[Integer]:
    with proof.precision(2 * _WEIGHT_BITS):
        unit, growth = arb(2) ** _WEIGHT_BITS, ball(measure.step).exp()
        down, up = ceiling(unit / (1 + growth)), ceiling(unit * growth / (1 + growth))
    lower = [measure.rescaled(mass * down, _WEIGHT_BITS) for mass in odd]
    upper = [measure.rescaled(mass * up, _WEIGHT_BITS) for mass in odd]
    return [a + b + c for a, b, c in zip(even, [*lower, 0], [0, *upper], strict=True)]


def _merge_down(even: list[Integer], odd: list[Integer], measure: LossMeasure) -> list[Integer]:
    """A lower measure: of each odd mass a part d goes down, the rest u up, so that onto each even loss

        d (1 - e^-h) >= u (e^h - 1),  that is  d >= u e^h,

    d from above and u from below: merged they have a mean r at most that of the loss they land on. From both ends
    toward the largest mass, since a remainder that is carried on toward more mass becomes negligible there.
    """
    with proof.precision(2 * _WEIGHT_BITS):
        unit, growth = arb(2) ** _WEIGHT_BITS, ball(measure.step).exp()
        partner, carried = ceiling(unit * growth), floor(unit / growth)  # d for one u, rounded up; u for one d, down
    even = list(even)
    middle = max(range(len(odd)), key=odd.__getitem__)
    waiting = fmpz(0)  # u of the odd mass below, on its way up to even[k]
    for k in range(middle):
        mass = odd[k]
        need = -((-waiting * partner) >> _WEIGHT_BITS)
        if need <= mass:
            even[k] += waiting + need
            waiting = mass - need
        else:  # too little to balance it: what is left of it goes down instead
            balanced = min((mass * carried) >> _WEIGHT_BITS, waiting)
            even[k] += balanced + mass
            even[k - 1] += waiting - balanced
            waiting = fmpz(0)
    below, waiting = waiting, fmpz(0)
    for k in range(len(odd) - 1, middle - 1, -1):  # now d of the odd mass above, on its way down to even[k + 1]
        up = min((waiting * carried) >> _WEIGHT_BITS, odd[k])
        even[k + 1] += up + waiting
        waiting = odd[k] - up
    balanced = min((waiting * carried) >> _WEIGHT_BITS, below)
    even[middle] += waiting + balanced
    if below > balanced:
        even[middle - 1] += below - balanced
    return even


def power(measure: LossMeasure, times: int, copies: int, tolerance: Tolerance) -> LossMeasure:
    """The measure of `times` equal releases, of `copies` in the whole composition, by repeated squaring."""
    levels = times.bit_length()
    share = 0.5 / (levels / 2 + 1)

    def shortened(long: LossMeasure, held: int) -> LossMeasure:
        left = max(1.0, copies / held)
        return shorten(long, left, 2 * levels, share, tolerance)

    result, square, held, in_result = None, shortened(measure, 1), 1, 0
    for bit in reversed(f"{times:b}"):
        if bit == "1":
            in_result += held
            result = square if result is None else shortened(product(result, square), in_result)
        if 2 * held <= times:
            square, held = shortened(square * square, 2 * held), 2 * held
    assert result is not None
    return result


def shorten(measure: LossMeasure, copies: float, cuts: int, share: float, tolerance: Tolerance) -> LossMeasure:
    """Cut the tails, and double the step as often as the tolerance allows."""
    measure = trim(measure, *tolerance.tails(copies, cuts))
    while len(measure.masses) > SHORT and tolerance.may_coarsen(float(measure.step), copies, share):
        measure = coarsen(measure)
    return measure


def product(first: LossMeasure, second: LossMeasure) -> LossMeasure:
    """Of two measures whose steps differ by a power of two."""
    while first.step < second.step:
        first = coarsen(first)
    while second.step < first.step:
        second = coarsen(second)
    return first * second


def _whole(mass: float, bits: int) -> Integer:
    return fmpz(math.floor(Fraction(mass) * 2**bits))
