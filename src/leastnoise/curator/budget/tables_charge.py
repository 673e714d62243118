"""What a set of tables costs: the noise of every block, and its price in a budget. Nothing is paid yet."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from leastnoise._support.validation import Number
from leastnoise.curator.budget import joint_charge
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.workload import Workload
from leastnoise.workload.plain_cost import laplace_price
from leastnoise.workload.tables_noise import TablesNoise, gaussian_noise, laplace_noise

if TYPE_CHECKING:
    from leastnoise.workload.strategy import Weights

TablesCharge = Charge[TablesNoise]
MAX_PLAIN_TABLES = 200  # beyond, Laplace noise on each has several times the error, and is not tried


def decide(
    request: PrivacyRequest, workload: Workload, *, weights: Weights, row_size: int, neighbours: Neighbours
) -> TablesCharge:
    """The noise of all tables together, and its cost: Gaussian noise on blocks, or Laplace noise on plain tables.

    row_size: the most that the rows of one unit add up to, in whole numbers.
    """
    facts = {"row_size": row_size, "neighbours": neighbours}

    def gaussian(mu_squared: Fraction) -> TablesNoise:
        return gaussian_noise(workload, weights, mu_squared=mu_squared, **facts)  # type: ignore[arg-type]

    def laplace(epsilon: Number) -> TablesNoise:
        return laplace_noise(workload, weights, epsilon=epsilon, **facts)  # type: ignore[arg-type]

    price = partial(laplace_price, sizes=workload.sizes, parts=row_size, neighbours=neighbours)
    return joint_charge.decide(
        request,
        gaussian=gaussian,
        laplace=laplace,
        laplace_price=lambda made: price(made.scales),
        compare=len(workload.tables) <= MAX_PLAIN_TABLES,
        what="table of a set",
    )
