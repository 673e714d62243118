"""Keys that do not show: how many rows they have together, as a total of all keys less what shows.

The total is released with noise of its own: with the counts, as one release (`histogram(..., others=0.1)`), or as
one beside them (`query.total()`). Its noise is independent of theirs, so an interval at confidence 1 - a/2 for each of
the two gives one at 1 - a for their difference. The counts of what shows are too high, because of which keys show;
`shown_total` proves how far their sum reaches given that they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.releases.facts import Facts
from leastnoise.releases.interval import Total
from leastnoise.releases.noise import Noise, read_noise, write_noise

if TYPE_CHECKING:
    from leastnoise.releases.provenance import Provenance
    from leastnoise.releases.release import Release

LABEL = "all other keys"  # what people read where the others have a key
_CURE = "Release query.total() of the query that this is of."


@dataclass(frozen=True, slots=True, kw_only=True)
class AllKeys:
    """How many rows all keys have together, shown or not: a noisy number that was released with those that show."""

    value: int
    noise: Noise

    def interval(self, confidence: float) -> tuple[float, float]:
        """Where the true total lies with this `confidence`."""
        half = self.noise.distribution.half_width(confidence)
        return self.value - half, self.value + half


def others_of(shown: Release, total: Release | None, confidence: float) -> Total:
    """What is left for the keys that do not show; see `Release.others`."""
    if shown.threshold is None:
        raise errors.InvalidParameter("All bins of this release show, so there are no others.")
    whole = _total_of(shown, total)
    each = (1 + confidence) / 2
    low, high = whole.interval(each)
    seen = shown.total(confidence=each)
    return Total(
        max(whole.value - seen.value, 0.0),
        math.hypot(whole.noise.std, seen.std),
        max(low - seen.high, 0.0),
        max(high - seen.low, 0.0),
    )


def _total_of(shown: Release, total: Release | None) -> AllKeys:
    if total is not None:
        _check(shown, total)
        return AllKeys(value=int(total.values[0]), noise=total.noise)
    if shown.all_keys is None:
        raise errors.MissingParameter(
            "This release has no total of all keys, so nobody knows what the others have. Ask for one with it, as in "
            f"histogram(..., others=0.1), or give one. {_CURE}",
            parameter="total",
        )
    return shown.all_keys


def _check(shown: Release, total: Any) -> None:
    """Refuse what is no total of this question, by public facts: which table, and what was asked of it."""
    from leastnoise.releases.release import Release
    from leastnoise.releases.shown_total import total_of

    if not isinstance(total, Release):
        raise errors.WrongType(
            f"total must be a release. Got {type(total).__name__} instead. {_CURE}", parameter="total"
        )
    mine, other = shown.provenance, total.provenance
    asked = total_of(mine.query or "")
    if (asked, mine.table, mine.left_out) != (other.query, other.table, other.left_out):
        raise errors.InvalidParameter(
            f"The total must be of the same question. It is of {_asked(other)}, and this is of {_asked(mine)}. {_CURE}",
            parameter="total",
        )


def _asked(provenance: Provenance) -> str:
    return f'"{provenance.query or "an unknown question"}" ({provenance.table or "no table"})'


def others_in_words(others: Total, confidence: float = 0.95) -> str:
    """The figure in a sentence."""
    return (
        f"Keys that do not show have about {others.value:,.0f} rows together, between {others.low:,.0f} and "
        f"{others.high:,.0f} with {100 * confidence:.4g} % confidence."
    )


def others_row(columns: dict[str, Any], keys: int, others: Total, *, for_people: bool) -> dict[str, Any]:
    """The columns with one more row, for the keys that do not show: the first `keys` columns name it.

    A column has one type, so its key is null among numbers and days; for people it is always in words.
    """
    made: dict[str, Any] = {}
    numbers = {"value": int(others.value), "low": math.floor(others.low), "high": math.ceil(others.high)}
    for place, (name, column) in enumerate(columns.items()):
        cells = column.tolist() if hasattr(column, "tolist") else list(column)
        words = for_people or not cells or any(isinstance(cell, str) for cell in cells)
        made[name] = [*cells, (LABEL if place == 0 and words else None) if place < keys else numbers.get(name)]
    return made


def write_all_keys(found: AllKeys) -> dict[str, Any]:
    """As JSON holds it."""
    return {"value": found.value, "noise": write_noise(found.noise)}


def read_all_keys(facts: Facts) -> AllKeys:
    """What `write_all_keys` wrote."""
    found = AllKeys(value=facts.integer("value"), noise=read_noise(facts.facts("noise")))
    facts.check("value", abs(found.value) < 2**63)
    facts.finish()
    return found
