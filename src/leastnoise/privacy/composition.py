"""What several guarantees promise together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy import calibration
from leastnoise.privacy.accounting.bracket import Bracket, check_accuracy, epsilon_bracket
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.guarantees import (
    SAMPLING_NOTE,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ReleaseGuarantee,
    SampledGaussianDP,
    counted,
    dominating_pairs,
)
from leastnoise.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True, eq=False)
class Composition(ApproxDP):
    """What several guarantees promise together at one delta, from both sides.

    epsilon is proved enough. lower is proved too small: below it, some releases with these guarantees would break the
    promise (where a BoundedRangeDP is among them, it is a bound of its worst case alone). note says what the releases
    must be for this to hold.
    """

    lower: float = 0.0
    note: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApproxDP) and _promised(self) == _promised(other)

    def __hash__(self) -> int:
        return hash(_promised(self))

    def explain(self, *, unit: str = "person") -> str:
        """What this means in words. `unit` is what is protected: a "person", a "taxi"."""
        said = [ApproxDP(self.epsilon, self.delta, self.neighbours).explain(unit=unit), self.note]
        return " ".join([*filter(None, said), f"No epsilon below {self.lower:.6g} would be enough."])


def _promised(guarantee: ApproxDP) -> tuple[float, float, str]:
    return guarantee.epsilon, guarantee.delta, guarantee.neighbours


def compose(*guarantees: Guarantee, delta: Number | None = None, accuracy: Number = 1e-3) -> ReleaseGuarantee:
    """The guarantee of everything together: GaussianDP where all parts are, otherwise the best valid ApproxDP
    at this total delta (PureDP where all parts are pure and no delta is given).

    guarantees: what is added up, each PureDP, ApproxDP, GaussianDP, LaplaceDP or SampledGaussianDP, or one of them
        times a whole number; all with the same neighbours.
    delta: of the total; needed where Gaussian parts stand beside others.
    accuracy: how far epsilon may be above the least one, relatively, where the accountant is asked.

    Gaussian parts add exactly, mu^2 = sum mu_i^2 (Dong, Roth & Su 2022), even when later ones are chosen after seeing
    earlier ones. For all else the accountant brackets the least epsilon (`leastnoise.accounting`): where the pair
    (P_i, Q_i) dominates the i-th part whatever was seen before, the product of all pairs dominates them together
    (Theorem 10 of Zhu, Dong & Wang 2022), and its privacy loss is the sum of theirs. The answer is an ApproxDP with
    `lower`, proved too small. What is asked may depend on earlier answers there; which guarantees, and how many of
    them, is fixed beforehand. Some parts are too large for its grid of losses, so the plain sum stands beside it, and
    the smaller of both is taken: with E the sum of the pure and approximate epsilons, D = 1 - prod (1 - delta_i), and
    mu the Gaussian parts together, delta(epsilon) <= D + (1 - D) delta_G(epsilon - E; mu).

    >>> total = compose(*[GaussianDP.of(sigma=20)] * 100)
    >>> round(total.to_approx(delta=1e-6).epsilon, 9)
    2.25408465
    >>> total = compose(PureDP(0.1) * 100, delta=1e-6)
    >>> round(total.epsilon, 4), round(total.lower, 4)
    (4.7746, 4.7746)
    """
    _check_parts(guarantees)
    side = _common_neighbours(guarantees)
    counts = counted(guarantees)
    if all(isinstance(part, GaussianDP) for part in counts):
        return GaussianDP(_root_sum_of_squares(counts), side)
    plain = Counter[Any]()  # what the plain sum takes each part for
    for part, times in counts.items():
        plain[part.summand()] += times
    summands = None if None in plain else plain
    if delta is None:
        return _without_delta(summands, side)
    total = validation.number("delta", delta)
    closed, allowed = math.inf if summands is None else summed_epsilon(summands, total), check_accuracy(accuracy)
    bracket = _accounted(guarantees, total, allowed, needed=summands is None) if closed else Bracket(0.0, 0.0)
    alone = len(guarantees) == 1 and isinstance(guarantees[0], ReleaseGuarantee)  # its closed form is the least
    epsilon = closed if alone else min(closed, bracket.upper)
    sampled = any(isinstance(part, SampledGaussianDP) for part in counts)
    return Composition(epsilon, total, side, min(bracket.lower, epsilon), SAMPLING_NOTE if sampled else "")


def _check_parts(guarantees: Iterable[object]) -> None:
    if not guarantees:
        raise errors.MissingParameter("Nothing to compose. Give guarantees, such as GaussianDP(0.2).")
    for part in guarantees:
        if not isinstance(part, Guarantee):
            raise errors.WrongType(
                "compose takes PureDP, ApproxDP, GaussianDP, LaplaceDP or SampledGaussianDP. Got "
                f"{type(part).__name__} instead. A release carries its guarantee: compose(a.guarantee, b.guarantee)."
            )


def _common_neighbours(guarantees: Iterable[Guarantee]) -> Neighbours:
    neighbours = {part.neighbours for part in guarantees}
    if len(neighbours) > 1:
        raise errors.InvalidParameter(
            'Guarantees for "add-remove" and "replace" neighbours protect different changes, so their sum promises '
            "neither. Make all releases with the same neighbours.",
            parameter="neighbours",
            example=[{"neighbours": "add-remove"}, {"neighbours": "replace"}],
        )
    return neighbours.pop()


def _without_delta(summands: Counter[Any] | None, side: Neighbours) -> PureDP | ApproxDP:
    """Epsilons, and the chances of failing, add."""
    if summands is None or _of_kind(summands, GaussianDP):
        raise errors.MissingParameter(
            "Gaussian parts beside others, and sampled ones, give one epsilon for each delta, so the total needs to "
            "know yours.",
            parameter="delta",
            example={"delta": 1e-6},
        )
    epsilon = _sum_up(_epsilons(summands))
    approx = _of_kind(summands, ApproxDP)
    return ApproxDP(epsilon, _any_of(approx), side) if approx else PureDP(epsilon, side)


def _accounted(guarantees: Iterable[Guarantee], delta: float, accuracy: float, *, needed: bool) -> Bracket:
    """The accountant's bounds; none where it cannot help and the sum can."""
    try:
        parts = dominating_pairs(guarantees)
        bracket = epsilon_bracket(parts, delta, accuracy) if parts else Bracket(0.0, 0.0)
    except (errors.OutOfRange, OverflowError) as failed:
        if not needed:
            return Bracket(0.0, math.inf)
        if isinstance(failed, errors.OutOfRange):
            raise
        raise errors.OutOfRange(proof.too_large("epsilon")) from None
    if math.isinf(bracket.upper) and needed:
        raise errors.InvalidParameter(
            f"These parts fail outright with a chance of more than delta = {delta:g}, whatever epsilon is. Ask for a "
            "larger delta.",
            parameter="delta",
            value=delta,
        )
    return bracket


def summed_epsilon(counts: Counter[Any], delta: float) -> float:
    """E + epsilon_G at the delta that the approximate parts leave."""
    pure, approx, gaussian = (_of_kind(counts, kind) for kind in (PureDP, ApproxDP, GaussianDP))
    spent = _any_of(approx) if approx else 0.0
    if spent > delta:
        raise errors.InvalidParameter(
            f"The approximate parts spend delta = {spent:.6g} together, more than the total delta = {delta:g} asked "
            f"for. Ask for delta > {spent!r}."
        )
    with proof.precision(4300):
        left = max(0.0, proof.downward((arb(delta) - arb(spent)) / (1 - arb(spent))))
    if gaussian and not left:
        raise errors.InvalidParameter(
            f"The approximate parts spend all of delta = {delta:g}, so none is left for the Gaussian ones. "
            "Ask for a larger total delta."
        )
    mu = _root_sum_of_squares(gaussian) if gaussian else 0.0
    of_gaussian = calibration.epsilon(sigma=1.0, delta=left, sensitivity=mu) if gaussian else 0.0
    return _sum_up([*_epsilons(pure), *_epsilons(approx), (of_gaussian, 1)])


def _of_kind(counts: Counter[Any], kind: type) -> Counter[Any]:
    return Counter({part: times for part, times in counts.items() if isinstance(part, kind)})


def _epsilons(counts: Counter[Any]) -> list[tuple[float, int]]:
    return [(part.epsilon, times) for part, times in counts.items()]


def _sum_up(terms: Iterable[tuple[float, int]]) -> float:
    """The exact sum rounded up; 4,500 bits hold every sum of doubles without rounding."""
    with proof.precision(4500):
        total = proof.upward(sum((arb(value) * times for value, times in terms), arb(0)))
    return _double("epsilon", total)


def _root_sum_of_squares(gaussian: Counter[Any]) -> float:
    with proof.precision(4500):
        total = sum((arb(part.mu) ** 2 * times for part, times in gaussian.items()), arb(0))
        return _double("mu", proof.upward(total.sqrt()))


def _double(name: str, value: float) -> float:
    if math.isinf(value):
        raise errors.OutOfRange(proof.too_large(name))
    return value


def _any_of(approx: Counter[Any]) -> float:
    """The chance that any part uses its delta: 1 - prod (1 - delta_i), rounded up."""
    with proof.precision(4300):
        kept = arb(1)
        for part, times in approx.items():
            kept *= (1 - arb(part.delta)) ** times
        return proof.upward(1 - kept)
