"""Which noise a request gets, and what it costs: of every question in one way, from public facts alone.

The noise that (epsilon, delta) or sigma ask for; or, of a budget, the noise that a share pays for. A share is a part of
mu^2, or for Laplace noise of the reserve where there is one. Laplace noise pays its own price in mu^2, and is the
smaller one where the share is worth a large epsilon. Without a budget "auto" takes whichever of Gaussian and Laplace
noise has the lesser error, but never Laplace noise that protects nobody where Gaussian noise does.

Bins that nobody listed get noise and a threshold, and cost in two currencies. A share is taken of both: the noise from
mu^2 (or the reserve for Laplace releases), then the least threshold that keeps to threshold_delta. Without a budget
"auto" takes the noise of the lesser loss (`thresholds`), with one Gaussian noise, which adds up exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from leastnoise import errors
from leastnoise._support import library_warnings, validation
from leastnoise._support.rounding import round_down, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.terms import LEAST_SHARE, Cost, Terms, share_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import baselines, calibration, thresholds
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Choice, Mechanism, NoisePlan, NoisePlanner, NoiseReason, Plan, ReasonCode
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.strength import Strength, judge, protects_alone
from leastnoise.privacy.thresholds import ALONE, KeySelection, NoiseInflation
from leastnoise.privacy.vector_noise import VectorPlanner
from leastnoise.releases.measured import ROWS

_MOST_LOG_EPSILON = 14.0  # nobody needs more
_LAPLACE_MAY_WIN = 8  # mu^2 of a share; below it Gaussian noise is the smaller one


def decide(request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Charge[Plan]:
    """The noise and its cost. Nothing is paid."""
    if request.budget is not None:
        plan, cost = _bought(request, request.budget.terms, planner)
        return Charge(plan, cost, request.budget)
    plan = _least(request, planner)
    return Charge(plan, Cost(), None, _strength(plan, request, planner))


def _asked(request: PrivacyRequest, planner: NoisePlanner[Plan], *, pure: bool) -> Plan:
    """For the promise, or the sigma, of the request. pure: with noise that is epsilon-DP."""
    if request.sigma is not None:
        return planner.of_sigma(request.sigma, laplace=pure)
    epsilon, delta = request.promise()
    return planner.laplace(epsilon) if pure else planner.promised(epsilon, delta)


def _because(plan: Plan, code: ReasonCode, other_error: float | None = None) -> Plan:
    return replace(plan, reason=NoiseReason(code, other_error))


# Without a budget


def _least(request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Plan:
    """The mechanism that was asked for, or the one of less error."""

    def told(plan: Plan, code: ReasonCode, other_error: float | None = None) -> Plan:
        plan = replace(plan, other_error=other_error)
        return _because(plan, code, other_error) if planner.explains else plan

    automatic = request.mechanism == "auto"
    if request.mechanism == "laplace":
        return told(_asked(request, planner, pure=True), "requested")
    if automatic and request.sigma is None and validation.is_zero(request.delta):
        return told(_asked(request, planner, pure=True), "delta is zero")
    normal = _asked(request, planner, pure=False)
    if not automatic:
        return told(normal, "requested")
    if request.sigma is not None:
        return told(normal, "sigma given")
    if validation.is_zero(request.epsilon):
        return told(normal, "epsilon is zero")
    if not planner.compares:
        return told(normal, "no L1 sensitivity")
    try:
        pure = _asked(request, planner, pure=True)
    except errors.OutOfRange:  # too wide to be drawn, so it is not the lesser
        return told(normal, "smaller")
    if pure.error >= normal.error:
        return told(normal, "smaller", pure.error)
    if protects_alone(normal.guarantee, pure.guarantee):
        return told(normal, "stronger", pure.error)
    return told(pure, "smaller", normal.error)


def _strength(plan: Plan, request: PrivacyRequest, planner: NoisePlanner[Plan]) -> Strength:
    """How strong the promise of noise is that no budget pays for; where that of Laplace noise is weak, told beside
    Gaussian noise for the same epsilon and delta."""
    own = judge(plan.guarantee)
    promised = request.epsilon is not None and not validation.is_zero(request.delta)
    if plan.mechanism != "laplace" or not promised or not own.is_weak:
        return own
    other = _asked(request, planner, pure=False)
    return own.beside(judge(other.guarantee), _times_as_large(other.error, plan.error))


def _times_as_large(error: float, other: float) -> float | None:
    """The one over the other; None where that is a million or more, and says no more than that the other is none."""
    return error / other if error < 1e6 * other else None


# From a budget


def cost_of(terms: Terms, planner: NoisePlanner[Plan], plan: Plan) -> Cost:
    """What noise takes of a budget, rounded up. Quantiles by rank never draw on a reserve for Laplace noise."""
    price = planner.price(plan)
    if plan.mechanism == "laplace" or terms.laplace_only:
        return terms.pure_cost(plan.cost, price)
    return terms.mu_squared_cost(price)


def _bought(request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """The noise that the request gets from the budget."""
    automatic = request.mechanism == "auto"
    if request.mechanism == "laplace" or (automatic and (terms.laplace_only or validation.is_zero(request.delta))):
        return _pure(request, terms, planner)
    if terms.laplace_only:
        raise errors.BudgetMismatch(
            "All of this budget's epsilon is set aside for Laplace releases, so Gaussian noise has no limit to spend "
            "from. Take Laplace noise, or open a budget with a pure_epsilon below its epsilon.",
            value=request.mechanism,
            example={"mechanism": "laplace"},
        )
    if request.share is None:
        why: ReasonCode = "sigma given" if request.sigma is not None else "budget with a delta"
        return _of_request(request, terms, planner, why, pure=False)
    part = share_of(request.share)
    cost = terms.gaussian_share(part)
    plan = replace(planner.gaussian(terms.mu_squared_for(cost)), delta=terms.gaussian_promise[1])
    plan = _because(plan, "budget share")
    beats = terms.mu_squared_for(cost) > _LAPLACE_MAY_WIN and not terms.pure_epsilon
    if not (automatic and planner.compares and beats):
        return plan, cost
    try:
        pure, paid = _of_mu_squared(part, terms, planner)
    except errors.OutOfRange:  # Laplace noise too wide to be drawn, so it is not the lesser
        return plan, cost
    return (plan, cost) if pure.error >= plan.error else (_because(pure, "smaller", plan.error), paid)


def _pure(request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Laplace noise; the exponential mechanism of ranks."""
    if request.share is None:
        why: ReasonCode = "budget of Laplace noise" if terms.laplace_only else "delta is zero"
        return _of_request(request, terms, planner, why, pure=True)
    part = share_of(request.share)
    return _of_reserve(part, terms, planner) if terms.pure_epsilon else _of_mu_squared(part, terms, planner)


def _of_request(
    request: PrivacyRequest, terms: Terms, planner: NoisePlanner[Plan], why: ReasonCode, *, pure: bool
) -> tuple[Plan, Cost]:
    """What was asked for by its promise or its sigma, paid at its price."""
    plan = _asked(request, planner, pure=pure)
    if request.mechanism == "auto":
        plan = _because(plan, why)
    elif planner.explains:
        plan = _because(plan, "requested")
    return plan, cost_of(terms, planner, plan).at_least(LEAST_SHARE, terms.whole_caps)


def _of_reserve(part: Fraction, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Noise for this part of the reserve, which may be all of epsilon."""
    paid = terms.laplace_share(part)
    plan = planner.laplace(_some_epsilon(terms.epsilon_for(paid)))
    cost = cost_of(terms, planner, plan).at_least(LEAST_SHARE, terms.whole_caps)
    return _because(plan, "budget share"), cost._replace(pure=paid.pure)


def _of_mu_squared(part: Fraction, terms: Terms, planner: NoisePlanner[Plan]) -> tuple[Plan, Cost]:
    """Laplace noise for this part of mu^2: of the largest epsilon that it pays for, to 1e-9.

    What epsilon-DP at its worst may have is paid in any case; the noise's own price allows more.
    """
    from scipy.optimize import brentq

    paid = terms.laplace_share(part)
    epsilon = _some_epsilon(terms.epsilon_for(paid))
    plan = planner.laplace(epsilon)

    def over(log_epsilon: float) -> float:
        price = cost_of(terms, planner, planner.laplace(math.exp(log_epsilon))).gaussian
        return math.log(price / paid.gaussian)

    with library_warnings.none_at_all():  # what there is to warn of was said once
        low, high = math.log(epsilon), math.log(epsilon) + 1
        while over(high) <= 0 and high < _MOST_LOG_EPSILON:
            low, high = high, high + 1
        if high < _MOST_LOG_EPSILON and over(low) < 0:
            low = brentq(over, low, high, xtol=2e-10)
        more = planner.laplace(max(epsilon, math.exp(low - 5e-10)))
        if cost_of(terms, planner, more).gaussian <= paid.gaussian:
            plan = more
    return _because(plan, "budget share"), paid


def _some_epsilon(epsilon: float) -> float:
    if epsilon > 0:
        return epsilon
    raise errors.InvalidParameter(
        "This share is worth no epsilon that a double can hold. Take a larger one.", example={"share": 0.01}
    )


# Bins that nobody listed


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
        return _promised_keys(request, planner)
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
        charge = _promised_keys(replace(request, mechanism=mechanism), planner)
        return replace(charge, cost=planner.cost(terms, charge.plan), budget=budget)
    part = share_of(request.share)
    both = terms.portion(part)._replace(pure=0)
    if request.mechanism != "laplace":
        return Charge(planner.gaussian(terms, both), both, budget)
    noise = terms.laplace_share(part)
    cost = both._replace(gaussian=0) + noise
    chance = round_down(Fraction(terms.chance_for(cost)) / planner.sides)
    return Charge(planner.laplace(_some_epsilon(terms.epsilon_for(noise)), chance), cost, budget)


def _promised_keys(request: PrivacyRequest, planner: KeysPlanner) -> Charge[KeysPlan]:
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
            own = own.beside(beside, _times_as_large(planner.std(other), planner.std(plan)))
    return Charge(plan, Cost(), None, own)
