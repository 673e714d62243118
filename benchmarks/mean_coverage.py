"""Intervals of means: how often they hold, and how long they are beside those of somebody who knows the count.

Groups of 5 to 5,000 rows, many of each, every one with noise of its own; means in the middle of the clip, off it and at
its end; clips around zero and not. A group whose noisy count noise alone may reach is told "too few", with the whole
clip for its interval: so over all draws small groups are covered more often than 95 %, but in the few draws where one
passes, its count is mostly noise, and its interval holds less often. `oracle` is 2 h/n, h being the half-width of the
noise of the sum less the true mean times that of the count, n the true count; beside it an interval is shorter where
the clip cuts it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from accuracy import LAWS
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.denoise.arrays import Mechanism
from leastnoise.releases.mean import MeanRelease
from leastnoise.testing import seeded

DRAWS = 4000
CONFIDENCE = 0.95
FIVE_STANDARD_ERRORS = 0.0172  # of a share of 95 % over 4,000 draws
EPSILONS = (1.0, 0.1)
MEANS = ((-50, 50, 0), (-50, 50, 30), (16, 90, 23), (0, 1000, 40), (0, 1000, 1000))  # clip, mean
ROWS = (5, 20, 50, 100, 500, 5000)


def run(*, toy: bool = False) -> Findings:
    cases = product(LAWS, EPSILONS, MEANS, ROWS)
    rows = [case(*each, seed=seed, draws=DRAWS) for seed, each in enumerate(cases) if not toy or seed % 17 == 0]
    told = [row for row in rows if row["told"] > 0.9]
    return [
        Headline(
            f"means: the least coverage of 95 % intervals, of {len(rows)} cases",
            min(row["covered"] for row in rows),
            least=CONFIDENCE - FIVE_STANDARD_ERRORS,
        ),
        Headline("means told: length of intervals / the oracle's, longest", max(row["length"] for row in told)),
        Table(
            "mean_coverage",
            f"How often 95 % intervals of means hold, over {DRAWS:,} draws each:",
            rows,
            '`told`: the share of draws in which the mean is told, else it is "too few to tell"; `covered, told`: how '
            "often the interval holds among these; `length`: its median among these, over the oracle's. One standard "
            "error of a share of 95 % is 0.0034.",
            folded=True,
        ),
    ]


def case(
    mechanism: Mechanism, epsilon: float, mean: tuple[int, int, int], rows: int, *, seed: int, draws: int
) -> dict[str, Any]:
    low, high, value = mean
    centre, half = (low + high) // 2, (high - low) // 2
    exact = np.repeat([rows * (value - centre), rows * half], draws)
    with seeded(seed):
        parts = ln.release(
            exact, sensitivity=half * 2**0.5, l1_sensitivity=2 * half, epsilon=epsilon, delta=1e-6, mechanism=mechanism
        )
    domain = ln.domain.product(["group"], range(draws))
    made = MeanRelease(components=parts, centre=centre, half_range=half, within=(low, high), domain=domain)
    ends, enough = made.interval(CONFIDENCE), made.enough
    held, length = (ends.low <= value) & (value <= ends.high), (ends.high - ends.low)[enough]
    oracle = 2 * made.distribution.pair_half_width(abs(value - centre) / half, CONFIDENCE) / rows
    return {
        "noise": mechanism,
        "epsilon": epsilon,
        "clip": f"{low} to {high}",
        "mean": value,
        "rows": rows,
        "told": float(enough.mean()),
        "covered": float(held.mean()),
        "covered, told": float(held[enough].mean()),
        "length": float(np.median(length)) / min(oracle, high - low),
    }
