"""The mean squared error of an estimator, estimated without the truth.

Gaussian noise, Stein (1981): for y = f + N(0, sigma^2 I) and h weakly differentiable,

    E ||h(y) - f||^2 = E[ ||y - h||^2 + 2 sigma^2 div h(y) ] - d sigma^2.

Laplace noise of scale b = sigma/sqrt 2: integration by parts gives E[n g(n)] = 2 b^2 E g'(n + n') with n' an
independent Laplace(b), so the same holds with div h replaced by sum_i E d_i h_i(y + n' e_i). Estimators linear in y
have a constant divergence, and the formula holds for every law of noise.

`degrees of freedom` below is that divergence, whichever law made it.

**What is not unbiased.** The formula is unbiased for a rule that was fixed before y was seen. One that was chosen by
it (a threshold, a penalty, a mixture) or fitted to y (a prior) has more degrees of freedom than its divergence once
chosen; what each denoiser adds for that is said in its file, and is an approximation. And the figure that is shown has
a floor (`stein_estimate`), which lifts it where the truth is zero or nearly so: James-Stein at a truth of zero and 50
bins has a risk of 0.022 sigma^2, a mean `sure` of the same, and a mean `risk` of 0.10 sigma^2.

**Noise of a sigma of its own in every bin.** With s^2 the mean of the sigma_i^2, the same formula holds with sigma = s
if each bin's derivative counts sigma_i^2/s^2 times: that is what degrees of freedom are then. The floor holds too, by
Cauchy and Schwarz: sum_i w_i H_ii^2 >= (sum_i w_i H_ii)^2 / sum_i w_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.releases.estimate import RiskEstimate

NODE_GROUPS = 16


def sure(residual_squares: Any, degrees_of_freedom: Any, bins: int, sigma: Any) -> Any:
    """Stein's unbiased estimate of the mean squared error per bin. It can be negative. Arrays have one for each row."""
    return (residual_squares + 2 * sigma**2 * degrees_of_freedom) / bins - sigma**2


def stein_estimate(residual_squares: Any, degrees_of_freedom: Any, bins: int, sigma: Any) -> RiskEstimate:
    """The figure that is shown: Stein's, but at least the variance of a linear rule with as many degrees of freedom.

    (A linear rule H has variance sigma^2 tr(H H')/d >= sigma^2 (tr H / d)^2.) The floor matters only where chance
    takes the unbiased figure to zero or below. Given arrays, a number for each row, it returns arrays.
    """
    floor = (sigma * degrees_of_freedom / bins) ** 2
    plain = sure(residual_squares, degrees_of_freedom, bins, sigma)
    return RiskEstimate(np.maximum(plain, floor) if np.ndim(plain) else max(plain, floor), degrees_of_freedom, plain)


class Divergence(NamedTuple):
    """A Monte-Carlo divergence and its standard error."""

    value: float
    error: float


def monte_carlo_divergence(
    estimator: Callable[[Floats], Floats],
    y: Floats,
    sigma: float,
    *,
    mechanism: Mechanism = "gaussian",
    draws: int = 30,
    step: float = 1e-3,
    seed: int = 0,
) -> Divergence:
    """div h(y) for any estimator that can be called again, to the standard error that comes with it.

    estimator: from values to estimates, arrays of one shape. y: the noisy values. sigma: their noise.
    mechanism: "gaussian" or "laplace". draws: how many are averaged. step: of the difference quotient, in sigmas.
    seed: of the draws.

    Gaussian: E_r r'(h(y + t r) - h(y - t r))/(2 t) over random signs r, with t = step sigma.
    Laplace: every draw moves one random coordinate by n' ~ Laplace(b) first, as the identity asks.
    """
    rng = np.random.default_rng(seed)
    t = step * sigma
    seen = np.empty(draws)
    for k in range(draws):
        if mechanism == "gaussian":
            signs = rng.choice([-1.0, 1.0], y.shape)
            seen[k] = float(np.sum(signs * (estimator(y + t * signs) - estimator(y - t * signs)))) / (2 * t)
        else:
            place = np.unravel_index(int(rng.integers(y.size)), y.shape)
            up, down = y.copy(), y.copy()
            moved = y[place] + rng.laplace(0, sigma / math.sqrt(2))
            up[place], down[place] = moved + t, moved - t
            seen[k] = y.size * float(estimator(up)[place] - estimator(down)[place]) / (2 * t)
    return Divergence(float(seen.mean()), float(seen.std(ddof=1) / math.sqrt(draws)))


def smoothed_divergence(
    rule: Callable[[Floats], Floats],
    y: Floats,
    sigma: float,
    *,
    used: int = NODE_GROUPS,
    groups: int = NODE_GROUPS,
    seed: int = 0,
) -> Divergence:
    """The divergence under Laplace noise of a rule that is expensive to call, to the standard error that comes with it.

    Integrating by parts, with m ~ Gamma(2, b) (density m exp(-m/b) / b^2),

        E d_i h_i(y + n' e_i) = E [ h_i(y + m e_i) - h_i(y - m e_i) ] / (2 m):

    a slope over a wide step, between 0 and 1 for a proximal map. Moving one node at a time would take two calls a node,
    so a random group of nodes moves at once, each by its own m and with its own random sign: what they do to one
    another cancels to first order, and the rest falls with the group's share of all nodes. With a sixteenth of the
    nodes at a time it is within a few per cent of the divergence on maps, and above it rather than below; a filter of
    order 1 along 50 bins had a third too much, and none too much with one at a time.

    used: of so many `groups`, how many are moved.
    """
    rng = np.random.default_rng(seed)
    groups = min(groups, y.size)
    turn = rng.permutation(y.size) % groups
    move = rng.choice([-1.0, 1.0], y.size) * rng.gamma(2.0, sigma / math.sqrt(2), y.size)
    slopes = []
    for group in range(min(used, groups)):
        here = turn == group
        alone = np.where(here, move, 0.0)
        slopes.append((rule(y + alone) - rule(y - alone))[here] / (2 * move[here]))
    seen = np.concatenate(slopes)
    return Divergence(y.size * float(seen.mean()), y.size * float(seen.std()) / math.sqrt(seen.size))


def beyond(x: Any, edge: Any, sigma: float, mechanism: Mechanism, xp: Any) -> Any:
    """Whether x > edge, one or many, as a number: 0 or 1 under Gaussian noise, P(x + n' > edge) under Laplace."""
    if mechanism == "gaussian":
        return xp.astype(x > edge, x.dtype)
    half = xp.exp(-xp.abs(x - edge) * (math.sqrt(2) / sigma)) / 2
    return xp.where(x > edge, 1 - half, half)
