"""What a question about quantiles is asked with, checked before any row is read: levels, steps of the clip, rows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from leastnoise.errors import BadDomain, InvalidParameter, MissingParameter, WrongType

MAX_STEPS = 2**20
FINE_STEPS = 2**20  # that candidates are taken from where nobody says
HISTOGRAM_STEPS = (32, 128, 1000)  # that are counted where nobody says: every one adds noise, few blur values
MAX_LEVELS = 1000
MOST_ROWS = 10**18


def checked_levels(levels: Any) -> tuple[Fraction, ...]:
    """One level or several, above 0 and below 1 and rising, as typed: 0.1 is 1/10."""
    if levels is None:
        raise MissingParameter(
            "Which quantiles? Levels are shares of the rows: one half is the median.",
            parameter="levels",
            example=[{"levels": 0.5}, {"levels": [0.1, 0.5, 0.9]}],
        )
    given = levels.tolist() if hasattr(levels, "tolist") else levels
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    if any(isinstance(one, bool) or not isinstance(one, Real) for one in listed):
        raise WrongType(
            f"levels must be numbers between 0 and 1. Got {levels!r} instead.",
            parameter="levels",
            example={"levels": [0.1, 0.5, 0.9]},
        )
    for one in listed:
        if one in (0, 1):
            raise InvalidParameter(
                "The least and the largest value are single people's, and no noise hides them. Ask for a level near "
                "the end instead; the ends of the clip are public anyway.",
                parameter="levels",
                value=levels,
                example={"levels": 0.01 if one == 0 else 0.99},
            )
        if not 0 < one < 1:
            raise InvalidParameter(
                f"levels must be between 0 and 1. Got {one!r} instead. The median is at one half.",
                parameter="levels",
                value=levels,
                example={"levels": 0.5},
            )
    exact = tuple(Fraction(str(float(one))) for one in listed)
    if not 1 <= len(exact) <= MAX_LEVELS:
        raise InvalidParameter(
            f"levels must be from 1 to {MAX_LEVELS:,} numbers. Got {len(exact):,} instead.",
            parameter="levels",
            example={"levels": [0.1, 0.5, 0.9]},
        )
    if any(after <= before for before, after in pairwise(exact)):
        raise InvalidParameter(
            f"levels must rise, each given once. Got {levels!r} instead.",
            parameter="levels",
            value=levels,
            example={"levels": sorted({float(one) for one in exact})},
        )
    return exact


def checked_steps(bins: Any) -> int | None:
    """Into how many steps the clip is cut; None: as many as the mechanism likes."""
    if bins is None:
        return None
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or not 1 <= bins <= MAX_STEPS:
        raise BadDomain(
            f"bins must be a whole number from 1 to 2^20. Got {bins!r} instead.", parameter="bins", value=bins
        )
    return int(bins)


def checked_rows(expected: Any) -> float | None:
    """How many rows somebody expects; None: nobody says."""
    if expected is None:
        return None
    number = isinstance(expected, Real) and not isinstance(expected, bool)
    if not number or not 1 <= expected <= MOST_ROWS:
        raise (InvalidParameter if number else WrongType)(
            f"expected_rows must be a number, about how many rows there are, from 1 to 1e18. Got {expected!r} instead.",
            parameter="expected_rows",
            example={"expected_rows": 30_000},
        )
    return float(expected)
