"""How many degrees of freedom fitting a mixture costs (units: sigma = 1).

**Gaussian noise.** At the optimum every atom a_k of weight w_k is stationary in both: they are parameters
theta = (w, a), though nobody counted them. With A_ik = phi(y_i - a_k), f = A w, c_i the share of observation i, and

    J = d log f / d theta = ( A_ik / f_i ,  w_k (y_i - a_k) A_ik / f_i )
    P = d h / d theta     = ( (a_k - h_i) A_ik / f_i ,  w_k (1 + (y_i - a_k)(a_k - h_i)) A_ik / f_i ),

the curvature of the fit is M = J' C J + diag(0, w_k sum_i c_i (1 - (y_i - a_k)^2) A_ik / f_i), and differentiating
stationarity gives d theta/d y_i = c_i M^-1 P_i'. So the fit adds tr(M^-1 P' C P) to the divergence. For a value with
no neighbours this is 1: its atom follows it. An atom at the edge of the support cannot move: its location is left out.

The trace is estimated by x = M^(-1/2) (random signs), seeded: sum_i c_i (P_i x)^2.

**Laplace noise.** Integrating by parts, sum_i E d_i h_i(y + n' e_i) = sum_i E h_i(y + n' e_i) sign(n')/b: there is no
derivative, but every observation in turn moves by as much as the noise. With the atoms held on their lattice, moving
one from y_i to z = y_i + n' changes the weights by c_i M^-1 (J(z) - J(y_i))', so the fit adds

    sum_i c_i E  P(z) M^-1 (J(z) - J(y_i))' sign(n') / b.

The optimum sits on the edge of w >= 0, where nothing moves; M is taken inside of it, where the barrier still costs
`BARRIER_OBSERVATIONS` of one observation. Atoms that a moved observation would give weight to are missed: refitting
with one moved at a time, the same sums came out 0.9 to 2.1 times as large (100 to 500 observations, five truths), so
`NEW_ATOMS_FACTOR` times as much is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky_banded
from scipy.sparse import csr_array

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.npmle.interior_point import maximise_likelihood
from leastnoise.denoise.npmle.kernels import REACH_IN_SIGMAS, Factor, LaplaceChain

TRACE_PROBES = 40  # random vectors by which a trace is estimated
BARRIER_OBSERVATIONS = 0.3  # what the barrier costs, in observations
NEW_ATOMS_FACTOR = 1.5  # for the atoms that a moved observation would give weight to
MAX_MOVED_OBSERVATIONS = 20_000  # observations that are moved, at most


def merged(place: Floats, weight: Floats, step: float, least: float) -> tuple[Floats, Floats]:
    """Lattice atoms as the real ones they stand for: neighbours with weight are one atom at their mean."""
    alive = np.flatnonzero(weight > least)
    group = np.concatenate([[0], np.cumsum(np.diff(place[alive]) > 1.5 * step)])
    mass = np.bincount(group, weight[alive])
    return np.bincount(group, weight[alive] * place[alive]) / mass, mass / mass.sum()


def fitting_freedom(
    x: Floats, counts: Floats, atoms: Floats, weights: Floats, pinned: NDArray[np.bool_], share: Any = 1.0
) -> float:
    """tr(M^-1 P' diag(c share) P) for observations x (counted) and sorted atoms; `share`: the part of each in an
    estimate."""
    c = counts / counts.sum()
    row, column = _near(x, atoms)
    t = x[row] - atoms[column]
    bell = np.exp(-0.5 * t * t)
    w = weights[column]
    f = np.maximum(np.bincount(row, w * bell, x.size), np.finfo(float).tiny)
    h = np.bincount(row, w * bell * atoms[column], x.size) / f
    ratio = bell / f[row]
    lag = atoms[column] - h[row]
    free = w * ~pinned[column]
    jacobian = _interleaved(row, column, ratio, free * t * ratio, x.size, atoms.size)
    change = _interleaved(row, column, lag * ratio, free * (1 + t * lag) * ratio, x.size, atoms.size)
    bend = np.maximum(weights * np.bincount(column, c[row] * (1 - t * t) * ratio, atoms.size), 1e-3 * weights)
    curvature = jacobian.T @ jacobian.multiply(c[:, None]).tocsr()
    factor = _banded(curvature, np.where(pinned, 1.0, bend))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (TRACE_PROBES, 2 * atoms.size))
    return float(np.mean([(c * share) @ (change @ factor.root(r)) ** 2 for r in signs]))


def moving_freedom(
    chain: Callable[[Floats], LaplaceChain],
    seen: Floats,
    counts: Floats,
    here: Floats,
    share: Floats,
    scale: float,
) -> float:
    """The same under Laplace noise of this scale, for the part `share` of observations `here` in an estimate.

    `seen` with `counts` are all of them by cells; `chain` makes the kernel at places, in units of the atoms' distance.
    """
    kernel = chain(seen)
    total = float(counts.sum())
    loose = maximise_likelihood(kernel, counts, BARRIER_OBSERVATIONS / total)
    density = kernel.forward(loose.weights)
    factor = kernel.factor(counts / total / density**2, loose.multipliers / loose.weights)
    rng = np.random.default_rng(0)
    count = here.shape[0]
    chosen = (
        rng.choice(count, MAX_MOVED_OBSERVATIONS, replace=False, shuffle=False)
        if count > MAX_MOVED_OBSERVATIONS
        else np.arange(count)
    )
    chosen = np.tile(chosen, max(1, MAX_MOVED_OBSERVATIONS // (4 * chosen.size)))
    moved = here[chosen]
    if count <= MAX_MOVED_OBSERVATIONS:  # by value: which random numbers go with which does not depend on their order
        order = np.argsort(moved, kind="stable")
        chosen, moved = chosen[order], moved[order]
    sign = rng.choice([-1.0, 1.0], chosen.size)
    far = rng.exponential(scale, chosen.size)
    after = chain(moved + sign * far)
    before = chain(moved)
    atoms = np.arange(kernel.atoms, dtype=np.float64)
    first, mass = after.forward(atoms * loose.weights), after.forward(loose.weights)
    mean, old = first / mass, before.forward(loose.weights)
    change = np.zeros(chosen.size)
    for r in rng.choice([-1.0, 1.0], (TRACE_PROBES, kernel.atoms)):
        x = factor.root(r)
        lift = after.forward(x) / mass
        change += (after.forward(atoms * x) / mass - mean * lift) * (lift - before.forward(x) / old)
    part = share[chosen]
    change *= part / (total * TRACE_PROBES)
    change = np.clip(change, -far, far)  # an estimate moves no further than its observation did
    return float(NEW_ATOMS_FACTOR * (part * sign * change).sum() / scale * (count / chosen.size))


def _near(x: Floats, atoms: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs (observation, atom) that see each other, as two index vectors."""
    first, last = np.searchsorted(atoms, x - REACH_IN_SIGMAS), np.searchsorted(atoms, x + REACH_IN_SIGMAS, "right")
    many = last - first
    row = np.repeat(np.arange(x.size), many)
    return row, np.arange(row.size) - np.repeat(np.cumsum(many) - many - first, many)


def _interleaved(
    row: NDArray[np.intp], column: NDArray[np.intp], weight_part: Floats, atom_part: Floats, rows: int, atoms: int
) -> csr_array:
    """Columns in the order w_0, a_0, w_1, a_1, ..., so that what is near stays near."""
    entries = np.concatenate([weight_part, atom_part])
    places = np.concatenate([row, row]), np.concatenate([2 * column, 2 * column + 1])
    return csr_array((entries, places), shape=(rows, 2 * atoms))


def _banded(matrix: csr_array, bend: Floats) -> Factor:
    pairs = matrix.tocoo()
    row, column = pairs.coords
    upper = column >= row
    width = int((column - row).max())
    bands = np.zeros((width + 1, matrix.shape[0]))
    bands[width + row[upper] - column[upper], column[upper]] = pairs.data[upper]
    bands[width, 1::2] += bend
    bands[width] *= 1 + 1e-10
    return Factor(cholesky_banded(bands, check_finite=False, overwrite_ab=True))
