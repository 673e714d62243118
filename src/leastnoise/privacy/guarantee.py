"""What is promised: PureDP, ApproxDP, GaussianDP, what each means, and how they add up.

Every guarantee is about neighbouring tables: "add-remove" (one person more or less) or "replace"
(one person's rows exchanged for another's). The two must never be mixed.

Each is held as its privacy profile delta(epsilon): for every epsilon, the least delta it promises.

    PureDP(e)          (e^e - e^epsilon)^+ / (1 + e^e)                    (the worst case, randomised response)
    ApproxDP(e, d)     d + (1 - d) (e^e - e^epsilon)^+ / (1 + e^e)
    GaussianDP(mu)     Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)         (Theorem 8, exact)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, overload

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.number_format import percent_at_most
from leastnoise._support.validation import Floats, Number, Numbers
from leastnoise.privacy import calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.repeated import Repeatable


class Guarantee(Protocol):
    """What every guarantee can do."""

    @property
    def neighbours(self) -> Neighbours: ...
    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def tradeoff(self, false_alarm: ArrayLike) -> Floats: ...
    def to_pure(self) -> PureDP: ...
    @overload
    def to_approx(self, *, delta: Number) -> ApproxDP: ...  # type: ignore[overload-overlap]
    @overload
    def to_approx(self, *, delta: Numbers) -> list[ApproxDP]: ...
    def to_gaussian(self) -> GaussianDP: ...
    def explain(self, *, unit: str = "person") -> str: ...


@explained
@dataclass(frozen=True, slots=True)
class PureDP(Repeatable):
    """epsilon-DP: what Laplace noise gives.

    >>> PureDP(1).to_approx(delta=1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06, neighbours='add-remove')
    """

    epsilon: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _settle(self, "epsilon")

    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def profile(self, epsilon: Numbers) -> float | Floats:
        """delta(epsilon): the least delta that is promised at each epsilon (a number or an array), rounded up."""
        return _discrete_profile(self.epsilon, 0.0, epsilon)

    def tradeoff(self, false_alarm: ArrayLike) -> Floats:
        """The least miss rate of any attack with this false-alarm rate (a number or an array, 0 to 1)."""
        return _discrete_tradeoff(self.epsilon, 0.0, false_alarm)

    def to_pure(self) -> PureDP:
        return self

    @overload
    def to_approx(self, *, delta: Number) -> ApproxDP: ...  # type: ignore[overload-overlap]
    @overload
    def to_approx(self, *, delta: Numbers) -> list[ApproxDP]: ...
    def to_approx(self, *, delta: Numbers) -> ApproxDP | list[ApproxDP]:
        """The same epsilon. (The profile crosses delta about delta (1 + e^-epsilon) earlier: not worth a word.)

        delta: a number, or several for a list of guarantees.
        """
        return _at_each(delta, lambda one: ApproxDP(self.epsilon, one, self.neighbours))

    def to_gaussian(self) -> GaussianDP:
        """mu = -2 Phi^-1(1/(1 + e^epsilon)): the tight Gaussian curve below the pure one, rounded up."""
        return GaussianDP(pure_mu(self.epsilon), self.neighbours)

    def explain(self, *, unit: str = "person") -> str:
        """What this means in words. `unit` is what is protected: a "person", a "taxi"."""
        odds = _odds(self.epsilon)
        return (
            f"epsilon = {self.epsilon:.6g} ({self.neighbours}): {_CHANGE[self.neighbours].format(unit)} changes the "
            f"chance of any published outcome by a factor of at most {_factor(self.epsilon)}. "
            f"Somebody who thought 50:50 about one {unit} can move to {odds} at most, always."
        )


@explained
@dataclass(frozen=True, slots=True)
class ApproxDP(Repeatable):
    """(epsilon, delta)-DP."""

    epsilon: float
    delta: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _settle(self, "epsilon", "delta")

    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def profile(self, epsilon: Numbers) -> float | Floats:
        """delta(epsilon): the least delta that is promised at each epsilon (a number or an array), rounded up."""
        return _discrete_profile(self.epsilon, self.delta, epsilon)

    def tradeoff(self, false_alarm: ArrayLike) -> Floats:
        """The least miss rate of any attack with this false-alarm rate (a number or an array, 0 to 1)."""
        return _discrete_tradeoff(self.epsilon, self.delta, false_alarm)

    def to_pure(self) -> PureDP:
        raise errors.InvalidParameter(
            f"(epsilon, delta)-DP with delta = {self.delta:g} may publish everything with that probability, which no "
            "epsilon alone allows. Release with Laplace noise (delta = 0) to have PureDP."
        )

    @overload
    def to_approx(self, *, delta: Number) -> ApproxDP: ...  # type: ignore[overload-overlap]
    @overload
    def to_approx(self, *, delta: Numbers) -> list[ApproxDP]: ...
    def to_approx(self, *, delta: Numbers) -> ApproxDP | list[ApproxDP]:
        """The same epsilon at this delta, if it is no smaller than ours.

        delta: a number, or several for a list of guarantees.
        """
        return _at_each(delta, self._at)

    def _at(self, delta: float) -> ApproxDP:
        if delta < self.delta:
            raise errors.InvalidParameter(
                f"A guarantee with delta = {self.delta:g} says nothing about the smaller delta = {delta:g}. "
                f"Ask for delta >= {self.delta!r}, or release at the smaller delta."
            )
        return ApproxDP(self.epsilon, delta, self.neighbours)

    def to_gaussian(self) -> GaussianDP:
        raise errors.InvalidParameter(
            "ApproxDP implies no GaussianDP: with probability delta it may publish everything, and no finite mu "
            "allows that. Keep the GaussianDP(mu = sensitivity/sigma) of the release itself and compose that."
        )

    def explain(self, *, unit: str = "person") -> str:
        """What this means in words. `unit` is what is protected: a "person", a "taxi"."""
        secret = _WHO[self.neighbours].format(unit)
        return (
            f"epsilon = {self.epsilon:.6g}, delta = {self.delta:g} ({self.neighbours}): an attacker who tries to tell "
            f"{secret} from the published numbers has a hit rate of at most {_factor(self.epsilon)} "
            f"times the false-alarm rate, plus {self.delta:g}."
        )


@explained
@dataclass(frozen=True, slots=True)
class GaussianDP(Repeatable):
    """mu-GDP: exactly what Gaussian noise gives, mu = sensitivity / sigma (rounded up).

    >>> g = GaussianDP.of(sigma=4.224678889326836)
    >>> round(g.profile(1.0), 12)
    1e-06
    >>> round(g.loss_at_least(1.0), 8)     # twenty times delta: delta is not the chance of a large loss
    2.01e-05
    """

    mu: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _settle(self, "mu")

    @classmethod
    def of(cls, *, sigma: Number, sensitivity: Number = 1.0, neighbours: Neighbours = "add-remove") -> GaussianDP:
        """The guarantee of Gaussian noise.

        sigma: the standard deviation of the noise. sensitivity: how far one person can move the answer (L2).
        neighbours: "add-remove" or "replace", what one person's change means.
        """
        sigma, sensitivity = validation.number("sigma", sigma), validation.number("sensitivity", sensitivity)
        with proof.precision(128):
            return cls(proof.upward(arb(sensitivity) / arb(sigma)), neighbours)

    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def profile(self, epsilon: Numbers) -> float | Floats:
        """delta(epsilon), rounded up: proved for one number, with a margin for arrays."""
        return calibration.delta(sigma=1.0, epsilon=epsilon, sensitivity=self.mu)

    def tradeoff(self, false_alarm: ArrayLike) -> Floats:
        """The least miss rate of any attack with this false-alarm rate: Phi(Phi^-1(1 - alpha) - mu)."""
        from scipy.special import ndtr, ndtri  # a quarter of a second to import

        return np.asarray(ndtr(-ndtri(_rates(false_alarm)) - self.mu))

    @overload
    def loss_at_least(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def loss_at_least(self, epsilon: Numbers) -> Floats: ...
    def loss_at_least(self, epsilon: Numbers) -> float | Floats:
        """P[L >= epsilon] = Phi(mu/2 - epsilon/mu): the chance that the privacy loss L is this large (Lemma 6).

        The loss is normal with mean mu^2/2 and variance mu^2 (Lemma 3).

        epsilon: how large, at least 0: a number or an array.
        """
        asked = validation.numbers("epsilon", epsilon)
        if not asked.ndim:
            return _normal_below(self.mu / 2 - float(asked) / self.mu)
        from scipy.special import ndtr

        return np.asarray(ndtr(self.mu / 2 - asked / self.mu))

    def satisfies(self, *, epsilon: Number, delta: Number) -> bool:
        """Whether this is (epsilon, delta)-DP, proved. Theorem 5, necessary and sufficient:

            P[L >= epsilon] - e^epsilon P[L' <= -epsilon] <= delta,  the losses of x against x' and of x' against x.

        epsilon: at least 0. delta: between 0 and 1.
        """
        return self.profile(validation.number("epsilon", epsilon)) <= validation.number("delta", delta)

    def to_pure(self) -> PureDP:
        raise errors.InvalidParameter(
            "Gaussian noise is not epsilon-DP for any epsilon: its privacy loss has no upper end. Ask to_approx for "
            "its epsilon at a delta, or release with Laplace noise to have PureDP.",
            parameter="delta",
            example={"delta": 1e-6},
        )

    @overload
    def to_approx(self, *, delta: Number) -> ApproxDP: ...  # type: ignore[overload-overlap]
    @overload
    def to_approx(self, *, delta: Numbers) -> list[ApproxDP]: ...
    def to_approx(self, *, delta: Numbers) -> ApproxDP | list[ApproxDP]:
        """The exact epsilon at this delta, rounded up.

        delta: a number, or several for a list of guarantees.
        """

        def at(one: float) -> ApproxDP:
            return ApproxDP(calibration.epsilon(sigma=1.0, delta=one, sensitivity=self.mu), one, self.neighbours)

        return _at_each(delta, at)

    def to_gaussian(self) -> GaussianDP:
        return self

    def explain(self, *, delta: Number = 1e-6, unit: str = "person") -> str:
        """What this means in words. `unit` is what is protected; `delta` is where epsilon is read off."""
        at = self.to_approx(delta=delta)
        caught, secret = 1 - float(self.tradeoff(0.05)), _WHO[self.neighbours].format(unit)
        return (
            f"mu = {self.mu:.6g} ({self.neighbours}): telling {secret} from the published numbers is "
            f"at least as hard as telling N(0, 1) from N({self.mu:.4g}, 1) by one draw. An attacker who accepts 5 % "
            f"false alarms is right about any one {unit} present in at most {percent_at_most(caught)} % of cases. It "
            f"is ({at.epsilon:.6g}, {at.delta:g})-DP; the privacy loss itself passes {at.epsilon:.3g} with probability "
            f"{self.loss_at_least(at.epsilon):.2g}, which is not delta."
        )


_CHANGE: dict[str, str] = {
    "add-remove": "adding or removing any one {}",
    "replace": "exchanging any one {}'s record for another",
}
_WHO: dict[str, str] = {
    "add-remove": "whether any one {} is in the data",
    "replace": "which of two possible records any one {} has",
}


def _at_each(delta: Numbers, at: Callable[[float], ApproxDP]) -> ApproxDP | list[ApproxDP]:
    """The guarantee at a delta, or at each of several."""
    asked = validation.numbers("delta", delta)
    if asked.ndim > 1:
        raise errors.InvalidParameter(
            "delta must be a number, or several in one row: there is a guarantee for each.", parameter="delta"
        )
    return [at(float(one)) for one in asked] if asked.ndim else at(float(asked))


def _normal_below(x: float) -> float:
    """Phi(x)."""
    return math.erfc(-x / math.sqrt(2)) / 2


def pure_mu(epsilon: float) -> float:
    """mu = -2 Phi^-1(1/(1 + e^epsilon)), rounded up: the form 2 Phi^-1(e^eps/(1+e^eps)) is inf at epsilon 40.

    Past 700 the simple mu = 2 sqrt(2 epsilon): Phi(-t) <= exp(-t^2/2)/2, so it is always enough.
    """
    if epsilon > 700:
        with proof.precision(128):
            return proof.upward(2 * (2 * arb(epsilon)).sqrt())
    with proof.precision(1200):
        mu = 2 * arb(2).sqrt() * (2 / (1 + arb(epsilon).exp())).erfcinv()
        return max(5e-324, proof.upward(mu))


def _discrete_profile(own: float, delta: float, epsilon: Numbers) -> float | Floats:
    """delta + (1 - delta) (e^own - e^epsilon)^+/(1 + e^own), rounded up by more than its few roundings."""
    asked = validation.numbers("epsilon", epsilon)
    apart = -np.expm1(np.minimum(asked - own, 0.0)) / (1 + math.exp(-own))
    answer = np.minimum((delta + (1 - delta) * apart) * np.where(apart > 0, 1 + 2.0**-48, 1.0), 1.0)
    return answer if answer.ndim else float(answer)


def _discrete_tradeoff(epsilon: float, delta: float, false_alarm: ArrayLike) -> Floats:
    """max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))."""
    alpha = _rates(false_alarm)
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(alpha > 0, 1 - delta - np.exp(epsilon) * alpha, 1 - delta)
    return np.maximum(0.0, np.maximum(steep, math.exp(-epsilon) * (1 - delta - alpha)))


def _rates(values: ArrayLike) -> Floats:
    rates = np.asarray(values, dtype=np.float64)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise errors.InvalidParameter("A false-alarm rate lies between 0 and 1. Say, for example, 0.05.")
    return rates


def _settle(guarantee: PureDP | ApproxDP | GaussianDP, *names: str) -> None:
    """Check the fields at construction and hold them as doubles (rounded toward privacy: upward)."""
    for name in names:
        value = validation.number(name, getattr(guarantee, name), up=True)
        object.__setattr__(guarantee, name, value)
    check_neighbours(guarantee.neighbours)


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:.4g}" + (f" = {math.exp(epsilon):.4g}" if epsilon < 20 else "")


def _odds(epsilon: float) -> str:
    chance = 100 / (1 + math.exp(-epsilon))
    digits = 0 if chance < 99 else 3
    return f"{chance:.{digits}f}:{100 - chance:.{digits}f}"


Promise = PureDP | ApproxDP | GaussianDP


def promise_in_words(guarantee: Promise, *, delta: float | None, unit: str | None) -> str:
    """What is promised to one unit, at the delta that was asked for where the guarantee has none of its own."""
    if isinstance(guarantee, GaussianDP):
        return guarantee.explain(delta=delta or 1e-6, unit=unit or "person")
    return guarantee.explain(unit=unit or "person")


def guarantee_facts(guarantee: Promise | None) -> dict[str, Any] | None:
    """As JSON holds it."""
    if guarantee is None:
        return None
    return {"type": type(guarantee).__name__, **{f.name: getattr(guarantee, f.name) for f in fields(guarantee)}}


def read_guarantee(facts: dict[str, Any] | None) -> Any:
    """What `guarantee_facts` wrote."""
    if facts is None:
        return None
    types: dict[str, type[Promise]] = {"PureDP": PureDP, "ApproxDP": ApproxDP, "GaussianDP": GaussianDP}
    return types[facts.pop("type")](**facts)
