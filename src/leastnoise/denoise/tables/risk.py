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
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from leastnoise._support import progress
from leastnoise._support.validation import Floats
from leastnoise.denoise.arrays import Mechanism
from leastnoise.releases.risk_limits import SEED, NoiseOfLoss, is_beyond_chance, least_plausible
from leastnoise.workload.residuals import Table, project

STEP = 0.04
PAIRS, FEW_PAIRS, MANY_CELLS = 3, 1, 500_000
FISSIONS = 4
MODEL_ERROR = 0.3  # of the squared error where the truth is the estimate: how far that may be from the true one


class _Probe(NamedTuple):
    """Of every block: the unbiased estimate of its squared error, and its degrees of freedom."""

    losses: dict[Table, float]
    freedom: dict[Table, float]


class _Model(NamedTuple):
    """Of every block where the truth is the estimate: its squared error, and by how much the probes miss it."""

    losses: dict[Table, float]
    missed: dict[Table, float]


class _Fission(NamedTuple):
    """Of every block: |r - w - v1|^2 and |v - v1|^2."""

    tests: dict[Table, float]
    apart: dict[Table, float]


class TableRisks:
    """Mean squared errors a cell; the estimate is run again when first asked, and never twice for the same purpose."""

    def __init__(
        self,
        again: Callable[..., dict[Table, Floats]],
        noisy: Mapping[Table, Floats],
        variances: Mapping[Table, float],
        values: Mapping[Table, Floats],
        sizes: Mapping[str, int],
        mechanism: Mechanism,
    ) -> None:
        self._again, self._noisy, self._values, self._sizes, self._mechanism = again, noisy, values, sizes, mechanism
        self._variances = {a: y for a, y in variances.items() if y > 0}
        self._dimension = {a: math.prod(sizes[c] - 1 for c in a) for a in noisy}
        self._probes: list[_Probe] = []
        self._fissions: list[_Fission] = []
        self._models: list[_Model] = []

    def estimate(self, tables: Sequence[Table]) -> float:
        weights = self._weights(tables)
        if not weights:
            return 0.0
        seen, model = self.unbiased(tables), self._sum(weights, self._modelled().losses)
        variance, other = self._variance(weights, model), (MODEL_ERROR * model) ** 2
        return max(seen + (model - seen) * variance / (variance + other), self._floor(weights))

    def unbiased(self, tables: Sequence[Table]) -> float:
        """The same by the coupled bootstrap alone, which may be negative."""
        weights = self._weights(tables)
        seen = self._sum(weights, self._probed().losses)
        return seen if self._mechanism == "gaussian" else seen + self._sum(weights, self._modelled().missed)

    def limit(self, tables: Sequence[Table], confidence: float) -> float:
        weights = self._weights(tables)
        if not weights:
            return 0.0
        seen = max(self.unbiased(tables), self._floor(weights))
        limit = self._noise(weights).limit(seen, confidence, drawn=self._drawn(weights))
        return max(limit, self.estimate(tables))

    def is_below(self, tables: Sequence[Table], square: float) -> bool:
        """Whether the estimated squared error is below this one, that of the published tables, by more than chance."""
        gain = square - max(self.unbiased(tables), self.estimate(tables))
        return is_beyond_chance(gain, self._gain_error(self._weights(tables)))

    def _gain_error(self, weights: Mapping[Table, float]) -> float:
        """The standard error of the gain; 0 where all blocks are known."""
        if not weights:
            return 0.0
        noise, freedom = self._noise(weights), self._freedom(weights)
        moved = np.array([w * float(((self._values[b] - self._noisy[b]) ** 2).sum()) for b, w in weights.items()])
        kept = freedom * (1 - freedom / noise.dimensions)
        drawn = 8 * float((noise.variances**2 * kept).sum()) / len(self._probes)
        return noise.gain_error(moved, freedom, drawn=drawn)

    def _noise(self, weights: Mapping[Table, float]) -> NoiseOfLoss:
        """Of every block y_A over the cells that it is spread on, a cell of the tables."""
        a = np.array([weight * self._variances[block] for block, weight in weights.items()])
        return NoiseOfLoss(a, np.array([float(self._dimension[block]) for block in weights]), self._mechanism)

    def _freedom(self, weights: Mapping[Table, float]) -> Floats:
        return np.array([self._probed().freedom[block] for block in weights])

    def _drawn(self, weights: Mapping[Table, float]) -> float:
        """The variance of the unbiased figure that comes from w."""
        return 8 * float((self._noise(weights).variances ** 2 * self._freedom(weights)).sum()) / len(self._probes)

    def _variance(self, weights: Mapping[Table, float], loss: float) -> float:
        """Of the unbiased figure around this loss."""
        noise = self._noise(weights)
        return noise.spread + self._drawn(weights) + 4 * float(noise.variances.max()) * loss

    def _floor(self, weights: Mapping[Table, float]) -> float:
        """The error of a linear rule of the same degrees of freedom."""
        freedom = self._probed().freedom
        return sum(w * self._variances[a] * freedom[a] ** 2 / self._dimension[a] for a, w in weights.items())

    @staticmethod
    def _sum(weights: Mapping[Table, float], squares: Mapping[Table, float]) -> float:
        return sum(weight * squares[block] for block, weight in weights.items())

    def proved_limit(self, tables: Sequence[Table], confidence: float) -> float:
        weights = self._weights(tables)
        if not weights:
            return 0.0
        a = np.array([2 * weight * self._variances[block] for block, weight in weights.items()])
        dimension = np.array([self._dimension[block] for block in weights])
        expected, spread, largest = float(a @ dimension), float(a**2 @ dimension), float(a.max())
        fissions = self._split()
        tests = np.array([sum(w * f.tests[b] for b, w in weights.items()) for f in fissions])
        apart = np.sqrt([sum(w * f.apart[b] for b, w in weights.items()) for f in fissions])

        def p_value(r: float) -> float:
            loss = np.maximum(r - apart, 0.0) ** 2
            below = np.maximum(loss + expected - tests, 0.0)
            return 2 * float(np.mean(np.exp(-(below**2) / (4 * (spread + 2 * largest * loss)))))

        high = float(apart.max()) + 1.0
        while p_value(high) > 1 - confidence:
            high *= 2
        return least_plausible(p_value, high, confidence) ** 2

    def _weights(self, tables: Sequence[Table]) -> dict[Table, float]:
        """By which the squared errors of blocks add up to the mean squared error of a cell of these tables."""
        weights: dict[Table, float] = {}
        cells = 0
        for table in tables:
            size = math.prod(self._sizes[c] for c in table)
            cells += size
            kept = [c for c in table if self._sizes[c] > 1]
            for a in (a for k in range(len(kept) + 1) for a in combinations(kept, k)):
                if a in self._variances:
                    weights[a] = weights.get(a, 0.0) + math.prod(self._sizes[c] for c in a) / size
        return {a: weight / cells for a, weight in weights.items()}

    def _probed(self) -> _Probe:
        """The mean over the draws."""
        if not self._probes:
            pairs = FEW_PAIRS if sum(b.size for b in self._noisy.values()) > MANY_CELLS else PAIRS
            generator = np.random.default_rng(SEED)
            with progress.bar("estimating the error", pairs) as advance:
                for _ in range(pairs):
                    self._probes.append(self._probe(self._noisy, self._draw(generator)))
                    advance(1)
        mean = [{a: float(np.mean([p[i][a] for p in self._probes])) for a in self._variances} for i in range(2)]
        return _Probe(*mean)

    def _probe(self, noisy: Mapping[Table, Floats], w: Mapping[Table, Floats]) -> _Probe:
        s = math.sqrt(STEP)
        plus = self._again({a: r + s * w[a] for a, r in noisy.items()}, 1 + STEP)
        minus = self._again({a: r - s * w[a] for a, r in noisy.items()}, 1 + STEP)
        losses, freedom = {}, {}
        for a, y in self._variances.items():
            r = noisy[a]
            inner = self._product(a, w[a], plus[a] - minus[a]) / s
            moved = float(((r - plus[a]) ** 2).sum() + ((r - minus[a]) ** 2).sum()) / 2
            losses[a] = moved + inner - self._dimension[a] * y
            freedom[a] = min(max(inner / (2 * y), 0.0), float(self._dimension[a]))
        return _Probe(losses, freedom)

    def _product(self, block: Table, noise: Floats, moved: Floats) -> float:
        """noise.moved over |noise|^2 and times the mean of that."""
        mean = self._dimension[block] * self._variances[block]
        return float((noise * moved).sum()) * mean / float((noise**2).sum())

    def _modelled(self) -> _Model:
        """Where the truth is the estimate, under noise of the release's own distribution."""
        if not self._models:
            generator = np.random.default_rng(SEED + 2)
            z = self._draw(generator, self._mechanism)
            noisy = {a: v + z[a] for a, v in self._values.items()}
            off = {a: v - self._values[a] for a, v in self._again(noisy, 1.0).items()}
            losses = {a: float((off[a] ** 2).sum()) for a in self._variances}
            missed = dict.fromkeys(losses, 0.0)
            if self._mechanism == "laplace":
                freedom = self._probe(noisy, self._draw(generator)).freedom
                missed = {a: 2 * (self._product(a, z[a], off[a]) - y * freedom[a]) for a, y in self._variances.items()}
            self._models.append(_Model(losses, missed))
        return self._models[0]

    def _split(self) -> list[_Fission]:
        if not self._fissions:
            generator = np.random.default_rng(SEED + 1)
            with progress.bar("proving a limit", FISSIONS) as advance:
                for _ in range(FISSIONS):
                    w = self._draw(generator)
                    fitted = self._again({a: r + w[a] for a, r in self._noisy.items()}, 2.0)
                    tests = {a: float(((self._noisy[a] - w[a] - fitted[a]) ** 2).sum()) for a in self._variances}
                    apart = {a: float(((self._values[a] - fitted[a]) ** 2).sum()) for a in self._variances}
                    self._fissions.append(_Fission(tests, apart))
                    advance(1)
        return self._fissions

    def _draw(self, generator: np.random.Generator, mechanism: Mechanism = "gaussian") -> dict[Table, Floats]:
        """Noise of covariance y_A C_A in every block that is not known."""

        def draw(shape: tuple[int, ...]) -> Floats:
            if mechanism == "laplace":
                return np.asarray(generator.laplace(0.0, math.sqrt(0.5), shape))
            return np.asarray(generator.standard_normal(shape))

        return {a: math.sqrt(self._variances.get(a, 0.0)) * project(draw(r.shape)) for a, r in self._noisy.items()}
