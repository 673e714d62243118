"""Wavelets at every shift with an empirical-Bayes prior for each level: paths, cycles and grids of any length.

    h = R'W' E(theta | W R y) / copies,      W the wavelets at every shift, R reflects at the ends (below)

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
(`smoothed_divergence`), with what fitting adds.

**The transform** that cycle spinning averages over, in one pass. With an orthonormal pair of filters g (low) and h
(high), divided by sqrt 2, level j convolves with both, their taps 2^(j-1) apart, and hands the low part on. Around a
circle of any length |G|^2 + |H|^2 = 1, so

    y = sum over levels and bands of W'W y  +  V'V y:

a tight frame (Percival & Walden 2000, chapter 5). Where 2^levels divides the length, W' f(W y) is the mean over all
shifts of the orthonormal transform, for any f of single coefficients. In several dimensions a level has a band for each
choice of low or high along each axis, but for all low.

A row that is no circle is reflected at both ends, R y = (y_0 ... y_n-1, y_n-1 ... y_0): a circle of twice the length
without a jump. Back is the mean over the copies, R'/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.runtime import one_thread
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.lattices import Lattices, lattices
from leastnoise.denoise.risk import smoothed_divergence
from leastnoise.denoise.scale_mixture import ScaleMixture
from leastnoise.graphs import Graph

MAX_TRACE_PROBES = 8
VALUES_PROBED = 1 << 17  # in all; one probe at least
LOW_PASS = np.array([1.0, 1.0]) / math.sqrt(2)  # Haar's filter


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


class Transform:
    """For arrays of (components, *shape); every component by itself."""

    def __init__(self, shape: tuple[int, ...], periodic: bool) -> None:
        self.shape, self.periodic = shape, periodic
        low = LOW_PASS / math.sqrt(2)
        self.filters = low, low[::-1] * (-1.0) ** np.arange(low.size)
        self.axes = tuple(range(1, len(shape) + 1))
        self.levels = max(1, math.ceil(math.log2(max(shape))))
        self.copies = 1 if periodic else 2 ** len(shape)
        self.bands = list(product((0, 1), repeat=len(shape)))  # the first is all low

    def reflected(self, x: Floats) -> Floats:
        """R x."""
        if not self.periodic:
            for axis in self.axes:
                x = np.concatenate([x, np.flip(x, axis)], axis)
        return x

    def folded(self, x: Floats) -> Floats:
        """R'x."""
        if not self.periodic:
            for axis in self.axes:
                first, last = np.split(x, 2, axis)
                x = first + np.flip(last, axis)
        return x

    def run(self, y: Floats, change: Callable[[int, int, Floats], Floats], *, keep_low: bool = True) -> Floats:
        """R'W' applied to the coefficients of R y after `change(level, band, coefficients)` of each but the last low
        part, which is kept or left out; over the number of copies. With nothing changed it is y."""
        low, high = self.reflected(y), []
        for level in range(1, self.levels + 1):
            parts = [self._filtered(low, band, 2 ** (level - 1)) for band in self.bands]
            high.append([change(level, k, part) for k, part in enumerate(parts[1:], 1)])
            low = parts[0]
        low = low if keep_low else np.zeros_like(low)
        for level in range(self.levels, 0, -1):
            low = self._filtered(low, self.bands[0], -(2 ** (level - 1)))
            for k, part in enumerate(high.pop(), 1):
                low += self._filtered(part, self.bands[k], -(2 ** (level - 1)))
        return self.folded(low) / self.copies

    def _filtered(self, x: Floats, band: tuple[int, ...], step: int) -> Floats:
        """Along every axis, with taps this far apart; the adjoint has them the other way."""
        for axis, kind in zip(self.axes, band, strict=True):
            x = _convolved(x, self.filters[kind], step, axis)
        return x

    def sizes(self, level: int, band: int) -> Floats:
        """The norm of each row of W R: the standard deviation of a coefficient under unit noise. All components have
        the same, and a band's is a product over the axes."""
        made = np.ones((1,) * (len(self.shape) + 1))
        for axis, (length, kind) in enumerate(zip(self.shape, self.bands[band], strict=True)):
            norms = np.sqrt(self._squares[length][level - 1][kind])
            made = made * norms.reshape([-1 if axis + 1 == k else 1 for k in range(len(self.shape) + 1)])
        return made

    @cached_property
    def _squares(self) -> dict[int, list[list[Floats]]]:
        """Squared norms along one axis, by length, level and kind. With w the response around the circle, the row of
        coefficient t has entries w_(t-i) + w_(t-mirror(i)), i < n, whose squares sum to w'w + (w * w)(2t + 1)."""
        made: dict[int, list[list[Floats]]] = {}
        for length in set(self.shape):
            around = length if self.periodic else 2 * length
            low = np.zeros(around)
            low[0] = 1.0
            made[length] = []
            for level in range(1, self.levels + 1):
                both = [_convolved(low, taps, 2 ** (level - 1), 0) for taps in self.filters]
                made[length].append([self._of_response(w) for w in both])
                low = both[0]
        return made

    def _of_response(self, w: Floats) -> Floats:
        if self.periodic:
            return np.full(w.size, float(w @ w))
        twice = np.fft.irfft(np.fft.rfft(w) ** 2, w.size)
        squares = float(w @ w) + twice[(2 * np.arange(w.size) + 1) % w.size]
        return np.where(squares > 1e-12 * float(w @ w), squares, 0.0)  # an odd filter across the mirror sees nothing


def _convolved(x: Floats, taps: Floats, step: int, axis: int) -> Floats:
    made = np.asarray(taps[0] * x)
    for k in range(1, taps.size):
        made += taps[k] * np.roll(x, k * step, axis)
    return made
