"""Empirical Bayes: the prior that makes the noisy values most likely, and the posterior mean under it.

    G = argmax_G  sum_i log integral p(y_i | f) dG(f)          (Kiefer & Wolfowitz 1956)
    h_i = integral f p(y_i | f) dG(f) / integral p(y_i | f) dG(f)

There is nothing to tune. G is found among weights on a lattice of atoms an eighth of sigma apart (a quarter where
the values spread wide; finer atoms change no error by a tenth of a per cent), by an interior point that ends on a
duality certificate (`npmle/interior_point.py`).

**Degrees of freedom** have two parts: that of the posterior mean under a fixed prior (sum_i Var(f_i | y_i)/sigma^2
under Gaussian noise; the slope of h averaged over y_i + n' under Laplace noise), and what fitting the prior to y
adds (`npmle/freedom.py`).

**Absolute error** is least at the posterior *median*, which is exactly zero wherever zero is likelier than everything
else together; the mean never is (`posterior.py`). A median has no unbiased estimate of its risk: None.

**What it found** is `details`, a `Posterior`: the prior's atoms and weights, and for every value its posterior standard
deviation and the probability that it is zero.

**A sigma for every bin**: the likelihood is then written out (`npmle/different_noise.py`), for up to about 100,000
values. Under Laplace noise the risk is then None, for what the fit costs is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.runtime import one_thread
from leastnoise.denoise.arrays import Floats, Mechanism, mean_square
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.npmle import different_noise
from leastnoise.denoise.npmle.freedom import fitting_freedom, moving_freedom
from leastnoise.denoise.npmle.interior_point import Solution, maximise_likelihood
from leastnoise.denoise.npmle.kernels import GaussianBand, LaplaceChain
from leastnoise.denoise.npmle.layout import Bounds, Layout, lay_out
from leastnoise.denoise.posterior import Posterior, atoms_found, whole_prior

Loss = Literal["squared", "absolute"]
LAPLACE_SCALE = math.sqrt(0.5)  # Laplace's b in units of sigma
TOLERANCE = 1e-6  # nats an observation
NARROW_RANGE = 40.0  # sigma, within which finer atoms cost nothing
MAX_UNIT = 100.0  # sigma between whole numbers: exp(-70) of Laplace noise passes the middle
MAX_OUTSIDE_SUPPORT = 5.0  # sigma beyond the support, where a Gaussian observation is moved to


@denoiser(sigmas=True)
def empirical_bayes(
    y: Any,
    sigma: Any,
    *,
    support: Literal["real", "nonnegative"] | tuple[float, float] = "real",
    integers: bool = False,
    loss: Loss = "squared",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """The posterior mean under the prior that the values themselves make most likely.

    y: the noisy values. sigma: the standard deviation of their noise, or one for each value.
    support: where the truth can be: "real", "nonnegative" or (low, high).
    integers: whether the truth is whole numbers.
    loss: "squared", or "absolute" for posterior medians: their mean absolute error is less, and many are exactly zero.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> e = empirical_bayes([0.3, -0.8, 1.1, 9.7, -0.2, 10.4], sigma=1.0, support="nonnegative")
    >>> e.values.round(2)
    array([ 0.12,  0.12,  0.12, 10.06,  0.12, 10.06])
    >>> e.details.atoms.round(2), e.details.weights.round(2), e.details.probability_of_zero.round(2)
    (array([ 0.12, 10.06]), array([0.67, 0.33]), array([1., 1., 1., 0., 1., 0.]))
    """
    validation.word("loss", loss, ("squared", "absolute"))
    bounds = _bounds(support, integers)
    if isinstance(sigma, np.ndarray):
        return _different_sigmas(y, sigma, bounds, support, integers, loss, mechanism)
    u = y / sigma
    low, high = (bound / sigma for bound in bounds)
    unit = 1 / sigma if integers else 0.0
    with one_thread():
        fitted = fit_prior(u, (low, high), unit=unit, mechanism=mechanism)
    atoms, weights = fitted.prior()
    found = Posterior(atoms * sigma, weights, y, sigma, mechanism)
    moved = np.clip(fitted.means if loss == "squared" else found.median / sigma, low, high)
    return Denoised(
        np.where(moved == u, y, moved * sigma),  # what did not move keeps its last bit
        _facts(support, bounds, integers, loss, fitted.atoms, fitted.gap, fitted.iterations),
        (lambda: Stein(fitted.freedom())) if loss == "squared" else None,
        nonnegative=bounds[0] >= 0,
        details=found,
    )


def _facts(
    support: Any, bounds: Bounds, integers: bool, loss: Loss, atoms: int, gap: float, iterations: int
) -> dict[str, Any]:
    facts = {
        "support": support if isinstance(support, str) else list(bounds),
        "integers": integers,
        "atoms": atoms,
        "gap": gap,
        "iterations": iterations,
    }
    return facts | ({"loss": loss} if loss == "absolute" else {})


def _different_sigmas(
    y: Floats, sigma: Floats, bounds: Bounds, support: Any, integers: bool, loss: Loss, mechanism: Mechanism
) -> Denoised:
    """The same where every bin has a sigma of its own."""
    with one_thread():
        fitted = different_noise.fit(y, sigma, bounds, 1.0 if integers else 0.0, mechanism, TOLERANCE)
    found = Posterior(fitted.atoms, fitted.weights, y, sigma, mechanism)

    def risk() -> Stein:
        with one_thread():
            spent = float((found.std**2).sum()) + fitted.spent()
        return Stein(min(spent / mean_square(sigma), y.size))

    return Denoised(
        (found.mean if loss == "squared" else found.median).copy(),
        _facts(support, bounds, integers, loss, fitted.atoms.size, fitted.gap, fitted.rounds),
        risk if loss == "squared" and mechanism == "gaussian" else None,
        nonnegative=bounds[0] >= 0,
        details=found,
    )


class Fitted(NamedTuple):
    """Posterior means in units of sigma, what they cost in degrees of freedom, and how well the prior was found."""

    means: Floats
    fixed: float  # degrees of freedom under a fixed prior
    fitting: Callable[[], float]  # and of fitting it
    atoms: int
    gap: float  # nats an observation that any other prior on the lattice could gain, at most
    iterations: int
    prior: Callable[[], tuple[Floats, Floats]]  # atoms and weights

    def freedom(self) -> float:
        with one_thread():
            return self.fixed + self.fitting()


def _bounds(support: Any, integers: bool) -> Bounds:
    if isinstance(support, str):
        if support not in ("real", "nonnegative"):
            raise errors.InvalidParameter.among("support", support, ("real", "nonnegative"))
        return (0.0, math.inf) if support == "nonnegative" else (-math.inf, math.inf)
    try:
        low, high = (float(bound) for bound in support)
    except (TypeError, ValueError):
        raise errors.WrongType('support must be "real", "nonnegative" or a pair (low, high).') from None
    if integers:
        low, high = np.ceil(low), np.floor(high)
    if not low < high:
        raise errors.InvalidParameter(f"support must be (low, high) with low < high. Got {support} instead.")
    return float(low), float(high)


def fit_prior(
    u: Floats,
    bounds: Bounds,
    *,
    unit: float = 0.0,
    weights: Floats | None = None,
    mechanism: Mechanism = "gaussian",
) -> Fitted:
    """The likeliest prior of values in units of sigma, each counted as often as its weight says.

    With weights, both degrees of freedom are those of sum_i weights_i means_i: what these means add to the divergence
    of an estimate of which they are the part `weights`.
    """
    if unit > MAX_UNIT:
        return _rounded(u, bounds, unit)
    share = np.ones(u.size) if weights is None else weights
    return (_gaussian if mechanism == "gaussian" else _laplace)(u, bounds, unit, share)


def _gaussian(u: Floats, bounds: Bounds, unit: float, share: Floats) -> Fitted:
    near = np.clip(u, bounds[0] - MAX_OUTSIDE_SUPPORT, bounds[1] + MAX_OUTSIDE_SUPPORT)
    spacing = 0.125 if float(np.max(near) - np.min(near)) < NARROW_RANGE else 0.25
    placed = lay_out(near, share, bounds, unit, spacing=spacing, fineness=0.125, quiet=8.0)
    if not placed.atoms:
        return _untouched(near, share)
    kernel = GaussianBand(placed.atoms, placed.stride, placed.cell)
    counts: Floats = np.bincount(placed.places + kernel.margin, placed.counts, kernel.cells).astype(float)
    solved = maximise_likelihood(kernel, counts, TOLERANCE)
    t = np.arange(-kernel.margin, kernel.margin + 1) * placed.cell
    bell = np.exp(-0.5 * t * t)
    mass = np.maximum(kernel.against(bell, solved.weights), np.finfo(float).tiny)
    pull = kernel.against(bell * t, solved.weights) / mass  # how far the posterior mean lies below the cell
    variance = kernel.against(bell * t * t, solved.weights) / mass - pull**2
    position = placed.positions(near)
    back = hermite(position + kernel.margin, pull, (1 - variance) * placed.cell)
    means = near.copy()
    means[~placed.alone] = placed.back(position - back / placed.cell)

    def fitting() -> float:
        atoms, weights = atoms_found(placed, solved.weights)
        edges = np.array(bounds)[:, None] - placed.origin
        pinned = np.asarray((np.abs(atoms - edges) < 1e-9).any(axis=0))
        x = placed.places * np.float64(placed.cell)
        return fitting_freedom(x, placed.counts, atoms, weights, pinned, placed.mean(share[~placed.alone] ** 2))

    fixed = float(share[placed.alone].sum()) + float(counts @ variance)
    prior = partial(whole_prior, placed, solved.weights, near)
    return Fitted(means, fixed, fitting, _alive(solved), solved.gap, solved.iterations, prior)


def _laplace(u: Floats, bounds: Bounds, unit: float, share: Floats) -> Fitted:
    """Under Laplace noise an observation beyond all atoms tells no more than one at the last of them."""
    near = np.clip(u, *bounds)
    quiet = LAPLACE_SCALE * (math.log(u.shape[0]) + 20)
    placed = lay_out(near, share, bounds, unit, spacing=0.125, fineness=1 / 32, quiet=quiet)
    if not placed.atoms:
        return _untouched(near, share)
    kernel = _chain(placed, placed.places.astype(float))
    solved = maximise_likelihood(kernel, placed.counts, TOLERANCE)
    a = np.arange(placed.atoms) * float(placed.stride)  # in cells
    mass, first = kernel.at_atoms(solved.weights), kernel.at_atoms(solved.weights * a)
    here = _chain(placed, placed.positions(near))
    means = near.copy()
    means[~placed.alone] = placed.back(here.between(first) / here.between(mass))
    nodes = _chain(placed, np.arange((placed.atoms - 1) * placed.stride + 1, dtype=float))
    rise = np.diff(nodes.between(first) / nodes.between(mass))  # of the posterior mean, over each cell
    heard = share[~placed.alone] * np.exp(-np.abs(u - near)[~placed.alone] / LAPLACE_SCALE)
    fixed = float(share[placed.alone].sum()) + float(_falling(placed, heard) @ rise)

    def fitting() -> float:
        atom = placed.stride * placed.cell
        return moving_freedom(
            lambda place: _chain(placed, place * placed.stride),
            placed.places / placed.stride,
            placed.counts,
            placed.positions(u) / placed.stride,
            share[~placed.alone],
            LAPLACE_SCALE / atom,
        )

    prior = partial(whole_prior, placed, solved.weights, near)
    return Fitted(means, fixed, fitting, _alive(solved), solved.gap, solved.iterations, prior)


def _rounded(u: Floats, bounds: Bounds, unit: float) -> Fitted:
    """Whole numbers so far apart, in sigmas, that the nearest one is the only one that noise can have come from."""
    means = np.clip(np.round(u / unit) * unit, *bounds)
    atoms, counts = np.unique(means, return_counts=True)
    shares = counts / counts.sum()
    return Fitted(means, 0.0, lambda: 0.0, atoms.size, 0.0, 0, lambda: (atoms, shares))


def _untouched(u: Floats, share: Floats) -> Fitted:
    """Every value is so far from the others that each is its own atom."""
    count = u.shape[0]
    return Fitted(
        u.copy(), float(share.sum()), lambda: 0.0, count, 0.0, 0, lambda: (np.sort(u), np.full(count, 1 / count))
    )


def _alive(solved: Solution) -> int:
    return int((solved.weights > 1e-6).sum())


def _falling(placed: Layout, heard: Floats) -> Floats:
    """How many of y_i + n' are expected in each cell, for observations at nodes: a smooth of the counts.

    Of one at a node, (1 - r)/2 r^k fall into the k-th cell on either side, r = exp(-cell/b); `heard` is the part of an
    observation outside the support that can reach it.
    """
    size = (placed.atoms - 1) * placed.stride + 1
    step = placed.cell / LAPLACE_SCALE
    places = np.clip(placed.places, 0, size - 1)[placed.inverse]
    counts = np.bincount(places, heard, size).astype(np.float64)
    smooth = LaplaceChain.of(size, step, np.zeros(0, dtype=np.intp), np.zeros(0)).at_atoms(counts)
    return np.asarray(math.tanh(step / 2) / 2 * (smooth[1:] + smooth[:-1]))


def _chain(placed: Layout, position: Floats) -> LaplaceChain:
    inside = np.clip(position, 0.0, float((placed.atoms - 1) * placed.stride)) / placed.stride
    cell = inside.astype(np.int64)
    return LaplaceChain.of(placed.atoms, placed.stride * placed.cell / LAPLACE_SCALE, cell, inside - cell)


def hermite(x: Floats, value: Floats, slope: Floats) -> Floats:
    """The cubic through values and slopes at 0, 1, 2, ..., at the points x."""
    k = np.clip(x.astype(np.int64), None, value.size - 2)
    t = x - k
    low, high = value[k], value[k + 1]
    rise = high - low
    bend = slope[k] - rise, rise - slope[k + 1]
    return low + t * (rise + (1 - t) * ((1 - t) * bend[0] + t * bend[1]))
