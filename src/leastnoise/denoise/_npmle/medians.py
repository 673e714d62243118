"""Posterior medians under a prior that was fitted to the values.

Two rules keep them better than the means in absolute error wherever that was tried:

- An atom within `MAX_ERRORS_FROM_ZERO` of its own standard errors of zero is taken to be zero, since nothing says that
  it is not. (The standard error of an atom is sigma over the root of how many values it stands for.)
- Between atoms the distribution function is linear. The likeliest prior has few atoms because the noise tells no more,
  not because the truth has: a median that jumped between them was up to 14 % worse than the mean on smooth truths.
  Zero alone is an atom of the truth itself, for empty bins are many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.host_arrays import as_host
from leastnoise.denoise._npmle.freedom import merged
from leastnoise.denoise._npmle.layout import Layout
from leastnoise.denoise.arrays import Floats, Mechanism, beside

MAX_ERRORS_FROM_ZERO = 2.0  # standard errors of an atom
ROWS_AT_ONCE = 1 << 14  # values whose posteriors are written out together
NUMBERS_ON_DEVICE = 1 << 26  # of these posteriors, where the values live on a device


def atoms_found(placed: Layout, weights: Floats) -> tuple[Floats, Floats]:
    """Where the atoms that the weights on the lattice stand for lie, in units of sigma, and their weights."""
    step = placed.stride * placed.cell
    lattice: Floats = np.arange(placed.atoms) * np.float64(step)
    return merged(lattice, weights, step, 0.01 / placed.alone.shape[0])


def whole_prior(placed: Layout, weights: Floats, u: Any) -> tuple[Floats, Floats]:
    """All atoms in increasing order on the full line, in units of sigma: those found, and the values that are alone."""
    atoms, mass = atoms_found(placed, weights) if placed.atoms else (np.zeros(0), np.zeros(0))
    if atoms.size:  # an atom stands where the observations do that are nearest to it
        seen = nearest(atoms, placed.places * np.float64(placed.cell))
        atoms = atoms + placed.origin + placed.shift[seen] * placed.cell
    alone: Floats = as_host(u[placed.alone])
    where = np.concatenate([atoms, alone])
    mass = np.concatenate([mass * (u.shape[0] - alone.size), np.ones(alone.size)]) / u.shape[0]
    order = where.argsort(kind="stable")
    return where[order], mass[order]


def nearest(points: Floats, places: Floats) -> NDArray[np.intp]:
    """Which of the places, in increasing order, each point is nearest to."""
    after = np.searchsorted(places, points)
    low, high = np.maximum(after - 1, 0), np.minimum(after, places.size - 1)
    return np.where(points - places[low] <= places[high] - points, low, high)


def posterior_medians(placed: Layout, lattice_weights: Floats, u: Any, *, mechanism: Mechanism, xp: Any = np) -> Any:
    """The median of each value's posterior, in units of sigma; a value that is alone is its own."""
    found_atoms, found_weights = atoms_found(placed, lattice_weights)
    zero_within = MAX_ERRORS_FROM_ZERO / np.sqrt(found_weights * placed.counts.sum())
    atoms, log_weights, near_zero = (beside(x, u, xp) for x in (found_atoms, np.log(found_weights), zero_within))
    seen = placed.positions(u, xp)
    shift = placed.back(seen, xp) - seen * placed.cell
    found = xp.empty_like(seen)
    at_once = ROWS_AT_ONCE if xp is np else max(1, NUMBERS_ON_DEVICE // found_atoms.size)
    for start in range(0, seen.shape[0], at_once):
        rows = slice(start, start + at_once)
        log_posterior = log_weights + _log_density(seen[rows, None] * placed.cell - atoms, mechanism, xp)
        posterior = xp.exp(log_posterior - xp.max(log_posterior, axis=1, keepdims=True))
        values = atoms + shift[rows, None]
        values = xp.where(xp.abs(values) <= near_zero, xp.zeros_like(values), values)
        found[rows] = median_of(values, posterior / xp.sum(posterior, axis=1, keepdims=True), xp)
    medians = xp.asarray(u, copy=True)
    medians[~placed.alone] = found
    return medians


def median_of(values: Any, posterior: Any, xp: Any = np) -> Any:
    """Where F reaches one half in each row: F(v) = P(f < v) + P(f = v)/2 at an atom v, linear between atoms.

    At zero, which is an atom of the truth, F jumps from P(f < 0) to P(f <= 0).
    """
    order = xp.argsort(values, axis=1, stable=True)  # an atom that was moved to zero may stand out of order
    values, posterior = (xp.take_along_axis(x, order, axis=1) for x in (values, posterior))
    below_or_at = xp.cumulative_sum(posterior, axis=1)
    at_zero = values == 0
    reached = below_or_at - xp.where(at_zero, xp.zeros_like(posterior), posterior / 2)
    after = xp.argmax(xp.astype(reached >= 0.5 - 1e-12, xp.int8), axis=1)[:, None]
    before = xp.clip(after - 1, 0, None)
    low, high = (xp.take_along_axis(values, k, axis=1) for k in (before, after))
    start, end = (xp.take_along_axis(reached, k, axis=1) for k in (before, after))
    rises = end > start
    part = xp.where(rises, (0.5 - start) / xp.where(rises, end - start, xp.ones_like(end)), xp.ones_like(end))
    half_at_zero = xp.any(at_zero & (below_or_at >= 0.5) & (below_or_at - posterior <= 0.5), axis=1)
    middle = (low + part * (high - low))[:, 0]
    return xp.where(half_at_zero, xp.zeros_like(middle), middle)


def _log_density(t: Any, mechanism: Mechanism, xp: Any) -> Any:
    """Of the noise at t sigma, up to a constant."""
    return -0.5 * t * t if mechanism == "gaussian" else -xp.abs(t) * math.sqrt(2)
