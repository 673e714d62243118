"""From a question's exact integers to what is published: decide, pay, read, draw.

The order is fixed: everything public is decided first (noise, threshold), then a budget is debited, then the rows are
read, then noise is drawn. A failure before the reading tells nothing about people. Reading fails on no value that we
know of; if it fails all the same, that may tell about a row, and no cost makes up for it: after two retries under the
same debit the budget is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.curator import mechanism
from leastnoise.curator.aggregate.integers import Aggregate, whole
from leastnoise.curator.budget import charge
from leastnoise.curator.engines import reading
from leastnoise.domain import Steps
from leastnoise.privacy.guarantee import ApproxDP
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease

if TYPE_CHECKING:
    from leastnoise.curator.query import Query
    from leastnoise.curator.request import PrivacyRequest

Answer = Release | SparseRelease | MeanRelease | QuantileRelease
Read = Callable[[], Aggregate]

ATTEMPTS = 3  # at reading the rows: a lost executor is no attack


def release(query: Query, request: PrivacyRequest, *, read: Read) -> Answer:
    """Decide, pay, read, draw. `read` gives the exact integers; it is not called before the debit is on disk."""
    refuse_reserved(query.by)
    if query.size is None:
        return _unknown(query, decide_unknown(query, request), read)
    decided = decide(query, query.size, request)
    return _sparse(query, query.size, decided, read) if query.sparse else _dense(query, decided, read)


def _unknown(query: Query, decided: charge.Charge[Threshold], read: Read) -> Release:
    assert isinstance(decided.guarantee, ApproxDP)
    paid = _pay(decided, query)
    found = _read(read, query, paid)
    assert found.keys is not None
    return mechanism.publish_unknown(
        found.keys, whole(found.values), decided.noise, decided.guarantee, query.by, id=paid.id, **_facts(query)
    )


def _sparse(query: Query, size: int, decided: charge.Charge[NoiseChoice], read: Read) -> SparseRelease:
    cut = mechanism.sparse_cut(decided.noise, size, "universal", "soft")
    paid = _pay(decided, query)
    found = _read(read, query, paid)
    return mechanism.publish_sparse(
        found.indices,
        found.values,
        decided.noise,
        size,
        cut,
        "soft",
        id=paid.id,
        domain=query.domain,
        **_facts(query),
    )


def _dense(query: Query, decided: charge.Charge[NoiseChoice], read: Read) -> Answer:
    paid = _pay(decided, query)
    integers = whole(_read(read, query, paid).values)
    kind = {"units": "count", "vector_sum": "sum"}.get(query.kind, query.kind)
    domain = query.domain if query.kind in ("count", "units", "sum", "vector_sum") else None
    made = mechanism.publish(integers, decided.noise, kind=kind, domain=domain, id=paid.id, **_facts(query))
    return _computed(query, made)


def decide(query: Query, size: int, request: PrivacyRequest) -> charge.Charge[NoiseChoice]:
    """The noise of `size` integers and its cost. Nothing is paid."""
    if query.sparse:
        if query.grid != 1:
            raise errors.BadDomain("Only whole counts have a sparse release. Use a smaller domain.")
        request = request.with_threshold(
            "A domain this large is released sparsely, with Gaussian noise and a threshold"
        )
    return charge.decide(
        request,
        bins=size,
        whole=True,
        grid=query.grid,
        sensitivity=query.sensitivity.l2,
        l1_sensitivity=query.sensitivity.l1,
        neighbours=query.neighbours,
    )


def decide_unknown(query: Query, request: PrivacyRequest) -> charge.Charge[Threshold]:
    """Noise and threshold of keys that nobody listed, and their cost. Nothing is paid."""
    return charge.decide_unknown(request, limits=query.limits, neighbours=query.neighbours)


def _pay(decided: charge.Charge[NoiseChoice] | charge.Charge[Threshold], query: Query) -> charge.Receipt:
    return decided.pay(query=query.describe(), unit=" + ".join(query.unit), table=query.source.name)


def _read(read: Read, query: Query, paid: charge.Receipt) -> Aggregate:
    """The exact integers. Only ReadingFailed is tried again and closes the budget: every other error of ours is public
    (and `reading` lets no other one out), and an interrupt is the caller's."""
    for _ in range(ATTEMPTS - 1):
        with suppress(errors.ReadingFailed):
            return reading(read, query.source.files)
    try:
        return reading(read, query.source.files)
    except errors.ReadingFailed as problem:
        failed = problem
    raise paid.close(failed)


def _computed(query: Query, made: Release) -> Answer:
    """What the query asked for, from its noisy integers: means and quantiles are computed from several."""
    if query.kind in ("mean", "vector_mean"):
        centre, half, within = middle(query)
        column = query.columns[0] if query.kind == "mean" else None
        return MeanRelease(
            components=made, centre=centre, half_range=half, within=within, domain=query.domain, column=column
        )
    if query.kind == "quantile":
        return QuantileRelease(components=made, levels=query.levels, edges=_edges(query), column=query.by[0])
    return made


def middle(query: Query) -> tuple[float, float, tuple[float, float]]:
    """Of a mean: the clip's centre, half its width, and its ends."""
    if query.ball is not None:
        norm = query.ball.radius * query.grid
        return 0.0, norm, (-norm, norm)
    assert query.clip is not None
    return query.clip.centre * query.grid, query.clip.half * query.grid, (query.clip.low, query.clip.high)


def _edges(query: Query) -> NDArray[np.float64]:
    """Of a quantile: where its bins begin, and where the last ends."""
    assert query.domain is not None
    (axis,) = query.domain.axes
    assert isinstance(axis, Steps)
    return np.array([axis.key(i)[0] for i in range(axis.size)] + [axis.high])


def _facts(query: Query) -> dict[str, Any]:
    """What a release says of where it comes from: public."""
    return {
        "unit": " + ".join(query.unit),
        "limits": limits_of(query),
        "query": query.describe(),
        "table": query.source.name,
    }


def limits_of(query: Query) -> dict[str, int]:
    """How much of one unit is used, by name."""
    limits = query.limits
    return {"max_rows": limits.max_rows, "max_per_bin": limits.max_per_bin, "max_bins": limits.max_bins}
