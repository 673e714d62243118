"""The likeliest prior of values whose noise differs from bin to bin (any units).

    max over weights w >= 0, sum w = 1:   mean_i log f_i,   f = A w,   A_ij = p((y_i - a_j)/sigma_i)

Observations with different sigmas share no kernel, so A is written out, and only the columns that matter are worked on
(column generation): the interior point finds the weights of some atoms, atoms without weight leave, the peaks of the
gradient g_j = mean_i A_ij/f_i between the others enter, and so on. It ends on the same certificate as the interior
point: no mixture of all these atoms is likelier by more than max_j g_j - 1 nats an observation.

Atoms stand on dyadic lattices: near an observation of noise sigma they are at most an eighth of it apart (a quarter
where that would make A too large). Groups of observations that no atom can both explain are fitted by themselves, which
is exact: the prior is then a mixture of theirs, by their sizes. One that is alone is its own atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.npmle.freedom import merged
from leastnoise.denoise.npmle.interior_point import MAX_GAP, Solution
from leastnoise.denoise.npmle.interior_point import maximise_likelihood as maximise_on_atoms
from leastnoise.denoise.npmle.kernels import Dense
from leastnoise.denoise.npmle.layout import Bounds

PARTS_OF_SIGMA = (8, 4)  # atoms to a sigma, at least
REACH_IN_SIGMAS = 4  # on either side of an observation, where it has atoms
MAX_ENTRIES = 5e7  # of A: 400 megabytes
FIRST_STRIDE = 8  # one atom in so many is worked on first: the others are within a sigma of one
NO_WEIGHT = 1e-9  # of an atom that leaves
LEAST_OBSERVATIONS = 0.01  # that an atom must stand for: what the interior point leaves elsewhere is its barrier
MAX_ROUNDS = 100


class Fit(NamedTuple):
    """A prior, how well it was found, and what fitting it cost."""

    atoms: Floats  # in increasing order, neighbours on the lattice taken together
    weights: Floats
    gap: float  # nats an observation that any other prior on the lattice could gain, at most
    rounds: int
    spent: Callable[[], float]  # sum_i sigma_i^2 d h_i/d y_i through the fit, under Gaussian noise


def fit(y: Floats, sigma: Floats, bounds: Bounds, unit: float, mechanism: Mechanism, tolerance: float) -> Fit:
    """The likeliest prior within the bounds, on multiples of `unit` where it is above 0."""
    order, first = groups(np.clip(y, *bounds), sigma, mechanism)
    many = np.diff(first)
    alone = order[first[:-1][many == 1]]
    own = np.clip(y[alone] if unit == 0 else np.rint(y[alone] / unit) * unit, *bounds)
    free = sigma[alone] ** 2 @ ((own == y[alone]) & (unit == 0))  # the atom of a value that is alone follows it
    together = [order[start : start + size] for start, size in zip(first[:-1], many, strict=True) if size > 1]
    fits = [_fit_group(y[rows], sigma[rows], bounds, unit, mechanism, tolerance) for rows in together]
    atoms = np.concatenate([own, *(made.atoms for made in fits)])
    shares = [made.weights * rows.size / y.size for made, rows in zip(fits, together, strict=True)]
    weights = np.concatenate([np.full(alone.size, 1 / y.size), *shares])
    places, where = np.unique(atoms, return_inverse=True)
    return Fit(
        places,
        np.asarray(np.bincount(where, weights), dtype=np.float64),
        max((made.gap for made in fits), default=0.0),
        max((made.rounds for made in fits), default=0),
        lambda: float(free) + sum(made.spent() for made in fits),
    )


def groups(y: Floats, sigma: Floats, mechanism: Mechanism) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Observations in order, and where each group of them begins (and the last ends): beyond `reach` on either side of
    an observation an atom means nothing to it, and no atom is within that of two groups."""
    reach = 8.0 if mechanism == "gaussian" else math.sqrt(0.5) * (math.log(y.size) + 20)
    low, high = y - reach * sigma, y + reach * sigma
    order = low.argsort(kind="stable")
    apart = low[order][1:] > np.maximum.accumulate(high[order])[:-1]
    return order, np.concatenate([[0], np.flatnonzero(apart) + 1, [y.size]])


def _fit_group(y: Floats, sigma: Floats, bounds: Bounds, unit: float, mechanism: Mechanism, tolerance: float) -> Fit:
    lattice = atoms_near(y, sigma, bounds, unit)
    solved = maximise_likelihood(y, sigma, lattice, mechanism, tolerance)
    place = np.arange(lattice.size, dtype=np.float64)
    least = LEAST_OBSERVATIONS / y.size
    if unit > 0:
        alive = solved.weights > least
        atoms, weights = lattice[alive], solved.weights[alive] / solved.weights[alive].sum()
    else:
        found, weights = merged(place, solved.weights, 1.0, least)
        atoms = np.interp(found, place, lattice)
    pinned = np.isin(atoms, bounds) | (unit > 0)
    spent = partial(fitting_spent, y, sigma, atoms, weights, pinned)
    return Fit(atoms, weights, solved.gap, solved.iterations, spent)


def atoms_near(y: Floats, sigma: Floats, bounds: Bounds, unit: float) -> Floats:
    """Where mass may be: within the range of y and the bounds, on multiples of `unit` where it is above 0."""
    for parts in PARTS_OF_SIGMA:
        atoms = _lattices(y, sigma, bounds, parts)
        if unit > 0:
            atoms = np.unique(np.rint(atoms / unit) * unit)
        if y.size * atoms.size <= MAX_ENTRIES:
            return atoms
    raise errors.OutOfRange(
        f"{y.size:,} values with different sigmas, and {atoms.size:,} places where their prior may have mass, are more "
        "than are worked on at once. Denoise parts of them by themselves, or all with one sigma."
    )


def _lattices(y: Floats, sigma: Floats, bounds: Bounds, parts: int) -> Floats:
    least = float(sigma.min())
    octave = np.floor(np.log2(sigma / least) + 1e-9).astype(np.int64)  # least 2^octave <= sigma < least 2^(octave + 1)
    around = np.arange(-2 * REACH_IN_SIGMAS * parts, 2 * REACH_IN_SIGMAS * parts + 1)
    found = []
    for level in np.unique(octave):
        step = least * 2.0 ** int(level) / parts
        seen = np.unique(np.rint(y[octave == level] / step))
        found.append(np.unique((seen[:, None] + around).ravel()) * step)
    low, high = max(bounds[0], float(y.min())), min(bounds[1], float(y.max()))
    low, high = min(low, bounds[1]), max(high, bounds[0])  # all observations may lie on one side of the bounds
    return np.unique(np.concatenate([*(np.clip(atoms, low, high) for atoms in found), [low, high]]))


def log_density(y: Floats, sigma: Floats, atoms: Floats, mechanism: Mechanism) -> Floats:
    """log A, up to a constant in each row."""
    t = (y[:, None] - atoms) / sigma[:, None]
    return np.asarray(-0.5 * t * t if mechanism == "gaussian" else -math.sqrt(2) * np.abs(t))


def maximise_likelihood(y: Floats, sigma: Floats, atoms: Floats, mechanism: Mechanism, tolerance: float) -> Solution:
    """Weights of the atoms whose log-likelihood is within `tolerance` an observation of the best."""
    dense = log_density(y, sigma, atoms, mechanism)
    np.exp(dense - dense.max(axis=1, keepdims=True), out=dense)
    once = np.ones(y.size)
    support = np.unique(np.append(np.arange(0, atoms.size, FIRST_STRIDE), atoms.size - 1))
    for rounds in range(1, MAX_ROUNDS + 1):
        some = Dense(np.ascontiguousarray(dense[:, support]))
        solved = maximise_on_atoms(some, once, tolerance / 2)
        gradient = dense.T @ (1 / some.forward(solved.weights)) / y.size
        gap = float(gradient.max()) - 1
        if gap <= tolerance:
            break
        kept = support[solved.weights > NO_WEIGHT]
        support = np.union1d(kept, _peaks(gradient, kept)) if rounds < MAX_ROUNDS else support
    if not gap <= max(MAX_GAP, tolerance):
        raise errors.NotProved(
            f"The prior was not found to the accuracy needed: {gap:.1e} nats a value after {rounds} rounds. "
            "Denoise parts of the values by themselves, or all with one sigma."
        )
    weights = np.zeros(atoms.size)
    weights[support] = solved.weights
    return Solution(weights, 1 - gradient, max(gap, 0.0), rounds)


def _peaks(gradient: Floats, support: NDArray[np.intp]) -> NDArray[np.intp]:
    """The largest gradient between each two atoms with weight, where it is above 1."""
    edges = np.unique(np.concatenate([[0], support, [gradient.size]]))
    tops = [start + int(gradient[start:end].argmax()) for start, end in pairwise(edges)]
    return np.array([top for top in tops if gradient[top] > 1], dtype=np.intp)


def fitting_spent(y: Floats, sigma: Floats, atoms: Floats, weights: Floats, pinned: NDArray[np.bool_]) -> float:
    """sum_i sigma_i^2 d h_i/d y_i through the fitted prior: tr(M^-1 P' C P) as in `freedom.py`, where t is now
    (y_i - a_k)/sigma_i^2, 1 - t^2 is 1/sigma_i^2 - t^2, and d theta/d y_i is c_i M^-1 P_i'/sigma_i^2."""
    log_joint = log_density(y, sigma, atoms, "gaussian")
    top = log_joint.max(axis=1, keepdims=True)
    bell = np.exp(log_joint - top)
    f = bell @ weights
    ratio = bell / f[:, None]
    t = (y[:, None] - atoms) / sigma[:, None] ** 2
    lag = atoms - (ratio * weights @ atoms)[:, None]
    free = weights * ~pinned
    jacobian = np.concatenate([ratio, free * t * ratio], axis=1)
    change = np.concatenate([lag * ratio, free * (1 + t * lag) * ratio], axis=1)
    bend = weights * ((1 / sigma[:, None] ** 2 - t * t) * ratio).mean(axis=0)
    bend = np.maximum(bend, 1e-3 * weights * (ratio / sigma[:, None] ** 2).mean(axis=0))
    curvature = jacobian.T @ jacobian / y.size
    scale = np.concatenate([np.zeros(atoms.size), np.where(pinned, 1.0, bend)])
    curvature[np.diag_indices_from(curvature)] = (curvature.diagonal() + scale) * (1 + 1e-10)
    return float(np.trace(np.linalg.solve(curvature, change.T @ change / y.size)))
