"""What is guaranteed, kind by kind: what each means, what dominates it, and how it adds up.

Every guarantee is about neighbouring tables: "add-remove" (one person more or less) or "replace" (one person's rows
exchanged for another's). The two must never be mixed. Each knows the pairs of distributions that dominate it, which the
accountant composes (`accounting`), and has a privacy profile delta(epsilon): for every epsilon, the least delta.

    PureDP(e)                (e^e - e^epsilon)^+ / (1 + e^e)                    (the worst case, randomised response)
    ApproxDP(e, d)           d + (1 - d) (e^e - e^epsilon)^+ / (1 + e^e)
    GaussianDP(mu)           Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)         (Theorem 8, exact)

    LaplaceDP(e, bins=5)     Laplace noise, in up to five bins of one unit
    SampledGaussianDP.of(sigma=1.1, sampling=0.01)      one step of training with Poisson-sampled batches
    BoundedRangeDP(e)        the exponential mechanism
    ThresholdDP(chance)      unknown keys

The first three have closed forms, and releases carry them. The others carry more than (epsilon, delta): what the noise
itself gives, for the accountant to compose.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.text import percent_at_most
from leastnoise._support.validation import Floats, Number, Numbers
from leastnoise.privacy import calibration
from leastnoise.privacy.calibration import check_sampling, proof
from leastnoise.privacy.gaussian_price import bounded_range_mu, geometric_mu, laplace_mu, pure_mu
from leastnoise.privacy.loss_pairs import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    LossPair,
    SampledGaussianPair,
    ThresholdPair,
    randomised_response,
    two_sided_geometric,
)
from leastnoise.privacy.neighbours import Neighbours, check_neighbours

Pairs = list[tuple[LossPair, int]]  # what dominates, and how often

SAMPLING_NOTE = "Poisson sampling, add-remove, sums divided by the expected batch."
MOST_GRID_STEPS = 100_000


@explained
class Guarantee(ABC):
    """What every guarantee can do."""

    __slots__ = ()
    neighbours: Neighbours

    @abstractmethod
    def pairs(self) -> Pairs:
        """The pairs of distributions that dominate it, and how often each; none where nothing is lost."""

    @overload
    def profile(self, epsilon: Number) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def profile(self, epsilon: Numbers) -> Floats: ...
    def profile(self, epsilon: Numbers) -> float | Floats:
        """delta(epsilon): the least delta that is promised at each epsilon (a number or an array), rounded up.

        Where there is no closed form the accountant proves it enough, as a rule at most 0.1 % too large (not where it
        is below about 1e-30).
        """
        answers = self._delta_at(validation.numbers("epsilon", epsilon))
        return answers if answers.ndim else float(answers)

    def _delta_at(self, epsilon: Floats) -> Floats:
        from leastnoise.privacy.accounting.bracket import delta_bracket

        pairs = dominating_pairs([self])
        found = [delta_bracket(pairs, float(one), 1e-3).upper for one in epsilon.ravel()]
        return np.array(found).reshape(epsilon.shape)

    @overload
    def to_approx(self, *, delta: Number) -> ApproxDP: ...  # type: ignore[overload-overlap]
    @overload
    def to_approx(self, *, delta: Numbers) -> list[ApproxDP]: ...
    def to_approx(self, *, delta: Numbers) -> ApproxDP | list[ApproxDP]:
        """The least epsilon at this delta, rounded up.

        Where there is no closed form it is the accountant's, with `lower` proved too small. For PureDP it is the same
        epsilon: the profile crosses delta only about delta (1 + e^-epsilon) earlier.

        delta: a number between 0 and 1, or several for a list of guarantees.
        """
        asked = validation.numbers("delta", delta)
        if asked.ndim > 1:
            raise errors.InvalidParameter(
                "delta must be a number, or several in one row: there is a guarantee for each.", parameter="delta"
            )
        return [self._approx_at(float(one)) for one in asked] if asked.ndim else self._approx_at(float(asked))

    def _approx_at(self, delta: float) -> ApproxDP:
        from leastnoise.privacy.composition import compose  # which composes these

        whole = compose(self, delta=delta)
        return whole if isinstance(whole, ApproxDP) else whole._approx_at(delta)

    def summand(self) -> ReleaseGuarantee | None:
        """What the plain sum of a composition takes it for; None where it has none."""
        return None

    def __mul__(self, times: int) -> Repeated:
        return Repeated(self, times)

    __rmul__ = __mul__


class _EpsilonDelta(Guarantee):
    """(epsilon, delta) at its worst, randomised response that shows everything with chance delta: closed forms."""

    __slots__ = ()
    epsilon: float

    @property
    def _failing(self) -> float:
        """delta."""
        return 0.0

    def pairs(self) -> Pairs:
        """Randomised response, or with chance delta everything."""
        lost = self.epsilon or self._failing
        return [(randomised_response(Fraction(self.epsilon), Fraction(self._failing)), 1)] if lost else []

    def _delta_at(self, epsilon: Floats) -> Floats:
        """delta + (1 - delta) (e^own - e^epsilon)^+/(1 + e^own), rounded up by more than its few roundings."""
        delta = self._failing
        apart = -np.expm1(np.minimum(epsilon - self.epsilon, 0.0)) / (1 + math.exp(-self.epsilon))
        return np.asarray(np.minimum((delta + (1 - delta) * apart) * np.where(apart > 0, 1 + 2.0**-48, 1.0), 1.0))

    def tradeoff(self, false_alarm: ArrayLike) -> Floats:
        """The least miss rate of any attack with this false-alarm rate (a number or an array, 0 to 1):
        max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).
        """
        alpha, kept = _rates(false_alarm), 1 - self._failing
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, kept - np.exp(self.epsilon) * alpha, kept)
        return np.maximum(0.0, np.maximum(steep, math.exp(-self.epsilon) * (kept - alpha)))

    def summand(self) -> Any:
        """Itself: epsilons add, and so do the chances of failing."""
        return self


@explained
@dataclass(frozen=True, slots=True)
class PureDP(_EpsilonDelta):
    """epsilon-DP: what Laplace noise gives.

    >>> PureDP(1).to_approx(delta=1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06, neighbours='add-remove')
    """

    epsilon: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _normalize(self, epsilon="epsilon")

    def to_pure(self) -> PureDP:
        return self

    def _approx_at(self, delta: float) -> ApproxDP:
        return ApproxDP(self.epsilon, delta, self.neighbours)

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
class ApproxDP(_EpsilonDelta):
    """(epsilon, delta)-DP."""

    epsilon: float
    delta: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _normalize(self, epsilon="epsilon", delta="delta")

    @property
    def _failing(self) -> float:
        return self.delta

    def to_pure(self) -> PureDP:
        raise errors.InvalidParameter(
            f"(epsilon, delta)-DP with delta = {self.delta:g} may publish everything with that probability, which no "
            "epsilon alone allows. Release with Laplace noise (delta = 0) to have PureDP."
        )

    def _approx_at(self, delta: float) -> ApproxDP:
        """The same epsilon at this delta, if it is no smaller than ours."""
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
class GaussianDP(Guarantee):
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
        _normalize(self, mu="mu")

    @classmethod
    def of(cls, *, sigma: Number, sensitivity: Number = 1.0, neighbours: Neighbours = "add-remove") -> GaussianDP:
        """The guarantee of Gaussian noise.

        sigma: the standard deviation of the noise. sensitivity: how far one person can move the answer (L2).
        neighbours: "add-remove" or "replace", what one person's change means.
        """
        sigma, sensitivity = validation.number("sigma", sigma), validation.number("sensitivity", sensitivity)
        with proof.precision(128):
            return cls(proof.upward(arb(sensitivity) / arb(sigma)), neighbours)

    def pairs(self) -> Pairs:
        """N(mu, 1) against N(0, 1)."""
        return [(GaussianPair(Fraction(self.mu) ** 2), 1)]

    def _delta_at(self, epsilon: Floats) -> Floats:
        """Proved for one number, with a margin for arrays."""
        return np.asarray(calibration.delta(sigma=1.0, epsilon=epsilon, sensitivity=self.mu))

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
            return math.erfc((float(asked) / self.mu - self.mu / 2) / math.sqrt(2)) / 2
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

    def _approx_at(self, delta: float) -> ApproxDP:
        return ApproxDP(calibration.epsilon(sigma=1.0, delta=delta, sensitivity=self.mu), delta, self.neighbours)

    def to_gaussian(self) -> GaussianDP:
        return self

    def summand(self) -> GaussianDP:
        """Itself: mu^2 adds."""
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


ReleaseGuarantee = PureDP | ApproxDP | GaussianDP  # what a release carries: a closed form of each


def promise_in_words(guarantee: ReleaseGuarantee, *, delta: float | None, unit: str | None) -> str:
    """What is promised to one unit, at the delta that was asked for where the guarantee has none of its own."""
    if isinstance(guarantee, GaussianDP):
        return guarantee.explain(delta=delta or 1e-6, unit=unit or "person")
    return guarantee.explain(unit=unit or "person")


@dataclass(frozen=True, slots=True)
class LaplaceDP(Guarantee):
    """What Laplace noise gives, which is more than epsilon-DP: the largest loss is rare, and in several bins rarer.

    epsilon: of all bins together. bins: how many bins one unit changes at most, each by at most the same, so that each
    bin is epsilon/bins-DP by itself.
    grid_steps: how many steps of its grid one unit moves one bin at most, where the noise is drawn on a grid: 1 for
        counts with one row a bin. None: continuous noise.
    neighbours: "add-remove" or "replace", what one unit's change means.

    >>> LaplaceDP(0.5, bins=5).to_gaussian().mu ** 2 < 0.08 < 0.38 < PureDP(0.5).to_gaussian().mu ** 2
    True
    """

    epsilon: float
    bins: int = 1
    grid_steps: int | None = None
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _normalize(self, epsilon="epsilon")
        validation.integer("bins", self.bins)
        if self.grid_steps is not None and validation.integer("grid_steps", self.grid_steps) > MOST_GRID_STEPS:
            raise errors.InvalidParameter(
                f"A grid on which one unit moves a bin by more than {MOST_GRID_STEPS:,} steps has too many losses to "
                "compose. PureDP of the same epsilon is always safe.",
                parameter="grid_steps",
                value=self.grid_steps,
            )

    def pairs(self) -> Pairs:
        """That of each bin, as often as there are bins."""
        if not self.epsilon:
            return []
        each = Fraction(self.epsilon) / self.bins
        pair = LaplacePair(each) if self.grid_steps is None else two_sided_geometric(each, self.grid_steps)
        return [(pair, self.bins)]

    def to_pure(self) -> PureDP:
        """epsilon alone."""
        return PureDP(self.epsilon, self.neighbours)

    summand = to_pure

    def to_gaussian(self) -> GaussianDP:
        """The least mu whose curve lies below this one's, in each bin: mu^2 = bins mu(epsilon/bins)^2, rounded up."""
        each = Fraction(self.epsilon) / self.bins
        mu = laplace_mu(each) if self.grid_steps is None else geometric_mu(each, self.grid_steps)
        with proof.precision(128):
            return GaussianDP(proof.upward(arb(self.bins).sqrt() * arb(mu)), self.neighbours)


@dataclass(frozen=True, slots=True)
class SampledGaussianDP(Guarantee):
    """One step with Poisson sampling: each unit takes part with chance `sampling`, by itself, and noise of
    `noise_multiplier` sensitivities is added to the sum, which is divided by the *expected* batch. neighbours:
    "add-remove", for nothing is proved of others.

    >>> step = SampledGaussianDP.of(sigma=1.1, sampling=256 / 60000)
    >>> round((step * 10).to_approx(delta=1e-5).epsilon, 2)
    0.1
    """

    noise_multiplier: float
    sampling: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", validation.number("sigma", self.noise_multiplier))
        object.__setattr__(self, "sampling", check_sampling(self.sampling))
        if check_neighbours(self.neighbours) != "add-remove":
            raise errors.InvalidParameter(
                "With sampling, the worst pair of tables that differ by exchanging one unit's rows is not known in "
                "more than one dimension, so nothing is promised for it.",
                parameter="neighbours",
                value=self.neighbours,
                example={"neighbours": "add-remove"},
            )

    @classmethod
    def of(
        cls, *, sigma: Number, sampling: Number, sensitivity: Number = 1.0, neighbours: Neighbours = "add-remove"
    ) -> SampledGaussianDP:
        """The guarantee of one step.

        sigma: the standard deviation of the noise in the sum. sampling: the chance that a unit takes part, above 0 and
        at most 1. sensitivity: how far one unit can move the sum (L2): where gradients are clipped, the clipping norm.
        neighbours: "add-remove"; for "replace" nothing is proved.
        """
        sigma, sensitivity = validation.number("sigma", sigma), validation.number("sensitivity", sensitivity)
        with proof.precision(128):
            return cls(proof.downward(arb(sigma) / arb(sensitivity)), sampling, neighbours)  # type: ignore[arg-type]

    def pairs(self) -> Pairs:
        """That of Theorem 11 of Zhu, Dong and Wang 2022; where all take part, the Gaussian one."""
        noise = Fraction(self.noise_multiplier)
        if self.sampling == 1:
            return [(GaussianPair(1 / noise**2), 1)]
        return [(SampledGaussianPair(noise, Fraction(self.sampling)), 1)]

    def to_gaussian(self) -> GaussianDP:
        """As if every unit took part always: no smaller mu is enough for every delta."""
        with proof.precision(128):
            return GaussianDP(proof.upward(1 / arb(self.noise_multiplier)), self.neighbours)


@dataclass(frozen=True, slots=True)
class BoundedRangeDP(Guarantee):
    """What the exponential mechanism gives: all its losses lie in an interval of length epsilon.

    epsilon: the range of the losses: of scores that change by between a and b, (b - a) times their factor.
    neighbours: "add-remove" or "replace", what one unit's change means.
    """

    epsilon: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _normalize(self, epsilon="epsilon")

    def pairs(self) -> Pairs:
        """The worst of all whose losses lie so close together."""
        return [(BoundedRangePair(Fraction(self.epsilon)), 1)] if self.epsilon else []

    def to_pure(self) -> PureDP:
        """epsilon alone."""
        return PureDP(self.epsilon, self.neighbours)

    summand = to_pure

    def to_gaussian(self) -> GaussianDP:
        """mu = -2 Phi^-1(1/(1 + e^(epsilon/2))), rounded up: that of epsilon/2-DP (proof in `gaussian_price`)."""
        return GaussianDP(bounded_range_mu(Fraction(self.epsilon)), self.neighbours)


@dataclass(frozen=True, slots=True)
class ThresholdDP(Guarantee):
    """Unknown keys: a bin that only one unit has is shown with this chance at most. Compose it with the
    GaussianDP of the counts.

    chance: between 0 and 1. neighbours: "add-remove", for nothing is proved of others.
    """

    chance: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        _normalize(self, chance="delta")
        if self.neighbours != "add-remove":
            raise errors.InvalidParameter(
                "The accountant knows unknown keys for neighbours that add or remove one unit.",
                parameter="neighbours",
                value=self.neighbours,
                example={"neighbours": "add-remove"},
            )

    def pairs(self) -> Pairs:
        """The release in which it shows, against one in which it cannot."""
        return [(ThresholdPair(Fraction(self.chance)), 1)]


@dataclass(frozen=True, slots=True)
class Repeated(Guarantee):
    """A guarantee `times` times over, for `compose`.

    >>> PureDP(0.1) * 20
    Repeated(guarantee=PureDP(epsilon=0.1, neighbours='add-remove'), times=20)
    >>> round((GaussianDP.of(sigma=20) * 100).to_approx(delta=1e-6).epsilon, 4)
    2.2541
    """

    guarantee: Any
    times: int

    def __post_init__(self) -> None:
        if isinstance(self.guarantee, Repeated):
            object.__setattr__(self, "times", self.guarantee.times * validation.integer("times", self.times))
            object.__setattr__(self, "guarantee", self.guarantee.guarantee)
        elif not isinstance(self.guarantee, Guarantee):
            raise errors.WrongType(
                f"Only a guarantee can be repeated, such as PureDP(0.1). Got {type(self.guarantee).__name__} instead."
            )
        object.__setattr__(self, "times", validation.integer("times", self.times))

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """Those of the guarantee."""
        return self.guarantee.neighbours  # type: ignore[no-any-return]

    def pairs(self) -> Pairs:
        """Those of the guarantee, so many times."""
        return [(pair, self.times * each) for pair, each in self.guarantee.pairs()]


def counted(guarantees: Iterable[Guarantee]) -> Counter[Guarantee]:
    """How often each guarantee stands among these, repeated ones counted."""
    counts: Counter[Guarantee] = Counter()
    for guarantee in guarantees:
        if isinstance(guarantee, Repeated):
            counts[guarantee.guarantee] += guarantee.times
        else:
            counts[guarantee] += 1
    return counts


def dominating_pairs(guarantees: Iterable[Guarantee]) -> Pairs:
    """The pairs and how often each, equal guarantees together and all Gaussian pairs as one."""
    pairs: Pairs = []
    mu_squared = Fraction(0)
    for guarantee, times in counted(guarantees).items():
        for pair, each in guarantee.pairs():
            if isinstance(pair, GaussianPair):
                mu_squared += times * each * pair.mu_squared
            else:
                pairs.append((pair, times * each))
    return [*pairs, (GaussianPair(mu_squared), 1)] if mu_squared else pairs


_CHANGE: dict[str, str] = {
    "add-remove": "adding or removing any one {}",
    "replace": "exchanging any one {}'s record for another",
}
_WHO: dict[str, str] = {
    "add-remove": "whether any one {} is in the data",
    "replace": "which of two possible records any one {} has",
}


def _rates(values: ArrayLike) -> Floats:
    rates = np.asarray(values, dtype=np.float64)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise errors.InvalidParameter("A false-alarm rate lies between 0 and 1. Say, for example, 0.05.")
    return rates


def _normalize(guarantee: Guarantee, **names: str) -> None:
    """Check the fields at construction, each by its meaning, and hold them as doubles (rounded toward privacy: up)."""
    for name, meaning in names.items():
        object.__setattr__(guarantee, name, validation.number(meaning, getattr(guarantee, name), up=True))
    check_neighbours(guarantee.neighbours)


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:.4g}" + (f" = {math.exp(epsilon):.4g}" if epsilon < 20 else "")


def _odds(epsilon: float) -> str:
    chance = 100 / (1 + math.exp(-epsilon))
    digits = 0 if chance < 99 else 3
    return f"{chance:.{digits}f}:{100 - chance:.{digits}f}"
