"""A set of tables about the same people, denoised together. It is imported when asked for: compiled loops take time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leastnoise.denoise.arrays import Mechanism

if TYPE_CHECKING:
    from leastnoise.denoise._tables import EstimatedTables

Table = tuple[str, ...]


def denoise_tables(
    blocks: Mapping[Table, Any],
    variances: Mapping[Table, float],
    sizes: Mapping[str, int],
    tables: Sequence[Table],
    *,
    known: Mapping[Table, Any] | None = None,
    mechanism: Mechanism = "gaussian",
) -> EstimatedTables:
    """Non-negative, consistent estimates of tables from noisy residual blocks: `_tables.denoise_tables`.

    blocks: the unbiased noisy residual of every block. variances: of the noise on one cell of each, unprojected.
    sizes: how many keys each column has. tables: what was asked for. known: public tables, held exactly.
    mechanism: "gaussian" or "laplace", the distribution of the noise.
    """
    from leastnoise.denoise import _tables

    return _tables.denoise_tables(blocks, variances, sizes, tables, known=known, mechanism=mechanism)
