"""Tables along a tree without negative cells, from the coarsest level down: consistent, and whole numbers if asked.

The tables of the whole come first, denoised as tables without a tree are. Then level by level, with h the least-squares
values of the children of one node and a their variances from below,

    argmin over h' >= 0 that add up to the parent of  sum_c (h'_c - h_c)^2 / a_c,   so   h'_c = max(0, h_c - a_c x),

x being found by raising it until the children add up: those at zero drop out, and the others follow in a closed form.
Fixing the coarse levels first matters: the nearest non-negative leaves add up to far too much, for their negative
noise is cut off and their positive noise stays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.denoise.known_sums import divided
from leastnoise.domain import TreeShape
from leastnoise.releases.risk_limits import SQUARES, RmseLimit, is_beyond_chance, loss_limit
from leastnoise.workload import NoisyTables, Workload

if TYPE_CHECKING:
    from leastnoise.denoise.tables import EstimatedTables

Table = tuple[str, ...]
STEP = 0.1  # s^2: how much more noise the error is measured with
PAIRS = 8
SEED = 20180710  # of the draws that measure the error: they need only be independent of the noise


def largest_by_level(workload: Workload) -> list[Table]:
    """The other columns of the largest table that is known at each level, of which all others are sums."""
    made = []
    for level in range(max(map(workload.level_of, workload.tables)) + 1):
        known = [block for block, deepest in workload.deepest.items() if deepest >= level]
        top = max(known, key=len)
        if level and not all(set(block) <= set(top) for block in known):
            several = " and by ".join(map(" x ".join, _tops(known)))
            raise errors.InvalidParameter(
                f'Tables of "{workload.levels[level - 1]}" are by {several}, and they are denoised together only '
                "where one of them contains the others. What was released is unbiased and "
                "consistent as it is."
            )
        made.append(top)
    return made


def _tops(known: list[Table]) -> list[Table]:
    return [block for block in known if not any(set(block) < set(other) for other in known)]


class _Figures(NamedTuple):
    """Of the cells of a table: the estimated squared error, the mean square and the largest of their variances as
    released, the standard error of the gain (see `is_below`), and how many there are."""

    risk: float
    square: float
    largest: float
    gain_error: float
    cells: int


class _Levels(NamedTuple):
    """Every table of the whole, and the largest table of each level below, nodes first."""

    root: Mapping[Table, NDArray[Any]]
    below: list[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class EstimatedLevels:
    """Non-negative, consistent estimates of tables along a tree.

    noise: of every block, as it was drawn. noisy: the least-squares residual of each block at each level.
    """

    noise: NoisyTables
    noisy: Mapping[Table, Floats] = field(repr=False)

    @property
    def workload(self) -> Workload:
        """The tables."""
        return self.noise.workload

    @cached_property
    def tops(self) -> list[Table]:
        """The other columns of the largest table at each level."""
        return largest_by_level(self.workload)

    @cached_property
    def blocks(self) -> dict[Table, Floats]:
        """The residual of every block at every level, without noise."""
        return self._blocks_of(self._levels(self.noisy))

    def integers(self) -> dict[Table, NDArray[np.int64]]:
        """Whole numbers of every table asked for: none is negative, and every sum is exact."""
        values = self._levels(self.noisy)
        whole = _Levels(self._whole_root(values.root), [])
        for level in range(1, len(self.tops)):
            parts, shape = values.below[level - 1], self.workload.shape
            above = np.asarray(self._above(whole, level)).reshape(shape.sizes[level - 1], -1)
            columns = zip(parts.reshape(len(parts), -1).T, above.T, strict=True)
            made = [divided(one, shape.parents[level], total) for one, total in columns]
            whole.below.append(np.stack(made, axis=1).reshape(parts.shape))
        return {table: self._table(whole, table).astype(np.int64) for table in self.workload.tables}

    def rmse(self, table: Table | None = None) -> float:
        """The root mean squared error of a cell, estimated from the noisy blocks alone.

        table: its columns; without it, the cells of all tables that were asked for.
        """
        return math.sqrt(self._mean(table)[0])

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """An upper limit for it, to an approximation: where the loss is as far above its estimate as such a loss would
        be, its variance being at most that of squared noise, 2 v^2 a cell (of one Laplace draw 5 v^2), and 4 v times
        the loss.

        confidence: how often the limit holds. table: its columns; without it, the cells of all tables asked for.
        proved: refused along a tree.
        """
        if proved or not 0 < confidence < 1:
            raise errors.InvalidParameter("No proved limit is known along a tree, and a confidence is below 1.")
        from scipy.special import ndtri

        figure, square, largest, _, cells = self._mean(table)
        z = float(ndtri(confidence))
        squared = SQUARES[self.noise.mechanism].variance
        limit = loss_limit(figure, k=z**2, largest=largest / cells, spread=squared * square / cells)
        return RmseLimit(math.sqrt(limit), confidence, False)

    def is_below(self, rmse: float, table: Table | None = None) -> bool | None:
        """Whether the error is below this one, that of the tables as published, by more than chance; None of a table
        that was not asked for.

        As in `denoise/tables/risk.py`, with a variance of the gain of at most 2 sum b (f^2 + v (1 - df/d)) times that
        of a squared draw, f being how far cells moved, v their variances and b those from below: the covariance of the
        nodes of a level is at most diag(b), because what is known from above only adds to their precision. (With other
        columns beside those of the tree that is an approximation.) The draws that measure the error add
        8 v^2 df (1 - df/d) / PAIRS. Tables share their noise: the standard error of all is at most the sum of theirs.

        rmse: the root mean squared error of a cell as published. table: its columns; without it, the cells of all.
        """
        if table is not None and table not in self._figures:
            return None
        found = self._mean(table)
        return is_beyond_chance(rmse**2 - found.risk, found.gain_error)

    # From level to level

    def _levels(self, noisy: Mapping[Table, Floats]) -> _Levels:
        """Every table of the whole, and the largest table of each level, nodes first: none has negative cells."""
        workload = self.workload
        made = _Levels(self._root(noisy), [])
        for level in range(1, len(self.tops)):
            top = self.tops[level]
            named = workload.at_level(top, level)
            values = workload.table_of(noisy, named)
            values = np.moveaxis(values, named.index(workload.levels[level - 1]), 0)
            weights = self.noise.below_variances(named).reshape(-1, *[1] * len(top))
            made.below.append(_nonnegative(values, weights, self._above(made, level), workload.shape, level))
        return made

    def _root(self, noisy: Mapping[Table, Floats]) -> dict[Table, Floats]:
        """The tables of the whole, by the estimator of tables without a tree."""
        if list(self.workload.deepest) == [()]:
            return {(): np.maximum(noisy[()], 0.0)}
        found = self._plain(noisy)
        return {block: found.table(block) for block in self.workload.deepest}

    def _plain(self, noisy: Mapping[Table, Floats]) -> EstimatedTables:
        from leastnoise.denoise.tables import denoise_tables  # compiled loops, that checks of a job do without

        plain = {block: noisy[block] for block in self.workload.deepest}
        variances = {block: float(self.noise.fit(block).variances[0][0]) for block in plain}
        sizes = {name: size for name, size in self.workload.sizes.items() if name not in self.workload.levels}
        return denoise_tables(plain, variances, sizes, _tops(list(plain)), mechanism=self.noise.mechanism)

    def _whole_root(self, values: Mapping[Table, Floats]) -> dict[Table, NDArray[np.int64]]:
        if list(values) == [()]:
            return {(): np.asarray(np.rint(values[()]), dtype=np.int64)}
        whole, found = self._plain(self.noisy).integers(), {}
        for block in values:
            top = next(table for table in whole if set(block) <= set(table))
            found[block] = self._summed(np.asarray(whole[top])[None], top, block)[0]
        return found

    def _above(self, made: _Levels, level: int) -> NDArray[Any]:
        """What the nodes of a level add up to, over the columns of its largest table."""
        top = self.tops[level]
        return made.root[top][None] if level == 1 else self._summed(made.below[level - 2], self.tops[level - 1], top)

    def _summed(self, values: NDArray[Any], have: Table, want: Table) -> NDArray[Any]:
        """A table with nodes first, over fewer of its other columns."""
        return np.asarray(values.sum(axis=tuple(1 + i for i, name in enumerate(have) if name not in want)))

    def _table(self, made: _Levels, table: Table) -> NDArray[Any]:
        """A table from the largest of its level."""
        level, others = self.workload.level_of(table), self.workload.others(table)
        if not level:
            return np.asarray(made.root[others])
        values = self._summed(made.below[level - 1], self.tops[level], others)
        return np.moveaxis(values, 0, table.index(self.workload.levels[level - 1]))

    def _blocks_of(self, levels: _Levels) -> dict[Table, Floats]:
        found = {}
        for block, deepest in self.workload.deepest.items():
            for level in range(deepest + 1):
                named = self.workload.at_level(block, level)
                axes = [i for i, name in enumerate(named) if name in block]
                found[named] = _centred(self._table(levels, named), axes)
        return found

    # How wrong it is

    @cached_property
    def _figures(self) -> dict[Table, _Figures]:
        """Of each table asked for.

        With w of the noise's own distribution, v(+) and v(-) the estimates from x + s w and x - s w, the mean of
        |x - v(+)|^2/2 + |x - v(-)|^2/2 + w.(v(+) - v(-))/s less the variance is the squared error of the same rule
        under 1 + s^2 times the noise, whatever the rule is (Oliveira, Lei and Tibshirani 2021). That is for normal
        noise; of Laplace noise w has the covariance, and it holds to an approximation.
        """
        rng, s = np.random.default_rng(SEED), math.sqrt(STEP)
        total, freedom = dict.fromkeys(self.workload.tables, 0.0), dict.fromkeys(self.workload.tables, 0.0)
        published = {table: self.workload.table_of(self.noisy, table) for table in total}
        for _ in range(PAIRS):
            drawn = {
                block: rng.normal(0, scale, [self.workload.sizes[name] for name in block])
                for block, scale in self.noise.stds.items()
            }
            w = self.noise.residuals(drawn)
            made = [
                self._levels({block: values + sign * s * w[block] for block, values in self.noisy.items()})
                for sign in (1, -1)
            ]
            for table, x in published.items():
                up, down = (self._table(levels, table) for levels in made)
                moved = self.workload.table_of(w, table)
                product = float((moved * (up - down)).sum()) / s / max(float((moved**2).sum()), 1e-300)
                variance = float(self.noise.node_variances(table).mean())
                apart = float(((x - up) ** 2).mean() + ((x - down) ** 2).mean()) / 2
                total[table] += (apart + (product - 1) * variance) / PAIRS
                freedom[table] += product / 2 / PAIRS
        return {table: self._figures_of(table, published[table], total[table], freedom[table]) for table in total}

    def _figures_of(self, table: Table, published: Floats, figure: float, freedom: float) -> _Figures:
        """freedom: degrees of freedom a cell."""
        variances, cells = self.noise.node_variances(table), self.workload.cells_of(table)
        below = self.noise.below_variances(table)
        moved = self.workload.table_of(self.blocks, table) - published
        others = tuple(i for i, name in enumerate(table) if name not in self.workload.levels)
        kept, square = min(max(freedom, 0.0), 1.0), float((variances**2).mean())
        apart = float((below * (np.square(moved).mean(axis=others).ravel() + (1 - kept) * variances)).mean())
        squared = SQUARES[self.noise.mechanism].variance
        error = math.sqrt((2 * squared * apart + 8 * square * kept * (1 - kept) / PAIRS) / cells)
        risk = max(figure, 1e-3 * float(variances.mean()))
        return _Figures(risk, square, float(variances.max()), error, cells)

    def _mean(self, table: Table | None) -> _Figures:
        if table is not None:
            if table not in self._figures:
                raise errors.InvalidParameter(
                    f"The error of {' x '.join(table)}, which was not asked for, is not known."
                )
            return self._figures[table]
        every = list(self._figures.values())
        cells = sum(each.cells for each in every)
        risk, square, error = (
            sum(getattr(each, name) * each.cells for each in every) / cells for name in ("risk", "square", "gain_error")
        )
        return _Figures(risk, square, max(each.largest for each in every), error, cells)


def _centred(table: Floats, axes: list[int]) -> Floats:
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _nonnegative(values: Floats, weights: Floats, total: Floats, shape: TreeShape, level: int) -> Floats:
    """max(0, h - a x) that adds up to the parents.

    x rises: with the children above zero known, it is (their sum less the parent) over their weights; whoever falls to
    zero is left out, and never comes back.
    """
    starts, parents = shape.starts[level - 1], shape.parents[level]
    kept = np.ones(values.shape, dtype=bool)
    weights = np.broadcast_to(weights, values.shape)
    for _ in range(values.shape[0] + 1):
        above = np.add.reduceat(np.where(kept, values, 0.0), starts, axis=0) - total
        room = np.add.reduceat(np.where(kept, weights, 0.0), starts, axis=0)
        x = np.divide(above, room, out=np.full(above.shape, np.inf), where=room > 0)
        left = kept & (values > weights * np.where(np.isfinite(x), x, 0.0)[parents]) & np.isfinite(x)[parents]
        if (left == kept).all():
            break
        kept = left
    made = np.where(kept, values - weights * np.where(np.isfinite(x), x, 0.0)[parents], 0.0)
    return np.maximum(made, 0.0)
