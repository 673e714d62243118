"""What several guarantees promise together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_down
from leastnoise._support.validation import Number
from leastnoise.privacy import calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, Guarantee, PureDP, pure_mu


def compose(*guarantees: Guarantee, delta: Number | None = None) -> Guarantee:
    """The guarantee of everything together: GaussianDP where all parts are, otherwise the best valid ApproxDP
    at this total delta (PureDP where all parts are pure and no delta is given).

    guarantees: what is added up, each PureDP, ApproxDP or GaussianDP, all with the same neighbours.
    delta: of the total; needed where Gaussian parts stand beside others.

    Gaussian parts add exactly, mu^2 = sum mu_i^2, even when later ones are chosen after seeing earlier ones.
    For a mixture the least of three bounds is taken:

    - basic: pure epsilons and approximate (epsilon, delta)s add; several Gaussians do so at equal shares of
      the delta that is left;
    - shifted: with E and D the sums of the others, delta(epsilon) <= D + (1 - D) delta_G(epsilon - E; mu);
    - all-mu: pure parts enter as GaussianDP, and the approximate ones shift what results.

    >>> total = compose(*[GaussianDP.of(sigma=20)] * 100)
    >>> round(total.to_approx(delta=1e-6).epsilon, 9)
    2.25408465
    """
    if not guarantees:
        raise errors.MissingParameter("Nothing to compose. Give guarantees, such as GaussianDP(0.2).")
    for part in guarantees:
        if not isinstance(part, (PureDP, ApproxDP, GaussianDP)):
            raise errors.WrongType(
                f"compose takes PureDP, ApproxDP or GaussianDP. Got {type(part).__name__} instead. "
                "A release carries its guarantee: compose(a.guarantee, b.guarantee)."
            )
    neighbours = {part.neighbours for part in guarantees}
    if len(neighbours) > 1:
        raise errors.InvalidParameter(
            'Guarantees for "add-remove" and "replace" neighbours protect different changes, so their sum promises '
            "neither. Make all releases with the same neighbours.",
            parameter="neighbours",
            example=[{"neighbours": "add-remove"}, {"neighbours": "replace"}],
        )
    pure = [part for part in guarantees if isinstance(part, PureDP)]
    approx = [part for part in guarantees if isinstance(part, ApproxDP)]
    gaussian = [part for part in guarantees if isinstance(part, GaussianDP)]
    side = neighbours.pop()
    if not pure and not approx:
        return GaussianDP(_root_sum_of_squares(part.mu for part in gaussian), side)
    epsilon = _sum_up([part.epsilon for part in pure] + [part.epsilon for part in approx])
    if not gaussian and delta is None:
        return ApproxDP(epsilon, _any_of(approx), side) if approx else PureDP(epsilon, side)
    if delta is None:
        raise errors.MissingParameter(
            "Gaussian parts beside others give one epsilon for each delta, so the total needs to know yours.",
            parameter="delta",
            example={"delta": 1e-6},
        )
    return ApproxDP(_mixed_epsilon(pure, approx, gaussian, validation.number("delta", delta)), float(delta), side)


def _mixed_epsilon(pure: list[PureDP], approx: list[ApproxDP], gaussian: list[GaussianDP], delta: float) -> float:
    spent = _any_of(approx) if approx else 0.0
    if spent > delta:
        raise errors.InvalidParameter(
            f"The approximate parts spend delta = {spent:.6g} together, more than the total delta = {delta:g} asked "
            f"for. Ask for delta > {spent!r}."
        )
    pures, others = [part.epsilon for part in pure], [part.epsilon for part in approx]
    mus = [part.mu for part in gaussian]
    left = _delta_left(delta, spent)
    routes = []
    if not gaussian:
        routes.append(_sum_up([*pures, *others]))
    if left > 0:
        as_mu = [pure_mu(epsilon) for epsilon in pures]
        if gaussian:
            share = max(0.0, next_down(left / len(gaussian)))
            alone = [calibration.epsilon(sigma=1.0, delta=share, sensitivity=mu) for mu in mus] if share else []
            routes += [_sum_up([*pures, *others, *alone])] if alone else []
            routes.append(_sum_up([*pures, *others, _epsilon_of(mus, left)]))
        routes.append(_sum_up([*others, _epsilon_of([*mus, *as_mu], left)]))
    if not routes:
        raise errors.InvalidParameter(
            f"The approximate parts spend all of delta = {delta:g}, so none is left for the Gaussian ones. "
            "Ask for a larger total delta."
        )
    return min(routes)


def _epsilon_of(mus: list[float], delta: float) -> float:
    if not any(mus):
        return 0.0
    return calibration.epsilon(sigma=1.0, delta=delta, sensitivity=_root_sum_of_squares(mus))


def _sum_up(values: Iterable[float]) -> float:
    """The exact sum rounded up; 4,300 bits hold every sum of doubles without rounding."""
    with proof.precision(4300):
        total = proof.upward(sum((arb(value) for value in values), arb(0)))
    return _double("epsilon", total)


def _root_sum_of_squares(mus: Iterable[float]) -> float:
    with proof.precision(4300):
        return _double("mu", proof.upward(sum((arb(mu) ** 2 for mu in mus), arb(0)).sqrt()))


def _double(name: str, value: float) -> float:
    if math.isinf(value):
        raise errors.OutOfRange(proof.too_large(name))
    return value


def _any_of(approx: list[ApproxDP]) -> float:
    """The chance that any part uses its delta: 1 - prod (1 - delta_i), rounded up."""
    with proof.precision(4300):
        kept = arb(1)
        for part in approx:
            kept *= 1 - arb(part.delta)
        return proof.upward(1 - kept)


def _delta_left(delta: float, spent: float) -> float:
    """(delta - spent)/(1 - spent), rounded down."""
    with proof.precision(4300):
        return max(0.0, proof.downward((arb(delta) - arb(spent)) / (1 - arb(spent))))
