"""The wall's gate: private numbers in, a Release out. Decide from public facts, pay, draw, add, wrap.

Every line that touches private values is in this file. What is published is a function of (exact values on a grid +
exact noise on that grid), so a float's low bits never show; and which noise is drawn, how, and how long that takes
does not depend on the values at all.

With a budget everything public is checked first, then the cost is debited durably, and only then is a value looked
at. A refusal that depends on the values (NaN) comes after that, and its debit stays: the refusal tells one bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise import errors, parameters, progress
from leastnoise.budget import Budget, charge
from leastnoise.domain import Domain, Keys
from leastnoise.guarantee import Neighbours
from leastnoise.parameters import Number
from leastnoise.recipe import Choice, Recipe
from leastnoise.releases import Release, SparseRelease, Values
from leastnoise.sensitivity import Limits

_CHUNK = 1 << 20  # values at a time: the memory beyond the output stays within a few dozen megabytes


def release(
    values: Any,
    *,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    mechanism: Choice = "auto",
    domain: Domain | Sequence[Any] | None = None,
    neighbours: Neighbours = "add-remove",
    budget: Budget | None = None,
    share: Number | None = None,
) -> Release:
    """Publish a vector with the least noise that keeps the promise.

    `sensitivity` bounds how far (L2) one person can move the vector *of doubles or integers as computed*. A NumPy
    array of an integer type stays whole; anything else is released as real numbers. Laplace noise is taken where
    `l1_sensitivity` is given and makes it better, or where delta = 0. With a `budget` the cost is debited first:
    a `share` of it, or what (epsilon, delta) or sigma cost.

    >>> import numpy as np
    >>> r = release(np.array([120, 0, 45]), sensitivity=1, epsilon=1, delta=1e-6)
    >>> r.values.dtype, round(r.sigma, 4), r.mechanism
    (dtype('int64'), 4.2247, 'gaussian')
    """
    given = _declared(values)
    decided = charge.decide(
        budget,
        bins=len(given),
        whole=isinstance(given, np.ndarray) and given.dtype.kind in "iu",
        sensitivity=sensitivity,
        l1_sensitivity=l1_sensitivity,
        epsilon=epsilon,
        delta=delta,
        sigma=sigma,
        share=share,
        mechanism=mechanism,
        neighbours=neighbours,
    )
    bins = _domain(domain, len(given))
    receipt = decided.pay(query=f"a vector of {len(given):,} values")
    return publish(_vector(given), decided.noise, domain=bins, id=receipt.id)


def publish(private: NDArray[Any], chosen: Recipe, **facts: Any) -> Release:
    """The private vector with the chosen noise, as a Release with these public facts."""
    from leastnoise.noise import entropy

    return Release(
        values=_noisy(private, chosen),
        mechanism=chosen.mechanism,
        scale=chosen.scale,
        grid=chosen.grid,
        guarantee=chosen.guarantee,
        delta=chosen.delta,
        sensitivity=chosen.sensitivity,
        note=chosen.note,
        seeded=entropy.is_seeded(),
        **facts,
    )


def release_sparse(
    indices: Any,
    counts: Any,
    *,
    domain_size: int,
    sensitivity: Number,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    threshold: Number | Literal["universal"] = "universal",
    kind: Literal["soft", "hard"] = "soft",
    neighbours: Neighbours = "add-remove",
    budget: Budget | None = None,
    share: Number | None = None,
) -> SparseRelease:
    """Whole counts in a huge domain: noise on *every* bin, then a threshold, in time that grows with the occupied ones.

    "universal" is sigma sqrt(2 log domain_size), which hardly any empty bin passes. The time and memory taken grow
    with the number of occupied bins: hide them from whoever must not learn it.
    """
    from leastnoise.noise import entropy
    from leastnoise.noise.sparse import check, sparse_gaussian

    parameters.word("kind", kind, ("soft", "hard"))
    size = parameters.whole("domain_size", domain_size)
    decided = charge.decide(
        budget,
        bins=size,
        whole=True,
        sensitivity=sensitivity,
        epsilon=epsilon,
        delta=delta,
        sigma=sigma,
        share=share,
        mechanism="gaussian",
        neighbours=neighbours,
    )
    chosen = decided.noise
    cut = _universal(chosen.scale, size) if threshold == "universal" else parameters.number("threshold", threshold)
    at_least = int(cut // 1) + 1
    check(domain_size=size, sigma=chosen.scale, at_least=at_least)
    receipt = decided.pay(query=f"occupied bins of {size:,}")
    where, noisy = sparse_gaussian(indices, counts, domain_size=size, sigma=chosen.scale, at_least=at_least)
    values: Values = noisy if kind == "hard" else noisy - np.copysign(cut, noisy)
    return SparseRelease(
        indices=where,
        values=values,
        domain_size=size,
        sigma=chosen.scale,
        threshold=cut,
        at_least=at_least,
        kind=kind,
        guarantee=chosen.guarantee,  # type: ignore[arg-type]
        delta=chosen.delta,
        sensitivity=chosen.sensitivity,
        id=receipt.id,
        seeded=entropy.is_seeded(),
    )


def release_unknown(
    keys: Sequence[Any],
    counts: NDArray[np.int64],
    *,
    limits: Limits,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbours: Neighbours = "add-remove",
    budget: Budget | None = None,
    share: Number | None = None,
    name: str = "key",
    table: str | None = None,
    **facts: Any,
) -> Release:
    """Counts of bins that nobody listed in advance: noisy, and only those that reach a threshold, sorted by key.

    The chance that a bin which one person alone fills shows is part of delta; see `thresholds`.
    """
    from leastnoise.noise import entropy
    from leastnoise.noise.gaussian import rounded_gaussian

    decided = charge.decide_unknown(
        budget, limits=limits, epsilon=epsilon, delta=delta, share=share, neighbours=neighbours
    )
    cut = decided.noise
    query = facts.get("query") or f'counts by "{name}", keys not listed'
    receipt = decided.pay(query=query, unit=facts.get("unit"), table=table)
    noisy = _add_whole(np.asarray(counts, dtype=np.int64), rounded_gaussian(cut.sigma, len(keys)))
    shown = sorted((key, value) for key, value in zip(keys, noisy.tolist(), strict=True) if value >= cut.at_least)
    listed = Domain((name,), (Keys(tuple(key for key, _ in shown)),)) if shown else None
    return Release(
        values=np.array([value for _, value in shown], dtype=np.int64),
        mechanism="gaussian",
        scale=cut.sigma,
        grid=1.0,
        guarantee=decided.guarantee,
        delta=decided.guarantee.delta,  # type: ignore[union-attr]  # unknown keys promise ApproxDP
        domain=listed,
        threshold=cut.at_least,
        kind="count",
        id=receipt.id,
        seeded=entropy.is_seeded(),
        **facts,
    )


def _declared(values: Any) -> NDArray[Any] | Sequence[Any]:
    """What is public about the values: their declared type and how many they are. No value is looked at.

    A list's type would be inferred from private values: one person's 2.5 among whole numbers must not change the
    grid, so lists and tuples are always real numbers.
    """
    if isinstance(values, (bool, str, bytes)) or values is None:
        raise errors.WrongType(f"values must be an array of numbers. Got {type(values).__name__} instead.")
    given = values if isinstance(values, (list, tuple)) else np.asarray(values)
    if isinstance(given, np.ndarray):
        if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8:
            raise errors.WrongType(
                f"values must be integers or floats of at most 64 bits. Got {given.dtype} instead. "
                "Say values.astype(np.int64) for counts, or np.float64 for anything else."
            )
        if given.ndim > 1:
            raise errors.ShapesDisagree(
                f"values must be a vector. Got {given.ndim} dimensions instead: say values.ravel()."
            )
        given = np.atleast_1d(given)
    elif any(isinstance(value, (list, tuple, np.ndarray)) for value in given):
        raise errors.ShapesDisagree("values must be a vector. Got a list of lists instead: say np.ravel(values).")
    if len(given) == 0:
        raise errors.EmptyArray("values is empty, so there is nothing to publish. Give at least one bin.")
    return given


def _vector(given: NDArray[Any] | Sequence[Any]) -> NDArray[Any]:
    """The private vector; here values are looked at for the first time."""
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise errors.BadValues("values must all be numbers, and some are not. Give a list of floats.") from None
    if array.dtype.kind == "f" and not all(np.isfinite(part).all() for part in _parts(array)):
        raise errors.BadValues(
            "values hold NaN or infinity, and no noise can hide those: they would be published as they are. "
            "Clip and fill them by a public rule first, such as np.nan_to_num(values)."
        )
    return array


def _noisy(private: NDArray[Any], chosen: Recipe) -> Values:
    """grid * (private/grid + noise), chunk by chunk."""
    whole = private.dtype.kind in "iu"
    out: Any = np.empty(private.size, dtype=np.int64 if whole else np.float64)
    draw = _drawer(chosen)
    with progress.bar("drawing noise", private.size) as advance:
        for part, place in zip(_parts(private), _parts(out), strict=True):
            noise = draw(part.size)
            place[:] = _add_whole(_int64(part), noise) if whole else _add_real(part, noise, chosen.grid)
            advance(part.size)
    values: Values = out
    return values


def _drawer(chosen: Recipe) -> Callable[[int], NDArray[np.int64]]:
    """Draws of the noise in grid steps. Its scale there is exact: the grid is a power of two."""
    from leastnoise.noise import gaussian, laplace

    steps = chosen.scale / chosen.grid
    if chosen.mechanism == "gaussian":
        return lambda size: gaussian.rounded_gaussian(steps, size)
    return lambda size: laplace.two_sided_geometric(steps, size)


def _add_whole(exact: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum, stopped at the ends of 64 bits: a function of the exact sum alone."""
    total = exact + noise  # may wrap
    wrapped = ((exact ^ total) & (noise ^ total)) < 0
    room = np.iinfo(np.int64)
    return np.where(wrapped, np.where(noise > 0, room.max, room.min), total)


def _add_real(exact: NDArray[Any], noise: NDArray[np.int64], grid: float) -> NDArray[np.float64]:
    """round(exact to grid) + grid * noise. Both are exact doubles, so their sum depends on the exact sum alone.

    From 2^52 grid steps on every double is a multiple of the grid already (and exact/grid might overflow). Noise is
    below 2^53 steps, so grid * noise is exact; as an integer it has no signed zero to leak.
    """
    x = exact.astype(np.float64)
    fine = np.abs(x) < 2.0**52 * grid
    x[fine] = np.rint(x[fine] / grid) * grid
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        total: NDArray[np.float64] = np.clip(x + noise * grid, -largest, largest)
    return total


def _int64(part: NDArray[Any]) -> NDArray[np.int64]:
    """Integers of any type as int64; unsigned ones past 2^63 are clamped, which moves no two of them apart."""
    if part.dtype == np.uint64:
        part = np.minimum(part, np.uint64(2**63 - 1))
    whole: NDArray[np.int64] = part.astype(np.int64)
    return whole


def _parts(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array[i : i + _CHUNK] for i in range(0, array.size, _CHUNK)]


def _domain(given: Domain | Sequence[Any] | None, bins: int) -> Domain | None:
    found = given if given is None or isinstance(given, Domain) else Domain(("bin",), (domains.axis(given),))
    if found is not None and found.size != bins:
        raise errors.BadDomain(f"domain has {found.size:,} bins and values {bins:,}. Give one key a bin.")
    return found


def _universal(sigma: float, size: int) -> float:
    """sigma sqrt(2 log d) (Theorem 12); at least sigma, for a domain of one or two bins."""
    return sigma * math.sqrt(2 * max(math.log(size), 0.5))
