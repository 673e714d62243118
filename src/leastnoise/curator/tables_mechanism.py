"""Noise on a set of tables: whole numbers of every block, each with independent exact noise, become a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import progress
from leastnoise.curator.mechanism import add_integers
from leastnoise.domain import Axis
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.provenance import Provenance
from leastnoise.workload.tables_noise import TablesNoise

Table = tuple[str, ...]


def publish(
    counts: Mapping[Table, NDArray[np.int64]],
    noise: TablesNoise,
    *,
    axes: Mapping[str, Axis],
    grid: float,
    weight: str | None = None,
    **facts: Any,
) -> CrosstabsRelease:
    """The blocks with their noise, as a release with this provenance. It must be paid for already.

    counts: the exact tables that no other table contains. grid: what one of their integers is worth.
    weight: the column whose sums they are; None: rows are counted.

    Gaussian noise is added to N_A C_A m_A, whole numbers whose sensitivity is exactly that of the residual, or to those
    of the strategies of ordered columns. (To round m_A with noise and take the means out afterwards is another
    mechanism: it costs 1/y_A a block, not p_A/y_A.) Laplace noise is added to plain tables.
    """
    from leastnoise.curator.noise import entropy
    from leastnoise.curator.noise.gaussian import rounded_gaussian
    from leastnoise.curator.noise.laplace import two_sided_geometric

    workload, noisy, gaussian = noise.workload, {}, noise.mechanism == "gaussian"
    draw = rounded_gaussian if gaussian else two_sided_geometric
    with progress.bar("drawing noise", sum(map(workload.cells_of, noise.scales))) as advance:
        for name, exact in workload.sums_of(counts, noise.scales):
            integers = workload.integers(name, exact) if gaussian else exact
            drawn = draw(noise.scales[name], integers.size).reshape(integers.shape)
            noisy[name] = add_integers(integers, drawn)
            advance(exact.size)
    return CrosstabsRelease(
        workload=workload,
        axes=axes,
        integers=noisy,
        scales=noise.scales,
        mechanism=noise.mechanism,
        step=grid,
        compared=None if noise.other_error is None else noise.error / noise.other_error,
        weights=noise.weights,
        gap=noise.gap,
        weight=weight,
        provenance=Provenance(
            guarantee=noise.guarantee, delta=noise.delta, reason=noise.reason, seeded=entropy.is_seeded(), **facts
        ),
    )
