"""A guarantee several times over: `step * 10_000`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.privacy.neighbours import Neighbours


class Repeatable:
    """What makes `guarantee * times` that guarantee so many times."""

    __slots__ = ()

    def __mul__(self, times: int) -> Repeated:
        return Repeated(self, times)

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Repeated(Repeatable):
    """A guarantee `times` times over, for `compose`.

    >>> from leastnoise.privacy.guarantee import PureDP
    >>> PureDP(0.1) * 20
    Repeated(guarantee=PureDP(epsilon=0.1, neighbours='add-remove'), times=20)
    """

    guarantee: Any
    times: int

    def __post_init__(self) -> None:
        if isinstance(self.guarantee, Repeated):
            object.__setattr__(self, "times", self.guarantee.times * validation.integer("times", self.times))
            object.__setattr__(self, "guarantee", self.guarantee.guarantee)
        elif not isinstance(self.guarantee, Repeatable):
            raise errors.WrongType(
                f"Only a guarantee can be repeated, such as PureDP(0.1). Got {type(self.guarantee).__name__} instead."
            )
        object.__setattr__(self, "times", validation.integer("times", self.times))

    @property
    def neighbours(self) -> Neighbours:
        """Those of the guarantee."""
        return self.guarantee.neighbours  # type: ignore[no-any-return]

    def to_approx(self, *, delta: validation.Number) -> Any:
        """What all of them promise together at this delta, proved from both sides: an ApproxDP with `lower`.

        delta: of the total, between 0 and 1.
        """
        from leastnoise.privacy.composition import compose  # compose composes these

        return compose(self, delta=delta)
