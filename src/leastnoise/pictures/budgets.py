"""A budget as one stacked bar: what every release spent, what is allocated and not spent, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from leastnoise.pictures.captions import in_percent
from leastnoise.pictures.picture import Axis, Bars, Mark, Picture, Words

LEAST_NAMED = 0.06  # of the bar; narrower parts have no room for a name
WIDE, LETTER = 960, 7.5  # pixels of the bar, and of a letter, about
MAX_PARTS = 40  # releases with a part each; of more the first are one part
STYLES = ("main", "bar")  # by turns
CAPS = (("gaussian", "Gaussian (mu²)"), ("pure", "Laplace (epsilon)"), ("threshold", "unknown keys (delta)"))


class Part(NamedTuple):
    """A part of the bar: what it is for, how long it is, and how it looks."""

    name: str
    share: float
    style: str
    striped: bool = False


def parts(entries: Sequence[Any], cap: str) -> list[Part]:
    """What of one cap, by its name, each release spent, whoever paid; what is allocated and unused; what is left."""
    spent = [(entry, float(getattr(entry, cap))) for entry in entries if entry.kind == "release"]
    spent = [(entry, share) for entry, share in spent if share]
    early, late = spent[:-MAX_PARTS], spent[-MAX_PARTS:]
    made = [Part(f"{len(early):,} earlier", sum(share for _, share in early), "quiet")] if early else []
    made += [Part(_name(entry), share, STYLES[place % 2]) for place, (entry, share) in enumerate(late)]
    used = sum(share for _, share in spent)
    booked = sum(float(getattr(entry, cap)) for entry in entries if not entry.allocation)
    if booked - used > 1e-12:
        made.append(Part("allocated", booked - used, "quiet", striped=True))
    return [*made, Part("left", max(0.0, 1 - max(booked, used)), "wash")]


def _name(entry: Any) -> str:
    note = getattr(entry, "note", "")
    return note or f"no. {entry.number}"


def budget(entries: Sequence[Any], terms: Any) -> Picture:
    """A bar for each cap that something was spent of, or for the one that is spent first."""
    main = "pure" if getattr(terms, "laplace_only", False) else "gaussian"
    found = {title: parts(entries, cap) for cap, title in CAPS if cap == main or any(getattr(e, cap) for e in entries)}
    marks: list[Mark] = []
    for place, bar in enumerate(found.values()):
        marks += _bar(bar, float(place))
    first = next(iter(found.values()))
    used = sum(part.share for part in first if part.name != "left" and not part.striped)
    held = sum(part.share for part in first if part.striped)
    words = f"{in_percent(used)} used by releases, {in_percent(held)} allocated, {in_percent(first[-1].share)} left"
    when = f"{entries[0].created_at:%Y-%m-%d} to {entries[-1].created_at:%Y-%m-%d}" if entries else "No release yet"
    return Picture(
        marks=marks,
        x=Axis(low=0.0, high=100.0, names=[(at, f"{at:g}%") for at in (0.0, 25.0, 50.0, 75.0, 100.0)]),
        y=Axis(names=[(float(place), title) for place, title in enumerate(found)] if len(found) > 1 else []),
        title="The budget, and what is left of it",
        caption=f"All releases together: epsilon = {float(terms.epsilon):g}, delta = {float(terms.delta):g} for one "
        f"{terms.unit or 'unit'} ({terms.neighbours}). {words}. {when}.",
        alt=f"{words}.",
        size=(9.6, 0.7 + 0.6 * len(found)),
        downward=True,
    )


def _bar(bar: list[Part], place: float) -> list[Mark]:
    ends = 100 * np.cumsum([0.0, *(part.share for part in bar)])
    made: list[Mark] = []
    for part, start, end in zip(bar, ends[:-1], ends[1:], strict=True):
        made.append(
            Bars(np.array([place]), np.array([start]), np.array([end]), part.style, height=0.8, striped=part.striped)
        )
    for part, start, end in zip(bar, ends[:-1], ends[1:], strict=True):
        if part.share >= LEAST_NAMED:
            text = f"{part.name if _fits(part) else ''} {in_percent(part.share, 3)}"
            style = "paper" if part.style in ("main", "quiet") and not part.striped else "ink"
            middle = np.array([(start + end) / 2])
            made.append(Words(middle, np.array([place]), [text.strip()], "middle", style, (0.0, 0.0)))
    return made


def _fits(part: Part) -> bool:
    """Whether the name fits in its part, with a number behind it."""
    return LETTER * (len(part.name) + 6) < WIDE * part.share
