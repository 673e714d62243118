"""The weights on the keys that make a strategy for ordered keys optimal, with a proof of how near they are.

For weights d > 0 on the keys that sum to one let K = (D^.5 G D^.5)^.5 (`questions`) and X = D^-.5 K D^-.5
(`geometric_mean`). Every Gaussian mechanism of which a row costs at most one has a sum of variances of at least
(tr K)^2 = (sum_j d_j X_jj)^2; and X, divided by its largest diagonal element, has tr K max_j X_jj.

*Proof.* A strategy is a matrix R: R x is published with noise of variance 1, and a row in cell j costs X_jj of X = R'R.
The questions W x have the sum of variances tr(G X^-1) with G = W'W. For every X with X_jj <= 1, tr(D X) <= 1, so by
Cauchy and Schwarz

    tr(G X^-1) >= tr(G X^-1) tr(D X) >= (tr K)^2:

a lower bound for every d. X = D^-.5 K D^-.5 has tr(G X^-1) = tr K and X_jj = K_jj/d_j; divided by its largest diagonal
element it is allowed, and has the sum of variances tr K max_j K_jj/d_j. The two meet where K_jj/d_j is the same for all
j.

So every d has a certified gap. d_j <- d_j X_jj drives it to zero, and d_j <- d_j X_jj^2 does so in
half as many steps. One takes a time proportional to n, and the best weights of n/4 keys, stretched, are a good start.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from leastnoise._support import progress
from leastnoise.workload.ordered import geometric_mean
from leastnoise.workload.ordered.questions import Floats, OrderedQuestions

GAP = 2e-5
STEPS = 400
_COARSEST = 32


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
    made = geometric_mean.whole(questions, weights)
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
    diagonal = geometric_mean.diagonal(questions, weights)
    trace = float(weights @ diagonal)
    return KeyWeights(weights, diagonal, trace**2, trace * float(diagonal.max()))


def _stretched(weights: Floats, size: int) -> Floats:
    places = (np.arange(size) + 0.5) / size
    return _normal(np.interp(places, (np.arange(len(weights)) + 0.5) / len(weights), weights))


def _normal(weights: Floats) -> Floats:
    made = np.maximum(weights, 1e-100)
    return np.asarray(made / made.sum())
