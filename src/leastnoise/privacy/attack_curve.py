"""What any attack can find at most against its false alarms, as a line to be drawn that is nowhere below the truth.

Let F(a) be the part of those present that an attack with false-alarm rate a finds at most. F does not fall and is
concave, so its chords lie below it, and a line through samples would understate it, most of all at a corner. A chord
that is made longer lies above it outside: between two neighbouring samples F is below the chord before them and below
the chord after them, and so below the smaller of the two. These meet in one point, which is drawn between the samples.
Where F is straight on either side of a corner, that point is the corner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.validation import Floats

_SAMPLES = np.concatenate([np.linspace(0, 0.04, 81), np.linspace(0.04, 1, 193)[1:]])


class AttackCurve(NamedTuple):
    """Corners of a line, from left to right."""

    false_alarms: Floats
    found: Floats


def attack_curve(most_found: Callable[[ArrayLike], Floats]) -> AttackCurve:
    """The line for F = most_found: at every false-alarm rate at least F, and F itself at the samples.

    Let L and R be the chords before and after, made longer, and x their meeting point as doubles have it. The line goes
    through (x, max(L(x), R(x))), so it is above min(L, R) >= F on both sides wherever x has come to lie. Before the
    first sample after 0 there is no chord, and the line rises straight up at 0; after the last one there is none, and F
    is at most F(1).

    >>> from leastnoise.privacy.guarantees import PureDP
    >>> curve = attack_curve(lambda rates: 1 - PureDP(1).tradeoff(rates))
    >>> float(round(np.interp(1 / (1 + np.e), *curve), 10)), round(np.e / (1 + np.e), 10)
    (0.7310585786, 0.7310585786)
    """
    x, y = _SAMPLES, np.asarray(most_found(_SAMPLES), dtype=np.float64)
    slope = np.append(np.diff(y) / np.diff(x), 0.0)  # of each chord; behind 1 it is level
    begin, end, height, top = x[1:-1], x[2:], y[1:-1], y[2:]
    before, after = slope[:-2], slope[2:]
    bends = before > after
    place = (top - height + before * begin - after * end) / np.where(bends, before - after, 1.0)
    place = np.clip(np.where(bends, place, begin), begin, end)
    over = np.maximum(height + before * (place - begin), top - after * (end - place))
    first = y[1] - slope[1] * x[1]
    corners = np.stack([begin, height, place, over], axis=1).reshape(-1, 2)
    line = np.concatenate([[(x[0], y[0]), (x[0], max(first, y[0]))], corners, [(x[-1], y[-1])]])
    return AttackCurve(line[:, 0], np.minimum(line[:, 1], 1.0))
