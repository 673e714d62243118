"""How a promise is best divided over plain tables at levels of a tree, each with noise of its own.

A table R at level l, whose other columns are D, tells about every block A of columns within D. Noise on different
blocks of one table is uncorrelated, as without a tree (`shares`), so that block A is measured at level l with the
precision

    q_Al = sum over the released tables R at level l with A in D of  w_R t_RA,    t_RA = prod over D without A of 1/n_j,

and least squares runs along the tree for each block by itself. *Each step lowers the weighted sum of variances* f: with
P_l the sums of the leaves into level l, the variances of block A are those of X^-1, X = sum_R w_R t_RA P_l'P_l, and
X^-1 after a change is at most sum_R (w_R^2/new_R) t_RA X^-1 P_l'P_l X^-1, with equality where nothing changes
(`tree_optimum`). So f(new) <= sum_R h_R/new_R, h_R = w_R^2 sum_A t_RA (-df/dq_Al), as in `shares`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.workload.incidence import Floats
from leastnoise.workload.tree_least_squares import level_means
from leastnoise.workload.tree_optimum import LevelBlocks

if TYPE_CHECKING:
    from leastnoise.workload.tree_tables import TreeWorkload

Table = tuple[str, ...]
_NOTHING = 1e-30  # of the largest precision: a share that the steps make ever smaller


@dataclass(frozen=True, eq=False)
class TreeSpread:
    """What tables could be released, what each tells about each block at each level, and what is to be small.

    blocks: the blocks and levels that are asked for, its tables in the order of the workload's lattice.
    matrix: t_RA, a SciPy array with a row a table that could be released and a column a block and level.
    power: 2 for Laplace noise, 1 for Gaussian noise.
    """

    blocks: LevelBlocks
    matrix: Any
    power: int

    @property
    def tables(self) -> int:
        """How many tables are asked for."""
        return int(self.blocks.weights.shape[0])

    def variances(self, precisions: Floats) -> tuple[Floats, list[tuple[Any, int, Floats]]]:
        """The mean variance of a cell of each table asked for; and, for blocks of one depth together, which they are,
        the depth and the derivatives of their levels' variances."""
        q = (self.matrix.T @ precisions).reshape(self._shape)
        q[q < _NOTHING * q.max()] = 0.0
        depths = _last(q > 0)
        means, state = np.full(self._shape, np.inf), []
        for depth in np.unique(depths[depths >= self.blocks.deepest]).tolist():
            chosen = np.flatnonzero((depths == depth) & (depths >= self.blocks.deepest))
            found, slopes = level_means(q[chosen, : depth + 1].T, self.blocks.orbits)
            means[chosen, : depth + 1] = found.T
            means[chosen, depth + 1 :] = 0.0  # nobody asks for these
            state.append((chosen, depth, slopes))
        return np.asarray(self.blocks.weights @ (self.blocks.probability[:, None] * means).ravel()), state

    def seen(self, c: Floats, state: Any) -> Floats:
        """How fast the precision of each table that could be released lowers the sum weighted with c."""
        weights = np.asarray(self.blocks.weights.T @ c).reshape(self._shape) * self.blocks.probability[:, None]
        falls = np.zeros(self._shape)
        for chosen, depth, slopes in state:
            falls[chosen, : depth + 1] = -np.einsum("bl,lkb->bk", weights[chosen, : depth + 1], slopes)
        return np.asarray(self.matrix @ np.maximum(falls, 0.0).ravel())

    def covers(self, released: Any) -> bool:
        """Whether every block is measured at the deepest level that is asked for with it, or below."""
        measured = (self.matrix.T @ np.asarray(released, dtype=np.float64)).reshape(self._shape) > 0
        return bool((_last(measured) >= self.blocks.deepest).all())

    @property
    def _shape(self) -> tuple[int, int]:
        return self.blocks.probability.size, self.blocks.levels


def tree_spread(workload: TreeWorkload, tables: Sequence[Table], *, power: int) -> TreeSpread:
    """What these tables tell about the blocks at every level, and what is to be small.

    workload: the tables asked for. tables: that could be released. power: how precision grows with a share.
    """
    from dataclasses import replace

    rows = workload.in_lattice(np.arange(len(workload.tables)))
    blocks = replace(workload.level_blocks, weights=workload.level_blocks.weights[rows])
    return TreeSpread(blocks, level_precisions(workload, tables), power)


def level_precisions(workload: TreeWorkload, tables: Sequence[Table]) -> Any:
    """The precision of each block at each level (a column) in each table (a row) whose cells have precision one: a
    SciPy array of t_RA.

    workload: the tables asked for. tables: that could be released.
    """
    from scipy.sparse import csr_array

    levels = workload.shape.depth + 1
    rows, columns, factors = [], [], []
    for row, table in enumerate(tables):
        others, level = set(workload.others(table)), workload.level_of(table)
        cells = workload.cells_of(workload.others(table))
        for number, block in enumerate(workload.deepest):
            if others.issuperset(block):
                rows.append(row)
                columns.append(number * levels + level)
                factors.append(workload.cells_of(block) / cells)
    return csr_array((factors, (rows, columns)), shape=(len(tables), levels * len(workload.deepest)))


def _last(measured: Any) -> Any:
    """The last level of each block that is measured; -1 where none is."""
    levels = measured.shape[1]
    return np.where(measured.any(axis=1), levels - 1 - np.argmax(measured[:, ::-1], axis=1), -1)
