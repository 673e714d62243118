"""What a budget promises, and what each release takes of it: exact arithmetic, rounded toward privacy.

A budget has three caps, fixed when it is opened, and each is spent by itself:

    gaussian    mu_limit^2, the most that sum (sensitivity/sigma)^2 may reach; without a reserve of their own Laplace
                releases pay here, the mu^2 of a Gaussian one that is proved to tell more (`privacy.gaussian_price`)
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
the rows are read for one budget, and so how often a reading may fail, which noise does not hide.

What the whole budget promises, and how strong that is, is said in (epsilon, delta) and, but for threshold_delta, a mu;
or in epsilon alone. What is left of it is rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import next_down, next_up, round_down, round_up, sqrt_down
from leastnoise._support.validation import Number
from leastnoise.privacy import calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import pure_epsilon_within
from leastnoise.privacy.guarantees import ApproxDP, PureDP
from leastnoise.privacy.neighbours import NEIGHBOURS, Neighbours
from leastnoise.privacy.strength import Strength, judge

ATOMS = 10**30
LEAST_SHARE = Fraction(1, 10**6)
Share = Number | str
MAX_DENOMINATOR = 10_000  # of a simple fraction
MANY_DIGITS = 12  # a decimal of no more was typed as it is


class Cost(NamedTuple):
    """What a release takes of the three caps, in whole numbers of atoms: exact sums."""

    gaussian: int = 0
    pure: int = 0
    threshold: int = 0

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        return Cost(self.gaussian + other.gaussian, self.pure + other.pure, self.threshold + other.threshold)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.gaussian - other.gaussian, self.pure - other.pure, self.threshold - other.threshold)

    def within(self, caps: Cost) -> bool:
        """Whether no cap is passed (and none was refunded below nothing)."""
        return (
            0 <= self.gaussian <= caps.gaussian
            and 0 <= self.pure <= caps.pure
            and 0 <= self.threshold <= caps.threshold
        )

    def shares(self, caps: Cost) -> tuple[Fraction, Fraction, Fraction]:
        """The parts of the caps, exactly; 0 of a cap that is 0."""
        gaussian, pure, threshold = (Fraction(p, c or 1) for p, c in zip(self, caps, strict=True))
        return gaussian, pure, threshold

    def at_least(self, share: Fraction, caps: Cost) -> Cost:
        """This cost, or that share of each cap that it draws on where it is less."""
        pairs = zip(self, caps, strict=True)
        return Cost(*(max(part, math.ceil(share * cap)) if part else 0 for part, cap in pairs))

    def draws_less(self, share: Fraction, caps: Cost) -> bool:
        """Whether it draws on a cap, and on less of it than that share: rounded down, so that a release which takes
        exactly that much, in whole atoms, is not refused."""
        pairs = zip(self, caps, strict=True)
        return any(0 < part < math.floor(share * cap) for part, cap in pairs)

    def largest_share(self, left: Cost, caps: Cost) -> Fraction:
        """The largest share of the caps that this cost draws on, that is still left."""
        drawn = zip(self, left.shares(caps), strict=True)
        return min((share for asked, share in drawn if asked > 0), default=Fraction(0))


NO_COST = Cost()


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
    part: Cost | None = None  # the caps of an allocation, where these are its terms
    releases: int | None = None  # how many are planned; nothing that is allowed depends on it

    @classmethod
    def of(
        cls,
        *,
        epsilon: Number | None,
        delta: Number | None,
        pure_epsilon: Number = 0,
        threshold_delta: Number = 0,
        unit: str | None = None,
        table: str | None = None,
        neighbours: Neighbours | None = None,
        releases: int | None = None,
    ) -> Terms:
        """The terms that these limits make, mu_limit proved in balls. A delta of 0 is for Laplace releases only."""
        if epsilon is None:
            raise errors.MissingParameter(
                "A new budget needs its limits.", parameter="epsilon", example={"epsilon": 3, "delta": 1e-6}
            )
        total, pure = typed("epsilon", epsilon), _reserve("pure_epsilon", pure_epsilon)
        if validation.is_zero(delta) and not pure:
            pure = total
        if pure > total:
            raise errors.InvalidParameter(
                f"pure_epsilon = {float(pure):g} is more than all of epsilon = {float(total):g}, from which it is "
                "taken. All of it makes a budget for Laplace releases only.",
                value=pure_epsilon,
                example={"pure_epsilon": float(total)},
            )
        laplace_only = pure == total > 0
        if delta is None and not laplace_only:
            raise errors.MissingParameter(
                "A budget for Gaussian releases needs its delta. One for Laplace releases only has a delta of 0.",
                example=[{"delta": 1e-6}, {"delta": 0}],
            )
        nothing = delta is None or (laplace_only and validation.is_zero(delta))
        chance = Fraction(0) if nothing else typed("delta", delta)  # type: ignore[arg-type]
        hidden = _reserve("threshold_delta", threshold_delta)
        if hidden and (laplace_only or hidden >= chance or hidden > Fraction(1, 2)):
            raise errors.InvalidParameter(
                f"threshold_delta = {float(hidden):g} is taken from delta = {float(chance):g}, and the noise of "
                "unknown keys is Gaussian, so both need some of delta: half of it each is usual.",
                value=threshold_delta,
                example={"threshold_delta": 0 if laplace_only else float(chance / 2)},
            )
        side = validation.word("neighbours", neighbours or "add-remove", NEIGHBOURS)
        unit, table = _label("unit", unit), _label("table", table)
        plan = None if releases is None else validation.integer("releases", releases)
        terms = cls(total, chance, pure, hidden, Fraction(0), unit, table, side, releases=plan)  # type: ignore[arg-type]
        return terms if terms.laplace_only else replace(terms, mu=proof.mu(*terms.gaussian_promise))

    @property
    def laplace_only(self) -> bool:
        """Whether all of epsilon is reserved for Laplace releases."""
        return self.pure_epsilon == self.epsilon > 0

    def may_follow(self, before: Terms) -> bool:
        """Whether a budget with those terms may be reopened with these: the other kind, or another plan, for the same
        epsilon and the same people."""
        same = ("epsilon", "unit", "table", "neighbours")
        kept = all(getattr(self, name) == getattr(before, name) for name in same)
        other_kind = self.laplace_only != before.laplace_only
        return (
            kept
            and self.part is None
            and before.part is None
            and (other_kind or replace(self, releases=None) == replace(before, releases=None))
        )

    @property
    def gaussian_promise(self) -> tuple[float, float]:
        """(epsilon - pure_epsilon, delta - threshold_delta) as doubles: those typed, or rounded down."""
        epsilon = round_down(self.epsilon - self.pure_epsilon) if self.pure_epsilon else _double(self.epsilon)
        delta = round_down(self.delta - self.threshold_delta) if self.threshold_delta else _double(self.delta)
        return epsilon, delta

    def in_words(self) -> str:
        """The limits, and the plan."""
        plan = "" if self.releases is None else f" for {self.releases:,} release{'s' * (self.releases != 1)}"
        return f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}{plan}"

    def to_texts(self) -> dict[str, str]:
        """Exact texts, for the ledger."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) for name, value in named.items() if value is not None and name != "part"}

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Terms:
        names = ("epsilon", "delta", "pure_epsilon", "threshold_delta", "mu")
        return cls(
            **{name: _written(texts[name]) for name in names},  # type: ignore[arg-type]
            unit=texts.get("unit"),
            table=texts.get("table"),
            neighbours=validation.word("neighbours", texts["neighbours"], NEIGHBOURS),  # type: ignore[arg-type]
            releases=int(texts["releases"]) if "releases" in texts else None,
        )

    def is_proved(self) -> bool:
        """Whether a budget may be opened with these limits, and mu is what they allow, recomputed."""
        try:
            own = Terms.of(**{name: getattr(self, name) for name in self.__slots__ if name not in ("mu", "part")})
        except errors.LeastnoiseError:
            return False
        return own.mu == 0 == self.mu if own.laplace_only else 0 < self.mu <= own.mu

    @property
    def caps(self) -> Cost:
        """All there is, in atoms."""
        return self.whole_caps if self.part is None else self.part

    @property
    def whole_caps(self) -> Cost:
        """All there is in the whole budget, in atoms: these are parts of it in an allocation too."""
        pure, threshold = (math.floor(cap / _atom(cap)) for cap in (self.pure_epsilon, self.threshold_delta))
        return Cost(0 if self.laplace_only else ATOMS, pure, threshold)

    # What fits

    def allows(self, spent: Cost) -> bool:
        """Whether releases of these costs together keep the promise: no cap is passed, and none was refunded below
        nothing."""
        return spent.within(self.caps)

    def left(self, spent: Cost) -> Cost:
        """What is left."""
        return self.caps - spent

    def shares(self, cost: Cost) -> tuple[Fraction, Fraction, Fraction]:
        """The parts of the caps."""
        return cost.shares(self.caps)

    def share(self, cost: Cost) -> Fraction:
        """The largest of them."""
        return max(self.shares(cost), key=abs)

    # Allocations

    def portion(self, share: Fraction) -> Cost:
        """A share of every cap."""
        return Cost(*(math.floor(share * cap) for cap in self.caps))

    def part_of(self, caps: Cost) -> Terms:
        """The terms of an allocation with these caps: the same atoms, mu and names."""
        return replace(self, part=caps, releases=None)

    # What shares cost, and what that buys

    def gaussian_share(self, share: Fraction) -> Cost:
        """A share of mu_limit^2."""
        return Cost(gaussian=self.portion(share).gaussian)

    def laplace_share(self, share: Fraction) -> Cost:
        """A share of the reserve for Laplace releases, which may be all of epsilon; without one, of mu_limit^2."""
        return Cost(pure=self.portion(share).pure) if self.pure_epsilon else self.gaussian_share(share)

    def mu_squared_for(self, cost: Cost) -> Fraction:
        """(sensitivity/sigma)^2 for this cost."""
        return Fraction(cost.gaussian, ATOMS) * self.mu**2

    def epsilon_for(self, cost: Cost) -> float:
        """The epsilon of a Laplace release for this cost, rounded down."""
        if cost.pure:
            return round_down(cost.pure * _atom(self.pure_epsilon))
        return pure_epsilon_within(self.mu_squared_for(cost))

    def chance_for(self, cost: Cost) -> float:
        """The chance that a bin of one person's own may show, for this cost, rounded down."""
        return round_down(cost.threshold * _atom(self.threshold_delta))

    # What noise costs

    def mu_squared_cost(self, mu_squared: Fraction) -> Cost:
        """This mu^2, rounded up."""
        return Cost(gaussian=math.ceil(mu_squared / self.mu**2 * ATOMS))

    def pure_cost(self, epsilon: Fraction, mu_squared: Fraction | None = None) -> Cost:
        """Of a release that is epsilon-DP; mu_squared: what is known of its own curve, rounded up."""
        if self.pure_epsilon:
            return Cost(pure=math.ceil(epsilon / _atom(self.pure_epsilon)))
        if mu_squared is None:
            mu_squared = Fraction(PureDP(epsilon).to_gaussian().mu) ** 2  # type: ignore[arg-type]  # rounded up
        return self.mu_squared_cost(mu_squared)

    def threshold_cost(self, chance: float) -> Cost:
        """The chance that a bin of one person's own shows."""
        return Cost(threshold=math.ceil(Fraction(chance) / _atom(self.threshold_delta)))


def typed(name: str, value: Number) -> Fraction:
    """The decimal as typed: 0.01 is 1/100, not the double beside it."""
    validation.number(name, value)
    if isinstance(value, (float, np.floating)):
        return Fraction(str(value))
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def exact_share(share: Share, name: str = "share") -> Fraction:
    """A share as people write it, as it was meant; any errors name the parameter `name`.

    A decimal is taken as it is typed: 0.01 is 1/100, not the double beside it. A double of many digits that is the
    nearest one to a simple fraction is taken as that fraction: 1/52 is 0.019230769230769232 in Python, a little more
    than 1/52, and 52 of those would not fit. What is debited is exactly what is taken here, so the budget's limit is
    kept whatever was meant.

    >>> exact_share(0.01), exact_share(1 / 52), exact_share("1/365"), exact_share("0.25")
    (Fraction(1, 100), Fraction(1, 52), Fraction(1, 365), Fraction(1, 4))
    """
    if isinstance(share, str):
        share = _read(share, name)
    validation.number(name, share)
    if isinstance(share, (float, np.floating)):
        return _simple(share)
    return Fraction(int(share)) if isinstance(share, np.integer) else Fraction(share)


def _simple(share: float | np.floating) -> Fraction:
    """The decimal as typed, or the simple fraction that the double is nearest to."""
    decimal = Fraction(str(share))
    near = decimal.limit_denominator(MAX_DENOMINATOR)
    digits = len(Decimal(str(share)).as_tuple().digits)
    return near if digits > MANY_DIGITS and type(share)(near.numerator / near.denominator) == share else decimal


def _read(text: str, name: str) -> Fraction:
    """A number, or a fraction, in text."""
    above, slash, below = text.partition("/")
    try:
        parts = [Decimal(part.strip()) for part in (above, below if slash else "1")]
        usable = all(part.is_finite() and -1000 < part.adjusted() < 1000 for part in parts)  # 1e999999999 is too long
        if usable and parts[1] > 0:
            return Fraction(parts[0]) / Fraction(parts[1])
    except ArithmeticError:
        pass
    raise errors.WrongType(
        f"A share is a number or a fraction. Got {text!r} instead.", value=text, example=[{name: 0.25}, {name: "1/52"}]
    )


def share_of(share: Share) -> Fraction:
    """A share as it was meant, to 30 decimals (a third is rounded down, so three of them fit)."""
    exact = Fraction(math.floor(exact_share(share) * ATOMS), ATOMS)
    if exact > 1:
        raise errors.InvalidParameter(
            f"A share is a part of the whole budget, so at most 1. Got {share!r} instead.",
            value=share,
            example={"share": 0.25},
        )
    if exact < LEAST_SHARE:
        raise errors.InvalidParameter(
            f"A share is at least {float(LEAST_SHARE):g}, which bounds how often the rows are read for one budget. "
            f"Got {share!r} instead.",
            value=share,
            example={"share": 0.01},
        )
    return exact


def spendable(share: Fraction) -> float:
    """The largest double that, typed as a share, asks for no more than this."""
    double = float(share)
    while double > 0 and exact_share(double) > share:
        double = next_down(double)
    return double


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


def _written(text: str) -> Fraction:
    """A limit as `to_texts` writes it; ValueError for one that is not: -1, and 1e999999999, which takes for ever."""
    if not set(text) <= set("0123456789/"):
        raise ValueError
    return Fraction(text)


def _reserve(name: str, value: Number) -> Fraction:
    return Fraction(0) if validation.is_zero(value) else typed(name, value)


def can_be_kept(words: str) -> bool:
    """Whether a ledger can keep them: no zero character, and no half of a character that is written in two."""
    return "\0" not in words and not any("\ud800" <= sign <= "\udfff" for sign in words)


def _label(name: str, value: object) -> str | None:
    if isinstance(value, str) and not can_be_kept(value):
        raise errors.InvalidParameter(
            f"No ledger can keep {value!r}: it has a character 0, or half of one that is written in two. No budget was "
            f"opened. Give the {name} another name.",
            parameter=name,
        )
    if value is None or (isinstance(value, str) and value):
        return value
    raise errors.WrongType(
        f"{name} must be a name. Got {type(value).__name__} instead.",
        example={name: {"unit": "taxi", "table": "trips"}[name]},
    )


def strength(terms: Terms) -> Strength:
    """How strong the promise of these terms is."""
    if terms.laplace_only:
        return judge(PureDP(terms.epsilon, terms.neighbours), of_budget=True)  # type: ignore[arg-type]
    whole = ApproxDP(terms.epsilon, terms.delta, terms.neighbours)  # type: ignore[arg-type]
    pure = PureDP(terms.pure_epsilon).to_gaussian().mu if terms.pure_epsilon else 0.0  # type: ignore[arg-type]
    mu = next_up(math.hypot(round_up(terms.mu), pure))
    return judge(whole, mu=mu, chance=round_up(terms.threshold_delta), of_budget=True)


class Remaining(NamedTuple):
    """What is left, rounded down: each number can be spent as it is printed, down to a millionth of its cap."""

    share: float  # of mu^2; of epsilon in a budget for Laplace releases only
    mu: float
    epsilon: float  # one release of this epsilon at the budget's delta would take all that share
    pure_epsilon: float  # of the reserve for Laplace releases
    threshold_delta: float  # of the reserve for unknown keys

    @classmethod
    def of(cls, spent: Cost, terms: Terms) -> Remaining:
        """What is left after releases of these costs."""
        left = terms.left(spent)
        gaussian, pure, _ = (spendable(share) for share in left.shares(terms.caps))
        epsilon, chance = terms.epsilon_for(Cost(pure=left.pure)) if left.pure else 0.0, terms.chance_for(left)
        if terms.laplace_only:
            return cls(pure, 0.0, epsilon, epsilon, chance)
        mu = sqrt_down(terms.mu_squared_for(left))
        return cls(gaussian, mu, _epsilon(left, mu, terms), epsilon, chance)


def _epsilon(left: Cost, mu: float, terms: Terms) -> float:
    """The epsilon of mu, rounded down: the least proved one is within 1e-12, so 2e-12 less costs less than mu^2."""
    epsilon, delta = terms.gaussian_promise
    if left.gaussian == ATOMS:
        return epsilon
    return calibration.epsilon(sigma=1.0, delta=delta, sensitivity=mu) * (1 - 2e-12) if mu > 0 else 0.0
