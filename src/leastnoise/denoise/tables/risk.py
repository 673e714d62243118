"""How far estimated tables are from the truth, from the noisy blocks alone.

Blocks are orthogonal: the squared error of a table B is the sum over its blocks A of |b_A - r_A|^2 / n(B without A), so
estimates and limits of any set of tables are weighted sums over blocks.

**Unbiased.** With w of the noise's own distribution and independent of it, v(+) and v(-) the estimates from r + s w and
r - s w, s^2 = STEP, the mean of

    |r - v(+)|^2 / 2 + |r - v(-)|^2 / 2 + w.(v(+) - v(-)) / s - D y                                     in every block

is the squared error that the same rule has under noise of variance (1 + STEP) y, whatever the rule is: no derivative,
no smoothness (Oliveira, Lei and Tibshirani 2021, "coupled bootstrap"). So it covers shrinking, the choice of its
parameters and the projection alike. More noise makes it pessimistic, by the STEP where errors are in proportion to the
noise's variance (nothing proves that a rule's error does not grow faster, or fall). The product with w is taken over
|w|^2 and times its mean D y: nothing changes for a linear rule on average, and a rule with one factor is known without
error. The last step for tables of three columns or more (`consistent`) is left out, for its time: a projection would
bring every truth nearer, and this one, which stops early, lowered the error by half a per cent where it was measured.
Proved limits do cover it.

**Estimate.** What is unbiased has a standard deviation of about sqrt(2/D) of the noise's variance, which may be more
than the error itself where nearly all of the noise was taken out. Beside it stands the squared error of the same rule
where the truth is the published estimate, with noise drawn anew (the parametric bootstrap): hardly random, but too
small, because an estimate is smoother than the truth. Its root was 0.90 to 0.95 of the true error on adult and salary.
`estimate` is the mean of the two by precision, the second counted as unknown to MODEL_ERROR of itself, which was chosen
after looking at those; and at least what a linear rule of the same degrees of freedom has, y df^2 / D in every block.

**Limit.** It is around the unbiased figure alone, whose variance around the loss is taken to be sum a_A^2 (2 D_A) + 4
max(a) loss, a_A = y_A over the cells that A is spread on, plus that of w, 8 a_A^2 df_A over the pairs of draws. These
are upper bounds where the derivative of the rule is symmetric with eigenvalues in [0, 1] (second order Stein; see
`releases.risk_limits`), and else approximate. The limit is where the loss is as far above the figure as such a loss
would be; and never below the estimate.

**Proved limit.** r + w and r - w are independent where noise and w are Gaussian, of variance 2 y. For v1 the estimate
from the first, Q = sum of |r - w - v1|^2 over the blocks, weighted, satisfies by Chernoff's bound for non-central
chi-squares (Birge 2001, term by term)

    P( Q <= L + sum a_A D_A - 2 sqrt(x (sum a_A^2 D_A + 2 max(a) L)) ) <= exp(-x),      a_A = 2 y_A / n(B without A),

L the loss of v1, independent of r - w. A loss r^2 of the published v makes that of v1 at least (r - |v - v1|)^2, so
this is a p-value for r, and twice the mean of p-values of several w is one. What is proved is for noise without a grid,
and the chance is over w as well, whose seed is fixed so that the limit repeats. The rounding of noise to a grid (1/N_A
of a count in a block of N_A cells) is not counted.

**Better beyond chance.** By how much the published tables, whose squared error is known to be sum a_A D_A on average,
are worse is nearer known than the loss itself: with f = v - r and z the noise of r, the loss of r less that of v in
this draw is - sum w_A (2 f_A.z_A + |f_A|^2), w_A = a_A / y_A, and its estimate has the derivative of f in place of
f.z. By the second order of Stein's formula that misses by a variance of 4 sum a_A w_A |f_A|^2 + 4 tr((a (I - J))^2),
and the trace is at most sum a_A^2 (D_A - df_A) where the derivative J of the rule, in units of the noise, is symmetric
with eigenvalues in [0, 1]. The draws w add 8 a_A^2 df_A (1 - df_A/D_A) over their number. Tables are called better
where the gain, by the unbiased figure and by `estimate`, is above 1.645 of these standard errors: where nothing is
gained, at most one set in twenty. Known blocks have no error left, and count for what they had.

Under Laplace noise z the mean of 2 z.v is that of w.(v(+) - v(-))/s, with w Gaussian, for linear rules only: far values
are kept that are noise. By how much the second misses the first is computed where the truth is the estimate and noise
is Laplace on the cells of every block, and added. The variances have 5 in place of 2, and that of
the gain 10 in place of 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import progress
from leastnoise._support.validation import Floats
from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.tables.integers import Integers, rounded
from leastnoise.releases.risk_limits import SEED, NoiseOfLoss, RmseLimit, is_beyond_chance, least_plausible
from leastnoise.workload.residuals import Table, project, table_of_blocks

STEP = 0.04
PAIRS, FEW_PAIRS, MANY_CELLS = 3, 1, 500_000
FISSIONS = 4
MODEL_ERROR = 0.3  # of the squared error where the truth is the estimate: how far that may be from the true one
Squares = dict[Table, float]  # of every block


class _Probe(NamedTuple):
    """Of every block: the unbiased estimate of its squared error, and its degrees of freedom."""

    losses: Squares
    freedom: Squares


class _Model(NamedTuple):
    """Of every block where the truth is the estimate: its squared error, and by how much the probes miss it."""

    losses: Squares
    missed: Squares


class _Fission(NamedTuple):
    """Of every block: |r - w - v1|^2 and |v - v1|^2."""

    tests: Squares
    apart: Squares


@dataclass(frozen=True, eq=False)
class EstimatedTables:
    """Blocks without noise, whose tables are non-negative and add up, and how far they are from the truth.

    blocks: the estimated residual of every block. noisy: the unbiased ones. variances: y_A, 0 where the block is known.
    sizes: how many keys each column has. tables: what was asked for. mechanism: the distribution of the noise.
    again: the same estimate of other blocks, whose noise has `factor` times the variance.
    """

    blocks: Mapping[Table, Floats]
    noisy: Mapping[Table, Floats]
    variances: Mapping[Table, float]
    sizes: Mapping[str, int]
    tables: list[Table]
    mechanism: Mechanism
    again: Callable[..., dict[Table, Floats]] = field(repr=False)

    def table(self, columns: Table) -> Floats:
        """The estimate of one table: no cell is negative; sums over a column are the smaller table, to rounding.

        columns: of the table, in their order. Any table whose blocks were estimated will do.
        """
        if tuple(c for c in columns if self.sizes.get(c) != 1) not in self.blocks:
            raise errors.InvalidParameter(
                f"There is no table over {columns}. There are {len(self.tables):,}, such as {self.tables[-1]}.",
                parameter="columns",
            )
        return np.maximum(table_of_blocks(self.blocks, tuple(columns), self.sizes), 0.0)

    def integers(self) -> Integers:
        """Non-negative whole numbers near the estimates that add up exactly: for tables of at most two columns, and
        for larger ones that share at most two margins with the others."""
        return rounded({table: self.table(table) for table in self.tables})

    def rmse(self, table: Table | None = None) -> float:
        """The root mean squared error of a cell, estimated from the noisy blocks alone. It has an error of its own:
        see `rmse_at_most`.

        table: its columns; without it, the cells of all tables that were asked for.
        """
        return math.sqrt(self._estimated(self._weights(table)))

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """An upper limit for the root mean squared error of a cell.

        confidence: how often the limit holds. table: its columns; without it, the cells of all tables asked for.
        proved: by a theorem for every truth (Gaussian noise only, and wider), else to an approximation. The theorem is
        about noise that is not rounded; rounding, by at most half of one of the whole numbers that were published, is
        left out.
        """
        if not 0 < confidence < 1:
            raise errors.InvalidParameter(
                "The confidence is how often the limit must hold: 0 < confidence < 1.",
                parameter="confidence",
                value=confidence,
            )
        if proved and self.mechanism != "gaussian":
            raise errors.InvalidParameter(
                "A proved limit needs Gaussian noise: Laplace noise cannot be split into two independent halves this "
                "way. Leave proved out for a limit that holds to an approximation.",
                parameter="proved",
            )
        weights = self._weights(table)
        limit = self._proved_limit if proved else self._limit
        return RmseLimit(math.sqrt(limit(weights, confidence)) if weights else 0.0, confidence, proved)

    def is_below(self, rmse: float, table: Table | None = None) -> bool:
        """Whether the error is below this one by more than chance.

        rmse: the root mean squared error of a cell as published. table: its columns; without it, the cells of all.
        """
        weights = self._weights(table)
        gain = rmse**2 - max(self._unbiased(weights), self._estimated(weights))
        return is_beyond_chance(gain, self._gain_error(weights))

    # Mean squared errors, of blocks by these weights. What they take is computed when first asked, and once.

    def _weights(self, table: Table | None) -> Squares:
        """By which the squared errors of blocks that are not known add up to the mean squared error of a cell."""
        if table is not None:
            self.table(table)
        weights: Squares = {}
        asked = self.tables if table is None else [table]
        cells = sum(math.prod(self.sizes[c] for c in one) for one in asked)
        for one in asked:
            size = math.prod(self.sizes[c] for c in one)
            for a in subsets(tuple(c for c in one if self.sizes[c] > 1)):
                if a in self._unknown:
                    weights[a] = weights.get(a, 0.0) + math.prod(self.sizes[c] for c in a) / size
        return {a: weight / cells for a, weight in weights.items()}

    def _estimated(self, weights: Squares) -> float:
        if not weights:
            return 0.0
        seen, model = self._unbiased(weights), _sum(weights, self._model.losses)
        noise = self._noise(weights)
        variance = noise.spread + self._drawn(weights) + 4 * float(noise.variances.max()) * model
        other = (MODEL_ERROR * model) ** 2
        return max(seen + (model - seen) * variance / (variance + other), self._floor(weights))

    def _unbiased(self, weights: Squares) -> float:
        """The same by the coupled bootstrap alone, which may be negative."""
        seen = _sum(weights, self._probe.losses)
        return seen if self.mechanism == "gaussian" else seen + _sum(weights, self._model.missed)

    def _limit(self, weights: Squares, confidence: float) -> float:
        seen = max(self._unbiased(weights), self._floor(weights))
        limit = self._noise(weights).limit(seen, confidence, drawn=self._drawn(weights))
        return max(limit, self._estimated(weights))

    def _gain_error(self, weights: Squares) -> float:
        """The standard error of the gain; 0 where all blocks are known."""
        if not weights:
            return 0.0
        noise, freedom = self._noise(weights), self._freedom(weights)
        moved = np.array([w * float(((self.blocks[b] - self.noisy[b]) ** 2).sum()) for b, w in weights.items()])
        kept = freedom * (1 - freedom / noise.dimensions)
        return noise.gain_error(moved, freedom, drawn=8 * float((noise.variances**2 * kept).sum()) / self._pairs)

    def _noise(self, weights: Squares) -> NoiseOfLoss:
        """Of every block y_A over the cells that it is spread on, a cell of the tables."""
        a = np.array([weight * self._unknown[block] for block, weight in weights.items()])
        return NoiseOfLoss(a, np.array([float(self._dimension(block)) for block in weights]), self.mechanism)

    def _freedom(self, weights: Squares) -> Floats:
        return np.array([self._probe.freedom[block] for block in weights])

    def _drawn(self, weights: Squares) -> float:
        """The variance of the unbiased figure that comes from w."""
        return 8 * float((self._noise(weights).variances ** 2 * self._freedom(weights)).sum()) / self._pairs

    def _floor(self, weights: Squares) -> float:
        """The error of a linear rule of the same degrees of freedom."""
        freedom = self._probe.freedom
        return sum(w * self._unknown[a] * freedom[a] ** 2 / self._dimension(a) for a, w in weights.items())

    def _proved_limit(self, weights: Squares, confidence: float) -> float:
        a = np.array([2 * weight * self._unknown[block] for block, weight in weights.items()])
        dimension = np.array([self._dimension(block) for block in weights])
        expected, spread, largest = float(a @ dimension), float(a**2 @ dimension), float(a.max())
        tests = np.array([_sum(weights, f.tests) for f in self._fissions])
        apart = np.sqrt([_sum(weights, f.apart) for f in self._fissions])

        def p_value(r: float) -> float:
            loss = np.maximum(r - apart, 0.0) ** 2
            below = np.maximum(loss + expected - tests, 0.0)
            return 2 * float(np.mean(np.exp(-(below**2) / (4 * (spread + 2 * largest * loss)))))

        high = float(apart.max()) + 1.0
        while p_value(high) > 1 - confidence:
            high *= 2
        return least_plausible(p_value, high, confidence) ** 2

    @cached_property
    def _unknown(self) -> Squares:
        """y_A of the blocks that are not known."""
        return {a: y for a, y in self.variances.items() if y > 0}

    def _dimension(self, block: Table) -> int:
        return math.prod(self.sizes[c] - 1 for c in block)

    @property
    def _pairs(self) -> int:
        return FEW_PAIRS if sum(b.size for b in self.noisy.values()) > MANY_CELLS else PAIRS

    @cached_property
    def _probe(self) -> _Probe:
        """The mean over the draws."""
        generator = np.random.default_rng(SEED)
        seen = []
        with progress.bar("estimating the error", self._pairs) as advance:
            for _ in range(self._pairs):
                seen.append(self._probed(self.noisy, self._draw(generator)))
                advance(1)
        return _Probe(*({a: float(np.mean([one[i][a] for one in seen])) for a in self._unknown} for i in range(2)))

    def _probed(self, noisy: Mapping[Table, Floats], w: Mapping[Table, Floats]) -> _Probe:
        s = math.sqrt(STEP)
        plus = self.again({a: r + s * w[a] for a, r in noisy.items()}, 1 + STEP)
        minus = self.again({a: r - s * w[a] for a, r in noisy.items()}, 1 + STEP)
        losses, freedom = {}, {}
        for a, y in self._unknown.items():
            r = noisy[a]
            inner = self._product(a, w[a], plus[a] - minus[a]) / s
            moved = float(((r - plus[a]) ** 2).sum() + ((r - minus[a]) ** 2).sum()) / 2
            losses[a] = moved + inner - self._dimension(a) * y
            freedom[a] = min(max(inner / (2 * y), 0.0), float(self._dimension(a)))
        return _Probe(losses, freedom)

    def _product(self, block: Table, noise: Floats, moved: Floats) -> float:
        """noise.moved over |noise|^2 and times the mean of that."""
        mean = self._dimension(block) * self._unknown[block]
        return float((noise * moved).sum()) * mean / float((noise**2).sum())

    @cached_property
    def _model(self) -> _Model:
        """Where the truth is the estimate, under noise of the release's own distribution."""
        generator = np.random.default_rng(SEED + 2)
        z = self._draw(generator, self.mechanism)
        noisy = {a: v + z[a] for a, v in self.blocks.items()}
        off = {a: v - self.blocks[a] for a, v in self.again(noisy, 1.0).items()}
        losses = {a: float((off[a] ** 2).sum()) for a in self._unknown}
        if self.mechanism == "gaussian":
            return _Model(losses, dict.fromkeys(losses, 0.0))
        freedom = self._probed(noisy, self._draw(generator)).freedom
        return _Model(
            losses, {a: 2 * (self._product(a, z[a], off[a]) - y * freedom[a]) for a, y in self._unknown.items()}
        )

    @cached_property
    def _fissions(self) -> list[_Fission]:
        generator = np.random.default_rng(SEED + 1)
        found = []
        with progress.bar("proving a limit", FISSIONS) as advance:
            for _ in range(FISSIONS):
                w = self._draw(generator)
                fitted = self.again({a: r + w[a] for a, r in self.noisy.items()}, 2.0)
                tests = {a: float(((self.noisy[a] - w[a] - fitted[a]) ** 2).sum()) for a in self._unknown}
                apart = {a: float(((self.blocks[a] - fitted[a]) ** 2).sum()) for a in self._unknown}
                found.append(_Fission(tests, apart))
                advance(1)
        return found

    def _draw(self, generator: np.random.Generator, mechanism: Mechanism = "gaussian") -> dict[Table, Floats]:
        """Noise of covariance y_A C_A in every block that is not known."""

        def draw(shape: tuple[int, ...]) -> Floats:
            if mechanism == "laplace":
                return np.asarray(generator.laplace(0.0, math.sqrt(0.5), shape))
            return np.asarray(generator.standard_normal(shape))

        return {a: math.sqrt(self._unknown.get(a, 0.0)) * project(draw(r.shape)) for a, r in self.noisy.items()}


def _sum(weights: Squares, squares: Squares) -> float:
    return sum(weight * squares[block] for block, weight in weights.items())


def subsets(table: Table) -> list[Table]:
    """Of its columns, the smallest first: its blocks."""
    return [a for k in range(len(table) + 1) for a in combinations(table, k)]
