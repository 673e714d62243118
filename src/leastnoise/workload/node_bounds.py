"""Half-widths for the nodes of a large tree, where the distribution of each one's error would take too long.

The error of a node is one draw of its own, step times a whole number of scale b, and the rest: a sum of very many
draws, of which the variance is known, and the largest. With t = log(2/chance) the rest satisfies

    P(|rest| > sqrt(2 V t) + m t) <= chance,    V >= the sum of 2 (s b)^2,  m >= s b for each step s and scale b,

because a draw has E exp(x s K) <= 1/(1 - (x s b)^2) (it is 1/(1 - sinh^2(x s/2)/sinh^2(1/(2b))), and sinh z/z grows),
so that the logarithm of the moments of the rest is at most V x^2/(2 (1 - m x)) (Boucheron, Lugosi and Massart 2013,
section 2.4). One draw has no more than the V of all, so m = sqrt(V/2) will always do. The chance to miss is divided
between the two, in several proportions; or the whole error is taken for the rest. The least of these holds.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.privacy.distributions import Laplace
from leastnoise.workload.incidence import Floats

PARTS = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)  # of the chance to miss that the rest may have


def half_widths(steps: Floats, scale: float, rest: Floats, most: Floats, miss: float) -> Floats:
    """How far off each node may be, with a chance of at most `miss` to be farther.

    steps: what the draw of its own counts in each node. scale: of these draws; 0: there is none.
    rest: V of the others. most: m of the others. miss: the chance.
    """
    v = np.maximum(rest, 0.0) * (1 + 1e-9)
    m = np.minimum(most * (1 + 1e-9), np.sqrt(v / 2))
    own = np.abs(steps) * scale
    best = _reach(v + 2 * own**2, np.maximum(m, own), miss)
    for part in PARTS if scale else ():
        alone = Laplace(scale, 1.0).half_width(1 - (1 - part) * miss) * np.abs(steps)
        best = np.minimum(best, alone + _reach(v, m, part * miss))
    return np.asarray(np.nextafter(best * (1 + 1e-11), np.inf))


def _reach(v: Floats, m: Floats, chance: float) -> Floats:
    t = math.log(2 / chance)
    return np.asarray(np.sqrt(2 * v * t) + m * t)
