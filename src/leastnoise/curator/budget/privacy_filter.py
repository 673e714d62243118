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

**Laplace releases instead.** A budget without a reserve for Laplace releases (`pure_instead`) allows a release if, it
included, *either* all so far are pure (delta = 0) and their epsilons add up to at most epsilon, *or* all so far keep to
the caps, a pure one paying the mu^2 of its noise (`gaussian_price`). That is (epsilon, delta)-DP, whatever rule chooses
each release from the outputs before it. Let P and Q be the laws of the whole transcript from two neighbouring
tables, and A the transcripts whose releases do not keep to the caps. On A the last release was allowed by the first
rule: all are pure, P <= e^epsilon Q there, and (P - e^epsilon Q)^+ = 0. Stop the same process just before a release
would pass a cap: it keeps to the caps on every path, so it is (epsilon, delta)-DP; and as what is spent never falls,
it does not stop outside A, where its laws are P and Q. Hence the integral of (P - e^epsilon Q)^+ is at most 0 + delta.

The caps fail for mu: the transcripts of A may have any ratio up to e^epsilon. But the *first* release is chosen before
anything of this budget is seen. If it is not pure, the first rule never holds again, and all keeps to the caps; if it
is pure and passes them, the second never does, and all is epsilon-DP. Only in between is (epsilon, delta) all that
is promised (`promise.py`).

To decide by sums alone, the amount `pure` of such a budget counts every epsilon as a part of all of epsilon, and a
release that is not pure as more than all of it.

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

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_down, round_down
from leastnoise._support.validation import Number
from leastnoise.curator.budget import shares
from leastnoise.curator.budget.cost import Cost as Cost  # which everybody takes from here
from leastnoise.curator.budget.shares import Share
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import laplace_mu_squared, pure_epsilon_within
from leastnoise.privacy.guarantee import PureDP
from leastnoise.privacy.neighbours import NEIGHBOURS, Neighbours

ATOMS = 10**30
LEAST_SHARE = Fraction(1, 10**6)


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
    pure_instead: bool = False  # releases that are all pure may spend all of epsilon; ledgers of before have it not
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
                parameter="pure_epsilon",
                value=pure_epsilon,
                example={"pure_epsilon": float(total)},
            )
        laplace_only = pure == total > 0
        if delta is None and not laplace_only:
            raise errors.MissingParameter(
                "A budget for Gaussian releases needs its delta. One for Laplace releases only has a delta of 0.",
                parameter="delta",
                example=[{"delta": 1e-6}, {"delta": 0}],
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
        plan = None if releases is None else validation.integer("releases", releases)
        terms = cls(total, chance, pure, hidden, Fraction(0), unit, table, side, not pure, releases=plan)  # type: ignore[arg-type]
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
        named["part"] = None if self.part is None else " ".join(map(str, self.part.parts))
        return {name: str(value) for name, value in named.items() if value is not None}

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Terms:
        names = ("epsilon", "delta", "pure_epsilon", "threshold_delta", "mu")
        return cls(
            **{name: Fraction(texts[name]) for name in names},
            unit=texts.get("unit"),
            table=texts.get("table"),
            neighbours=validation.word("neighbours", texts["neighbours"], NEIGHBOURS),  # type: ignore[arg-type]
            pure_instead=texts.get("pure_instead") == "True",
            part=Cost(*map(int, texts["part"].split())) if "part" in texts else None,
            releases=int(texts["releases"]) if "releases" in texts else None,
        )

    def is_proved(self) -> bool:
        """Whether mu is what these limits allow, recomputed; and a part no more than the whole."""
        whole = self.part is None or self.part.within(self.whole_caps)
        return whole and self.mu <= (0 if self.laplace_only else proof.mu(*self.gaussian_promise))

    @property
    def caps(self) -> Cost:
        """All there is, in atoms."""
        return self.whole_caps if self.part is None else self.part

    @property
    def whole_caps(self) -> Cost:
        """All there is in the whole budget, in atoms: these are parts of it in an allocation too."""
        pure, threshold = (math.floor(cap / _atom(cap)) for cap in (self._pure_cap, self.threshold_delta))
        return Cost(0 if self.laplace_only else ATOMS, pure, threshold)

    @property
    def _pure_cap(self) -> Fraction:
        return self.epsilon if self.pure_instead else self.pure_epsilon

    # What fits

    def allows(self, spent: Cost) -> bool:
        """Whether releases of these costs together keep the promise (and none was refunded below nothing)."""
        return min(spent.parts) >= 0 and (self.keeps_caps(spent) or self.is_pure(spent))

    def can_count(self, cost: Cost) -> bool:
        """Whether a release's cost says what it takes of epsilon, where pure releases may spend that instead: with
        nothing of it, any number of releases that are not pure would pass for pure ones."""
        return not self.pure_instead or cost.pure > 0

    def keeps_caps(self, spent: Cost) -> bool:
        """Whether no cap is passed."""
        return (spent.without_pure if self.pure_instead else spent).within(self.caps)

    def is_pure(self, spent: Cost) -> bool:
        """Whether Laplace releases alone have spent this, and no more than all of epsilon."""
        return self.pure_instead and 0 <= spent.pure <= self.caps.pure

    def left(self, spent: Cost) -> Cost:
        """What is left: of the caps, and for Laplace releases alone."""
        rest = self.caps - spent
        if not self.pure_instead:
            return rest
        kept = rest if self.keeps_caps(spent) else Cost()
        return Cost(kept.gaussian, max(0, rest.pure), kept.threshold)

    def shares(self, cost: Cost) -> tuple[Fraction, Fraction, Fraction]:
        """The parts of the caps; 0 of epsilon for a release that is not pure."""
        pure = not self.pure_instead or abs(cost.pure) <= self.caps.pure
        return (cost if pure else cost.without_pure).shares(self.caps)

    def counts_epsilon(self, spent: Cost) -> bool:
        """Whether what is left is counted in epsilon, and not in mu^2: only Laplace releases still fit."""
        return self.laplace_only or not self.keeps_caps(spent)

    def share(self, cost: Cost, spent: Cost) -> Fraction:
        """The largest of them, of what is counted after `spent`, so that shares and what is left add up to one."""
        return counted_share(*self.shares(cost), of_epsilon=self.counts_epsilon(spent))

    def largest_share(self, cost: Cost, spent: Cost) -> Fraction:
        """The largest share that a release like this one may still take, after those of `spent`."""
        left = self.left(spent)
        if not self.pure_instead:
            return cost.largest_share(left, self.caps)
        if self.is_pure(cost) and left.pure:
            return Fraction(left.pure, self.caps.pure)
        return cost.without_pure.largest_share(left, self.caps)

    # Allocations

    def allocation_share(self, share: Fraction) -> Cost:
        """A share of every cap, for an allocation. What is released from it need not be pure."""
        rest = self._not_pure if self.pure_instead else Cost(pure=math.floor(share * self.caps.pure))
        both = Cost(math.floor(share * self.caps.gaussian), 0, math.floor(share * self.caps.threshold))
        return both + rest

    def part_in(self, cost: Cost) -> Cost:
        """The caps of an allocation that costs this: of every amount, so that the parent's sums bound its own."""
        return cost.without_pure if self.pure_instead else cost

    def part_of(self, caps: Cost) -> Terms:
        """The terms of an allocation with these caps: the same atoms, mu and names."""
        return replace(self, part=caps, pure_instead=False, releases=None)

    # What shares cost, and what that buys

    def gaussian_share(self, share: Fraction) -> Cost:
        """A share of mu_limit^2."""
        return Cost(gaussian=math.floor(share * self.caps.gaussian)) + self._not_pure

    def pure_share(self, share: Fraction) -> Cost:
        """A share of all of epsilon, or of the reserve."""
        return Cost(pure=math.floor(share * self.caps.pure))

    def laplace_share(self, share: Fraction) -> Cost:
        """A share of the reserve for Laplace releases; without one, of mu_limit^2."""
        return self.pure_share(share) if self.pure_epsilon else self.gaussian_share(share).without_pure

    def unknown_share(self, share: Fraction) -> Cost:
        """A share of mu_limit^2, and the same of the reserve for unknown keys."""
        return self.gaussian_share(share) + Cost(threshold=math.floor(share * self.caps.threshold))

    def mu_squared_for(self, cost: Cost) -> Fraction:
        """(sensitivity/sigma)^2 for this cost."""
        return Fraction(cost.gaussian, ATOMS) * self.mu**2

    def epsilon_for(self, cost: Cost) -> float:
        """The epsilon of a Laplace release for this cost, rounded down."""
        if cost.pure:
            return round_down(cost.pure * _atom(self._pure_cap))
        return pure_epsilon_within(self.mu_squared_for(cost))

    def chance_for(self, cost: Cost) -> float:
        """The chance that a bin of one person's own may show, for this cost, rounded down."""
        return round_down(cost.threshold * _atom(self.threshold_delta))

    # What noise costs

    def gaussian_cost(self, *, sensitivity: float, sigma: float) -> Cost:
        """(sensitivity/sigma)^2, the sensitivity with its grid charge."""
        return self._mu_cost(Fraction(sensitivity) / Fraction(sigma)) + self._not_pure

    def laplace_cost(
        self, *, l1_sensitivity: float, scale: float, l2_sensitivity: float | None = None, grid: float | None = None
    ) -> Cost:
        """epsilon = l1_sensitivity/scale of the reserve; without one the mu^2 of the Gaussian curve below it: that of
        the noise itself where its grid and the L2 sensitivity are known (`gaussian_price`), else that of epsilon-DP."""
        epsilon = Fraction(l1_sensitivity) / Fraction(scale)
        if l2_sensitivity is None or grid is None:
            return self.pure_cost(epsilon)
        steps = [Fraction(each) / Fraction(grid) for each in (l1_sensitivity, l2_sensitivity, scale)]
        return self.pure_cost(epsilon, laplace_mu_squared(l1=steps[0], l2=steps[1], scale=steps[2]))

    def pure_cost(self, epsilon: Fraction, mu_squared: Fraction | None = None) -> Cost:
        """Of a release that is epsilon-DP; mu_squared: what is known of its own curve, rounded up."""
        pure = Cost(pure=math.ceil(epsilon / _atom(self._pure_cap)))
        if self.pure_epsilon:
            return pure
        if mu_squared is None:
            mu_squared = Fraction(PureDP(epsilon).to_gaussian().mu) ** 2  # type: ignore[arg-type]  # rounded up
        squared = Cost(gaussian=math.ceil(mu_squared / self.mu**2 * ATOMS))
        return squared + pure if self.pure_instead else squared

    def threshold_cost(self, chance: float) -> Cost:
        """The chance that a bin of one person's own shows."""
        return Cost(threshold=math.ceil(Fraction(chance) / _atom(self.threshold_delta))) + self._not_pure

    @property
    def _not_pure(self) -> Cost:
        """More than all of epsilon, in a budget that releases which are all pure may spend instead."""
        return Cost(pure=self.caps.pure + 1) if self.pure_instead else Cost()

    def _mu_cost(self, mu: Fraction) -> Cost:
        return Cost(gaussian=math.ceil((mu / self.mu) ** 2 * ATOMS))


def typed(name: str, value: Number) -> Fraction:
    """The decimal as typed: 0.01 is 1/100, not the double beside it."""
    validation.number(name, value)
    if isinstance(value, (float, np.floating)):
        return Fraction(str(value))
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def share_of(share: Share) -> Fraction:
    """A share as it was meant, to 30 decimals (a third is rounded down, so three of them fit)."""
    exact = Fraction(math.floor(shares.exact(share) * ATOMS), ATOMS)
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


def counted_share(gaussian: Fraction, pure: Fraction, threshold: Fraction, *, of_epsilon: bool) -> Fraction:
    """The largest of three shares. One that is of mu^2 and of epsilon too counts in what the budget counts in."""
    either = (pure or gaussian) if of_epsilon else (gaussian or pure)
    return max(either, threshold, key=abs)


def spendable(share: Fraction) -> float:
    """The largest double that, typed as a share, asks for no more than this."""
    double = float(share)
    while double > 0 and shares.exact(double) > share:
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
