"""Flat truths far below the noise: how far off the one value is that `auto` gives, and the least that any rule can be.

The mean of d noisy values is all that Gaussian noise leaves of a flat truth. In units of its standard error it is f + n
with n standard normal, and the one value is a function c of it. Its error is |c(f + n) - f|, on average; that of the
better of zero and the mean is min(f, 0.8). The ratios are computed by quadrature, with the library's own c. (Under
Laplace noise c is a function of the median, whose standard error is less by sqrt 2 than that of the mean.)

**What no rule can do.** The least possible worst ratio is the value of a linear programme over all functions c: least R
with E|c(f + n) - f| <= R min(f, 0.8) for every f of a list. It begins at 0.02: down to zero no rule has a finite R.
More f could only make it larger.

**Absolute error, flat or sparse.** If the mean f sits in a share q of the bins, zero is the best answer for the mean
absolute error, and c makes it 1 + (1 - 2q) E c / f times as large. Such a truth cannot be told from a flat one if q is
well above f^2 / sqrt(2 d), for the chi-square divergence of the two is about f^4 / (2 q^2 d). So q may go to zero as d
grows, and a rule has to suffice for both at once. Here f begins at 0.01, in standard errors of c's: one bin of half a
sigma among 2,500. Under Laplace noise, where many bins leave as much as a normal median with its variance would, the
programme is over functions of the median, and the better answer of the two is still zero or the mean.

The truths of `heavy_noise.py` for which that decides, because `auto` gives its one value there, are computed the same
way: the mean absolute error of c(m) over the normal m, by quadrature, without what stands out. Draws say little of
them: one of a hundred or two hundred decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from accuracy import DATA, LAWS, Truth, real
from findings import Findings, Headline, Table
from heavy_noise import SIGMAS, fresh, made_up
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import norm

from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.empirical_bayes import Loss
from leastnoise.denoise.flat import flat

STEP = 0.02  # of the lattice of means, in standard errors
MEAN_ERROR = math.sqrt(2 / math.pi)  # of the mean of the values, in its standard errors
FLAT = np.geomspace(0.02, 10, 25)
ALIKE = np.array([0.01, 0.02, 0.04, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])  # beyond, sparse ones show in the squares
CONSTANTS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # heavy_noise.py has them, among 4,096 bins at 3,630
BINS, SIGMA, ONE_BIN = 4096, 3630.0, 2000.0
UNITS: dict[Mechanism, float] = {"gaussian": 1.0, "laplace": math.sqrt(2)}  # the mean's standard error in those of c's
Floats = np.ndarray[Any, Any]


def run(*, toy: bool = False) -> Findings:
    worst = list(_worst(*((FLAT[::6], ALIKE[::3], 0.25) if toy else (FLAT, ALIKE, 0.05))))
    return [
        Table(
            "flat_truths",
            "The mean error over that of the better of zero and the mean, at worst, by quadrature, for truths of 0.02 "
            "to 10 standard errors (0.01 to 3 where they may be sparse):",
            worst,
        ),
        Table(
            "flat_truths_constants",
            "The constants among 4,096 bins at sigma 3,630 (ten times as many standard errors at 362):",
            [_constant(value) for value in CONSTANTS],
        ),
        Table(
            "flat_truths_absolute",
            "Mean absolute error of the one value over the better of zero's and the mean's, where it is above 1.15:",
            list(_above(1.15, [*made_up(BINS), *fresh(BINS), *(real() if DATA.is_dir() and not toy else ())])),
        ),
        *(Headline(f"{row['truths']}: {row['rule']}, worst", row["worst ratio"]) for row in worst),
    ]


def _worst(flat_ones: Floats, alike: Floats, step: float) -> Iterator[dict[str, Any]]:
    """Of the rule here and of the best that there can be."""
    fine, low = np.geomspace(0.02, 10, 300), np.geomspace(ALIKE[0], ALIKE[-1], 200)
    both = "flat or sparse, absolute loss"
    yield _line("flat", "the best there can be", least_worst(flat_ones, step=step))
    for law in LAWS:
        yield _line("flat", f"auto, {law}", max(ratio(f * UNITS[law], law) for f in fine))
    for law in LAWS:
        best = least_worst(alike, sparse=alike, step=step, unit=UNITS[law])
        yield _line(both, f"the best there can be, {law}", best)
        yield _line(both, f"auto, {law}, flat", max(ratio(f, law, "absolute") for f in low))
        yield _line(both, f"auto, {law}, sparse", max(sparse_ratio(f, law) for f in low))
        constants, bin_ = (x / SIGMA * math.sqrt(BINS) * UNITS[law] for x in (np.array(CONSTANTS), ONE_BIN / BINS))
        best = least_worst(constants, sparse=np.array([bin_]), step=step, unit=UNITS[law])
        yield _line("the constants and one bin of 2,000", f"the best there can be, {law}", best)


def _line(truths: str, rule: str, found: float) -> dict[str, Any]:
    return {"truths": truths, "rule": rule, "worst ratio": found}


def least_worst(truths: Floats, *, sparse: Floats | None = None, step: float = STEP, unit: float = 1.0) -> float:
    """R of the best rule. Its values c_j >= 0 at the means x_j, and u_ij >= |c_j - f_i|, are the variables.

    truths: flat ones. sparse: means that sit in few bins, for which zero is the best answer, in absolute error.
    unit: the standard error of the mean, in those of what the rule looks at.
    """
    means = np.arange(-4, truths.max() + 4, step)
    many, size = truths.size, means.size
    chances = norm.pdf(means - truths[:, None]) * step
    i, j = (index.ravel() for index in np.indices((many, size)))
    above, last = size + i * size + j, size + many * size  # where u and R stand
    row, ones = np.arange(many * size), np.ones(many * size)
    begin, every = 2 * many * size, np.arange(many)
    # c - u <= f, then -c - u <= -f, then sum of p u - R best <= 0, then sum of p c / f - R <= -1
    parts = [(row, j, ones), (row, above, -ones), (many * size + row, j, -ones), (many * size + row, above, -ones)]
    parts += [
        (begin + i, above, chances.ravel()),
        (begin + every, np.full(many, last), -np.minimum(truths, MEAN_ERROR * unit)),
    ]
    limits = [np.repeat(truths, size), -np.repeat(truths, size), np.zeros(many)]
    if sparse is not None:
        begin, few = begin + many, sparse.size
        i, j = (index.ravel() for index in np.indices((few, size)))
        given = norm.pdf(means - sparse[:, None]) * step / sparse[:, None]
        parts += [(begin + i, j, given.ravel()), (begin + np.arange(few), np.full(few, last), -np.ones(few))]
        limits.append(-np.ones(few))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    found = linprog(
        np.eye(1, last + 1, last)[0],
        A_ub=coo_array((values, (rows, columns))).tocsr(),
        b_ub=np.concatenate(limits),
        method="highs-ipm",
    )
    return float(found.fun)


def ratio(f: float, mechanism: Mechanism = "gaussian", loss: Loss = "squared") -> float:
    """The mean error of the one value over that of the better of zero and the mean, f in standard errors of c's."""
    means, given = _rule(mechanism, loss)
    error = float(np.abs(given - f) @ norm.pdf(means - f)) * STEP
    return error / min(f, MEAN_ERROR * UNITS[mechanism])


def sparse_ratio(f: float, mechanism: Mechanism = "gaussian") -> float:
    """The same of mean absolute errors, if the mean sits in so few bins that zero is the best answer."""
    means, given = _rule(mechanism, "absolute")
    return 1 + float(given @ norm.pdf(means - f)) * STEP / f


@cache
def _rule(mechanism: Mechanism, loss: Loss) -> tuple[Floats, Floats]:
    """The library's own rule at a lattice of means, both in standard errors."""
    means = np.arange(-8, 30, STEP)
    unit = 1 / (UNITS[mechanism] * math.sqrt(BINS))
    given = [flat(np.full(BINS, x * unit), 1.0, nonnegative=True, loss=loss, mechanism=mechanism) for x in means]
    return means, np.array([made.parameters["value"] for made in given]) / unit


def _constant(value: float) -> dict[str, Any]:
    f = value / SIGMA * math.sqrt(BINS)
    return {"constant": value, "standard errors": f} | {law: ratio(f * UNITS[law], law) for law in LAWS}


def _above(least: float, truths: list[Truth]) -> Iterator[dict[str, Any]]:
    """Those that are flat, or whose mean is less than a standard error of it, so that zero is the better answer."""
    for truth, law, sigma in product(truths, LAWS, SIGMAS):
        unit = sigma / math.sqrt(truth.values.size)
        constant = bool((truth.values == truth.values[0]).all())
        f = float(truth.values.mean()) / unit
        if truth.name == "counties" or f > (8 if constant else 1):
            continue
        best = unit * min(f, MEAN_ERROR) if constant else unit * f
        if (found := _absolute_error(truth.values, unit / UNITS[law], law) / best) > least:
            yield {"truth": truth.name, "noise": law, "sigma": sigma, "standard errors": f, "ratio": found}


def _absolute_error(truth: Floats, unit: float, mechanism: Mechanism) -> float:
    """Of the one value, whose mean (or median) has the standard error `unit`; counts below one half are zero."""
    means, given = _rule(mechanism, "absolute")
    value = np.where(given * unit < 0.5, 0.0, given * unit)
    chances = norm.pdf(means - truth.mean() / unit) * STEP
    kinds, many = np.unique(truth, return_counts=True)
    return sum(float(k) * float(np.abs(value - x) @ chances) for x, k in zip(kinds, many, strict=True)) / truth.size
