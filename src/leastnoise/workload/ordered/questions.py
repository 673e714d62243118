"""The sums that are wanted over n ordered keys: every prefix, or every range.

With W the matrix of the sums (a row a question), all that an optimal strategy needs of it is G = W'W, how many
questions each pair of keys is in together:

    prefix sums     G_ij = n - max(i, j)                              i, j = 0 .. n - 1
    all ranges      G_ij = (min(i, j) + 1) (n - max(i, j))

Both have the form p_min(i,j) q_max(i,j). The inverse of such a matrix is tridiagonal: with
c_i = 1/(p_i+1 q_i - p_i q_i+1) it has -c_i beside the diagonal, and on it (c_i-1 p_i-1 + c_i p_i+1)/p_i, in the last
row c_n-2 q_n-2/q_n-1. (Multiply out: a row of the inverse times p, or times q, is zero but on the diagonal.) So nothing
here needs an n x n matrix.

`emphasis` w > 0 asks for the total more than once: q = n + w - j for prefixes adds w to every G_ij, which is w
questions for the total; ranges of a line that has w more empty keys at either end have p = i + 1 + w, q = n + w - j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kind = Literal["prefix", "ranges"]
KINDS: tuple[Kind, ...] = ("prefix", "ranges")


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
