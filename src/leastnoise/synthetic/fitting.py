"""Fit a mixture of products to the tables of a set.

What is fitted are the residual blocks of the tables (`workload.residuals`): with known variances y_A, and N rows, find

    argmin over mixtures p of   sum over blocks A of |N C_A p_A - r_A|^2 / y_A   +   pull * I(p),

where p_A is the table of p over the columns A, C_A takes the mean out of every axis, r_A is the residual that denoising
found, and I(p) is the information that a row's group gives about its columns (`Mixture.information`). Blocks, not
tables, because the noise of two blocks is independent.

**Why the pull.** Many mixtures have the same tables of two columns. They differ in what they say of three columns and
more, about which nothing was released, and a mixture that is fitted to pairs alone makes interactions up. The least
information is the nearest to independence: the pull keeps a group from saying more than the tables ask for. How strong
it may be without moving the tables is found from held-out noise (`choosing`).

Adam (Kingma & Ba 2015) on the logarithms of the weights and of the columns, with a step that falls along a cosine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise.synthetic.mixture import Mixture
from leastnoise.workload.residuals import Table, project

Singles = NDArray[np.float32]
FIRST_STEP = 0.05  # of the logarithms, at most
LAST_STEP = 1e-4
JITTER = 0.2  # of the logarithms of the first columns: groups that are alike would stay so
MOMENTUM = 0.9, 0.999  # of the gradient, and of its square
LEAST = 1e-6  # the least probability at the start


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What a mixture is fitted to. All columns stand beside each other, so that all pairs are one matrix.

    rows: N, how many rows there are. sizes: how many keys each column has. single, pair: the residuals of blocks of one
    and of two columns. single_weight, pair_weight: 1/y_A, 0 where there is no such block. larger: of more columns: the
    axes, the residual and 1/y_A.
    """

    rows: float
    sizes: NDArray[np.int64]
    single: Singles
    single_weight: Singles
    pair: Singles
    pair_weight: Singles
    larger: tuple[tuple[tuple[int, ...], Singles, float], ...] = ()

    @classmethod
    def of(cls, blocks: Mapping[Table, Any], variances: Mapping[Table, float], sizes: Mapping[str, int]) -> Targets:
        """Of the residual blocks of a set and the variances of their noise; () is the total."""
        names, counts = list(sizes), np.array(list(sizes.values()))
        at = np.r_[0, np.cumsum(counts)]
        place = {name: slice(at[i], at[i + 1]) for i, name in enumerate(names)}
        single, single_weight = np.zeros(at[-1]), np.zeros(at[-1])
        pair, pair_weight = np.zeros((at[-1], at[-1])), np.zeros((at[-1], at[-1]))
        larger = []
        for block, residual in blocks.items():
            if len(block) == 1:
                single[place[block[0]]], single_weight[place[block[0]]] = residual, 1 / variances[block]
            elif len(block) == 2:
                cells = place[block[0]], place[block[1]]
                pair[cells], pair_weight[cells] = residual, 1 / variances[block]
            elif block:
                axes = tuple(names.index(name) for name in block)
                larger.append((axes, _single(residual), 1 / variances[block]))
        return cls(
            rows=float(blocks[()]),
            sizes=counts,
            single=_single(single),
            single_weight=_single(single_weight),
            pair=_single(pair),
            pair_weight=_single(pair_weight),
            larger=tuple(larger),
        )

    def replaced_by(self, mixture: Mixture) -> Targets:
        """The same blocks and weights, with the residuals that a mixture has."""
        columns = _single(np.hstack(mixture.columns))
        single, pair = self.residuals(_single(mixture.weights), columns)
        larger = tuple(
            (axes, _single(project(self.rows * mixture.table(axes))), weight) for axes, _, weight in self.larger
        )
        return replace(self, single=single, pair=pair, larger=larger)

    def residuals(self, weights: Singles, columns: Singles) -> tuple[Singles, Singles]:
        """N C p of all columns, and of all pairs of columns."""
        rows = np.float32(self.rows)
        pairs = self.centred(rows * ((columns * weights[:, None]).T @ columns))
        return self.centred(rows * (weights @ columns)), self.centred(pairs.T).T

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each column begins."""
        return np.cumsum(self.sizes) - self.sizes

    def by_column(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Arrays of all columns, apart."""
        return np.split(values, self.starts[1:], axis=-1)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of each column along the last axis, in every place of the column."""
        return self._repeated(np.add.reduceat(values, self.starts, axis=-1))

    def centred(self, values: NDArray[Any]) -> NDArray[Any]:
        """The mean taken out of each column along the last axis."""
        means = np.add.reduceat(values, self.starts, axis=-1) / _single(self.sizes)
        return np.asarray(values - self._repeated(means))

    def softmax(self, logarithms: Singles) -> Singles:
        """Probabilities of each column that are proportional to exp(logarithms)."""
        raised = np.exp(logarithms - self._repeated(np.maximum.reduceat(logarithms, self.starts, axis=-1)))
        return np.asarray(raised / self.sums(raised))

    def _repeated(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values, self.sizes, axis=-1)


def misfit(targets: Targets, mixture: Mixture) -> tuple[float, int]:
    """sum over blocks of |N C_A p_A - r_A|^2 / y_A, and how many independent numbers the blocks have together."""
    found = _misfit(targets, _single(mixture.weights), _single(np.hstack(mixture.columns)))[0]
    free = targets.sizes - 1
    pairs = sum(
        int(free[i] * free[j])
        for i, j in combinations(range(len(free)), 2)
        if targets.pair_weight[targets.starts[i], targets.starts[j]] > 0
    )
    larger = sum(math.prod(int(free[axis]) for axis in axes) for axes, _, _ in targets.larger)
    return found, int(free.sum()) + pairs + larger


def _misfit(targets: Targets, weights: Singles, columns: Singles) -> tuple[float, Singles, Singles]:
    """The misfit, and its derivatives by the weights and by the columns.

    d|C t - r|^2 / dt = 2 C(C t - r) = 2 (C t - r), because C is a projection and r is centred. With M = P' diag(w) P of
    all columns P and S the symmetric matrix of the pairs' derivatives, those of P and w are w P S and diag(P S P')/2.
    """
    rows = np.float32(targets.rows)
    single, pair = targets.residuals(weights, columns)
    single, pair = single - targets.single, pair - targets.pair
    by_single = 2 * rows * targets.single_weight * single
    by_pair = 2 * rows * targets.pair_weight * pair
    along = columns @ (by_pair + by_pair.T)
    by_weights = 0.5 * (along * columns).sum(axis=1) + columns @ by_single
    by_columns = weights[:, None] * (along + by_single)
    value = np.sum(targets.single_weight * single**2, dtype=float) + np.sum(targets.pair_weight * pair**2, dtype=float)
    parts = targets.by_column(columns)
    slopes = targets.by_column(by_columns)
    for axes, residual, weight in targets.larger:
        block = Larger([parts[axis] for axis in axes], [slopes[axis] for axis in axes], residual, weight)
        value += _add_larger(rows, weights, block, by_weights)
    return float(value), by_weights, by_columns


class Larger(NamedTuple):
    """A block of three columns or more. parts: its columns. slopes: the derivatives by them, which are added to."""

    parts: list[Singles]
    slopes: list[Singles]
    residual: Singles
    weight: float


def _add_larger(rows: np.float32, weights: Singles, block: Larger, by_weights: Singles) -> float:
    """The misfit of the block; its derivatives are added to `by_weights` and to its slopes."""
    letters = "abcdefghij"[: len(block.parts)]
    terms = [f"z{letter}" for letter in letters]
    cells = np.einsum(",".join(["z", *terms]) + f"->{letters}", weights, *block.parts, optimize=True)
    off = project(rows * cells) - block.residual
    by_cells = _single(2 * rows * block.weight * off)
    for i, slope in enumerate(block.slopes):
        others = [*block.parts[:i], *block.parts[i + 1 :]]
        formula = ",".join([letters, *terms[:i], *terms[i + 1 :]]) + f"->z{letters[i]}"
        along = np.einsum(formula, by_cells, *others, optimize=True)
        slope += weights[:, None] * along
        if i == 0:
            by_weights += (along * block.parts[0]).sum(axis=1)
    return block.weight * float(np.sum(off**2))


def fit(
    targets: Targets,
    groups: int,
    pull: float,
    *,
    steps: int,
    rng: np.random.Generator,
    advance: Callable[[int], object] = lambda done: None,
) -> Mixture:
    """The mixture of this many groups. pull: how strongly it is pulled to independent columns."""
    start = np.concatenate([np.ones(size) / size for size in targets.sizes]) + targets.single / targets.rows
    logarithms = _single(np.log(np.maximum(start, LEAST)) + JITTER * rng.standard_normal((groups, start.size)))
    state = [logarithms, np.zeros(groups, np.float32)]
    first, second = [np.zeros_like(each) for each in state], [np.zeros_like(each) for each in state]
    for step in range(1, steps + 1):
        columns, weights = targets.softmax(state[0]), _softmax(state[1])
        _, by_weights, by_columns = _misfit(targets, weights, columns)
        if pull:
            ratio = np.log(np.maximum(columns, 1e-30) / np.maximum(weights @ columns, 1e-30))
            by_columns += np.float32(pull) * weights[:, None] * ratio  # the derivative by w @ columns adds up to none
            by_weights += np.float32(pull) * (columns * ratio).sum(axis=1)
        slopes = (
            columns * (by_columns - targets.sums(by_columns * columns)),
            weights * (by_weights - float(weights @ by_weights)),
        )
        rate = LAST_STEP + FIRST_STEP * (1 + math.cos(math.pi * step / steps)) / 2
        for place, slope, mean, square in zip(state, slopes, first, second, strict=True):
            _move(place, slope, mean, square, rate, step)
        advance(1)
    columns = np.asarray(targets.softmax(state[0]), dtype=float)
    parts = tuple(each / each.sum(axis=1, keepdims=True) for each in targets.by_column(columns))
    weights = np.asarray(_softmax(state[1]), dtype=float)
    return Mixture(weights / weights.sum(), parts)


def _move(place: Singles, slope: Singles, mean: Singles, square: Singles, rate: float, step: int) -> None:
    """One step of Adam, in place."""
    fast, slow = MOMENTUM
    mean += np.float32(1 - fast) * (slope - mean)
    square += np.float32(1 - slow) * (slope**2 - square)
    size = np.sqrt(square / np.float32(1 - slow**step)) + np.float32(1e-9)
    place -= np.float32(rate / (1 - fast**step)) * mean / size


def _softmax(logarithms: Singles) -> Singles:
    raised = np.exp(logarithms - logarithms.max())
    return np.asarray(raised / raised.sum())


def _single(values: Any) -> Singles:
    return np.asarray(values, dtype=np.float32)
