"""What smaller tables, and other tables of the same size, predict for a table.

`independent`: the product of two one-way tables. `fitted`: for three columns or more, the table of largest entropy with
the smaller tables as its margins, by iterative proportional fitting. `mediated`, for pairs: a third column c that both
depend on predicts

    sum over k of  T_ac(., k) T_cb(k, .) / T_c(k),

exactly where a and b are independent given c. Their departures from independence, the largest first, are regressors
for what was seen of the pair (a, b), whose noise they do not know. Coefficients have a common normal prior, by rank,
with means and variances found from all pairs together, so that small tables take those of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leastnoise._support.runtime import one_thread
from leastnoise._support.validation import Floats
from leastnoise.workload.residuals import Table, project

FITTING_ROUNDS = 12
MEDIATORS = 12  # of a pair, at most: those of the strongest dependence on both
REGRESSION_STEPS = 20
LEAST_UNEXPLAINED = 0.01  # of the variance of the noise
FLOOR = 1e-3  # of the independent prediction: no cell is ruled out by a mediator


def independent(tables: Mapping[Table, Floats], pair: Table) -> Floats:
    a, b = pair
    return np.multiply.outer(tables[(a,)], tables[(b,)]) / max(float(tables[()]), 1e-300)


def fitted(tables: Mapping[Table, Floats], wanted: Table) -> Floats:
    """Iterative proportional fitting of ones to the tables that leave out one column each."""
    margins = [tables[wanted[:i] + wanted[i + 1 :]] for i in range(len(wanted))]
    shape = tuple(tables[(column,)].size for column in wanted)
    return _fit(np.ones(shape), margins, FITTING_ROUNDS)


def mediated(
    tables: Mapping[Table, Floats], seen: Mapping[Table, Floats], variances: Mapping[Table, float]
) -> dict[Table, Floats]:
    """Predictions for all pairs; `tables` are first estimates of them, `seen` their noisy tables."""
    pairs = sorted(seen)
    base = {pair: independent(tables, pair) for pair in pairs}
    with one_thread():
        features = _features(tables, pairs, base)
        found = _regressed(features, {p: project(seen[p] - base[p]) for p in pairs}, variances)
    made = {}
    for pair in pairs:
        lifted = np.maximum(base[pair] + found[pair], FLOOR * base[pair])
        made[pair] = _fit(lifted, [tables[pair[1:]], tables[pair[:1]]], FITTING_ROUNDS // 2)
    return made


def _features(
    tables: Mapping[Table, Floats], pairs: Sequence[Table], base: Mapping[Table, Floats]
) -> dict[Table, Floats]:
    either = {pair: tables[pair] for pair in pairs} | {pair[::-1]: tables[pair].T for pair in pairs}
    strength = {pair: float(np.linalg.norm(tables[pair] - base[pair])) for pair in pairs}
    strength |= {pair[::-1]: value for pair, value in strength.items()}
    columns = sorted({column for pair in pairs for column in pair})
    made: dict[Table, Floats] = {}
    for a, b in pairs:
        between = [c for c in columns if (a, c) in either and (c, b) in either]
        between = sorted(between, key=lambda c: -min(strength[a, c], strength[c, b]))[:MEDIATORS]
        shares = {c: either[a, c] / np.maximum(tables[(c,)], 1e-9) for c in between}
        departures = [project(shares[c] @ either[c, b] - base[a, b]).ravel() for c in between]
        departures.sort(key=lambda d: -float(d @ d))
        made[a, b] = np.array(departures).reshape(len(departures), base[a, b].size)
    return made


def _regressed(
    features: Mapping[Table, Floats], seen: Mapping[Table, Floats], variances: Mapping[Table, float]
) -> dict[Table, Floats]:
    """Posterior means of the fits, the coefficients' prior and what stays unexplained by expectation maximisation."""
    pairs = list(seen)
    most = max((len(features[pair]) for pair in pairs), default=0)
    if most == 0:
        return {pair: np.zeros_like(seen[pair]) for pair in pairs}
    gram, moment = np.zeros((len(pairs), most, most)), np.zeros((len(pairs), most))
    for i, pair in enumerate(pairs):
        k = len(features[pair])
        gram[i, :k, :k] = features[pair] @ features[pair].T
        moment[i, :k] = features[pair] @ seen[pair].ravel()
    squares = np.array([float((seen[pair] ** 2).sum()) for pair in pairs])
    freedom = np.array([float(np.prod([n - 1 for n in seen[pair].shape])) for pair in pairs])
    noise = np.array([variances[pair] for pair in pairs])
    beyond = np.maximum(squares / freedom - noise, LEAST_UNEXPLAINED * noise)
    mean, spread = np.zeros(most), np.full(most, 0.01)
    for _ in range(REGRESSION_STEPS):
        scale = (noise + beyond)[:, None]
        covariance = np.linalg.inv(gram / scale[:, :, None] + np.diag(1 / spread))
        beta = np.einsum("ijk,ik->ij", covariance, moment / scale + mean / spread)
        left = squares - 2 * (beta * moment).sum(axis=1) + np.einsum("ij,ijk,ik->i", beta, gram, beta)
        left += np.einsum("ijk,ijk->i", gram, covariance)
        beyond = np.maximum(left / freedom - noise, LEAST_UNEXPLAINED * noise)
        mean = beta.mean(axis=0)
        spread = np.maximum(((beta - mean) ** 2 + np.einsum("ijj->ij", covariance)).mean(axis=0), 1e-6)
    return {
        pair: (beta[i, : len(features[pair])] @ features[pair]).reshape(seen[pair].shape)
        for i, pair in enumerate(pairs)
    }


def _fit(table: Floats, margins: Sequence[Floats], rounds: int) -> Floats:
    table = np.array(table, dtype=np.float64)
    for _ in range(rounds):
        for axis, margin in enumerate(margins):
            total = table.sum(axis=axis)
            factor = np.divide(np.maximum(margin, 0.0), total, out=np.zeros(total.shape), where=total > 1e-300)
            table *= np.expand_dims(factor, axis)
    return table
