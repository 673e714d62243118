"""How strong a promise is, in one word: by what an attacker finds who accepts 5 % false alarms. Guessing finds 5 %.

Gaussian noise is judged by its mu, Laplace noise by its epsilon: there the trade-off is all that is promised, and a
delta that was typed is only where epsilon is read off. An (epsilon, delta) promise may fail outright with probability
delta, so it is judged by delta, too: at 1 %, or at one over the number of units where that is public (`with_units`),
it may publish somebody's rows as they are. Where nobody has said how many units there are, of a delta above 1e-5 it is
told from how many on it is too much.

At the same epsilon and a small delta an attacker finds less in Gaussian noise than in Laplace noise, whose trade-off is
that of epsilon-DP at its worst. So a weak promise of Laplace noise tells what Gaussian noise would be like (`beside`).

**The attack curve** (`attack_curve`) is what any attack finds at most against its false alarms, drawn nowhere below the
truth. Let F(a) be the part of those present that an attack with false-alarm rate a finds at most. F does not fall and
is concave, so its chords lie below it, and a line through samples would understate it, most of all at a corner. A chord
that is made longer lies above it outside: between two neighbouring samples F is below the chord before them and below
the chord after them, and so below the smaller of the two. These meet in one point, which is drawn between the samples.
Where F is straight on either side of a corner, that point is the corner.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.runtime import user_stacklevel
from leastnoise._support.text import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP, ReleaseGuarantee

Band = Literal["strong", "moderate", "weak", "very weak", "protects nobody in practice"]

FALSE_ALARMS = 0.05
LAST_BAND: Band = "protects nobody in practice"
BANDS: tuple[tuple[float, Band], ...] = ((0.15, "strong"), (0.40, "moderate"), (0.75, "weak"), (0.99, "very weak"))
# (what the attacker finds at most, the band); beyond these the last one.
MODERATE = BANDS[1][0]
MAX_DELTA = 0.01
_ORDER = (*(name for _, name in BANDS), LAST_BAND)
DOUBTFUL_DELTA = 1e-5  # above it, a table of 100,000 units has too many for it


@dataclass(frozen=True, slots=True)
class GaussianInstead:
    """Gaussian noise for the same epsilon and delta: how much an attacker finds in it, and its error over that of the
    noise that it would stand for (None: that was not asked)."""

    found: float
    error: float | None = None

    def in_words(self, *, of_budget: bool) -> str:
        """A sentence."""
        noise = "a first release of Gaussian noise" if of_budget else "Gaussian noise for the same epsilon and delta"
        more = "" if self.error is None else f"; the error would be {self.error:.3g} times as large"
        return f"With {noise} it would be {_band(self.found)}: up to {percent_at_most(self.found)} %{more}."


@dataclass(frozen=True, slots=True)
class Strength:
    """How much an attacker finds, and the band of that.

    >>> print(judge(ApproxDP(1, 1e-6)))
    strong: an attacker who accepts 5 % false alarms finds up to 13.6 % of those present
    """

    found: float  # the part of those present that an attacker with 5 % false alarms finds at most
    failing: float = 0.0  # a probability of publishing everything that is too large by itself; 0: it is not
    of_budget: bool = False  # of all that a budget allows, not of one release
    mu: float | None = None  # also known: but for events of probability `chance` on either side, it is mu-GDP
    chance: float = 0.0
    doubtful: float = 0.0  # a probability of publishing everything that is too large where units are many
    units: int | None = None  # how many there are, where `failing` is too much for so many
    gaussian: GaussianInstead | None = None  # where Gaussian noise would be in a better band
    everything: float = field(default=0.0, compare=False)  # the probability of publishing everything; not in files

    @property
    def band(self) -> Band:
        """From "strong" to "protects nobody in practice"."""
        if self.failing:
            return LAST_BAND
        return _band(self.found)

    @property
    def is_weak(self) -> bool:
        """Whether it is below "moderate"."""
        return self.band not in ("strong", "moderate")

    @property
    def warns(self) -> bool:
        """Whether a release warns: it is weak, or would be with many units."""
        return self.is_weak or self.doubtful > 0

    @property
    def protects_nobody(self) -> bool:
        """Whether it is in the last band."""
        return self.band == LAST_BAND

    @property
    def verb_and_band(self) -> str:
        """The band after "the promise": "is weak", "protects nobody in practice"."""
        return self.band if self.protects_nobody else f"is {self.band}"

    def __str__(self) -> str:
        return f"{self.band}: {self.reason()}"

    def most_found(self, guarantee: ReleaseGuarantee, false_alarms: ArrayLike) -> Floats:
        """The part of those present that an attacker with these false alarms finds at most: the smaller of what the
        guarantee says and what mu says, P[hit] <= 1 - f(P[false alarm] + chance) + chance."""
        alarms = np.asarray(false_alarms, dtype=np.float64)
        found: Floats = 1 - guarantee.tradeoff(alarms)
        if self.of_budget or self.mu is None:
            return found
        missed = GaussianDP(self.mu, guarantee.neighbours).tradeoff(np.minimum(1.0, alarms + self.chance))
        return np.minimum(found, 1 - missed + self.chance)

    def reason(self) -> str:
        """What an attacker finds."""
        found = f"an attacker who accepts 5 % false alarms finds up to {percent_at_most(self.found)} % of those present"
        if self.doubtful:
            many = math.ceil(1 / Fraction(self.doubtful))
            found += f", and with probability {self.doubtful:.3g} everything: too much where units are {many:,} or more"
        too_much = "" if self.units is None else f": too much for {self.units:,} units"
        return (
            f"{found}, and with probability {self.failing:.3g} everything may show{too_much}" if self.failing else found
        )

    def with_units(self, units: int | None) -> Strength:
        """The same where it is public that there are so many units: a delta of one over their number, or more, is too
        much, and a smaller one is in no doubt. None: it is not public.

        >>> print(judge(ApproxDP(1, 1e-6)).with_units(2_000_000))  # doctest: +ELLIPSIS
        protects nobody in practice: ... with probability 1e-06 everything may show: too much for 2,000,000 units
        """
        if units is None:
            return self
        many = Fraction(self.everything) * units >= 1
        failing = self.everything if many or self.everything >= MAX_DELTA else 0.0
        gaussian = None if failing else self.gaussian  # its delta is as large
        return replace(self, failing=failing, doubtful=0.0, units=units if many else None, gaussian=gaussian)

    def beside(self, other: Strength, error: float | None = None) -> Strength:
        """The same, telling of Gaussian noise for the same epsilon and delta where this is weak and that in a better
        band. other: how strong that is. error: its error, over that of this noise."""
        better = self.is_weak and _ORDER.index(other.band) < _ORDER.index(self.band)
        return replace(self, gaussian=GaussianInstead(other.found, error)) if better else self

    def cure(self) -> str:
        """What to type instead: whichever of epsilon and delta makes it weak."""
        names = ["epsilon"] if self.found - self.failing > MODERATE else []
        names += ["delta"] if self.failing or self.doubtful else []
        smaller = " and ".join(f"a smaller {name}" for name in names or ["epsilon"])
        if self.of_budget:
            return f"Open one with {smaller}{', threshold_delta included' if 'delta' in names else ''}."
        return f"Take {smaller}{'' if names == ['delta'] else ', or more noise'}."

    def in_words(self) -> str:
        """A sentence, and one of Gaussian noise where that would be in a better band."""
        whose = "The promise of the whole budget" if self.of_budget else "The promise"
        told = f"{whose} {self.verb_and_band}: {self.reason()}."
        return told if self.gaussian is None else f"{told} {self.gaussian.in_words(of_budget=self.of_budget)}"

    @property
    def examples(self) -> list[errors.Example]:
        """What to type instead for Gaussian noise, where that would be in a better band."""
        return [] if self.gaussian is None else [{"mechanism": "gaussian"}]


def _band(found: float) -> Band:
    return next((name for most, name in BANDS if found <= most), LAST_BAND)


def judge(
    guarantee: ReleaseGuarantee,
    *,
    mu: float | None = None,
    chance: float = 0.0,
    of_budget: bool = False,
) -> Strength:
    """How strong a guarantee is, from public facts.

    mu, chance: where it is also known that, but for events of probability `chance` on either side, it is mu-GDP. Then
        there are two bounds, and the smaller is taken.
    of_budget: whether it is the guarantee of a whole budget.
    """
    failing = guarantee.delta if mu is None and isinstance(guarantee, ApproxDP) else chance
    too_much = failing >= MAX_DELTA
    doubtful = failing if not too_much and failing > DOUBTFUL_DELTA else 0.0
    known = Strength(1.0, failing if too_much else 0.0, mu=mu, chance=chance, doubtful=doubtful, everything=failing)
    found = float(known.most_found(guarantee, FALSE_ALARMS))
    if of_budget:  # its releases promise less than all of it, and have a mu of their own
        return replace(known, found=found, of_budget=True, mu=None, chance=0.0)
    return replace(known, found=found)


def protects_alone(one: ReleaseGuarantee, other: ReleaseGuarantee) -> bool:
    """Whether the other guarantee is in the last band, and this one is not.

    >>> [protects_alone(GaussianDP(1), ApproxDP(epsilon, 1e-6)) for epsilon in (5, 3)]
    [True, False]
    """
    return judge(other).protects_nobody and not judge(one).protects_nobody


def warn_if_weak(strength: Strength) -> None:
    """Warn of a weak promise, or one that is with many units. It says public facts only, and belongs before anything is
    paid or read."""
    if strength.warns:
        told = errors.WeakPromise(f"{strength.in_words()} {strength.cure()}", examples=strength.examples)
        warnings.warn(told, stacklevel=user_stacklevel())


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
