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

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leastnoise._support.runtime import compiled
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


class Cells(NamedTuple):
    """The cells of one block: values seen, predictions, variances of the noise, and degrees of freedom a cell."""

    seen: Floats
    predicted: Floats
    variance: Floats
    freedom: float


class Posterior(NamedTuple):
    """Means, in the shape of the block, and variances."""

    mean: Floats
    variance: Floats


def posteriors(blocks: Sequence[Cells]) -> list[Posterior]:
    """The posterior mean of every cell of these blocks, under weights that were found from all of them."""
    weights = _weights(blocks)
    return [_posterior(block, weights) for block in blocks]


def _weights(blocks: Sequence[Cells]) -> Floats:
    stride = max(1, -(-sum(block.seen.size for block in blocks) // SAMPLE))
    # Every block starts at another cell, so that a stride never meets the same keys only.
    parts = [(tuple(a.ravel()[i % min(stride, block.seen.size) :: stride] for a in block[:3]), block.freedom)
             for i, block in enumerate(blocks)]  # fmt: skip
    seen, predicted, variance = (np.concatenate([part[0][k] for part in parts]) for k in range(3))
    share = np.concatenate([np.full(part[0][0].size, part[1]) for part in parts])
    knot, along = _place(predicted)
    weights = np.full((KNOTS, 1 + SPREADS.size + LEVELS.size), 1.0)
    weights[:, 1 + SPREADS.size :] = max(4.0, float(seen.max())) > 2 * LEVELS
    weights /= weights.sum(axis=1, keepdims=True)
    _maximise(_likelihoods(seen, predicted, variance, SPREADS, LEVELS), share, knot, along, weights, STEPS)
    return weights


def _posterior(block: Cells, weights: Floats) -> Posterior:
    seen, predicted, variance = (np.ascontiguousarray(a).ravel() for a in block[:3])
    knot, along = _place(predicted)
    tilt, stride = np.ones(weights.shape[1]), max(1, seen.size // BLOCK_SAMPLE)
    part = slice(None, None, stride)
    likelihoods = _likelihoods(seen[part], predicted[part], variance[part], SPREADS, LEVELS)
    for _ in range(TILTS):
        found, expected = np.zeros((2, tilt.size))
        _count(likelihoods, knot[part], along[part], weights, tilt, found, expected)
        prior = PRIOR_CELLS * expected / expected.sum()
        cells = stride * block.freedom
        tilt = tilt * (cells * found + prior) / np.maximum(cells * expected + prior, 1e-300)
    mean, spread = np.empty(seen.size), np.empty(seen.size)
    _means(seen, predicted, variance, knot, along, weights, tilt, SPREADS, LEVELS, mean, spread)
    return Posterior(mean.reshape(block.seen.shape), spread.reshape(block.seen.shape))


def _place(predicted: Floats) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    place = np.clip(np.log2(np.maximum(predicted, 1e-12)) - LOWEST, 0, KNOTS - 1.001)
    knot = place.astype(np.int64)
    return knot, place - knot


@compiled
def _component(k: int, p: float, spreads: Floats, levels: Floats) -> tuple[float, float]:
    """Mean and variance; a negative variance where this cell does not have the component."""
    if k == 0:
        return 0.0, 0.0
    if k <= spreads.size:
        return p, (spreads[k - 1] * p) ** 2
    level = levels[k - 1 - spreads.size]
    if p < NEAR * level and level < NEAR * p:
        return level, -1.0
    return level, (0.35 * level) ** 2


@compiled
def _likelihoods(seen: Floats, predicted: Floats, variance: Floats, spreads: Floats, levels: Floats) -> Floats:
    """Of every cell (a row) under each component, up to a factor; -1 where the cell does not have the component."""
    components = 1 + spreads.size + levels.size
    made = np.empty((seen.size, components))
    for i in range(seen.size):
        for k in range(components):
            mean, spread = _component(k, predicted[i], spreads, levels)
            made[i, k] = -1.0
            if spread >= 0:
                v = variance[i] + spread
                # Never below 1e-261, so that a cell far from all components still has one.
                made[i, k] = math.exp(max(-0.5 * (seen[i] - mean) ** 2 / v, -600.0)) / math.sqrt(v)
    return made


@compiled
def _maximise(likelihoods, share, knot, along, weights, steps) -> None:  # type: ignore[no-untyped-def]
    knots, components = weights.shape
    density = np.empty(components)
    for _ in range(steps):
        found = np.zeros((knots, components))
        for i in range(share.size):
            b, t, total = knot[i], along[i], 0.0
            for k in range(components):
                w = (1 - t) * weights[b, k] + t * weights[b + 1, k]
                density[k] = 0.0
                if w > 0 and likelihoods[i, k] > 0:
                    density[k] = w * likelihoods[i, k]
                    total += density[k]
            for k in range(components):
                if density[k] > 0:
                    part = share[i] * density[k] / total
                    found[b, k] += (1 - t) * part
                    found[b + 1, k] += t * part
        for b in range(knots):
            total = 0.0
            for k in range(components):
                weights[b, k] = found[b, k] + (1.0 if k == 1 else 0.0)
                if b > 0:
                    weights[b, k] += SMOOTHING * found[b - 1, k]
                if b < knots - 1:
                    weights[b, k] += SMOOTHING * found[b + 1, k]
                total += weights[b, k]
            for k in range(components):
                weights[b, k] = weights[b, k] / total if weights[b, k] > LEAST * total else 0.0


@compiled
def _count(likelihoods, knot, along, weights, tilt, found, expected) -> None:  # type: ignore[no-untyped-def]
    """How many cells each component has by what was seen, and by the weights alone; added to `found` and `expected`."""
    components = tilt.size
    density, prior = np.empty(components), np.empty(components)
    for i in range(knot.size):
        b, t, total, whole = knot[i], along[i], 0.0, 0.0
        for k in range(components):
            w = ((1 - t) * weights[b, k] + t * weights[b + 1, k]) * tilt[k]
            density[k], prior[k] = 0.0, 0.0
            if w > 0 and likelihoods[i, k] > 0:
                prior[k], density[k] = w, w * likelihoods[i, k]
                whole += w
                total += density[k]
        for k in range(components):
            if prior[k] > 0:
                found[k] += density[k] / total
                expected[k] += prior[k] / whole


@compiled
def _means(  # type: ignore[no-untyped-def]
    seen, predicted, variance, knot, along, weights, tilt, spreads, levels, mean, spread
) -> None:
    for i in range(seen.size):
        b, t, total, first, second = knot[i], along[i], 0.0, 0.0, 0.0
        for k in range(tilt.size):
            w = ((1 - t) * weights[b, k] + t * weights[b + 1, k]) * tilt[k]
            if w > 0:
                centre, own = _component(k, predicted[i], spreads, levels)
                if own >= 0:
                    v, off = variance[i] + own, seen[i] - centre
                    factor = own / v
                    here = centre + factor * off
                    density = w / math.sqrt(v) * math.exp(max(-0.5 * off * off / v, -600.0))
                    total += density
                    first += density * here
                    second += density * (here * here + factor * variance[i])
        mean[i] = first / total
        spread[i] = max(second / total - mean[i] ** 2, 0.0)
