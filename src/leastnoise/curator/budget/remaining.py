"""What is left of a budget, rounded down."""

from __future__ import annotations

from typing import NamedTuple

from leastnoise._support.directed_rounding import sqrt_down
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.privacy import calibration


class Remaining(NamedTuple):
    """What is left, rounded down: each number can be spent as it is printed, down to a millionth of its cap."""

    share: float  # of mu^2; of epsilon in a budget for Laplace releases only, and where only those still fit
    mu: float
    epsilon: float  # one release of this epsilon at the budget's delta would take all that share
    pure_epsilon: float  # of the reserve for Laplace releases; without one, of epsilon while no other release was made
    threshold_delta: float  # of the reserve for unknown keys

    @classmethod
    def of(cls, spent: Cost, terms: Terms) -> Remaining:
        """What is left after releases of these costs."""
        left = terms.left(spent)
        gaussian, pure, _ = (privacy_filter.spendable(share) for share in left.shares(terms.caps))
        epsilon, chance = terms.epsilon_for(Cost(pure=left.pure)) if left.pure else 0.0, terms.chance_for(left)
        if terms.counts_epsilon(spent):
            return cls(pure, 0.0, epsilon, epsilon, chance)
        mu = sqrt_down(terms.mu_squared_for(left))
        return cls(gaussian, mu, _epsilon(left, mu, terms), epsilon, chance)


def _epsilon(left: Cost, mu: float, terms: Terms) -> float:
    """The epsilon of mu, rounded down: the least proved one is within 1e-12, so 2e-12 less costs less than mu^2."""
    epsilon, delta = terms.gaussian_promise
    if left.gaussian == privacy_filter.ATOMS:
        return epsilon
    return calibration.epsilon(sigma=1.0, delta=delta, sensitivity=mu) * (1 - 2e-12) if mu > 0 else 0.0
