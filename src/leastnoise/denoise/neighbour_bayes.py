"""Neighbourhood empirical Bayes: nodes whose surroundings look alike share a prior, fitted to them.

For each node let c_i say what its neighbours' noisy values lead to expect of it, *its own value left out*. A prior that
depends on c is fitted at a few knots (quantiles of c, more of them in its upper tail) and interpolated between them:

    G_k = argmax_G  sum_i s_k(c_i) log integral p(y_i | f) dG(f),      s_k the hat functions of the knots, sum_k s_k = 1
    h_i = sum_k s_k(c_i) E_k(f | y_i).

c is the regression of y on the means over rings 1, 2, 3-4, 5-8, ... hops away, on the node's degree, and on degree
times the mean of ring 1: how far to look is for the data to say, and so is what a crossing of four streets has over one
of three (the graph is public). Values beyond
`CLIP_ABOVE` sigma are clipped before they are averaged, or one of them would hide what all its neighbours have in
common.

**Degrees of freedom.** y_i moves h_i through its own posterior mean, through the priors fitted to it (both as in
`empirical_bayes.py`, by the share s_k), and through c_i only where the regression was fitted to it (leverage times
dh/dc, but at least the leverages themselves: one for every coefficient. On pure noise, where dh/dc all but vanishes,
the count was too low by five to six without that). That y_i also moves its neighbours' c, and by that the priors, is
not counted; in simulations it cannot be seen. Under Laplace noise what the fit costs is an approximation: on a few
hundred empty nodes the figure is too low by 0.05 sigma^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.runtime import one_thread
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.empirical_bayes import Fitted, Loss, fit_prior
from leastnoise.denoise.npmle.layout import Bounds
from leastnoise.denoise.posterior import Posterior
from leastnoise.graphs import Graph

LAST_HOPS = (1, 2, 4, 8, 16, 32, 64)  # the last hop of each
MAX_NODES_SEEN = 128  # nodes seen, after which no further ring is begun
CLIP_BELOW, CLIP_ABOVE = 3.0, 12.0  # in sigmas
KNOTS = {"gaussian": 8, "laplace": 3}  # below the tail; fewer where nodes are few
MAX_SIGMAS = 1e50  # beyond, fourth powers are no doubles
MIN_NODES_PER_KNOT = 50


@denoiser()
def neighbour_bayes(
    y: Any,
    sigma: float,
    *,
    graph: Graph,
    support: Literal["real", "nonnegative"] = "real",
    loss: Loss = "squared",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """The posterior mean under a prior that depends on what the neighbours' values lead to expect.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    support: where the truth can be: "real" or "nonnegative".
    loss: "squared", or "absolute" for posterior medians, exactly zero where those of both knots are; without a risk.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> y = [0.3, -0.8, 1.1, 9.7, 10.2, 10.4, 9.5, 0.1]
    >>> neighbour_bayes(y, sigma=1.0, graph=Graph.path(8)).values.round(1)
    array([0.2, 0.2, 0.2, 9.9, 9.9, 9.9, 9.9, 0.2])
    """
    validation.word("support", support, ("real", "nonnegative"))
    validation.word("loss", loss, ("squared", "absolute"))
    u = y / sigma
    if np.abs(u).max() > MAX_SIGMAS:
        raise errors.OutOfRange(
            f"values beyond {MAX_SIGMAS:.0e} sigma have no noise worth taking out. Use them as they are."
        )
    anchor = 0.0 if support == "nonnegative" else float(np.median(u))
    below = CLIP_BELOW if support == "nonnegative" else CLIP_ABOVE
    bounds = (0.0 if support == "nonnegative" else -math.inf, math.inf)
    with one_thread():
        seen = expect(u - anchor, graph, below)
        fitted = _fit(u - anchor, seen.value, bounds, mechanism)
    means = (fitted.means if loss == "squared" else fitted.medians()) + anchor
    facts: dict[str, Any] = {
        "groups": len(fitted.parts),
        "support": support,
        "gap": max(part.gap for part in fitted.parts),
    }
    if loss == "absolute":
        facts["loss"] = loss

    def risk() -> Stein:
        own = sum(part.freedom() for part in fitted.parts)
        through_c = max(float(seen.leverage @ fitted.tilt), float(seen.leverage.sum()))
        return Stein(min(own + through_c, float(u.size)))

    return Denoised(
        np.clip(means, *bounds) * sigma, facts, risk if loss == "squared" else None, nonnegative=bounds[0] >= 0
    )


class Expected(NamedTuple):
    """What the surroundings lead to expect of each node, and how much of its own value is in it (by the fit)."""

    value: Floats
    leverage: Floats


def expect(t: Floats, graph: Graph, below: float) -> Expected:
    """c, from values in units of sigma."""
    from leastnoise.denoise.rings import ring_sums

    clipped = np.clip(t, -below, max(CLIP_ABOVE, float(np.quantile(t, 0.99))))
    last = np.array(LAST_HOPS, dtype=np.int64)
    sums, counts = ring_sums(graph.start, graph.neighbours, clipped, last, MAX_NODES_SEEN)
    within, many = sums.sum(axis=0), counts.sum(axis=0)
    ball = np.where(many > 0, within / np.maximum(many, 1), clipped.mean())
    rings = np.where(counts > 0, sums / np.maximum(counts, 1), ball)[counts.any(axis=1)]
    degree = np.diff(graph.start).astype(float)
    degree = np.minimum(degree, 2 * np.median(degree))  # or a hub would have the column for itself
    return _regression(np.stack([*rings, degree, *(degree - degree.mean()) * rings[:1]], axis=1), t)


def _regression(x: Floats, t: Floats) -> Expected:
    """Least squares of t on the columns of x, weighted by 1/(1 + a c^2): what is large is also more uncertain."""
    if not x.shape[1]:
        return Expected(np.full(t.size, t.mean()), np.full(t.size, 1 / t.size))
    weight, fit = np.ones(t.size), np.zeros(t.size)
    for _ in range(4):
        middle = weight @ x / weight.sum()
        centred = x - middle
        inverse = np.linalg.pinv(centred.T @ (centred * weight[:, None]), rcond=1e-10, hermitian=True)
        slope = inverse @ (centred.T @ (weight * t))
        fit = weight @ t / weight.sum() + centred @ slope
        square = fit**2
        spread = max(float(((t - fit) ** 2 - 1) @ square) / max(float(square @ square), 1e-300), 0.0)
        used, weight = weight, 1 / (1 + spread * square)
    own = 1 / used.sum() + np.einsum("ij,jk,ik->i", centred, inverse, centred)
    return Expected(fit, used * own)


class Interpolated(NamedTuple):
    means: Floats
    medians: Callable[[], Floats]
    tilt: Floats  # d means / d c, between the knots
    parts: list[Fitted]


def _fit(t: Floats, c: Floats, bounds: Bounds, mechanism: Mechanism) -> Interpolated:
    knots = np.unique(np.quantile(c, _shares(KNOTS[mechanism], t.size)))
    place = np.interp(c, knots, np.arange(knots.size))
    means, tilt = np.zeros((2, t.size))
    parts, shares = [], []
    gap = np.append(np.diff(knots), math.inf)
    for k in range(knots.size):
        share = 1 - np.abs(place - k)
        near = np.flatnonzero(share > 0)
        part = fit_prior(t[near], bounds, weights=share[near], mechanism=mechanism)
        found = np.clip(part.means, *bounds)
        means[near] += share[near] * found
        low = place[near] >= k  # the slope of its own hat: down to the right of the knot, up to the left
        inside = (c[near] > knots[0]) & (c[near] < knots[-1])
        tilt[near] += np.where(low, -1 / gap[k], 1 / gap[k - 1]) * found * inside
        parts.append(part)
        shares.append((near, share[near]))

    def medians() -> Floats:
        found = np.zeros(t.size)
        for part, (near, share) in zip(parts, shares, strict=True):
            posterior = Posterior(*part.prior(), t[near], 1.0, mechanism, share)
            found[near] += share * np.clip(posterior.median, *bounds)
        return found

    return Interpolated(means, medians, tilt, parts)


def _shares(groups: int, size: int) -> Floats:
    """Which quantiles the knots are: evenly spaced, then ever nearer to 1 while at least `MIN_NODES_PER_KNOT` nodes lie
    beyond, for where most nodes are empty it is the others that differ."""
    count = max(1, min(groups, size // MIN_NODES_PER_KNOT))
    tail = 0.5 / count / 3.0 ** np.arange(1, 20)
    return np.append((np.arange(count) + 0.5) / count, 1 - tail[tail * size >= MIN_NODES_PER_KNOT])
