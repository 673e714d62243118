"""Planning backwards: from the error that is acceptable to the least epsilon that allows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import next_up
from leastnoise._support.validation import Number
from leastnoise.privacy import baselines, calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.composition import compose
from leastnoise.privacy.distributions import Gaussian, Laplace, holds, laplace_reach, normal_reach, steps_within
from leastnoise.privacy.guarantees import MOST_GRID_STEPS, ApproxDP, GaussianDP, Guarantee, LaplaceDP, PureDP
from leastnoise.privacy.sensitivity import l1_from_l2

Mechanism = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The least epsilon for an acceptable error, and the noise that goes with it."""

    epsilon: float
    delta: float  # what it promises: 0 with Laplace noise, whatever was allowed
    mechanism: Mechanism
    sigma: float
    half_width: float
    error: float
    confidence: float
    bins: int
    sensitivity: float
    grid: float
    l1_sensitivity: float | None = None  # what Laplace noise was planned for
    repeats: int = 1  # how many such releases epsilon is for
    others: int = 0  # how many guarantees beside them it covers
    each: float | None = None  # epsilon of one of them by itself, at the same delta, where there are others
    lower: float | None = None  # proved too small for all, where the accountant was asked

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What is promised by a release made to this plan, by all of them where it is for several."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def explain(self) -> str:
        """The plan in one paragraph."""
        each = "the noisy value lies" if self.bins == 1 else f"all {self.bins:,} noisy values lie"
        level = f"{100 * self.confidence:g} %"
        moved = "" if self.l1_sensitivity is None else f" (for an L1 sensitivity of {self.l1_sensitivity:g})"
        whole = f" for all {self.repeats:,} releases together" if self.repeats > 1 else ""
        whole += ", with what is beside," if self.others else ""
        return (
            f"epsilon = {self.epsilon:.6g}, delta = {self.delta:g}{whole} is the least that keeps the error within "
            f"{self.error:g}: with {self.mechanism.capitalize()} noise of standard deviation {self.sigma:.6g}{moved}, "
            f"{each} within {self.half_width:.6g} of the truth with {level} confidence."
        )

    def __str__(self) -> str:
        return self.explain()


def plan(
    *,
    error: Number,
    confidence: Number = 0.95,
    bins: int = 1,
    delta: Number,
    sensitivity: Number = 1.0,
    l1_sensitivity: Number | None = None,
    mechanism: Literal["auto", "gaussian", "laplace"] = "auto",
    grid: Number = 0.0,
    repeats: int = 1,
    beside: Sequence[Guarantee] = (),
) -> Plan:
    """The least epsilon for which all `bins` noisy values lie within +-`error` at once, with this confidence.

    Independent draws lie within at once with the chance P(|noise| <= error)^bins, which grows as the noise gets less:
    the most noise that keeps this at `confidence` or above is proved in rigorous arithmetic. Then epsilon is the least
    that allows so much noise: of Gaussian noise by Theorem 8 of Balle & Wang (2018) (see `leastnoise.epsilon`), of
    Laplace noise l1_sensitivity/scale.

    error: how far off a published number may be. confidence: how often that must hold.
    bins: how many numbers are published. delta: a small probability, or 0 for Laplace noise.
    sensitivity: how far one person can move the answer in L2. l1_sensitivity: the same in L1, which sets Laplace noise.
    mechanism: "gaussian", "laplace", or "auto", which takes the one that needs less epsilon; Laplace competes when
        `l1_sensitivity` is given (or delta is 0, which no Gaussian can).
    grid: 1 plans for whole numbers, as counts are released: noise on a grid lies within 10.7 when it lies within 10.
        Real numbers (0) are rounded to a fine grid when they are released, which adds up to 1e-4 of the noise.
    repeats: how many such releases there will be, 52 for one a week; the error holds in each, with this confidence,
        and epsilon is for all of them together.
    beside: guarantees of what else is released about the same people, which epsilon covers too.

    >>> p = plan(error=10, delta=1e-6, sensitivity=1)
    >>> round(p.epsilon, 4), p.mechanism
    (0.8162, 'gaussian')
    >>> plan(error=10, delta=1e-6, sensitivity=1, l1_sensitivity=1).mechanism
    'laplace'
    >>> weekly = plan(error=20, delta=1e-6, grid=1, repeats=52)
    >>> round(weekly.epsilon, 2), round(weekly.each, 2)
    (3.22, 0.38)
    """
    repeats = validation.integer("repeats", repeats)
    error = validation.number("error", error)
    confidence = validation.number("confidence", confidence)
    bins = validation.integer("bins", bins)
    grid = validation.number("grid", grid)
    sensitivity = validation.number("sensitivity", sensitivity)
    pure = validation.is_zero(delta)
    delta = 0.0 if pure else validation.number("delta", delta)
    validation.word("mechanism", mechanism, ("auto", "gaussian", "laplace"))
    if pure and mechanism == "gaussian":
        validation.number("delta", 0)  # raises: no Gaussian gives delta = 0
    if l1_sensitivity is None and (pure or mechanism == "laplace"):
        l1_sensitivity = l1_from_l2(sensitivity, bins)
    plans = []
    if not pure and mechanism in ("auto", "gaussian"):
        epsilon, sigma, half = _gaussian(error, confidence, bins, delta, sensitivity, grid)
        plans.append(Plan(epsilon, delta, "gaussian", sigma, half, error, confidence, bins, sensitivity, grid))
    if l1_sensitivity is not None and mechanism in ("auto", "laplace"):
        l1 = validation.number("l1_sensitivity", l1_sensitivity)
        validation.check_norms(l1, sensitivity)
        epsilon, sigma, half = _laplace(error, confidence, bins, l1, grid)
        promised = delta if repeats > 1 or beside else 0.0
        plans.append(Plan(epsilon, promised, "laplace", sigma, half, error, confidence, bins, sensitivity, grid, l1))
    if repeats > 1 or beside:
        plans = [_for_all(each, repeats, beside) for each in plans]
    return min(plans, key=lambda p: p.epsilon)


def _for_all(one: Plan, repeats: int, beside: Sequence[Guarantee]) -> Plan:
    """The same noise, in so many releases and beside others: what all promise together."""
    part: PureDP | LaplaceDP | GaussianDP
    if one.mechanism == "gaussian":
        part = GaussianDP.of(sigma=one.sigma, sensitivity=one.sensitivity)
    else:  # in several bins one unit may move one of them or many: only epsilon is known
        steps = math.ceil((one.l1_sensitivity or 1.0) / one.grid) if one.grid else None
        own = one.bins == 1 and (steps or 0) <= MOST_GRID_STEPS
        part = LaplaceDP(one.epsilon, grid_steps=steps) if own else PureDP(one.epsilon)
    at = one.delta or None
    total = compose(part * repeats, *beside, delta=at)
    if isinstance(total, GaussianDP):
        total = total.to_approx(delta=one.delta)
    assert isinstance(total, (PureDP, ApproxDP))
    lower = getattr(total, "lower", None)
    spent = total.delta if isinstance(total, ApproxDP) else 0.0
    return replace(
        one, epsilon=total.epsilon, delta=spent, repeats=repeats, others=len(beside), each=one.epsilon, lower=lower
    )


def _gaussian(
    error: float, confidence: float, bins: int, delta: float, sensitivity: float, grid: float
) -> tuple[float, float, float]:
    edge = error if not grid else (steps_within(error, grid) + 0.5) * grid
    target = edge / normal_reach(confidence, bins)
    step = 2.0**-51
    while not holds(Gaussian(target, grid), error, confidence, bins):
        target, step = target * (1 - step), 2 * step
    epsilon = calibration.epsilon(sigma=target, delta=delta, sensitivity=sensitivity)
    # sigma of the rounded-up epsilon may be an ulp or two above the target: give epsilon that ulp.
    step = 2.0**-52
    while not holds(Gaussian(sigma := _sigma(epsilon, delta, sensitivity), grid), error, confidence, bins):
        epsilon, step = next_up(epsilon * (1 + step)), 2 * step
    return epsilon, sigma, Gaussian(sigma, grid).half_width(confidence, bins)


def _sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    return calibration.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def _laplace(error: float, confidence: float, bins: int, l1: float, grid: float) -> tuple[float, float, float]:
    reach = laplace_reach(confidence, bins)
    scale = error / reach
    if grid:
        from scipy.optimize import brentq  # half a second to import

        k = steps_within(error, grid) + 1

        def excess(log_scale: float) -> float:
            step = grid * math.exp(-log_scale)
            return math.log(2) - k * step - math.log1p(math.exp(-step)) + reach

        # The tail on the grid lies between those of the continuous distribution at error and at error + grid.
        scale = math.exp(brentq(excess, math.log(scale) - 10, math.log(scale + grid / reach) + 10))
    epsilon = l1 / scale
    if not math.isfinite(epsilon):
        raise errors.OutOfRange(proof.too_large("epsilon"))
    step = 2.0**-52
    while True:
        distribution = Laplace(baselines.laplace_scale(epsilon=epsilon, l1_sensitivity=l1), grid)
        if holds(distribution, error, confidence, bins):
            return epsilon, math.sqrt(2) * distribution.scale, distribution.half_width(confidence, bins)
        epsilon, step = next_up(epsilon * (1 + step)), 2 * step
