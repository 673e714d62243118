"""The best information about ordered keys of which all prefixes, or all ranges, are asked for: certified.

**The questions.** With W the matrix of the sums (a row a question), all that an optimal strategy needs of it is
G = W'W, how many questions each pair of keys is in together:

    prefix sums     G_ij = n - max(i, j)                              i, j = 0 .. n - 1
    all ranges      G_ij = (min(i, j) + 1) (n - max(i, j))

Both have the form p_min(i,j) q_max(i,j). The inverse of such a matrix is tridiagonal: with
c_i = 1/(p_i+1 q_i - p_i q_i+1) it has -c_i beside the diagonal, and on it (c_i-1 p_i-1 + c_i p_i+1)/p_i, in the last
row c_n-2 q_n-2/q_n-1. (Multiply out: a row of the inverse times p, or times q, is zero but on the diagonal.) So nothing
here needs an n x n matrix.

`emphasis` w > 0 asks for the total more than once: q = n + w - j for prefixes adds w to every G_ij, which is w
questions for the total; ranges of a line that has w more empty keys at either end have p = i + 1 + w, q = n + w - j.

**The weights.** For weights d > 0 on the keys that sum to one let K = (D^.5 G D^.5)^.5 and
X = D^-.5 K D^-.5. Every Gaussian mechanism of which a row costs at most one has a sum of variances of at least
(tr K)^2 = (sum_j d_j X_jj)^2; and X, divided by its largest diagonal element, has tr K max_j X_jj.

*Proof.* A strategy is a matrix R: R x is published with noise of variance 1, and a row in cell j costs X_jj of X = R'R.
The questions W x have the sum of variances tr(G X^-1) with G = W'W. For every X with X_jj <= 1, tr(D X) <= 1, so by
Cauchy and Schwarz

    tr(G X^-1) >= tr(G X^-1) tr(D X) >= (tr K)^2:

a lower bound for every d. X = D^-.5 K D^-.5 has tr(G X^-1) = tr K and X_jj = K_jj/d_j; divided by its largest diagonal
element it is allowed, and has the sum of variances tr K max_j K_jj/d_j. The two meet where K_jj/d_j is the same for all
j.

So every d has a certified gap. d_j <- d_j X_jj drives it to zero, and d_j <- d_j X_jj^2 does so in half as many steps.
One takes a time proportional to n, and the best weights of n/4 keys, stretched, are a good start.

**The matrix** X = D^-.5 (D^.5 G D^.5)^.5 D^-.5 for the tridiagonal A = G^-1 and a diagonal D, without eigenvectors: its
diagonal, or all of it. (It is the geometric mean of G and D^-1: X D X = G.)

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

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import progress
from leastnoise._support.validation import Floats

Kind = Literal["prefix", "ranges"]
KINDS: tuple[Kind, ...] = ("prefix", "ranges")
MAX_ORDERED_KEYS = 2**16  # of one column
GAP = 2e-5
STEPS = 400
POINTS = 32  # of the quadrature
_COARSEST = 32
_BLOCK = 128  # keys whose entries are computed one by one; the others are products of matrices


def check_keys(what: str, keys: int, parameter: str, value: object) -> None:
    """Refuse a column of more ordered keys than cumulative sums and ranges go up to."""
    if keys > MAX_ORDERED_KEYS:
        raise errors.BadDomain(
            f"{what} has {keys:,} keys, and cumulative sums and ranges go up to {MAX_ORDERED_KEYS:,}. "
            "Use coarser keys.",
            parameter=parameter,
            value=value,
        )


@dataclass(frozen=True)
class OrderedQuestions:
    """All prefix sums, or all ranges, of n ordered keys.

    kind: "prefix" or "ranges". size: n, at least 2. emphasis: how much more the total is asked for.
    """

    kind: Kind
    size: int
    emphasis: float = 0.0

    @property
    def count(self) -> int:
        """How many questions there are, the emphasis aside."""
        return self.size if self.kind == "prefix" else self.size * (self.size + 1) // 2

    @property
    def factors(self) -> tuple[Floats, Floats]:
        """p and q: G_ij = p_min(i,j) q_max(i,j)."""
        keys = np.arange(self.size, dtype=np.float64)
        last = self.size + self.emphasis - keys
        return (np.ones(self.size) if self.kind == "prefix" else keys + 1 + self.emphasis), last

    @property
    def plain(self) -> OrderedQuestions:
        """The questions without emphasis: those whose error counts."""
        return OrderedQuestions(self.kind, self.size)

    def inverse(self) -> tuple[Floats, Floats]:
        """The inverse of G: its diagonal, and what is beside it."""
        p, q = self.factors
        c = 1 / (p[1:] * q[:-1] - p[:-1] * q[1:])
        diagonal = np.empty(self.size)
        diagonal[:-1] = c * p[1:] / p[:-1]
        diagonal[1:-1] += c[:-1] * p[:-2] / p[1:-1]
        diagonal[-1] = c[-1] * q[-2] / q[-1]
        return diagonal, -c

    def times(self, vectors: Floats) -> Floats:
        """G times each column of `vectors`."""
        p, q = (part.reshape(-1, *[1] * (vectors.ndim - 1)) for part in self.factors)
        after = np.cumsum((q * vectors)[::-1], axis=0)[::-1]
        return np.asarray(q * np.cumsum(p * vectors, axis=0) + p * after - p * q * vectors)

    def trace(self, factor: Floats) -> float:
        """tr(G F F') of a factor F with a row a key: the sum of the variances of all answers W F z, z of variance 1."""
        parts = np.array_split(factor, -(-factor.shape[1] // 512), axis=1)  # a few columns at a time: less memory
        return float(sum(np.einsum("ij,ij->", part, self.times(part)) for part in parts))

    def matrix(self) -> Floats:
        """W, a row a question: for tests and small sizes."""
        n = self.size
        prefixes = np.tri(n)
        if self.kind == "prefix":
            return prefixes
        before = np.vstack([np.zeros(n), prefixes])
        return np.array([before[j] - before[i] for i in range(n) for j in range(i + 1, n + 1)])


@dataclass(frozen=True, eq=False)
class KeyWeights:
    """Weights on the keys, and what they prove.

    weights: d. diagonal: X_jj. bound: (tr K)^2, which no sum of variances is below at mu = 1. value: what their
    strategy attains.
    """

    weights: Floats
    diagonal: Floats
    bound: float
    value: float

    @property
    def gap(self) -> float:
        """How far the sum of variances may be above the least, relatively."""
        return max(0.0, self.value / self.bound - 1)


@functools.lru_cache(maxsize=64)
def optimal_weights(questions: OrderedQuestions) -> KeyWeights:
    """The best weights for these questions."""
    sizes = [questions.size]
    while sizes[-1] // 4 >= _COARSEST:
        sizes.append(sizes[-1] // 4)
    weights = np.full(sizes[-1], 1.0)
    with progress.bar("finding a strategy", sum(sizes) * STEPS) as advance:
        for size in reversed(sizes):
            emphasis = questions.emphasis * size / questions.size
            here = OrderedQuestions(questions.kind, size, questions.emphasis if size == questions.size else emphasis)
            weights = _stretched(weights, size)
            for _ in range(STEPS):
                judged = _judged(here, weights)
                advance(size)
                if judged.gap <= GAP:
                    break
                weights = _normal(weights * judged.diagonal**2)
    return judged


def information(questions: OrderedQuestions, weights: Floats) -> Floats:
    """X for these weights, every X_jj being one: the information matrix of the strategy at mu = 1.

    questions: the sums that are wanted. weights: d, positive; any are allowed, better ones give less error.

    Where X_jj is below one after X was divided by its largest diagonal element, it is raised to one: that key is told
    more about, at no higher cost.
    """
    made = geometric_mean(questions, weights)
    made /= made.diagonal().max()
    np.fill_diagonal(made, 1.0)
    return made


def lower_bound(questions: OrderedQuestions) -> float:
    """(tr K)^2 of weights that are nearly the best: below every sum of variances at mu = 1, whatever their gap.

    questions: of any size; the weights are those of at most 4,096 keys, stretched.
    """
    coarse = min(questions.size, 4096)
    found = optimal_weights(OrderedQuestions(questions.kind, coarse))
    return _judged(questions, _stretched(found.weights, questions.size)).bound


def _judged(questions: OrderedQuestions, weights: Floats) -> KeyWeights:
    diagonal = geometric_mean_diagonal(questions, weights)
    trace = float(weights @ diagonal)
    return KeyWeights(weights, diagonal, trace**2, trace * float(diagonal.max()))


def _stretched(weights: Floats, size: int) -> Floats:
    places = (np.arange(size) + 0.5) / size
    return _normal(np.interp(places, (np.arange(len(weights)) + 0.5) / len(weights), weights))


def _normal(weights: Floats) -> Floats:
    made = np.maximum(weights, 1e-100)
    return np.asarray(made / made.sum())


def geometric_mean_diagonal(questions: OrderedQuestions, weights: Floats) -> Floats:
    """The diagonal of X.

    questions: those whose G it is. weights: the diagonal of D, positive.
    """
    main, beside = questions.inverse()
    shifts, factors = _quadrature(*_eigenvalues(questions, weights))
    inverse, _ = _inverses(main[:, None] + np.outer(weights, shifts), beside)
    return np.asarray(inverse @ factors)


def geometric_mean(questions: OrderedQuestions, weights: Floats) -> Floats:
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
