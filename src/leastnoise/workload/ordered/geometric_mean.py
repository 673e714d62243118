"""X = D^-.5 (D^.5 G D^.5)^.5 D^-.5 for the tridiagonal A = G^-1 and a diagonal D, without eigenvectors: its diagonal,
or all of it. (It is the geometric mean of G and D^-1: X D X = G.)

With T = D^-.5 A D^-.5, X is D^-.5 T^(-1/2) D^-.5, and T^(-1/2) is 2/pi times the integral over t > 0 of (t^2 + T)^-1.
After a change of variable by Jacobi's elliptic functions the trapezoidal rule with N points has an error of about
exp(-2 pi^2 N/(log(high/low) + 3)), the eigenvalues of T being between low and high (Hale, Higham & Trefethen 2008): 32
points give 1e-10 where their ratio is 1e9. So

    X = sum of w_k (z_k D + A)^-1,

and every point needs the inverse of one tridiagonal matrix with a on its diagonal and b beside it. Two recurrences over
the keys give its diagonal, and a product each of its other entries:

    f_i = a_i - b_i-1^2/f_i-1,    g_i = a_i - b_i^2/g_i+1,    inverse_ii = 1/(f_i + g_i - a_i),
    inverse_ij = inverse_ii prod over i <= k < j of -b_k/g_k+1     for i < j.

A has b < 0 and no negative row sum, so all factors are positive and at most one: no entry overflows.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.workload.ordered.questions import Floats, OrderedQuestions

POINTS = 32
_BLOCK = 128  # keys whose entries are computed one by one; the others are products of matrices


def diagonal(questions: OrderedQuestions, weights: Floats) -> Floats:
    """The diagonal of X.

    questions: those whose G it is. weights: the diagonal of D, positive.
    """
    main, beside = questions.inverse()
    shifts, factors = _quadrature(*_eigenvalues(questions, weights))
    inverse, _ = _inverses(main[:, None] + np.outer(weights, shifts), beside)
    return np.asarray(inverse @ factors)


def whole(questions: OrderedQuestions, weights: Floats) -> Floats:
    """X, all of it: an n x n matrix.

    questions: those whose G it is. weights: the diagonal of D, positive.
    """
    main, beside = questions.inverse()
    shifts, factors = _quadrature(*_eigenvalues(questions, weights))
    inverse, back = _inverses(main[:, None] + np.outer(weights, shifts), beside)
    decay = np.vstack([np.zeros_like(shifts), np.cumsum(np.log(-beside[:, None] / back[1:]), axis=0)])
    n = len(main)
    made = np.empty((n, n))
    for start in range(0, n, _BLOCK):
        end = min(start + _BLOCK, n)
        rows = inverse[start:end] * factors
        inside = np.exp(np.minimum(decay[None, start:end] - decay[start:end, None], 0.0))  # i > j is dropped
        square = np.triu(np.einsum("ik,ijk->ij", rows, inside))
        made[start:end, start:end] = square + np.triu(square, 1).T
        if end < n:  # i < end <= j: both factors are at most one
            near = rows * np.exp(decay[end] - decay[start:end])
            made[start:end, end:] = near @ np.exp(decay[end:] - decay[end]).T
            made[end:, start:end] = made[start:end, end:].T
    return made


def _quadrature(low: float, high: float) -> tuple[Floats, Floats]:
    """z and w with T^(-1/2) = sum of w (z + T)^-1, for eigenvalues between low and high."""
    from scipy.special import ellipj, ellipkm1

    ratio = low / high
    quarter = float(ellipkm1(ratio))
    sn, cn, dn, _ = ellipj((np.arange(POINTS) + 0.5) / POINTS * quarter, 1 - ratio)
    factors = 2 * quarter * math.sqrt(low) / (math.pi * POINTS) * dn / cn**2
    return np.asarray(low * (sn / cn) ** 2, np.float64), np.asarray(factors, np.float64)


def _eigenvalues(questions: OrderedQuestions, weights: Floats) -> tuple[float, float]:
    """Bounds of the eigenvalues of T: from the largest row sums of T^-1 and of T."""
    root = np.sqrt(weights)
    main, beside = questions.inverse()
    main, beside = main / weights, -beside / (root[1:] * root[:-1])
    high = float((main + np.append(beside, 0.0) + np.append(0.0, beside)).max())
    return 1 / float((root * questions.times(root)).max()), high


def _inverses(main: Floats, beside: Floats) -> tuple[Floats, Floats]:
    """The diagonals of the inverses, and g: a row a key, a column a point."""
    squares = beside**2
    forth, back = np.empty_like(main), np.empty_like(main)
    forth[0], back[-1] = main[0], main[-1]
    for i in range(1, len(main)):
        forth[i] = main[i] - squares[i - 1] / forth[i - 1]
    for i in range(len(main) - 2, -1, -1):
        back[i] = main[i] - squares[i] / back[i + 1]
    return 1 / (forth + back - main), back
