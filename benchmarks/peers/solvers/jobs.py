"""General convex solvers: the mixing weights of an NPMLE, and total variation on a graph."""

import clarabel
import cvxpy as cp
import numpy as np
import osqp
from scipy import sparse


def npmle(path, sigma, atoms, spacing):
    """max_w sum_i c_i log (A w)_i over the simplex by cvxpy and Clarabel; then the posterior means of the values."""
    y = np.load(path) / sigma

    def work():
        cell = spacing / 2
        places, counts = np.unique(np.round(y / cell), return_counts=True)
        lattice = np.arange(atoms) * spacing
        kernel = np.exp(-0.5 * (places[:, None] * cell - lattice) ** 2)
        weights = cp.Variable(atoms, nonneg=True)
        likelihood = counts / y.size @ cp.log(kernel @ weights)
        cp.Problem(cp.Maximize(likelihood), [cp.sum(weights) == 1]).solve(solver="CLARABEL")
        prior = np.maximum(weights.value, 0)
        means = kernel @ (prior * lattice) / (kernel @ prior)
        np.save(path + ".solvers.npy", sigma * np.interp(y, places * cell, means))
        return float(likelihood.value)

    return work


def _incidence(nodes, edges):
    tail, head = np.asarray(edges).T
    row = np.arange(tail.size)
    return sparse.csc_matrix(
        (np.r_[np.ones(tail.size), -np.ones(tail.size)], (np.r_[row, row], np.r_[tail, head])), (tail.size, nodes)
    )


def tv_clarabel(path, penalty):
    """min_b 1/2 |y - b|^2 + penalty |D b|_1 through its dual, min_u 1/2 |y - D'u|^2 with |u| <= penalty."""
    given = np.load(path)
    y, d = given["y"], _incidence(given["y"].size, given["edges"])
    edges = d.shape[0]
    box = sparse.vstack([sparse.identity(edges), -sparse.identity(edges)]).tocsc()
    cones = [clarabel.NonnegativeConeT(2 * edges)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False

    def work():
        quadratic = sparse.triu(d @ d.T).tocsc()
        solver = clarabel.DefaultSolver(quadratic, -(d @ y), box, np.full(2 * edges, penalty), cones, settings)
        return _objective(y, d, y - d.T @ np.array(solver.solve().x), penalty)

    return work


def tv_osqp(path, penalty):
    given = np.load(path)
    y, d = given["y"], _incidence(given["y"].size, given["edges"])
    edges = d.shape[0]

    def work():
        solver = osqp.OSQP()
        bound = np.full(edges, penalty)
        solver.setup(
            sparse.triu(d @ d.T).tocsc(),
            -(d @ y),
            sparse.identity(edges, format="csc"),
            -bound,
            bound,
            verbose=False,
            eps_abs=1e-6,
            eps_rel=1e-6,
            max_iter=20000,
        )
        return _objective(y, d, y - d.T @ solver.solve().x, penalty)

    return work


def _objective(y, d, b, penalty):
    return float(0.5 * np.sum((y - b) ** 2) + penalty * np.abs(d @ b).sum())
