"""A uniform number known to its first bits only, and decisions that read more of them.

Ball arithmetic encloses every rounding error, so an answer is either proved or withheld. Precision is set per
decision; python-flint keeps it in one variable for all threads, so another thread may lower it meanwhile: a
ball is then wider, never wrong, and the next round asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from leastnoise.curator.noise import entropy
from leastnoise.errors import NotProved

# A fair draw needs more than MAX_BITS with probability below 2^-400 (numbers below 2^512, most bits left
# over): refusing then changes no distribution that anyone could ever tell.
MAX_BITS = 1024
# Precision beyond the prefix: 52 bits for scales up to 2^52, the rest for cancellation and the balls' width.
GUARD_BITS = 128


@dataclass(slots=True)
class Uniform:
    """A number drawn uniformly from (0, 1), so far known to lie in [prefix, prefix + 1] / 2^bits.

    It is refined, never redrawn: rejecting a prefix because it was hard would favour the easy ones.
    """

    prefix: int = 0
    bits: int = 0

    def extend(self) -> None:
        """Read 64 more of its bits; NotProved where chance never needs as many."""
        if self.bits + 64 > MAX_BITS:
            raise NotProved(
                f"A draw stayed undecided after {self.bits} random bits. By chance that never happens, so the source "
                "of randomness is broken, and noise from it would hide nobody. Nothing was drawn; check the entropy "
                "source."
            )
        self.prefix = self.prefix << 64 | int(entropy.words(1)[0])
        self.bits += 64

    def ball(self) -> arb:
        """All that is known of it."""
        size = 1 << self.bits
        return arb(fmpq(self.prefix, size)).union(arb(fmpq(self.prefix + 1, size)))


def decide_floor(uniform: Uniform, quantity: Callable[[arb], arb], *, least: int, most: int | None = None) -> int:
    """floor(quantity(uniform)), clamped into [least, most], for a continuous monotone `quantity`.

    A tie (`quantity` exactly an integer) has probability zero, so enough bits decide almost surely.
    """
    while True:
        with ctx.workprec(uniform.bits + GUARD_BITS):
            value = quantity(uniform.ball())
            low, high = _floor(value.lower()), _floor(value.upper())
        if low is not None and most is not None and low >= most:
            return most
        if low is not None and high is not None and max(low, least) == max(high, least):
            return max(low, least)
        uniform.extend()


def within(quantity: Callable[[], arb], error: float) -> arb:
    """`quantity()` as a ball of radius `error` at most: whatever becomes a double must pass through here."""
    for precision in (128, 256, 512, 1024):
        with ctx.workprec(precision):
            value = quantity()
            if value.rad() <= error:
                return value
    raise NotProved(
        "A constant of the noise is not known well enough, so noise from it would not be proved. Nothing was "
        "drawn; please report this as a bug."
    )


def ball(number: Fraction | int) -> arb:
    """A rational in the present precision."""
    return arb(fmpq(number.numerator, number.denominator))


def _floor(point: arb) -> int | None:
    """The floor of an exact point, or None for NaN and infinities."""
    floor = point.floor().unique_fmpz()
    return None if floor is None else int(floor)
