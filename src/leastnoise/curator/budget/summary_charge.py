"""What several statistics released together cost: the noise of each, and one price in a budget. Nothing is paid yet."""

from __future__ import annotations

from fractions import Fraction

from leastnoise._support.validation import Number
from leastnoise.curator.budget import joint_charge
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.joint_cost import laplace_price
from leastnoise.privacy.summary_noise import Asked, SummaryNoise, gaussian_noise, laplace_noise

SummaryCharge = Charge[SummaryNoise]


def decide(request: PrivacyRequest, asked: Asked) -> SummaryCharge:
    """The noise of all statistics together, and its cost: one debit."""

    def gaussian(mu_squared: Fraction) -> SummaryNoise:
        return gaussian_noise(asked, mu_squared=mu_squared)

    def laplace(epsilon: Number) -> SummaryNoise:
        return laplace_noise(asked, epsilon=epsilon)

    def price(made: SummaryNoise) -> Fraction:
        return laplace_price(
            asked.parts, made.scales, limits=asked.limits, bins=asked.bins, neighbours=asked.neighbours
        )

    return joint_charge.decide(
        request,
        gaussian=gaussian,
        laplace=laplace,
        laplace_price=price,
        compare=True,
        what="statistic of a summary",
    )
