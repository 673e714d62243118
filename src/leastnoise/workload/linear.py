"""Any small set of linear questions about one vector of counts, and the optimal Gaussian noise for them.

The answers wanted are W x. A strategy is a matrix R: R x is published with noise of variance 1, and with X = R'R a row
in cell j costs X_jj, so at mu the constraint is X_jj <= mu^2; question q has the variance (W X^-1 W')_qq.

**Optimum.** For weights d on the cells and lambda on the questions, both summing to one, let G = W' diag(lambda) W and
K = (D^.5 G D^.5)^.5. For every X with X_jj <= 1, tr(D X) <= 1, so by Cauchy and Schwarz

    sum_q lambda_q Var_q = tr(G X^-1) >= tr(G X^-1) tr(D X) >= (tr K)^2:

a lower bound for every d. X = D^-.5 K D^-.5 has tr(G X^-1) = tr K and X_jj = K_jj/d_j; divided by its largest diagonal
element it is allowed, and has the sum of variances tr K max_j K_jj/d_j. The two meet where K_jj/d_j is the same for all
j, and d_j <- d_j (K_jj/d_j) drives there; for the largest variance lambda moves likewise. The gap is the
ratio of what is attained to the lower bound, whatever the steps did.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.threads import one_thread
from leastnoise._support.validation import Number

Floats = NDArray[np.float64]
LARGEST = 2048  # cells: one step is an eigendecomposition of this size
SMALL = 512  # questions and cells up to which a second thread mostly waits
GAP = 1e-6
STEPS = 2000


class LinearWorkload:
    """Linear questions W x about one vector of counts x. Made by `Workload.from_matrix`.

    questions: W, with a row a question and a column a cell.

    >>> prefix = LinearWorkload(np.tri(8))
    >>> round(prefix.optimize(mu=1).rmse, 3)
    1.494
    """

    def __init__(self, questions: ArrayLike) -> None:
        self._matrix = _checked(questions)

    @property
    def matrix(self) -> Floats:
        """W, a row a question."""
        return self._matrix

    def optimize(
        self, *, mu: Number = 1.0, weights: str | ArrayLike = "questions", gap: float = GAP, steps: int = STEPS
    ) -> LinearStrategy:
        """The Gaussian noise of least error for these questions under add-remove, to a certified gap.

        mu: what one row may cost, as in Gaussian DP.
        weights: what is least: "questions" the sum of all variances, "worst" the largest of them, or the sum of the
        variances times these positive numbers, one a question.
        gap: the relative gap to the optimum at which the search ends.
        steps: how many steps the search takes at most; `Strategy.gap` is what it reached.
        """
        scale = validation.number("mu", mu)
        worst = isinstance(weights, str) and validation.word("weights", weights, ("questions", "worst")) == "worst"
        count = len(self._matrix)
        given = np.ones(count) if isinstance(weights, str) else _checked_weights(weights, count)
        within, limit = validation.number("gap", gap), validation.integer("steps", steps)
        with one_thread() if max(self._matrix.shape) <= SMALL else nullcontext():
            return _optimal(self, scale, given, worst, within, limit)

    def __repr__(self) -> str:
        return f"LinearWorkload({self._matrix.shape[0]} questions about {self._matrix.shape[1]} cells)"


@dataclass(frozen=True, eq=False)
class LinearStrategy:
    """What to publish for linear questions: R x with independent noise of variance 1, and answers W pinv(R) (R x).

    workload: the questions. mu: what one row costs at most. matrix: R. variances: of each answer. value, bound: of the
    objective, what is attained, and what no Gaussian linear mechanism can beat under add-remove.
    """

    workload: LinearWorkload
    mu: float
    matrix: Floats
    variances: Floats
    value: float
    bound: float

    @property
    def std(self) -> Floats:
        """The standard deviation of each answer."""
        return np.asarray(np.sqrt(self.variances))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of the answers."""
        return math.sqrt(float(self.variances.mean()))

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of an answer."""
        return math.sqrt(float(self.variances.max()))

    @property
    def gap(self) -> float:
        """How far the error may be above the optimum (certified, relative)."""
        return max(0.0, self.value / self.bound - 1)

    @property
    def certificate(self) -> dict[str, Any]:
        """What is optimal, among what, under which neighbours."""
        return {
            "among": "all Gaussian linear mechanisms",
            "neighbours": "add-remove",
            "mu": self.mu,
            "value": self.value,
            "lower_bound": self.bound,
            "gap": self.gap,
        }

    def integer_matrix(self, bits: int = 16) -> NDArray[np.int64]:
        """R 2^bits, rounded: whole numbers, so that its answers about counts and its sensitivity are exact.

        bits: after the binary point; 16 lose some 1e-5 of the error.

        The noise goes on these whole answers, and a row costs the largest squared norm of a column of *this* matrix
        over the variance of that noise. The answers to W x come from this matrix, too: with the pseudo-inverse of the
        unrounded one they would be biased.
        """
        return np.rint(np.ldexp(self.matrix, validation.integer("bits", bits))).astype(np.int64)


def _optimal(
    workload: LinearWorkload, mu: float, weights: Floats, worst: bool, gap: float, steps: int
) -> LinearStrategy:
    asked = np.abs(workload.matrix).max(axis=0) > 0  # a cell that no question is about needs no noise and costs nothing
    matrix = workload.matrix[:, asked]
    cells, multipliers = np.full(matrix.shape[1], 1 / matrix.shape[1]), weights / weights.sum()
    best, bound, chosen = math.inf, 0.0, None
    for _ in range(steps):
        root = np.sqrt(cells)
        singular, right = _roots(np.sqrt(multipliers)[:, None] * matrix * root)
        diagonal = (right**2 @ singular) / cells
        trace = float(singular.sum())
        # X^-1 = D^.5 K^-1 D^.5 times the largest diagonal element, on the space that the questions see
        half = (matrix * root) @ (right / np.sqrt(singular))
        variances = (half**2).sum(axis=1) * diagonal.max()
        attained = float(variances.max() if worst else multipliers @ variances)
        bound = max(bound, trace**2)
        if attained < best:
            best = attained
            strategy = (right * np.sqrt(singular)).T / root / math.sqrt(diagonal.max())
            chosen = (strategy, variances)
        if best <= bound * (1 + gap):
            break
        cells = _normal(cells * diagonal)
        if worst:
            multipliers = _normal(multipliers * variances)
    assert chosen is not None
    whole = np.zeros((len(chosen[0]), len(asked)))
    whole[:, asked] = chosen[0] * mu
    scale = (1.0 if worst else float(weights.sum())) / mu**2
    return LinearStrategy(workload, mu, whole, chosen[1] / mu**2, best * scale, bound * scale)


def _roots(questions: Floats) -> tuple[Floats, Floats]:
    """The singular values above rounding, and the right singular vectors as columns."""
    if len(questions) > questions.shape[1]:  # fewer cells than questions: the triangular factor has the same ones
        questions = np.asarray(np.linalg.qr(questions, mode="r"))
    _, singular, right = np.linalg.svd(questions, full_matrices=False)
    kept = singular > singular[0] * 1e-12
    return singular[kept], right[kept].T


def _normal(weights: Floats) -> Floats:
    made = np.maximum(weights, 1e-200)
    return np.asarray(made / made.sum())


def _checked(questions: ArrayLike) -> Floats:
    matrix = np.array(questions)
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "biuf":
        raise errors.WrongType(
            "questions must be a matrix of numbers with a row a question and a column a cell.", parameter="questions"
        )
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all() or not np.abs(matrix).max() > 0:
        raise errors.InvalidParameter("questions must be finite numbers, not all of them zero.", parameter="questions")
    if matrix.shape[1] > LARGEST:
        raise errors.BadDomain(
            f"The questions are about {matrix.shape[1]:,} cells; up to {LARGEST:,} can be optimised as a matrix. "
            "Tables of several columns have a closed form: name their columns instead.",
            parameter="questions",
        )
    matrix.setflags(write=False)
    return matrix


def _checked_weights(weights: ArrayLike, count: int) -> Floats:
    given = validation.numbers("weights", weights)
    if given.shape != (count,):
        raise errors.InvalidParameter(
            f"There are {count} questions, so weights must be {count} numbers.", parameter="weights"
        )
    return given
