"""From a question's exact integers to what is published; and, before any row is read, what to expect of it.

The order is fixed: everything public is decided first (`Recipe` or threshold), then the rows are read, then noise is
drawn. A failure before the reading tells nothing about people; what happens after it is the same for every table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors, mechanism, recipe, thresholds
from leastnoise.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.law import Gaussian, Law
from leastnoise.means import MeanRelease
from leastnoise.parameters import Number
from leastnoise.quantiles import QuantileRelease
from leastnoise.recipe import Choice, Recipe
from leastnoise.releases import Release, SparseRelease

Answer = Release | SparseRelease | MeanRelease | QuantileRelease

_MOST = 2**62  # totals are clamped to this size, which moves no two of them apart


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a release will be like. It costs nothing and reads no row."""

    mechanism: str
    sigma: float
    std: float
    half_width: float
    half_width_all: float | None  # None: the number of bins is private
    threshold: int | None
    limits: dict[str, int]
    bins: int | None
    guarantee: PureDP | ApproxDP | GaussianDP
    note: str

    def __str__(self) -> str:
        kept = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        lines = [
            f"{self.mechanism.capitalize()} noise of standard deviation {self.std:.4g} on each number: 95 % are off by "
            f"at most {self.half_width:.4g}"
            + (
                f", and all {self.bins:,} at once by at most {self.half_width_all:.4g}." if self.half_width_all else "."
            ),
            f"Bins show when their noisy count reaches {self.threshold}." if self.threshold else "",
            f"Of each unit at most this is used: {kept}.",
            self.note,
        ]
        return "\n".join(line for line in lines if line)


def expect(query: Any, *, epsilon: Number, delta: Number, mechanism: Choice = "auto") -> Expectation:
    """What `release` would do with these numbers."""
    limits = limits_of(query)
    if unknown_keys(query):
        cut = thresholds.choose(epsilon=epsilon, delta=delta, limits=query.limits, neighbours=query.neighbours)
        law: Law = Gaussian(cut.sigma, 1.0)
        promise = ApproxDP(float(epsilon), float(delta), query.neighbours)
        half = law.half_width(0.95)
        note = "Bins that nobody listed: their chance to show is part of delta."
        return Expectation("gaussian", cut.sigma, law.std, half, None, cut.at_least, limits, None, promise, note)
    chosen = _recipe(query, epsilon=epsilon, delta=delta, mechanism=mechanism)
    sigma = chosen.scale if chosen.mechanism == "gaussian" else chosen.scale * 2**0.5
    half = chosen.law.half_width(0.95)
    together = chosen.law.half_width(0.95, query.size)
    return Expectation(
        chosen.mechanism, sigma, chosen.law.std, half, together, None, limits, query.size, chosen.guarantee, chosen.note
    )


def release(
    query: Any,
    read: Callable[[], Any],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    mechanism: Choice = "auto",
) -> Answer:
    """Decide, read, draw. `read` gives the exact integers; nothing about it is touched before all is decided."""
    if unknown_keys(query):
        return _unknown(query, read, epsilon, delta, sigma, mechanism)
    if query.sparse:
        return _sparse(query, read, epsilon, delta, sigma, mechanism)
    chosen = _recipe(query, epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism)
    return _dense(query, whole(read().values), chosen)


def unknown_keys(query: Any) -> bool:
    """Whether the bins are not listed in advance."""
    return query.domain is None and query.size is None


def limits_of(query: Any) -> dict[str, int]:
    """How much of one unit is used, by name."""
    limits = query.limits
    return {"max_rows": limits.max_rows, "max_per_bin": limits.max_per_bin, "max_bins": limits.max_bins}


def whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Exact totals as int64, clamped: whether one was larger than 64 bits must not show."""
    if values.dtype == np.int64:
        return np.asarray(np.clip(values, -_MOST, _MOST))
    return np.array([min(max(int(value), -_MOST), _MOST) for value in values], dtype=np.int64)


def _recipe(query: Any, **asked: Any) -> Recipe:
    return recipe.choose(
        bins=query.size,
        whole=True,
        grid=query.grid,
        sensitivity=query.sensitivity.l2,
        l1_sensitivity=query.sensitivity.l1,
        neighbours=query.neighbours,
        **asked,
    )


def _facts(query: Any) -> dict[str, Any]:
    return {"unit": " + ".join(query.unit), "limits": limits_of(query), "query": query.describe()}


def _dense(query: Any, integers: NDArray[np.int64], chosen: Recipe) -> Answer:
    kind = {"units": "count", "vector_sum": "sum"}.get(query.kind, query.kind)
    simple = query.kind in ("count", "units", "sum", "vector_sum")
    made = mechanism.publish(integers, chosen, kind=kind, domain=query.domain if simple else None, **_facts(query))
    if query.kind == "mean":
        centre, half = query.clip.centre * query.grid, query.clip.half * query.grid
        within = (query.clip.low, query.clip.high)
        return MeanRelease(parts=made, centre=centre, half=half, within=within, domain=query.domain)
    if query.kind == "vector_mean":
        norm = query.ball.radius * query.grid
        return MeanRelease(parts=made, centre=0.0, half=norm, within=(-norm, norm))
    if query.kind == "quantile":
        axis = query.domain.axes[0]
        edges = np.array([axis.key(i)[0] for i in range(axis.size)] + [axis.high])
        return QuantileRelease(parts=made, levels=query.levels, edges=edges)
    return made


def _sparse(query: Any, read: Callable[[], Any], epsilon: Any, delta: Any, sigma: Any, chosen: str) -> SparseRelease:
    _only_gaussian(sigma, chosen, "A domain this large is released sparsely, with Gaussian noise and a threshold")
    recipe.choose(
        bins=query.size,
        whole=True,
        sensitivity=query.sensitivity.l2,
        epsilon=epsilon,
        delta=delta,
        mechanism="gaussian",
    )
    found = read()
    return mechanism.release_sparse(
        found.indices,
        found.values,
        domain_size=query.domain.size,
        sensitivity=query.sensitivity.l2,
        epsilon=epsilon,
        delta=delta,
        neighbours=query.neighbours,
        domain=query.domain,
        **_facts(query),
    )


def _unknown(query: Any, read: Callable[[], Any], epsilon: Any, delta: Any, sigma: Any, chosen: str) -> Release:
    _only_gaussian(sigma, chosen, "Unknown keys are released with Gaussian noise and a threshold")
    cut = thresholds.choose(epsilon=epsilon, delta=delta, limits=query.limits, neighbours=query.neighbours)
    found = read()
    return mechanism.release_unknown(
        found.keys,
        whole(found.values),
        cut=cut,
        epsilon=epsilon,
        delta=delta,
        neighbours=query.neighbours,
        names=query.by,
        **_facts(query),
    )


def _only_gaussian(sigma: Any, chosen: str, why: str) -> None:
    if chosen == "laplace" or sigma is not None:
        raise errors.InvalidParameter(f"{why}. Say epsilon= and delta=, and leave mechanism= and sigma= out.")
