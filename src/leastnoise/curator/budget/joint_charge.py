"""What several numbers of the same rows cost together, tables or statistics: one noise for all, and one price.

Without a budget "auto" takes whichever of Gaussian and Laplace noise has the lesser error, but never Laplace noise that
protects nobody where Gaussian noise does; with one, see `purchase`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget.charge import Charge, beside_gaussian
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.budget.purchase import Makers, purchase
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import calibration
from leastnoise.privacy.strength import protects_alone
from leastnoise.privacy.summary_noise import SummaryNoise
from leastnoise.workload.tables_noise import TablesNoise

Noise = TypeVar("Noise", TablesNoise, SummaryNoise)


def decide(
    request: PrivacyRequest,
    *,
    gaussian: Callable[[Fraction], Noise],
    laplace: Callable[[Number], Noise],
    laplace_price: Callable[[Noise], Fraction],
    compare: bool,
    what: str,
) -> Charge[Noise]:
    """The noise of all numbers together, and its cost: one debit.

    gaussian: as little as a mu^2 allows. laplace: as little as an epsilon allows.
    laplace_price: the mu^2 of such noise, rounded up.
    compare: whether "auto" may take Laplace noise. what: is released, for a refusal of a sigma.
    """
    _refuse_sigma(request, what)

    def asked(with_laplace: bool) -> Noise:
        epsilon, delta = request.promise()
        if with_laplace:
            return laplace(epsilon)
        allowed = 1 / Fraction(calibration.sigma(epsilon=epsilon, delta=delta)) ** 2  # of sensitivity one
        return replace(gaussian(allowed), delta=validation.number("delta", delta))

    budget = request.budget
    if budget is None:
        made = _without_budget(request, asked, compare=compare)
        own = beside_gaussian(made, request, lambda: asked(False), lambda noise: noise.error)
        return Charge(made, made.guarantee, Cost(), None, own)

    def cost(terms: Terms, made: Noise) -> Cost:
        if made.mechanism == "gaussian":
            return terms.gaussian_cost(sensitivity=sqrt_up(made.cost), sigma=1.0)
        return terms.pure_cost(made.cost, laplace_price(made))

    makers: Makers[Noise] = Makers(
        gaussian=lambda squared: replace(gaussian(squared), delta=budget.terms.gaussian_promise[1]),
        laplace=laplace,
        asked=asked,
        cost=cost,
        error=lambda made: made.error,
        compare=compare,
    )
    bought = purchase(request, budget, makers)
    made = replace(bought.noise, reason=bought.reason)
    return Charge(made, made.guarantee, bought.cost, budget)


def _without_budget(request: PrivacyRequest, asked: Callable[[bool], Noise], *, compare: bool) -> Noise:
    epsilon, delta = request.promise()
    if request.mechanism == "laplace" or (request.mechanism == "auto" and validation.is_zero(delta)):
        return asked(True)
    normal = asked(False)
    if request.mechanism == "gaussian" or validation.is_zero(epsilon) or not compare:
        return normal
    try:
        pure = asked(True)
    except errors.OutOfRange:  # too wide to be drawn, so it is not the lesser
        return normal
    if pure.error < normal.error and not protects_alone(normal.guarantee, pure.guarantee):
        return replace(pure, other_error=normal.error)
    return replace(normal, other_error=pure.error)


def _refuse_sigma(request: PrivacyRequest, what: str) -> None:
    """Every part has a noise of its own, so one sigma says nothing."""
    if request.sigma is not None:
        raise errors.InvalidParameter(
            f"Every {what} has noise of its own, so one standard deviation cannot be asked for. Say how private all of "
            "them together must be.",
            parameter="sigma",
            value=request.sigma,
            example={"epsilon": 1, "delta": 1e-6},
        )
