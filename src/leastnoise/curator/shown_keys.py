"""Keys that nobody listed, with their noise: those that show, and how many rows all of them have together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise.curator.aggregate.exact_totals import MAX_TOTAL
from leastnoise.curator.mechanism import add_integers
from leastnoise.privacy.guarantee import ApproxDP
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.releases.noise import Noise
from leastnoise.releases.other_keys import AllKeys
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release


def show_keys(keys: Sequence[Any], counts: NDArray[np.int64], cut: Threshold) -> tuple[list[Any], NDArray[np.int64]]:
    """The keys whose count reaches the threshold with its noise, and those noisy counts. It must be paid for already.

    Every key has noise of its own, so the keys may come in parts, and nothing is kept of those that do not show.
    """
    noisy = add_integers(np.asarray(counts, dtype=np.int64), _drawn(noise_of(cut), len(keys)))
    (places,) = np.nonzero(noisy >= cut.at_least)
    return [keys[place] for place in places.tolist()], noisy[places]


def noisy_total(total: int, noise: Noise) -> AllKeys:
    """The exact total of all keys, shown or not, with noise of its own. It must be paid for already."""
    exact = np.array([min(total, MAX_TOTAL)], dtype=np.int64)
    return AllKeys(value=int(add_integers(exact, _drawn(noise, 1))[0]), noise=noise)


def noise_of(cut: Threshold) -> Noise:
    """The noise of the counts."""
    return Noise(cut.mechanism, cut.sigma if cut.scale is None else cut.scale, 1.0)


def _drawn(noise: Noise, size: int) -> NDArray[np.int64]:
    from leastnoise.curator.noise.gaussian import rounded_gaussian
    from leastnoise.curator.noise.laplace import two_sided_geometric

    draw = rounded_gaussian if noise.mechanism == "gaussian" else two_sided_geometric
    return draw(noise.scale, size)


def publish_shown(
    keys: Sequence[Any],
    noisy: NDArray[np.int64],
    cut: Threshold,
    promise: ApproxDP,
    names: Sequence[str],
    all_keys: AllKeys | None = None,
    **facts: Any,
) -> Release:
    """Keys that show, in the order of keys; and the noisy total of all, where that was asked for too."""
    from leastnoise.curator.noise import entropy

    order = sorted(range(len(keys)), key=lambda place: sortable(keys[place]))
    return Release(
        values=np.asarray(noisy, dtype=np.int64)[order],
        noise=noise_of(cut),
        provenance=Provenance(guarantee=promise, delta=promise.delta, seeded=entropy.is_seeded(), **facts),
        domain=domains.listed(tuple(names), [keys[place] for place in order]),
        threshold=cut.at_least,
        all_keys=all_keys,
        kind="count",
    )


def sortable(key: Any) -> Any:
    """Keys in order, missing ones last; a tuple part by part."""
    return tuple(map(sortable, key)) if isinstance(key, tuple) else (key is None, 0 if key is None else key)
