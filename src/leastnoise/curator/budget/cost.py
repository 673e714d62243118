"""What a release takes of the three caps of a budget, in whole numbers of atoms: exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Cost:
    """Parts of the three caps, in atoms."""

    gaussian: int = 0
    pure: int = 0
    threshold: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.gaussian + other.gaussian, self.pure + other.pure, self.threshold + other.threshold)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.gaussian - other.gaussian, self.pure - other.pure, self.threshold - other.threshold)

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.gaussian, self.pure, self.threshold

    def within(self, caps: Cost) -> bool:
        """Whether no cap is passed (and none was refunded below nothing)."""
        return all(0 <= part <= cap for part, cap in zip(self.parts, caps.parts, strict=True))

    def shares(self, caps: Cost) -> tuple[Fraction, Fraction, Fraction]:
        """The parts of the caps, exactly; 0 of a cap that is 0."""
        gaussian, pure, threshold = (Fraction(p, c or 1) for p, c in zip(self.parts, caps.parts, strict=True))
        return gaussian, pure, threshold

    def at_least(self, share: Fraction, caps: Cost) -> Cost:
        """This cost, or that share of each cap that it draws on where it is less."""
        pairs = zip(self.parts, caps.parts, strict=True)
        return Cost(*(max(part, math.ceil(share * cap)) if part else 0 for part, cap in pairs))

    def largest_share(self, left: Cost, caps: Cost) -> Fraction:
        """The largest share of the caps that this cost draws on, that is still left."""
        drawn = zip(self.parts, left.shares(caps), strict=True)
        return min((share for asked, share in drawn if asked > 0), default=Fraction(0))

    @property
    def without_pure(self) -> Cost:
        """The same but for its pure part."""
        return replace(self, pure=0)
