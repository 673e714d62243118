"""Noise on the statistics of a summary: whole numbers of every part, each with independent exact noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise._support import progress
from leastnoise.curator.mechanism import add_integers
from leastnoise.curator.shown_keys import sortable
from leastnoise.domain import Domain
from leastnoise.privacy.guarantee import ApproxDP
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.summary_noise import SummaryNoise
from leastnoise.releases.measured import ROWS, Figure, Measured
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


def show_keys(
    keys: Sequence[Any], exact: Mapping[str, NDArray[np.int64]], cut: Threshold, scales: Mapping[str, float]
) -> tuple[list[Any], dict[str, NDArray[np.int64]]]:
    """The keys whose noisy number of rows reaches the threshold, and their noisy numbers. It must be paid for already.

    Every number has noise of its own, so the keys may come in parts.
    """
    from leastnoise.curator.noise.gaussian import rounded_gaussian
    from leastnoise.curator.noise.laplace import two_sided_geometric

    draw = rounded_gaussian if cut.scale is None else two_sided_geometric
    noisy = {name: add_integers(whole, draw(scales[name], whole.size)) for name, whole in exact.items()}
    (places,) = np.nonzero(noisy[ROWS] >= cut.at_least)
    return [keys[place] for place in places.tolist()], {name: values[places] for name, values in noisy.items()}


def publish_shown(
    keys: Sequence[Any],
    noisy: Mapping[str, NDArray[np.int64]],
    cut: Threshold,
    scales: Mapping[str, float],
    promise: ApproxDP,
    *,
    names: Sequence[str],
    figures: tuple[Figure, ...],
    columns: tuple[Measured, ...],
    **facts: Any,
) -> SummaryRelease:
    """Keys that show, in the order of keys."""
    from leastnoise.curator.noise import entropy

    order = sorted(range(len(keys)), key=lambda place: sortable(keys[place]))
    return SummaryRelease(
        domain=domains.listed(tuple(names), [keys[place] for place in order]),
        figures=figures,
        columns=columns,
        integers={name: values[order] for name, values in noisy.items()},
        scales=dict(scales),
        mechanism=cut.mechanism,
        threshold=cut.at_least,
        provenance=Provenance(guarantee=promise, delta=promise.delta, seeded=entropy.is_seeded(), **facts),
    )
