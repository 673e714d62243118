"""What a set of tables costs: the noise of every block, and its price in a budget. Nothing is paid yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import calibration
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.workload import Workload
from leastnoise.workload.tables_noise import TablesNoise, gaussian_noise, laplace_noise

if TYPE_CHECKING:
    from leastnoise.workload.strategy import Weights

TablesCharge = Charge[TablesNoise]
MAX_PLAIN_TABLES = 200  # beyond, Laplace noise on each has several times the error, and is not tried


def decide(
    request: PrivacyRequest, workload: Workload, *, weights: Weights, row_size: int, neighbours: Neighbours
) -> TablesCharge:
    """The noise of all tables together, and its cost: one debit for the set.

    Without a budget "auto" takes whichever of Gaussian noise on blocks and Laplace noise on plain tables has the lesser
    error by these weights; with a budget Gaussian noise, as `charge.decide` does.

    row_size: the most that the rows of one unit add up to, in whole numbers.
    """
    _refuse_sigma(request)

    def gaussian(mu_squared: Fraction, delta: float) -> TablesNoise:
        made = gaussian_noise(workload, weights, mu_squared=mu_squared, row_size=row_size, neighbours=neighbours)
        return replace(made, delta=delta)

    laplace = partial(laplace_noise, workload, weights, row_size=row_size, neighbours=neighbours)
    if request.budget is None:
        made = _without_budget(
            request, gaussian, laplace, many=len(workload.tables) > MAX_PLAIN_TABLES or not workload.takes_laplace
        )
        return Charge(made, made.guarantee, Cost(), None)
    terms = request.budget.terms
    zero = validation.is_zero(request.delta)
    pure = request.mechanism == "laplace" or (request.mechanism == "auto" and (terms.laplace_only or zero))
    if not pure and terms.laplace_only:
        raise errors.BudgetMismatch(
            "All of this budget's epsilon is set aside for Laplace releases, so Gaussian noise has no limit to spend "
            "from. Take Laplace noise, or open a budget with a pure_epsilon below its epsilon.",
            parameter="mechanism",
            value=request.mechanism,
            example={"mechanism": "laplace"},
        )
    if request.share is not None:
        part = privacy_filter.share_of(request.share)
        cost = terms.laplace_share(part) if pure else terms.gaussian_share(part)
        made = (
            laplace(epsilon=terms.epsilon_for(cost))
            if pure
            else gaussian(terms.mu_squared_for(cost), terms.gaussian_promise[1])
        )
        return Charge(made, made.guarantee, cost, request.budget)
    epsilon, delta = request.promise()
    made = laplace(epsilon=epsilon) if pure else gaussian(*_mu_squared(epsilon, delta))
    cost = (
        terms.laplace_cost(l1_sensitivity=round_up(made.cost), scale=1.0)
        if pure
        else terms.gaussian_cost(sensitivity=sqrt_up(made.cost), sigma=1.0)
    )
    return Charge(made, made.guarantee, cost.at_least(privacy_filter.LEAST_SHARE, terms.caps), request.budget)


def _without_budget(
    request: PrivacyRequest, gaussian: Callable[..., TablesNoise], laplace: Callable[..., TablesNoise], *, many: bool
) -> TablesNoise:
    epsilon, delta = request.promise()
    if request.mechanism == "laplace" or (request.mechanism == "auto" and validation.is_zero(delta)):
        return laplace(epsilon=epsilon)
    normal = gaussian(*_mu_squared(epsilon, delta))
    if request.mechanism == "gaussian" or validation.is_zero(epsilon) or many:
        return normal
    try:
        pure = laplace(epsilon=epsilon)
    except errors.OutOfRange:  # too wide to be drawn, so it is not the lesser
        return normal
    if pure.error < normal.error:
        return replace(pure, other_error=normal.error)
    return replace(normal, other_error=pure.error)


def _mu_squared(epsilon: Number, delta: Number) -> tuple[Fraction, float]:
    """What one unit may cost in mu^2 under (epsilon, delta), (1/sigma)^2 of the proved sigma; and delta as a double."""
    return 1 / Fraction(calibration.sigma(epsilon=epsilon, delta=delta)) ** 2, validation.number("delta", delta)


def _refuse_sigma(request: PrivacyRequest) -> None:
    """Every table has a noise of its own, so one sigma says nothing."""
    if request.sigma is not None:
        raise errors.InvalidParameter(
            "Every table of a set has noise of its own, so one standard deviation cannot be asked for. Say how private "
            "the set must be.",
            parameter="sigma",
            value=request.sigma,
            example={"epsilon": 1, "delta": 1e-6},
        )
