"""What a budget promises, and what each release takes of it: exact arithmetic, rounded toward privacy.

A budget has three caps, fixed when it is opened, and each is spent by itself:

    gaussian    mu_limit^2, the most that sum (sensitivity/sigma)^2 may reach
    pure        pure_epsilon, the most that the epsilons of Laplace releases may add up to
    threshold   threshold_delta, the most that the chances of showing a bin of one person's own may add up to

with delta_G(epsilon - pure_epsilon; mu_limit) + threshold_delta <= delta, delta_G being Theorem 8. Separate caps
are what makes this a valid filter when each release is chosen after seeing the earlier ones: on every path
the Gaussian parts together are mu_limit-GDP (Smith & Thakurta 2022), the pure parts change any likelihood ratio by
e^pure_epsilon at most, and the third kind is coupled, except with probability threshold_delta, to one that shows no
such bin. (Where the person is absent the last step costs delta_G(epsilon + log(1 - D)) instead, which is
<= delta_G(epsilon) + D for D <= 1/2: the slope of delta_G is -e^x Phi(-mu/2 - x/mu) = -phi(a) R(b), at least -1/2 for
x >= 0, and at least -e^x below.)

Amounts are whole numbers of atoms: 10^-30 of mu_limit^2, and 10^-30 times the power of ten at or below the other two
caps. So a share of 0.01 is exactly 1/100, three Laplace releases of epsilon 0.1 are exactly a reserve of 0.3, every sum
is exact, and a hundred thousand of them need no more room than one. Shares and caps are rounded down, costs up.

Every release costs at least LEAST_SHARE of each cap that it draws on, however much noise it has: that bounds how often
the rows are read for one budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_down, next_up, round_down, round_up
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import laplace_mu_squared
from leastnoise.privacy.guarantee import ApproxDP, PureDP
from leastnoise.privacy.neighbours import NEIGHBOURS, Neighbours
from leastnoise.privacy.strength import Strength, judge

ATOMS = 10**30
LEAST_SHARE = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Cost:
    """Parts of the three caps, in atoms."""

    gaussian: int = 0
    pure: int = 0
    threshold: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.gaussian + other.gaussian, self.pure + other.pure, self.threshold + other.threshold)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.gaussian - other.gaussian, self.pure - other.pure, self.threshold - other.threshold)

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.gaussian, self.pure, self.threshold

    def within(self, caps: Cost) -> bool:
        """Whether no cap is passed (and none was refunded below nothing)."""
        return all(0 <= part <= cap for part, cap in zip(self.parts, caps.parts, strict=True))

    def shares(self, caps: Cost) -> tuple[Fraction, Fraction, Fraction]:
        """The parts of the caps, exactly; 0 of a cap that is 0."""
        gaussian, pure, threshold = (Fraction(p, c or 1) for p, c in zip(self.parts, caps.parts, strict=True))
        return gaussian, pure, threshold

    def at_least(self, share: Fraction, caps: Cost) -> Cost:
        """This cost, or that share of each cap that it draws on where it is less."""
        pairs = zip(self.parts, caps.parts, strict=True)
        return Cost(*(max(part, math.ceil(share * cap)) if part else 0 for part, cap in pairs))

    def largest_share(self, left: Cost, caps: Cost) -> Fraction:
        """The largest share of the caps that this cost draws on, that is still left."""
        drawn = zip(self.parts, left.shares(caps), strict=True)
        return min((share for asked, share in drawn if asked > 0), default=Fraction(0))


@dataclass(frozen=True, slots=True)
class Terms:
    """The limits of a budget, as typed, and whom it protects. All of epsilon as `pure_epsilon` leaves mu = 0."""

    epsilon: Fraction
    delta: Fraction
    pure_epsilon: Fraction
    threshold_delta: Fraction
    mu: Fraction  # mu_limit, rounded down
    unit: str | None
    table: str | None
    neighbours: Neighbours

    @classmethod
    def of(
        cls,
        *,
        epsilon: Number | None,
        delta: Number | None,
        pure_epsilon: Number,
        threshold_delta: Number,
        unit: str | None,
        table: str | None,
        neighbours: Neighbours | None,
    ) -> Terms:
        """The terms that these limits make, mu_limit proved in balls."""
        if epsilon is None:
            raise errors.MissingParameter(
                "A new budget needs its limits.", parameter="epsilon", example={"epsilon": 3, "delta": 1e-6}
            )
        total, pure = typed("epsilon", epsilon), _reserve("pure_epsilon", pure_epsilon)
        if pure > total:
            raise errors.InvalidParameter(
                f"pure_epsilon = {float(pure):g} is more than all of epsilon = {float(total):g}, from which it is "
                "taken. All of it makes a budget for Laplace releases only.",
                parameter="pure_epsilon",
                value=pure_epsilon,
                example={"pure_epsilon": float(total)},
            )
        laplace_only = pure == total > 0
        if delta is None and not laplace_only:
            raise errors.MissingParameter(
                "A budget for Gaussian releases needs its delta. One for Laplace releases only, where pure_epsilon is "
                "all of epsilon, has none.",
                parameter="delta",
                example=[{"delta": 1e-6}, {"pure_epsilon": float(total)}],
            )
        nothing = delta is None or (laplace_only and validation.is_zero(delta))
        chance = Fraction(0) if nothing else typed("delta", delta)  # type: ignore[arg-type]
        hidden = _reserve("threshold_delta", threshold_delta)
        if hidden and (laplace_only or hidden >= chance or hidden > Fraction(1, 2)):
            raise errors.InvalidParameter(
                f"threshold_delta = {float(hidden):g} is taken from delta = {float(chance):g}, and the noise of "
                "unknown keys is Gaussian, so both need some of delta: half of it each is usual.",
                parameter="threshold_delta",
                value=threshold_delta,
                example={"threshold_delta": 0 if laplace_only else float(chance / 2)},
            )
        side = validation.word("neighbours", neighbours or "add-remove", NEIGHBOURS)
        unit, table = _label("unit", unit), _label("table", table)
        terms = cls(total, chance, pure, hidden, Fraction(0), unit, table, side)  # type: ignore[arg-type]
        return terms if terms.laplace_only else replace(terms, mu=proof.mu(*terms.gaussian_promise))

    @property
    def laplace_only(self) -> bool:
        """Whether all of epsilon is reserved for Laplace releases."""
        return self.pure_epsilon == self.epsilon > 0

    @property
    def gaussian_promise(self) -> tuple[float, float]:
        """(epsilon - pure_epsilon, delta - threshold_delta) as doubles: those typed, or rounded down."""
        epsilon = round_down(self.epsilon - self.pure_epsilon) if self.pure_epsilon else _double(self.epsilon)
        delta = round_down(self.delta - self.threshold_delta) if self.threshold_delta else _double(self.delta)
        return epsilon, delta

    @property
    def strength(self) -> Strength:
        """How strong the promise of all releases together is: (epsilon, delta), and, but for threshold_delta, a mu."""
        if self.laplace_only:
            return judge(PureDP(self.epsilon, self.neighbours), of_budget=True)  # type: ignore[arg-type]
        whole = ApproxDP(self.epsilon, self.delta, self.neighbours)  # type: ignore[arg-type]
        pure = PureDP(self.pure_epsilon).to_gaussian().mu if self.pure_epsilon else 0.0  # type: ignore[arg-type]
        mu = next_up(math.hypot(round_up(self.mu), pure))
        return judge(whole, mu=mu, chance=round_up(self.threshold_delta), of_budget=True)

    def to_texts(self) -> dict[str, str]:
        """Exact texts, for the ledger."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) for name, value in named.items() if value is not None}

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Terms:
        names = ("epsilon", "delta", "pure_epsilon", "threshold_delta", "mu")
        return cls(
            **{name: Fraction(texts[name]) for name in names},
            unit=texts.get("unit"),
            table=texts.get("table"),
            neighbours=validation.word("neighbours", texts["neighbours"], NEIGHBOURS),  # type: ignore[arg-type]
        )

    def is_proved(self) -> bool:
        """Whether mu is what these limits allow; recomputed."""
        return self.mu <= (0 if self.laplace_only else proof.mu(*self.gaussian_promise))

    @property
    def caps(self) -> Cost:
        """All there is, in atoms."""
        pure, threshold = (math.floor(cap / _atom(cap)) for cap in (self.pure_epsilon, self.threshold_delta))
        return Cost(0 if self.laplace_only else ATOMS, pure, threshold)

    # What shares cost, and what that buys

    def gaussian_share(self, share: Fraction) -> Cost:
        """A share of mu_limit^2."""
        return Cost(gaussian=math.floor(share * self.caps.gaussian))

    def laplace_share(self, share: Fraction) -> Cost:
        """A share of the reserve for Laplace releases; without one, of mu_limit^2."""
        return Cost(pure=math.floor(share * self.caps.pure)) if self.pure_epsilon else self.gaussian_share(share)

    def unknown_share(self, share: Fraction) -> Cost:
        """A share of mu_limit^2, and the same of the reserve for unknown keys."""
        return self.gaussian_share(share) + Cost(threshold=math.floor(share * self.caps.threshold))

    def mu_squared_for(self, cost: Cost) -> Fraction:
        """(sensitivity/sigma)^2 for this cost."""
        return Fraction(cost.gaussian, ATOMS) * self.mu**2

    def epsilon_for(self, cost: Cost) -> float:
        """The epsilon of a Laplace release for this cost, rounded down."""
        if cost.pure:
            return round_down(cost.pure * _atom(self.pure_epsilon))
        return pure_epsilon_of(self.mu_squared_for(cost))

    def chance_for(self, cost: Cost) -> float:
        """The chance that a bin of one person's own may show, for this cost, rounded down."""
        return round_down(cost.threshold * _atom(self.threshold_delta))

    # What noise costs

    def gaussian_cost(self, *, sensitivity: float, sigma: float) -> Cost:
        """(sensitivity/sigma)^2, the sensitivity with its grid charge."""
        return self._mu_cost(Fraction(sensitivity) / Fraction(sigma))

    def laplace_cost(
        self, *, l1_sensitivity: float, scale: float, l2_sensitivity: float | None = None, grid: float | None = None
    ) -> Cost:
        """epsilon = l1_sensitivity/scale of the reserve; without one the mu^2 of the Gaussian curve below it: that of
        the noise itself where its grid and the L2 sensitivity are known (`gaussian_price`), else that of epsilon-DP."""
        epsilon = Fraction(l1_sensitivity) / Fraction(scale)
        if self.pure_epsilon:
            return Cost(pure=math.ceil(epsilon / _atom(self.pure_epsilon)))
        if l2_sensitivity is None or grid is None:
            return self._mu_cost(Fraction(PureDP(epsilon).to_gaussian().mu))  # type: ignore[arg-type]  # rounded up
        steps = [Fraction(each) / Fraction(grid) for each in (l1_sensitivity, l2_sensitivity, scale)]
        squared = laplace_mu_squared(l1=steps[0], l2=steps[1], scale=steps[2])
        return Cost(gaussian=math.ceil(squared / self.mu**2 * ATOMS))

    def threshold_cost(self, chance: float) -> Cost:
        """The chance that a bin of one person's own shows."""
        return Cost(threshold=math.ceil(Fraction(chance) / _atom(self.threshold_delta)))

    def _mu_cost(self, mu: Fraction) -> Cost:
        return Cost(gaussian=math.ceil((mu / self.mu) ** 2 * ATOMS))


def typed(name: str, value: Number) -> Fraction:
    """The decimal as typed: 0.01 is 1/100, not the double beside it."""
    validation.number(name, value)
    if isinstance(value, (float, np.floating)):
        return Fraction(str(value))
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def share_of(share: Number) -> Fraction:
    """A share as typed, to 30 decimals (a third is rounded down, so three of them fit)."""
    exact = Fraction(math.floor(typed("share", share) * ATOMS), ATOMS)
    if exact > 1:
        raise errors.InvalidParameter(
            f"A share is a part of the whole budget, so at most 1. Got {share!r} instead.",
            parameter="share",
            value=share,
            example={"share": 0.25},
        )
    if exact < LEAST_SHARE:
        raise errors.InvalidParameter(
            f"A share is at least {float(LEAST_SHARE):g}, which bounds how often the rows are read for one budget. "
            f"Got {share!r} instead.",
            parameter="share",
            value=share,
            example={"share": 0.01},
        )
    return exact


def spendable(share: Fraction) -> float:
    """The largest double that, typed as a share, asks for no more than this."""
    double = float(share)
    while double > 0 and Fraction(str(double)) > share:
        double = next_down(double)
    return double


def pure_epsilon_of(mu_squared: Fraction) -> float:
    """The largest epsilon whose mu = -2 Phi^-1(1/(1 + e^epsilon)) is within: log(Phi(mu/2)/Phi(-mu/2)), rounded down.

    Past 700 mu is taken as 2 sqrt(2 epsilon) (see privacy/guarantee.py), so epsilon is mu^2/8.
    """
    if mu_squared > 5600:
        epsilon = round_down(mu_squared / 8)
    else:
        with proof.precision(1200):
            tail = proof.upper_tail(_ball(mu_squared).sqrt() / 2)
            epsilon = min(700.0, proof.downward(((1 - tail) / tail).log()))
    while epsilon > 0 and Fraction(PureDP(epsilon).to_gaussian().mu) ** 2 > mu_squared:
        epsilon *= 1 - 2.0**-52
    return epsilon


def _ball(value: Fraction) -> proof.RealBall:
    return arb(fmpq(value.numerator, value.denominator))


def _atom(cap: Fraction) -> Fraction:
    """10^-30 times the power of ten at or below the cap (1 for a cap of 0, of which nothing can be spent)."""
    if not cap:
        return Fraction(1)
    digits = len(str(cap.numerator)) - len(str(cap.denominator))
    power = Fraction(10) ** digits
    return (power if power <= cap else power / 10) / ATOMS


def _double(value: Fraction) -> float:
    """The double that the decimal means when it is typed (so that a budget of 0.1 is what ln.sigma(epsilon=0.1) means);
    rounded down where no double is printed like this."""
    double = float(value)
    return double if Fraction(str(double)) == value else round_down(value)


def _reserve(name: str, value: Number) -> Fraction:
    return Fraction(0) if validation.is_zero(value) else typed(name, value)


def _label(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise errors.WrongType(
        f"{name} must be a name. Got {type(value).__name__} instead.",
        parameter=name,
        example={name: {"unit": "taxi", "table": "trips"}[name]},
    )
