"""Which noise and threshold bins get that nobody listed, and what they cost in two currencies. Nothing is paid yet.

A share is taken of both: the noise from mu^2 (or the reserve for Laplace releases), then the least threshold that keeps
to threshold_delta. Without a budget "auto" takes the noise of the lesser loss (`thresholds`), with one Gaussian
noise, which adds up exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support.rounding import round_down, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import some_epsilon, times_as_large
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Terms, share_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import baselines, calibration, thresholds
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Choice, Mechanism, NoisePlan
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.strength import Strength, judge
from leastnoise.privacy.thresholds import ALONE, KeySelection, NoiseInflation
from leastnoise.privacy.vector_noise import VectorPlanner
from leastnoise.releases.measured import ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPlan(NoisePlan):
    """The noise of every block, and from which noisy number of rows on a bin shows. `cut` has the noise of one count
    that costs as much as all blocks together."""

    mechanism: Mechanism
    guarantee: ApproxDP
    cut: KeySelection

    @property
    def threshold(self) -> int:
        """From which noisy number of rows on a bin shows."""
        return self.cut.at_least

    @property
    def described(self) -> str:
        """What a ledger says of it."""
        word = "sigma" if self.mechanism == "gaussian" else "scale"
        return f"{self.mechanism} noise of {word} {self.cut.scale:.6g}, shown from {self.threshold} on"


def rows_alone(cut: KeySelection) -> dict[str, float]:
    """Noise on the number of rows, and on nothing beside it."""
    return {ROWS: cut.scale}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPlanner:
    """The ways to publish bins that nobody listed.

    inflation: how much noisier the number of rows is than alone. scales: of the noise of every block beside a cut.
    """

    limits: Limits
    neighbours: Neighbours
    inflation: NoiseInflation = ALONE
    scales: Callable[[KeySelection], Mapping[str, float]] = rows_alone
    norms: Sensitivity | None = None  # of counts, where they are all that is published

    def promised(self, epsilon: Number, delta: Number, mechanism: Choice) -> KeysPlan:
        """What keeps this promise."""
        facts = {"limits": self.limits, "neighbours": self.neighbours, "inflation": self.inflation}
        cut = thresholds.choose(epsilon=epsilon, delta=delta, mechanism=mechanism, **facts)  # type: ignore[arg-type]
        return self._plan(cut, ApproxDP(epsilon, delta, self.neighbours))  # type: ignore[arg-type]

    def gaussian(self, terms: Terms, cost: Cost) -> KeysPlan:
        """Gaussian noise for this cost, with the epsilon of its mu at the budget's delta: delta_G(epsilon; mu) + chance
        <= delta is enough, as `terms` proves."""
        vector = VectorPlanner(bins=1, integers=True, sensitivity=self._widest, neighbours=self.neighbours)
        sigma = vector.gaussian(terms.mu_squared_for(cost)).scale
        cut = thresholds.within_chance(
            limits=self.limits,
            sigma=sigma * self.inflation.gaussian,
            chance=terms.chance_for(cost),
            neighbours=self.neighbours,
        )
        cut, total = replace(cut, scale=sigma), round_down(terms.delta)
        left = round_down(Fraction(total) - Fraction(self.chance(cut)))
        epsilon = calibration.epsilon(sigma=sigma, delta=left, sensitivity=self._widest)
        return self._plan(cut, ApproxDP(epsilon, total, self.neighbours))

    def laplace(self, epsilon: float, chance: float) -> KeysPlan:
        """Laplace noise: (epsilon, chance)-DP."""
        scale = baselines.laplace_scale(epsilon=epsilon, l1_sensitivity=self._rows)
        cut = thresholds.laplace_within_chance(
            epsilon=epsilon,
            scale=scale,
            chance=chance,
            limits=self.limits,
            neighbours=self.neighbours,
            inflation=self.inflation,
        )
        return self._plan(cut, ApproxDP(epsilon, chance, self.neighbours))

    def chance(self, cut: KeySelection) -> float:
        """That a bin of one person's own shows: of both persons', under replace neighbours."""
        scale = cut.scale * self.inflation.of(cut.mechanism)
        facts = {"limits": self.limits, "neighbours": self.neighbours, "mechanism": cut.mechanism}
        return thresholds.chance_shown(scale=scale, at_least=cut.at_least, **facts)  # type: ignore[arg-type]

    @property
    def sides(self) -> int:
        """How many persons may have bins of their own."""
        return 2 if self.neighbours == "replace" else 1

    def cost(self, terms: Terms, plan: KeysPlan) -> Cost:
        """The noise, and the chance that a bin of one person's own shows."""
        noise = terms.mu_squared_cost(plan.cost) if plan.mechanism == "gaussian" else terms.pure_cost(plan.cost)
        both = noise + terms.threshold_cost(self.chance(plan.cut))
        return both.at_least(LEAST_SHARE, terms.whole_caps)

    def strength(self, plan: KeysPlan) -> Strength:
        """Gaussian counts are mu-GDP, but for the chance that a bin of one person's own shows."""
        if plan.mechanism == "laplace":
            return judge(plan.guarantee)
        mu = GaussianDP.of(sigma=plan.cut.scale, sensitivity=self._widest, neighbours=self.neighbours).mu
        return judge(plan.guarantee, mu=mu, chance=self.chance(plan.cut))

    def std(self, plan: KeysPlan) -> float:
        """Of the noise of the numbers of rows."""
        return plan.error * self.inflation.of(plan.cut.mechanism)

    def _plan(self, cut: KeySelection, guarantee: ApproxDP) -> KeysPlan:
        if cut.mechanism == "gaussian":
            cost = (Fraction(self._widest) / Fraction(cut.scale)) ** 2
        else:
            cost = Fraction(self._rows) / Fraction(cut.scale)
        return KeysPlan(
            mechanism=cut.mechanism,
            scales=self.scales(cut),
            cost=cost,
            error=cut.distribution.std,
            guarantee=guarantee,
            delta=guarantee.delta,
            sensitivity=None if self.norms is None else self.norms.l2,
            l1_sensitivity=None if self.norms is None else self.norms.l1,
            cut=cut,
        )

    @property
    def _rows(self) -> float:
        return float(thresholds.rows_of(self.limits, self.neighbours))

    @property
    def _widest(self) -> float:
        """The L2 sensitivity when all of a person's rows (replace: of both persons') fall into shared bins, rounded
        up."""
        return sqrt_up(Fraction(self.limits.squared_norm * self.sides))


def decide_keys(request: PrivacyRequest, planner: KeysPlanner) -> Charge[KeysPlan]:
    """Noise, threshold, and their cost. Nothing is paid."""
    request = request.for_unknown_keys()
    budget = request.budget
    if budget is None:
        return _promised(request, planner)
    terms = budget.terms
    if not terms.threshold_delta:
        raise errors.BudgetMismatch(
            "Unknown keys show a bin of one person's own with some small probability, which no mu pays for, and "
            "this budget set nothing aside for it. Open one with a threshold_delta, a part of its delta, or list the "
            "keys.",
            parameter="budget",
            example={"keys": ["a", "b"]},
        )
    if request.share is None:
        mechanism: Choice = "gaussian" if request.mechanism == "auto" else request.mechanism
        charge = _promised(replace(request, mechanism=mechanism), planner)
        return replace(charge, cost=planner.cost(terms, charge.plan), budget=budget)
    both = terms.unknown_share(share_of(request.share))
    if request.mechanism != "laplace":
        return Charge(planner.gaussian(terms, both), both, budget)
    noise = terms.laplace_share(share_of(request.share))
    cost = both._replace(gaussian=0) + noise
    chance = round_down(Fraction(terms.chance_for(cost)) / planner.sides)
    return Charge(planner.laplace(some_epsilon(terms.epsilon_for(noise)), chance), cost, budget)


def _promised(request: PrivacyRequest, planner: KeysPlanner) -> Charge[KeysPlan]:
    """For (epsilon, delta). Where Laplace noise is weak, it is told beside Gaussian noise; and of itself "auto" takes
    none that protects nobody where that does."""
    epsilon, delta = request.promise()
    plan = planner.promised(epsilon, delta, request.mechanism)
    own = planner.strength(plan)
    if own.is_weak and plan.mechanism == "laplace":
        other = planner.promised(epsilon, delta, "gaussian")
        beside = planner.strength(other)
        if request.mechanism == "auto" and own.protects_nobody and not beside.protects_nobody:
            plan, own = other, beside
        else:
            own = own.beside(beside, times_as_large(planner.std(other), planner.std(plan)))
    return Charge(plan, Cost(), None, own)
