"""In which order several quantiles are found: the middle one first, then those below it among the rows below it.

A unit's rows below and above a cut are as many as all of them, so all quantiles of one depth together cost what one of
them would. m levels have floor(log2 m) + 1 depths (Kaplan, Schnapp and Stemmer 2022, for distinct values; here the rows
of the step that is cut are divided between both sides).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_SHARE_PARTS = 4096


@dataclass(frozen=True, slots=True)
class Node:
    """One quantile: the share `relative` of the rows between two that were found before (None: an end of the clip)."""

    place: int  # among the levels
    below: int | None
    above: int | None
    relative: Fraction
    depth: int
    divides: bool  # whether others are found among the rows on its two sides

    @property
    def reach(self) -> Fraction:
        """max(q, 1 - q): how far one row moves the rows below a cut away from the share q of all."""
        return max(self.relative, 1 - self.relative)


def level_tree(levels: Sequence[Fraction]) -> tuple[Node, ...]:
    """The quantiles of rising levels in the order in which they are found.

    >>> [(node.place, str(node.relative)) for node in level_tree([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])]
    [(1, '1/2'), (0, '1/5'), (2, '4/5')]
    """
    found: list[Node] = []
    waiting = [(0, len(levels), 0)]
    for first, last, depth in waiting:
        if first == last:
            continue
        place = (first + last) // 2
        below, above = (first - 1 if first else None), (last if last < len(levels) else None)
        low = Fraction(0) if below is None else levels[below]
        high = Fraction(1) if above is None else levels[above]
        relative = (levels[place] - low) / (high - low)
        found.append(Node(place, below, above, relative, depth, divides=last - first > 1))
        waiting += [(first, place, depth + 1), (place + 1, last, depth + 1)]
    return tuple(found)


def depths(nodes: Sequence[Node]) -> int:
    """How many quantiles one row takes part in at most."""
    return 1 + max(node.depth for node in nodes)


@lru_cache(maxsize=64)
def depth_shares(nodes: tuple[Node, ...]) -> tuple[Fraction, ...]:
    """The part of the rate that each depth gets: what makes the sum of the levels' squared rank errors least.

    A quantile at the rate s has a variance of its own of reach^2/s^2 (times a constant), and receives (1 - relative)^2
    and relative^2 of its neighbours'. So the sum is sum_d A_d/s_d^2, least among shares that add up to 1 where s_d ~
    A_d^(1/3). The
    shares are public fractions that add up to exactly 1, whatever rounding does to A.

    >>> from fractions import Fraction
    >>> [float(s) for s in depth_shares(level_tree([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))]
    [0.373046875, 0.626953125]
    """
    counts = {node.place: 1.0 for node in nodes}  # how much its variance counts in the sum
    totals = [0.0] * depths(nodes)
    for node in reversed(nodes):
        totals[node.depth] += counts[node.place] * float(node.reach) ** 2
        for place, part in ((node.below, 1 - node.relative), (node.above, node.relative)):
            if place is not None:
                counts[place] += counts[node.place] * float(part) ** 2
    roots = [total ** (1 / 3) for total in totals]
    parts = [max(1, round(_SHARE_PARTS * root / sum(roots))) for root in roots]
    return tuple(Fraction(part, sum(parts)) for part in parts)
