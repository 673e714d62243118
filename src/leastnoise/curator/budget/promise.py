"""What a budget promises, all releases together, and how strong that is.

The caps promise (epsilon, delta) and, but for threshold_delta, a mu. A budget that Laplace releases alone may spend
instead promises by its first release (proof in `privacy_filter`): what the caps do where that one is not pure; epsilon
with a delta of 0 where it is, and passes the caps; else (epsilon, delta), and no mu.
"""

from __future__ import annotations

import math

from leastnoise._support.directed_rounding import next_up, round_up
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.privacy.guarantee import ApproxDP, PureDP
from leastnoise.privacy.strength import Strength, judge


def promised_instead(terms: Terms, first: Cost | None) -> PureDP | ApproxDP | None:
    """What is promised instead of what the caps do; None: the caps hold. first: what the first release costs."""
    if not terms.pure_instead or first is None or not terms.is_pure(first):
        return None
    if terms.keeps_caps(first):
        return ApproxDP(terms.epsilon, terms.delta, terms.neighbours)  # type: ignore[arg-type]
    return PureDP(terms.epsilon, terms.neighbours)  # type: ignore[arg-type]


def strength(terms: Terms, first: Cost | None) -> Strength:
    """How strong the promise is; before the first release (None), that of the caps."""
    if terms.laplace_only:
        return judge(PureDP(terms.epsilon, terms.neighbours), of_budget=True)  # type: ignore[arg-type]
    instead = promised_instead(terms, first)
    if instead is not None:
        return judge(instead, of_budget=True)
    whole = ApproxDP(terms.epsilon, terms.delta, terms.neighbours)  # type: ignore[arg-type]
    pure = PureDP(terms.pure_epsilon).to_gaussian().mu if terms.pure_epsilon else 0.0  # type: ignore[arg-type]
    mu = next_up(math.hypot(round_up(terms.mu), pure))
    return judge(whole, mu=mu, chance=round_up(terms.threshold_delta), of_budget=True)
