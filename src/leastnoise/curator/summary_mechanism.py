"""Noise on the statistics of a summary: whole numbers of every part, each with independent exact noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import progress
from leastnoise.curator.mechanism import add_integers
from leastnoise.domain import Domain
from leastnoise.privacy.summary_noise import SummaryNoise
from leastnoise.releases.measured import Figure, Measured
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.summary import SummaryRelease


def publish(
    exact: Mapping[str, NDArray[np.int64]],
    noise: SummaryNoise,
    *,
    domain: Domain,
    figures: tuple[Figure, ...],
    columns: tuple[Measured, ...],
    **facts: Any,
) -> SummaryRelease:
    """The parts with their noise, as a release with this provenance. It must be paid for already.

    exact: the whole numbers of every part, a number a bin.
    """
    from leastnoise.curator.noise import entropy
    from leastnoise.curator.noise.gaussian import rounded_gaussian
    from leastnoise.curator.noise.laplace import two_sided_geometric

    draw = rounded_gaussian if noise.mechanism == "gaussian" else two_sided_geometric
    noisy = {}
    with progress.bar("drawing noise", sum(part.size for part in exact.values())) as advance:
        for name, whole in exact.items():
            noisy[name] = add_integers(whole, draw(noise.scales[name], whole.size))
            advance(whole.size)
    return SummaryRelease(
        domain=domain,
        figures=figures,
        columns=columns,
        integers=noisy,
        scales={name: noise.scales[name] for name in noisy},
        mechanism=noise.mechanism,
        compared=noise.compared,
        provenance=Provenance(
            guarantee=noise.guarantee, delta=noise.delta, reason=noise.reason, seeded=entropy.is_seeded(), **facts
        ),
    )
