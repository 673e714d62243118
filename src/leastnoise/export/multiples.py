"""Rounding to multiples of a step, such as 5, for offices that publish no other numbers.

An interval that was right stays right: its low end is rounded down and its high end up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number

Rounding = Callable[[float], float]


def checked_step(round_to: Number | None) -> float | None:
    """The step, above zero; None: nothing is rounded."""
    step = None if round_to is None else validation.number("round_to", round_to)
    if step is not None and step <= 0:
        raise errors.InvalidParameter(
            f"round_to must be above 0: numbers are rounded to its multiples. Got {step:g} instead.",
            parameter="round_to",
            value=round_to,
            example={"round_to": 5},
        )
    return step


def nearest(step: float | None) -> Rounding:
    """To the nearest multiple."""
    return _by(round, step)


def below(step: float | None) -> Rounding:
    """Down to a multiple."""
    return _by(math.floor, step)


def above(step: float | None) -> Rounding:
    """Up to a multiple."""
    return _by(math.ceil, step)


def _by(rule: Callable[[float], int], step: float | None) -> Rounding:
    """An interval without an end stays so."""
    return lambda value: value if step is None or math.isinf(value) else step * rule(value / step)
