"""Sources of words for tests, and the laws computed another way: forward survival functions, never their
inverses."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb, ctx, fmpq
from scipy.stats import chi2

from leastnoise.curator.noise import entropy

FALSE_ALARM = 1e-6


def seeded(seed):
    """The same words on every run, of good quality."""
    return entropy.source(np.random.Generator(np.random.Philox(seed)).bytes)


class Script:
    """Plays the given words, one after the other, and no more."""

    def __init__(self, words):
        self.words, self.used = list(words), 0

    def __call__(self, n):
        taken = self.words[self.used : self.used + n // 8]
        self.used += len(taken)
        return b"".join(int(word).to_bytes(8, "little") for word in taken)


def gaussian_tail(sigma, k):
    """P(|K| >= k) for the rounded Gaussian, in the present precision."""
    sigma = Fraction(sigma)
    if k <= 0:
        return arb(1)
    return (arb(fmpq(2 * k - 1, 2)) / arb(fmpq(sigma.numerator, sigma.denominator)) / arb(2).sqrt()).erfc()


def geometric_tail(scale, k):
    """P(|K| >= k) for the two-sided geometric, in the present precision."""
    inverse = Fraction(1) / Fraction(scale)
    rate = arb(fmpq(inverse.numerator, inverse.denominator))
    return arb(1) if k <= 0 else 2 * (-k * rate).exp() / (1 + (-rate).exp())


def absolute_draw(tail, scale, prefix, bits, given=None):
    """The k with tail(k + 1) < p < tail(k) for every p in [prefix, prefix + 1] / 2^bits, by bisection in
    balls.

    With `given`, p is a fraction of tail(given): the draw is conditioned on |K| >= given.
    """
    with ctx.workprec(bits + 400):
        share = arb(1) if given is None else tail(scale, given)
        low_p, high_p = (share * fmpq(prefix + i, 1 << bits) for i in (0, 1))

        def reaches(k):
            if given is not None and k <= given:
                return True
            if high_p < tail(scale, k):
                return True
            assert low_p > tail(scale, k), "the oracle needs more bits"
            return False

        low, high = 0, 1
        while reaches(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if reaches(middle) else (low, middle)
        return low


def chi_square_p(observed, probabilities):
    """The p-value of counts against exact cell probabilities (cells merged to expect 10 or more each)."""
    observed, expected = np.asarray(observed, float), np.sum(observed) * np.asarray(probabilities, float)
    merged = _merge(expected)
    assert len(merged) > 1, "one cell shows nothing"
    o = np.array([observed[group].sum() for group in merged])
    e = np.array([expected[group].sum() for group in merged])
    return chi2.sf(((o - e) ** 2 / e).sum(), len(merged) - 1)


def _merge(expected):
    groups, group = [], []
    for i in range(expected.size):
        group.append(i)
        if expected[group].sum() >= 10:
            groups.append(group)
            group = []
    groups[-1].extend(group)
    return groups


def cells(tail, scale, edges):
    """P(K < e0), P(e0 <= K < e1), ..., P(K >= en) for integer edges, exactly to a double."""
    with ctx.workprec(300):

        def below(k):  # P(K < k)
            return 1 - tail(scale, k) / 2 if k >= 1 else tail(scale, 1 - k) / 2

        at = [arb(0), *(below(int(edge)) for edge in edges), arb(1)]
        return np.array([float(b - a) for a, b in pairwise(at)])


def count_cells(draws, edges):
    """How many draws in each of those cells."""
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
