"""What a set of tables costs: the noise of every block, and its price in a budget. Nothing is paid yet."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import calibration
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.workload import Workload
from leastnoise.workload.tables_noise import TablesNoise, gaussian_noise

if TYPE_CHECKING:
    from leastnoise.workload.strategy import Weights

TablesCharge = Charge[TablesNoise]


def decide(
    request: PrivacyRequest, workload: Workload, *, weights: Weights, row_size: int, neighbours: Neighbours
) -> TablesCharge:
    """The noise of all tables together, and its cost: one debit for the set.

    row_size: the most that the rows of one unit add up to, in whole numbers.
    """
    _refuse_sigma(request)
    budget, share = request.budget, request.share

    def at(mu_squared: Fraction) -> TablesNoise:
        return gaussian_noise(workload, weights, mu_squared=mu_squared, row_size=row_size, neighbours=neighbours)

    if share is not None and budget is not None:
        terms = budget.terms
        cost = terms.gaussian_share(privacy_filter.share_of(share))
        made = replace(
            at(terms.mu_squared_for(cost)), delta=terms.gaussian_promise[1], reason=NoiseReason("budget share")
        )
        return Charge(made, made.guarantee, cost, budget)
    epsilon, delta = request.promise()
    sigma = calibration.sigma(epsilon=epsilon, delta=delta)
    made = replace(at(1 / Fraction(sigma) ** 2), delta=validation.number("delta", delta))
    if budget is None:
        return Charge(made, made.guarantee, Cost(), None)
    made = replace(made, reason=NoiseReason("budget with a delta"))
    terms = budget.terms
    cost = terms.gaussian_cost(sensitivity=sqrt_up(made.mu_squared), sigma=1.0)
    return Charge(made, made.guarantee, cost.at_least(privacy_filter.LEAST_SHARE, terms.caps), budget)


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
