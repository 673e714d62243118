"""Wavelets at every shift with an empirical-Bayes prior for each level: paths, cycles and grids of any length.

    h = R'W' E(theta | W R y) / copies,      W the wavelets at every shift, R reflects at the ends (`haar.py`)

The coefficients of one level and band, each in units of its own noise, share a prior that is fitted to them: a mixture
of Gaussians around zero (`scale_mixture.py`). So levels of nothing but noise vanish, sparse ones are thresholded
softly, and full ones are shrunk a little: Johnstone & Silverman (2005) with the richer prior of Xing, Carbonetto &
Stephens (2021). What is smoother than the coarsest level is kept. The mean over all shifts (Coifman & Donoho 1995) has
no grid of its own, and its squared error is at most the mean of theirs (one whose cuts meet the jumps may have less).

**Degrees of freedom**, Gaussian noise: the rule acts on single coefficients, so its divergence under fixed priors is
sum_c slope(u_c) a_c, a_c the share of coefficient c in the trace: exact. Fitting the weights of a prior adds, with P
the derivatives of the means in the weights, M the curvature of the likelihood and o the coefficients' parts in it,

    tr( S P M^-1 P' diag(o) S^-1 W R R'W' ) / copies,      S the standard deviations,

which random signs estimate, seeded (the prior counts coefficients at all shifts as if they were independent; this trace
knows that they are not). Parts of a prior that vanish or appear are missed.

**Laplace noise**: sums over many bins are nearly Gaussian, so the same rule is used, and its divergence is simulated
(`trend_freedom.py`), with what fitting adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.runtime import one_thread
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.haar import Transform
from leastnoise.denoise.lattices import Lattices, lattices
from leastnoise.denoise.scale_mixture import ScaleMixture
from leastnoise.denoise.trend_freedom import smoothed_divergence
from leastnoise.graphs import Graph

MAX_TRACE_PROBES = 8
VALUES_PROBED = 1 << 17  # in all; one probe at least


@denoiser()
def wavelet(
    y: Any,
    sigma: float,
    *,
    graph: Graph | None = None,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Shrink wavelet coefficients at every shift, level by level, each level under a prior fitted to it.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: of paths, cycles and grids (Graph.grid(image.shape) for an image); without it, the values are a row.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> y = [0.3, -0.8, 0.1, -0.4, 9.2, 10.4, 9.5, 10.1]
    >>> wavelet(y, sigma=0.5).values.round(1)
    array([ 0. , -0.5,  0. , -0.3,  9.3, 10.1,  9.7, 10. ])
    """
    near = Graph.path(y.size) if graph is None else graph
    if near.weights is not None:
        raise errors.InvalidParameter(
            "wavelets are those of bins of equal width, and know no weights of edges. Take the graph without them.",
            parameter="graph",
        )
    kinds = lattices(near)
    values, groups = _fitted(y / sigma, kinds)

    def again(u: Floats) -> Floats:
        return _fitted(u, kinds)[0]

    def risk() -> Stein:
        with one_thread():
            simulated = mechanism == "laplace"
            free = smoothed_divergence(again, y / sigma, 1.0).value if simulated else sum(g.freedom() for g in groups)
        return Stein(min(free, y.size))

    return Denoised(sigma * values, {"levels": max(each.transform.levels for each in groups)}, risk)


def _fitted(u: Floats, kinds: list[Lattices]) -> tuple[Floats, list[Group]]:
    """The values in units of sigma, and the components by kind."""
    groups = [Group(each, u) for each in kinds]
    values = np.empty(u.size)
    with one_thread():
        for each in groups:
            values[each.nodes] = each.fit()
    return values, groups


class Group:
    """Components of one shape, whose coefficients of a level and band share a prior."""

    def __init__(self, found: Lattices, flat: Floats) -> None:
        self.nodes, self.y = found.nodes, flat[found.nodes]
        self.transform = Transform(found.shape, found.periodic)
        self.priors: dict[tuple[int, int], ScaleMixture] = {}
        self.fixed = float(self.y.size)  # degrees of freedom under fixed priors

    def fit(self) -> Floats:
        """The values, in units of sigma; priors are kept."""

        def shrink(level: int, band: int, c: Floats) -> Floats:
            sizes = self.transform.sizes(level, band)
            counted = np.broadcast_to(sizes > 0, c.shape)
            if not counted.any():
                return c
            u = self._units(c, sizes)
            self.priors[level, band] = prior = ScaleMixture.fit(u.ravel(), counted.ravel().astype(float))
            mean, slope = prior.means(u)
            self.fixed -= float(((1 - slope) * sizes**2).sum()) / self.transform.copies
            return mean * sizes

        return self.transform.run(self.y, shrink)

    def freedom(self) -> float:
        """With what fitting the priors adds: probes of all bands at once, whose random signs part them again."""
        rng = np.random.default_rng(0)
        probes = min(max(VALUES_PROBED // self.y.size, 1), MAX_TRACE_PROBES)
        added = [self._probe(rng) for _ in range(probes)] if self.priors else [0.0]
        return self.fixed + float(np.mean(added))

    def _probe(self, rng: np.random.Generator) -> float:
        moved: dict[tuple[int, int], Floats] = {}

        def forth(level: int, band: int, c: Floats) -> Floats:
            if (level, band) not in self.priors:
                return np.zeros_like(c)
            prior, sizes = self.priors[level, band], self.transform.sizes(level, band)
            signs = rng.choice([-1.0, 1.0], prior.spread.shape[1])
            moved[level, band] = prior.moved(self._units(c, sizes), prior.spread @ signs)
            return moved[level, band] * sizes

        def back(level: int, band: int, c: Floats) -> Floats:
            if (level, band) not in self.priors:
                return np.zeros_like(c)
            sizes = self.transform.sizes(level, band)
            seen = float(np.broadcast_to(sizes > 0, c.shape).sum())
            return self._units(moved[level, band], sizes) / seen

        one, two = (self.transform.run(self.y, change, keep_low=False) for change in (forth, back))
        return float((one * two).sum()) * self.transform.copies

    def _units(self, c: Floats, sizes: Floats) -> Floats:
        return np.divide(c, sizes, out=np.zeros(c.shape), where=np.broadcast_to(sizes > 0, c.shape))
