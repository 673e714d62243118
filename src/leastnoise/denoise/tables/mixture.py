"""Empirical Bayes for the cells of many tables at once, each given what other tables predict for it.

A cell's count m has a prediction p, and is seen as x = m + noise of variance v. The prior of m given p is a mixture of

    the point 0,   N(p, (h p)^2) for h = 0, 0.03, ..., 1,   N(l, (0.35 l)^2) for l = 1/2, 1, 2, 4, ... not near p,

so a cell may be empty, near its prediction, or anywhere else. The weights depend on p, linearly between the powers of
two, and are the same for all tables of an order: found by expectation maximisation over their cells. A block may then
tilt them: its factor for each component is its own share over the expected share, both with PRIOR_CELLS cells of the
expected share added, so that a block of few cells keeps what all have together. With p = 0 for every cell this is the
nonparametric prior of plain counts, on a grid of octaves. Noise is taken as Gaussian, and independent between cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from leastnoise._support.validation import Floats

SPREADS = np.array([0.0, 0.03, 0.06, 0.125, 0.25, 0.5, 1.0])
LEVELS = 2.0 ** np.arange(-1.0, 41.0)
NEAR = 1.4  # levels within this factor of the prediction are its own components
LOWEST, KNOTS = -8.0, 49  # of the weights, at 2^-8, ..., 2^40
STEPS, SMOOTHING = 40, 0.2  # of expectation maximisation; of the weights between neighbouring knots
PRIOR_CELLS, TILTS = 5.0, 6
SAMPLE = 12_000  # cells that the weights are found from, at most
BLOCK_SAMPLE = 1024  # cells that one block's tilt is found from, at most
LEAST = 1e-7  # weights below are zero
CELLS_AT_ONCE = 1 << 10  # whose posteriors are written out together


class Cells(NamedTuple):
    """The cells of one block: values seen, predictions, variances of the noise, and degrees of freedom a cell."""

    seen: Floats
    predicted: Floats
    variance: Floats
    freedom: float


class Uncertain(NamedTuple):
    """Numbers in the shape of a block, and the variance of the error of each."""

    value: Floats
    variance: Floats


def posteriors(blocks: Sequence[Cells]) -> list[Uncertain]:
    """The posterior mean of every cell of these blocks, under weights that were found from all of them."""
    weights = _weights(blocks)
    return [_posterior(block, weights) for block in blocks]


def _weights(blocks: Sequence[Cells]) -> Floats:
    """Of each component at each knot, by expectation maximisation over all cells, or a sample of them."""
    stride = max(1, -(-sum(block.seen.size for block in blocks) // SAMPLE))
    # Every block starts at another cell, so that a stride never meets the same keys only.
    parts = [tuple(a.ravel()[i % min(stride, block.seen.size) :: stride] for a in block[:3])
             for i, block in enumerate(blocks)]  # fmt: skip
    seen, predicted, variance = (np.concatenate([part[k] for part in parts]) for k in range(3))
    share = np.concatenate([np.full(part[0].size, block.freedom) for part, block in zip(parts, blocks, strict=True)])
    weights = np.full((KNOTS, 1 + SPREADS.size + LEVELS.size), 1.0)
    weights[:, 1 + SPREADS.size :] = max(4.0, float(seen.max())) > 2 * LEVELS
    weights /= weights.sum(axis=1, keepdims=True)
    likelihoods, place = _likelihoods(seen, *_components(predicted), variance), _place(predicted)
    for _ in range(STEPS):
        part = likelihoods * (place @ weights)
        part *= (share / part.sum(axis=1))[:, None]
        found = place.T @ part
        weights = found.copy()
        weights[:, 1] += 1.0
        weights[1:] += SMOOTHING * found[:-1]
        weights[:-1] += SMOOTHING * found[1:]
        weights /= weights.sum(axis=1, keepdims=True)
        weights[weights <= LEAST] = 0.0
    return weights


def _posterior(block: Cells, weights: Floats) -> Uncertain:
    seen, predicted, variance = (np.ravel(a) for a in block[:3])
    tilt = _tilt(seen, predicted, variance, block.freedom, weights)
    mean, spread = _means(seen, predicted, variance, weights * tilt)
    return Uncertain(mean.reshape(block.seen.shape), spread.reshape(block.seen.shape))


def _means(seen: Floats, predicted: Floats, variance: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Posterior means and variances, under weights that need not add up to 1."""
    used = weights.any(axis=0)
    mean, spread = np.empty(seen.size), np.empty(seen.size)
    for start in range(0, seen.size, CELLS_AT_ONCE):
        some = slice(start, start + CELLS_AT_ONCE)
        x, v = seen[some, None], variance[some, None]
        centre, own = (part[:, used] for part in _components(predicted[some]))
        joint = (_place(predicted[some]) @ weights[:, used]) * _likelihoods(seen[some], centre, own, variance[some])
        joint /= joint.sum(axis=1, keepdims=True)
        factor = 1 - v / (v + own)
        here = centre + factor * (x - centre)
        mean[some] = (joint * here).sum(axis=1)
        spread[some] = np.maximum((joint * (here**2 + factor * v)).sum(axis=1) - mean[some] ** 2, 0.0)
    return mean, spread


def _tilt(seen: Floats, predicted: Floats, variance: Floats, freedom: float, weights: Floats) -> Floats:
    """The block's factor for each component."""
    stride = max(1, seen.size // BLOCK_SAMPLE)
    seen, predicted, variance = seen[::stride], predicted[::stride], variance[::stride]
    likelihoods = _likelihoods(seen, *_components(predicted), variance)
    prior = (_place(predicted) @ weights) * (likelihoods > 0)
    tilt = np.ones(weights.shape[1])
    for _ in range(TILTS):
        tilted = prior * tilt
        joint = tilted * likelihoods
        found = (1 / joint.sum(axis=1)) @ joint
        expected = (1 / tilted.sum(axis=1)) @ tilted
        extra = PRIOR_CELLS * expected / expected.sum()
        cells = stride * freedom
        tilt = tilt * (cells * found + extra) / np.maximum(cells * expected + extra, 1e-300)
    return tilt


def _place(predicted: Floats) -> csr_array:
    """By how much each cell (a row) takes part in the weights at each knot."""
    place = np.clip(np.log2(np.maximum(predicted, 1e-12)) - LOWEST, 0, KNOTS - 1.001)
    knot = place.astype(np.int64)
    along = place - knot
    entries = np.stack([1 - along, along], axis=1).ravel()
    columns = np.stack([knot, knot + 1], axis=1).ravel()
    return csr_array((entries, columns, np.arange(0, entries.size + 1, 2)), shape=(predicted.size, KNOTS))


def _components(predicted: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each component (a column) for every cell; an infinite variance where it has none."""
    p = predicted[:, None]
    near = (p < NEAR * LEVELS) & (NEAR * p > LEVELS)
    levels = np.where(near, np.inf, (0.35 * LEVELS) ** 2)
    mean = np.concatenate([np.zeros_like(p), np.repeat(p, SPREADS.size, axis=1), np.tile(LEVELS, (p.size, 1))], axis=1)
    return mean, np.concatenate([np.zeros_like(p), (SPREADS * p) ** 2, levels], axis=1)


def _likelihoods(seen: Floats, mean: Floats, spread: Floats, variance: Floats) -> Floats:
    """Of every cell (a row) under each component, up to a factor; 0 where the cell does not have the component."""
    v = variance[:, None] + spread
    # Never below 1e-261, so that a cell far from all components still has one.
    return np.exp(np.maximum(-0.5 * (seen[:, None] - mean) ** 2 / v, -600.0)) / np.sqrt(v)
