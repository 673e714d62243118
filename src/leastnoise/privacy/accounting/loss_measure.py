"""A measure of the privacy loss with whole-number masses: what is composed, and what is read off.

The loss L = log dP/dQ of a pair (P, Q), under P, has the privacy profile

    delta(epsilon) = P[L = inf] + E[(1 - e^(epsilon - L))^+; L < inf],

and a measure A of the losses has it too, whatever its total mass:

    delta_A(epsilon) = A_inf + sum_k A_k (1 - e^(epsilon - l_k))^+.

An *upper* measure has delta_A >= delta at every real epsilon, a *lower* one delta_A <= delta at every one. With r =
e^-L and alpha = e^epsilon the summand is (1 - alpha r)^+, which falls in r and is convex in it. So these keep an upper
measure upper: adding mass, moving it to larger losses, and spreading it while the mean of r stays. And these keep a
lower one lower: dropping mass, moving it to smaller losses, and merging it while the mean of r stays (Jensen).

Products keep the order. Where delta_A >= delta_A' at every epsilon, the totals are ordered too (epsilon to -inf), and

    delta_(A * B)(epsilon) = B_inf |A| + sum_j B_j delta_A(epsilon - l_j)

is not below the same with A'. Here |A| is the total mass with A_inf, and losses of a product add.

Masses are whole numbers of 2^-bits, so sums and products are exact, and what must be rounded is rounded up in an upper
measure and down in a lower one. No float takes part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb, fmpz, fmpz_poly

from leastnoise import errors
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.calibration.proof import ball

Integer = Any  # fmpz; flint ships no types
RealBall = proof.RealBall
_READING_BITS = 192
_MOST = arb(2) ** 100_000  # flint ends the process where a whole number is beyond its memory


@dataclass(frozen=True, slots=True)
class LossMeasure:
    """Masses at the losses start + k step, and at infinity; in units of 2^-bits."""

    start: Fraction
    step: Fraction
    masses: list[Integer]
    infinite: Integer
    upper: bool
    bits: int

    def position(self, index: int) -> Fraction:
        """The loss at an index."""
        return self.start + index * self.step

    @property
    def finite(self) -> Integer:
        """The mass at finite losses."""
        return sum(self.masses, fmpz(0))

    def __mul__(self, other: LossMeasure) -> LossMeasure:
        """The measure of both releases together: losses add, masses multiply."""
        assert (self.step, self.upper, self.bits) == (other.step, other.upper, other.bits)
        bits, first = self.bits, fmpz_poly(self.masses)
        second = first if other is self else fmpz_poly(other.masses)
        masses = (first * second).coeffs()
        masses += [fmpz(0)] * (len(self.masses) + len(other.masses) - 1 - len(masses))
        total = other.finite + other.infinite
        infinite = self.infinite * total + other.infinite * self.finite
        return replace(
            self,
            start=self.start + other.start,
            masses=[-(-mass >> bits) for mass in masses] if self.upper else [mass >> bits for mass in masses],
            infinite=self.rescaled(infinite),
        )

    def rescaled(self, product: Integer, by: int | None = None) -> Integer:
        """product / 2^by (a product of two masses: by = bits), rounded to the side of this measure."""
        shift = self.bits if by is None else by
        return -((-product) >> shift) if self.upper else product >> shift

    def delta(self, epsilon: float | Fraction) -> float:
        """delta_A(epsilon) as a double between 0 and 1: rounded up in an upper measure, down in a lower one."""
        exact = Fraction(epsilon)
        with proof.precision(_READING_BITS):
            first = max(0, (exact - self.start) // self.step + 1)  # the first loss above epsilon
            above, ratio_sum, decay = fmpz(0), arb(0), (-ball(self.step)).exp()
            for mass in reversed(self.masses[first:]):
                above, ratio_sum = above + mass, mass + decay * ratio_sum
            lost = ball(exact - self.position(first)).exp() * ratio_sum
            value = (self.infinite + above - lost) * arb(2) ** -self.bits
            return min(1.0, max(0.0, proof.upward(value))) if self.upper else max(0.0, proof.downward(value))

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with delta_A(epsilon) <= delta: rounded up in an upper measure (inf where the mass
        at infinity alone is more), down in a lower one.

        From the largest loss down: between the losses l_k and l_(k+1) it is g_k(epsilon) = A_inf + U - e^(epsilon -
        l_(k+1)) V, with U the mass above l_k and V its sum of e^(l_(k+1) - l); elsewhere g_k lies below delta_A, from
        which it leaves terms out or takes negative ones in. So the root of any g_k is at most the answer, which serves
        a lower measure. In an upper one delta_A(l_(k+1)) <= delta is proved where the search stops, so the root of g_k
        is enough unless it lies below l_k: then l_k is.
        """
        with proof.precision(_READING_BITS):
            allowed = arb(delta) * arb(2) ** self.bits
            if not arb(self.infinite) < allowed:
                return float("inf") if self.upper else 0.0
            decay = (-ball(self.step)).exp()
            above, ratio_sum = fmpz(0), arb(0)
            for index in range(len(self.masses) - 1, -1, -1):
                if self._passes(self.infinite + above - decay * ratio_sum, allowed):
                    root = self._crossing(index + 1, above, ratio_sum, allowed)
                    return max(root, proof.upward(ball(self.position(index)))) if self.upper else root
                mass = self.masses[index]
                above, ratio_sum = above + mass, mass + decay * ratio_sum
            return self._crossing(0, above, ratio_sum, allowed)

    def _passes(self, value: RealBall, allowed: RealBall) -> bool:
        """Whether delta_A at the next loss below is above what is allowed."""
        return not value <= allowed if self.upper else bool(value > allowed)

    def _crossing(self, index: int, above: Integer, ratio_sum: RealBall, allowed: RealBall) -> float:
        """The epsilon with A_inf + above - e^(epsilon - l_index) ratio_sum = allowed; 0 where none is above 0."""
        excess = self.infinite + above - allowed
        excess = excess.upper() if self.upper else excess.lower()
        if not (excess > 0 and ratio_sum > 0):
            return 0.0
        root = ball(self.position(index)) + (excess / ratio_sum).log()
        return max(0.0, proof.upward(root) if self.upper else proof.downward(root))


def ceiling(value: RealBall) -> Integer:
    """The least whole number not below any point of the ball, at least 0."""
    mantissa, shift = _binary(value.upper())
    return max(fmpz(0), -(-mantissa >> shift))


def floor(value: RealBall) -> Integer:
    """The largest whole number not above any point of the ball, or 0 where that is negative."""
    mantissa, shift = _binary(value.lower())
    return max(fmpz(0), mantissa >> shift)


def _binary(value: RealBall) -> tuple[Integer, int]:
    """A number without radius as mantissa / 2^shift, shift >= 0, or one that is rounded to whole numbers alike."""
    if not abs(value) < _MOST:  # nor where nothing is known of it
        raise errors.OutOfRange(
            "These losses are too far apart to be added up exactly. Ask for releases of a smaller epsilon."
        )
    mantissa, exponent = value.man_exp()
    if exponent >= 0:
        return mantissa << int(exponent), 0
    return mantissa, min(-int(exponent), int(mantissa).bit_length() + 1)  # below 1/2 in size: as good as 1/4
